import { type Html, html } from '../../kernel/html.ts'
import { type Currency, formatMoney, money } from '../../kernel/money.ts'
import { inSentence } from '../../kernel/text-direction.ts'
import type { Language } from '../../merchants/brand.ts'
import { type Branding, frameAncestors } from '../../merchants/branding.ts'
import { themeStyle } from '../../merchants/theme.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { returnAddress } from '../../payments/state/return-address.ts'
import type { OfferedReceipt } from '../../payments/store/customer-receipts.ts'
import type { Documents, Frame, Page } from './document.ts'
import type { Typed } from './method-input.ts'
import { copyButton, type KnownInput, type View } from './parts.ts'
import { receiptOffer } from './receipt-page.ts'
import { type MethodChoices, type Screen, screenOf, type VisitorInput } from './screen.ts'
import { languageFor, TEXTS } from './texts/texts.ts'
import { confirming, isFramed, panel, processing, spoken } from './views.ts'

/** The visitor's request: query parameters and headers. */
export interface Visit {
  /** The page's URL, relative to itself. */
  path: string
  /** The root of the service, relative to the page: it may run under a path prefix. */
  root?: string
  input: VisitorInput
  /** The form that was sent, if it has mistakes. */
  typed?: Typed | undefined
  /** What the customer typed as the address for the receipt, if it is none. */
  wrongAddress?: string | undefined
  /** A supported language; undefined for any other text. */
  language: Language | undefined
  acceptLanguage: string | undefined
  theme: Frame['theme']
  /** The shop's origin, checked against what the merchant registered. */
  embeddedIn: string | undefined
  saveData: boolean
}

export interface PageData {
  state: PaymentState
  branding: Branding
  choices: MethodChoices
  /** False on a page that was opened by client-id and reference alone. */
  mayCancel: boolean
  shortLink: string | undefined
  token: string
  key: string
  mayFrame(provider: string): boolean
  receipt?: OfferedReceipt | undefined
  /** Filled into forms. */
  known?: KnownInput
  now: Date
}

const NAME_LENGTH = 40

function viewOf(
  { state, branding, token, key, mayCancel, mayFrame, known = {}, receipt, now }: PageData,
  visit: Visit,
): View & { language: Frame['language'] } {
  const language = languageFor(visit.language, branding.brand.language, visit.acceptLanguage)
  const view: View & { language: Frame['language'] } = {
    language,
    texts: TEXTS[language],
    payment: state.payment,
    show: showIn(state.payment.currency, TEXTS[language].locale),
    merchantName: inSentence(shortened(branding.name), TEXTS[language].direction),
    here: visit.path + keptQuery(visit),
    token,
    key,
    embedded: visit.embeddedIn !== undefined,
    returnTo: returnAddress(state.payment),
    returnAfterSeconds: branding.brand.returnAfterSeconds,
    mayCancel,
    mayFrame,
    known,
    typed: visit.typed,
    now,
  }
  if (!receipt) return view
  const offer = { ...receipt, href: `${visit.root ?? '../'}r/${receipt.code}`, wrongAddress: visit.wrongAddress }
  return { ...view, receipt: receiptOffer(offer, language, view) }
}

function showIn(currency: Currency, locale: string): (minor: number) => string {
  return (minor) => formatMoney(money(minor, currency), locale)
}

/** Query parameters that every link and form of the page keeps. */
function keptQuery({ embeddedIn, language, theme }: Visit): string {
  const kept = new URLSearchParams()
  if (embeddedIn !== undefined) {
    kept.set('embed', '1')
    kept.set('origin', embeddedIn)
  }
  if (language) kept.set('lang', language)
  if (theme !== 'auto') kept.set('theme', theme)
  const query = kept.toString()
  return query && `?${query}`
}

/** The panel alone, for the script of an open page. */
export function paymentPanel(shown: PageData, visit: Visit): string {
  const view = viewOf(shown, visit)
  return panel(screenFor(shown, visit), view).text
}

function screenFor({ state, choices, now }: PageData, { input }: Visit): Screen {
  return screenOf(state, choices, input, now)
}

export function paymentPage(documents: Documents, shown: PageData, visit: Visit): Page {
  const { frame, body } = pageParts(shown, visit)
  return documents.render(frame, body, true)
}

/** The same page for the dashboard's own frame: it runs no script and loads nothing but the logo. */
export function previewPage(documents: Documents, shown: PageData, visit: Visit): Page {
  const { frame, body } = pageParts(shown, visit)
  return documents.render({ ...frame, frameAncestors: "'self'", frameSource: "'none'" }, body, false)
}

function pageParts(shown: PageData, visit: Visit): { frame: Frame; body: Html } {
  const screen = screenFor(shown, visit)
  const view = viewOf(shown, visit)
  const { branding, state } = shown
  const { payment } = state
  const { texts, merchantName } = view
  const name = shortened(branding.name)
  const amount = view.show(payment.amount)
  const frame: Frame = {
    language: view.language,
    texts,
    theme: visit.theme,
    title: texts.title(amount, merchantName),
    themeStyle: themeStyle(branding.brand),
    embeddedIn: visit.embeddedIn,
    frameAncestors: visit.embeddedIn === undefined ? "'none'" : frameAncestors(branding),
    frameSource: frameSource(screen, view),
    saveData: visit.saveData,
  }
  const body = html`${payment.mode === 'sandbox' ? html`<aside class="mode">${texts.testMode}</aside>` : null}
<div class="card">
<header>
${visit.saveData ? null : logo(branding, name, visit.root ?? '../')}
<div class="who"><h1><bdi>${name}</bdi></h1><p>${texts.reference} <bdi>${payment.reference}</bdi></p></div>
<p class="price"><bdi>${amount}</bdi></p>
${view.embedded ? html`<button type="button" class="x" data-close aria-label="${texts.close}">&#215;</button>` : null}
<p id="offline" class="warn" hidden data-back="${texts.backOnline}">${texts.offline}</p>
</header>
${panel(screen, view)}
${payment.status === 'pending' && !ENDED.has(screen.state) ? onPhone(shown, view) : null}
</div>
<footer><p>${texts.help(merchantName)}</p><p>${texts.securedBy} Manilla</p></footer>
<p id="speak" class="away" role="status"></p>
${
  payment.status === 'pending'
    ? html`<template id="processing" data-speak="${spoken({ state: 'processing' }, view)}">${processing(texts)}</template>
<template id="confirming" data-speak="${spoken({ state: 'confirming' }, view)}">${confirming(view)}</template>`
    : null
}
${view.embedded ? closing(view) : null}`
  return { frame, body }
}

export function logo({ merchantId, brand }: Branding, name: string, root: string): Html {
  return brand.logo
    ? html`<img class="logo" src="${root}logo/${merchantId}/${brand.logo.version}" alt="" width="44" height="44" loading="lazy">`
    : html`<span class="logo" aria-hidden="true">${initials(name)}</span>`
}

function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => /\p{L}|\p{N}/u.test(word))
  return words
    .slice(0, 2)
    .map((word) => [...word].find((letter) => /\p{L}|\p{N}/u.test(letter)))
    .join('')
    .toUpperCase()
}

// Control and bidirectional characters could reorder the text after the name, such as the amount.
const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, '')
}

export function shortened(name: string): string {
  const plain = withoutControls(name)
  if (plain.length <= NAME_LENGTH) return plain
  const letters = [...plain]
  return letters.length > NAME_LENGTH ? `${letters.slice(0, NAME_LENGTH - 1).join('')}…` : plain
}

/** States in which a phone could not continue either. */
const ENDED: ReadonlySet<Screen['state']> = new Set(['expired', 'unpayable'])

/** Collapsed, with a lazy image: the QR code is not loaded before it is opened. */
function onPhone({ shortLink }: PageData, { texts, embedded }: View): Html | null {
  if (shortLink === undefined || embedded) return null
  return html`<aside class="phone" aria-label="${texts.continueOnPhone}"><details><summary>${texts.continueOnPhone}</summary>
<img src="${shortLink}/qr.svg" alt="" width="148" height="148" loading="lazy">
<p class="note">${texts.continueOnPhoneNote}</p>
<p><bdi>${shortLink}</bdi>${copyButton(texts, texts.continueOnPhone, shortLink)}</p>
</details></aside>`
}

function closing({ texts }: View): Html {
  return html`<dialog id="closing"><h2>${texts.closeQuestion}</h2><p>${texts.closeNote}</p>
<div class="pair"><button type="button" class="main" data-keep-open>${texts.keepOpen}</button><button type="button" class="quiet" data-close-now>${texts.closeAnyway}</button></div></dialog>`
}

/**
 * CSP frame-src: the sandbox provider has our own origin; another provider's origin is added in the state that frames
 * it.
 */
function frameSource(screen: Screen, { mayFrame, payment }: View): string {
  const self = payment.mode === 'sandbox' && payment.status === 'pending' ? "'self'" : "'none'"
  if (screen.state !== 'provider' || !isFramed(screen, { mayFrame })) return self
  const origin = URL.parse(screen.link)?.origin
  return origin ? `'self' ${origin}` : self
}

/**
 * The page that a provider's frame returns to. Inside our own page the outer page continues by itself; in a merchant's
 * frame the script goes on to `onwards`.
 */
export function framedReturnPage(
  documents: Documents,
  { onwards, branding, acceptLanguage }: { onwards: string; branding: Branding; acceptLanguage: string | undefined },
): Page {
  const language = languageFor(undefined, branding.brand.language, acceptLanguage)
  const texts = TEXTS[language]
  const frame: Frame = {
    ...plainFrame(language, texts.confirming),
    themeStyle: themeStyle(branding.brand),
    frameAncestors: `'self' ${frameAncestors(branding).replace("'none'", '')}`.trim(),
  }
  return documents.render(
    frame,
    html`<div class="card"><main id="panel" data-state="left" data-onwards="${onwards}"><div class="state"><span class="spinner" aria-hidden="true"></span><h1>${texts.confirming}</h1>
<p><a class="button quiet" href="${onwards}">${texts.checkNow}</a></p></div></main></div>`,
    true,
  )
}

export type PageError = 'notFound' | 'tooManyTries' | 'tooManyAttempts' | 'wentWrong' | 'cannotShow'

/** Error page. An invalid link and an unknown link get the same page, so that links cannot be probed. */
export function errorPage(documents: Documents, error: PageError, acceptLanguage: string | undefined): Page {
  const language = languageFor(undefined, null, acceptLanguage)
  const texts = TEXTS[language]
  const notes: Record<PageError, string> = {
    notFound: texts.notFoundNote,
    tooManyTries: texts.tooManyTriesNote,
    tooManyAttempts: texts.tooManyAttemptsNote,
    wentWrong: texts.wentWrongNote,
    cannotShow: texts.tryShortly,
  }
  return documents.render(
    plainFrame(language, texts[error]),
    html`<div class="card"><main id="panel" data-state="${error === 'notFound' ? 'unavailable' : 'error'}" data-speak="${texts[error]}. ${notes[error]}">
<div class="state"><span class="mark" aria-hidden="true">!</span>
<h1 id="heading" tabindex="-1">${texts[error]}</h1><p>${notes[error]}</p></div>
${error === 'notFound' || error === 'tooManyAttempts' ? null : html`<a class="button main" href="">${texts.tryAgain}</a>`}</main></div>
<footer><p>${texts.securedBy} Manilla</p></footer>`,
    false,
  )
}

export function plainFrame(language: Frame['language'], title: string): Frame {
  return {
    language,
    texts: TEXTS[language],
    theme: 'auto',
    title,
    themeStyle: themeStyle({ colour: null, corners: 'rounded' }),
    embeddedIn: undefined,
    frameAncestors: "'none'",
    frameSource: "'none'",
    saveData: false,
  }
}
