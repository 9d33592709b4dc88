import type { Channel } from '../../kernel/channel.ts'
import { Html, html } from '../../kernel/html.ts'
import { money, plainAmount } from '../../kernel/money.ts'
import type { Payment } from '../../payments/state/payment.ts'
import { CHANNEL_ICONS } from './channel-icons.ts'
import { addTo, all, attributes, flag } from './markup.ts'
import { type AccountDetails, IN_URL, type Method, type MethodChoices, type Screen, type State } from './screen.ts'
import type { Texts } from './texts/texts.ts'

/** Input of every view besides the screen. */
export interface View {
  texts: Texts
  payment: Payment
  /** Formats an amount of the payment's currency: ₦12,500.00. */
  show(minor: number): string
  merchantName: string
  /** The page's URL with the query parameters to keep. */
  here: string
  /** CSRF token (HMAC over the payment id) and idempotency key of each form. */
  token: string
  key: string
  /** Embedded in a shop's page: no link leaves the frame. */
  embedded: boolean
  returnTo: string | undefined
  returnAfterSeconds: number | null
  mayCancel: boolean
  /** Whether this provider allows its page in our frame. */
  mayFrame(provider: string): boolean
  now: Date
}

type Of<S extends State> = Extract<Screen, { state: S }>

/** The part of the page that changes with the state. It is complete HTML, so the page works without scripts. */
export function panel(screen: Screen, view: View): Html {
  const { payment } = view
  return html`<main id="panel" data-state="${screen.state}" data-version="${payment.sequence}" data-status="${payment.status}"${attributes(
    { 'data-speak': spoken(screen, view), ...leaving(screen, view) },
  )}>
${body(screen, view)}
</main>`
}

function body(screen: Screen, view: View): Html {
  switch (screen.state) {
    case 'choose':
      return choose(screen, view)
    case 'processing':
      return processing(view.texts)
    case 'provider':
      return provider(screen, view)
    case 'awaiting':
    case 'partial':
      return awaiting(screen, view)
    case 'checking':
      return checking(screen, view)
    case 'failed':
      return failed(screen, view)
    case 'confirming':
      return confirming(view)
    case 'succeeded':
    case 'already_paid':
      return paid(screen, view)
    case 'cancelled':
      return ended(view, '×', view.texts.cancelled, whatCameIn(view))
    case 'expired':
      return ended(view, '!', view.texts.expired, view.texts.expiredNote(view.merchantName))
    case 'account_expired':
      return accountExpired(screen, view)
    case 'unpayable':
      return ended(view, '!', view.texts.unpayable, view.texts.unpayableNote(view.merchantName))
  }
}

/** Text for screen readers when the state appears. */
export function spoken(screen: Screen, view: View): string | undefined {
  const { texts, merchantName } = view
  switch (screen.state) {
    case 'choose':
      return undefined
    case 'processing':
      return `${texts.processing}.`
    case 'provider':
      return providerNote(screen, view)
    case 'awaiting':
      return texts.detailsShown
    case 'checking':
      return `${texts.checking}.`
    case 'partial':
      return partialText(screen.account, view)
    case 'failed':
      return `${texts.failed}. ${failureText(screen, texts)}`
    case 'confirming':
      return `${texts.confirming}. ${texts.confirmingNote(merchantName)}`
    case 'succeeded':
      return texts.spokenSuccess(view.show(screen.paid))
    case 'already_paid':
      return `${texts.alreadyPaid}.`
    case 'cancelled':
      return `${texts.cancelled}.`
    case 'expired':
      return `${texts.expired}.`
    case 'account_expired':
      return `${texts.accountExpired}.`
    case 'unpayable':
      return `${texts.unpayable}.`
  }
}

/** Automatic return: only after a success that the customer saw happen, and never when embedded. */
function leaving(screen: Screen, { returnTo, returnAfterSeconds, embedded }: View): Record<string, string> {
  if (screen.state !== 'succeeded' || !returnTo || returnAfterSeconds === null || embedded) return {}
  return { 'data-return': returnTo, 'data-return-after': String(returnAfterSeconds) }
}

function choose({ chosen, choices }: Of<'choose'>, view: View): Html {
  const { texts } = view
  const panels = choices.methods.map(
    (method) => html`<section class="method" id="method-${IN_URL[method.channel]}"${flag('hidden', method !== chosen)}>
${method.channel === 'card' ? cardForm(method, choices, view) : bankTransferForm(method, view)}
</section>`,
  )
  return html`<h2 id="heading" class="away" tabindex="-1">${texts.payWith}</h2>
${choices.methods.length > 1 ? methodTabs(chosen, choices, view) : null}
${all(panels)}
${cancel(view)}`
}

function methodTabs(chosen: Method, { methods }: MethodChoices, { texts, here }: View): Html {
  const tabs = methods.map(
    ({ channel }) =>
      html`<a href="${addTo(here, `method=${IN_URL[channel]}`)}" data-method="${IN_URL[channel]}"${flag('aria-current="true"', channel === chosen.channel)}>${CHANNEL_ICONS[channel]}${channel === 'card' ? texts.card : texts.bankTransfer}</a>`,
  )
  return html`<nav class="tabs" aria-label="${texts.payWith}">${all(tabs)}</nav>`
}

function cardForm(method: Method, { cards, asksToSave }: MethodChoices, view: View): Html {
  const { texts } = view
  const choices = [
    ...cards.map(({ id, brand, last4 }) => ({
      value: String(id),
      label: html`<bdi>${texts.savedCard(brand, last4)}</bdi>`,
    })),
    { value: 'new', label: html`${texts.newCard}` },
  ].map(
    ({ value, label }, index) =>
      html`<label class="choice"><input type="radio" name="card" value="${value}"${flag('checked', index === 0)}><span>${label}</span></label>`,
  )
  return form(
    view,
    'pay',
    html`<input type="hidden" name="method" value="card">${shownTotal(method)}
${cards.length > 0 ? html`<fieldset><legend class="away">${texts.card}</legend>${all(choices)}</fieldset>` : html`<input type="hidden" name="card" value="new"><p class="note">${texts.cardNote}</p>`}
${asksToSave ? html`<label class="choice"><input type="checkbox" name="save" value="1"><span>${texts.saveCard}</span></label>` : null}
${priceRows(method, view)}
<button class="main">${texts.pay(view.show(method.amountCharged))}</button>`,
  )
}

function bankTransferForm(method: Method, view: View): Html {
  const { texts } = view
  return form(
    view,
    'pay',
    html`<input type="hidden" name="method" value="${IN_URL[method.channel]}">${shownTotal(method)}
<p class="note">${texts.bankTransferNote}</p>
${priceRows(method, view)}
<button class="main">${texts.showAccount}</button>`,
  )
}

const bankTransferOf = ({ methods }: MethodChoices) => methods.find(({ channel }) => channel === 'virtual-bank-account')

/** The shown price, so that the customer is never charged more than the page showed. */
function shownTotal(method: Method | undefined): Html | null {
  return method ? html`<input type="hidden" name="total" value="${method.amountCharged}">` : null
}

/** Explains the charge before the customer submits, if the customer bears it. */
function priceRows({ amountCharged }: Method, { texts, payment, show }: View): Html | null {
  if (!payment.customerBearsCharge) return null
  const row = (label: string, amount: number) => html`<div><dt>${label}</dt><dd>${show(amount)}</dd></div>`
  return html`<dl class="rows">${row(texts.amount, payment.amount)}${row(texts.charge, amountCharged - payment.amount)}${row(texts.total, amountCharged)}</dl>`
}

export function processing(texts: Texts): Html {
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${texts.processing}</h2>
<p>${texts.processingNote}</p>
<p class="note" data-after="20" hidden>${texts.processingLong}</p>
<span data-reload-after="90" hidden></span></div>`
}

function provider(screen: Of<'provider'>, view: View): Html {
  const { provider, link, choices } = screen
  const { texts, embedded } = view
  const where = view.mayFrame(provider) ? 'data-frame' : 'data-go'
  const target = embedded ? html` target="_blank" rel="noopener"` : null
  return html`<div class="frame" ${new Html(where)}="${link}">
<h2 id="heading" tabindex="-1">${texts.provider}</h2>
<p>${providerNote(screen, view)}</p>
<p><a class="button" href="${link}"${target}>${texts.providerOpen}</a></p>
</div>
${another('card', choices, view)}
${cancel(view)}`
}

function providerNote({ provider }: Of<'provider'>, { texts, mayFrame }: View): string {
  return mayFrame(provider) ? texts.providerFramedNote : texts.providerNote
}

function awaiting(screen: Of<'awaiting' | 'partial'>, view: View): Html {
  const { texts, show } = view
  const { account } = screen
  const rest = account.amountToTransfer - account.received
  const heading =
    screen.state === 'partial'
      ? texts.partial(show(account.received), show(account.amountToTransfer))
      : texts.transferExactly(show(account.amountToTransfer))
  return html`<h2 id="heading" tabindex="-1">${heading}</h2>
${screen.state === 'partial' ? html`<p class="warn">${texts.sendTheRest(show(rest))}</p>` : null}
${accountRows(account, view)}
<p class="note">${texts.forThisPaymentOnly} ${countdown(account, view)}</p>
${form(view, 'check', html`<button class="main">${texts.sentIt}</button>`)}
${screen.state === 'partial' ? null : form(view, 'new-account', html`${shownTotal(bankTransferOf(screen.choices))}<button class="quiet">${texts.newAccount}</button>`)}
${another('virtual-bank-account', screen.choices, view)}
${cancel(view)}`
}

function partialText({ received, amountToTransfer }: AccountDetails, { texts, show }: View): string {
  return `${texts.partial(show(received), show(amountToTransfer))} ${texts.sendTheRest(show(amountToTransfer - received))}`
}

function accountRows(account: AccountDetails, { texts, payment, show }: View): Html {
  const rest = Math.max(0, account.amountToTransfer - account.received)
  const row = (label: string, shown: string, copied?: string) =>
    html`<div><dt>${label}</dt><dd><bdi>${shown}</bdi>${copied === undefined ? null : copyButton(texts, label, copied)}</dd></div>`
  return html`<dl class="rows account">${row(texts.bankName, account.bankName)}${row(texts.accountNumber, account.accountNumber, account.accountNumber)}${row(texts.accountName, account.accountName)}${row(texts.amount, show(rest), plainAmount(money(rest, payment.currency)))}</dl>`
}

/** Remaining time rather than a time of day: the phone's clock may be wrong. */
function countdown({ expiresAt }: AccountDetails, { texts, now }: View): Html | null {
  const left = Math.ceil((expiresAt.getTime() - now.getTime()) / 1000)
  if (left <= 0) return null
  const say = [10, 5, 1].map((minutes) => html` data-say-${minutes}="${texts.minutesLeft(minutes)}"`)
  const minutes = Math.floor(left / 60)
  return html`${texts.expiresIn} <bdi role="timer" class="timer" data-left="${left}"${all(say)}>${minutes}:${String(left % 60).padStart(2, '0')}</bdi>`
}

function checking({ account, choices }: Of<'checking'>, view: View): Html {
  const { texts, here, merchantName } = view
  const [sent, received, confirmed] = texts.steps
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${texts.checking}</h2>
<ol class="steps"><li aria-current="step">${sent}</li><li>${received}</li><li>${confirmed}</li></ol>
<p>${texts.checkingNote}</p>
<p class="note" data-after="600" hidden>${texts.checkingLong(merchantName)}</p>
<p class="note">${countdown(account, view)}</p></div>
${form(view, 'check', html`<button class="main">${texts.checkNow}</button>`)}
<a class="button quiet" href="${here}" data-panel>${texts.showDetails}</a>
${another('virtual-bank-account', choices, view)}
${cancel(view)}`
}

function failed(screen: Of<'failed'>, view: View): Html {
  const { texts, here, payment } = view
  const { failure, channel, failures, choices } = screen
  const same = choices.methods.find((method) => method.channel === channel)
  const other = choices.methods.find((method) => method.channel !== channel)
  const otherFirst = other && (failures >= 3 || OTHER_METHOD_FIRST.has(failure))
  const style = (first: boolean) => (first ? 'main' : 'second')
  const retry = failure === 'card_expired' ? texts.useAnotherCard : texts.tryAgain
  // With saved cards the customer chooses again; without any, the retry starts directly.
  const again =
    channel === 'card' && choices.cards.length > 0
      ? html`<a class="button ${style(!otherFirst)}" href="${addTo(here, 'method=card')}" data-panel>${retry}</a>`
      : form(
          view,
          'pay',
          html`<input type="hidden" name="method" value="${IN_URL[channel]}"><input type="hidden" name="card" value="new">${shownTotal(same)}${screen.saveCard ? html`<input type="hidden" name="save" value="1">` : null}<button class="${style(!otherFirst)}">${retry}</button>`,
        )
  const elsewhere =
    other &&
    html`<a class="button ${style(Boolean(otherFirst))}" href="${addTo(here, `method=${IN_URL[other.channel]}`)}" data-panel>${texts.useAnotherMethod}</a>`
  return html`<div class="state"><span class="mark bad" aria-hidden="true">!</span>
<h2 id="heading" tabindex="-1">${texts.failed}</h2>
<p>${failureText(screen, texts)}</p></div>
${otherFirst ? html`${elsewhere}${again}` : html`${again}${elsewhere}`}
<p class="small"><bdi>${failure}</bdi> &#183; <bdi>${payment.reference}</bdi></p>
${cancel(view)}`
}

function failureText({ failure, notCharged }: Of<'failed'>, texts: Texts): string {
  return notCharged ? `${texts.reason[failure]} ${texts.notCharged}` : texts.reason[failure]
}

// The bank would probably decline the same card again. FINAL_FAILURES in payments/state/attempt.ts is what the API
// says.
const OTHER_METHOD_FIRST: ReadonlySet<string> = new Set([
  'insufficient_funds',
  'card_declined',
  'card_not_supported',
  'limit_exceeded',
  'suspected_fraud',
  'other',
])

export function confirming(view: Pick<View, 'texts' | 'merchantName' | 'here' | 'token' | 'key'>): Html {
  const { texts, merchantName } = view
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${texts.confirming}</h2>
<p>${texts.confirmingNote(merchantName)}</p></div>
${form(view, 'check', html`<button class="main">${texts.checkNow}</button>`)}`
}

function paid(screen: Of<'succeeded' | 'already_paid'>, view: View): Html {
  const { texts, merchantName, returnTo, returnAfterSeconds, embedded } = view
  const isNews = screen.state === 'succeeded'
  const when = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const returning = isNews && returnTo && returnAfterSeconds !== null && !embedded
  return html`<div class="state"><span class="mark good" aria-hidden="true">&#10003;</span>
<h2 id="heading" tabindex="-1">${isNews ? texts.succeeded : texts.alreadyPaid}</h2>
<p>${texts.paidTo(view.show(screen.paid), merchantName)}${isNews ? null : html` ${texts.nothingMore}`}</p>
${screen.excess > 0 ? html`<p>${texts.overpaidNote(view.show(screen.excess), merchantName)}</p>` : null}
${screen.refunded > 0 ? html`<p>${texts.refundedNote(view.show(screen.refunded))}</p>` : null}
<p class="note">${texts.paidOn(`${when.format(screen.at)} UTC`)}</p></div>
${referenceRow(view)}
${onwards(view)}
${returning ? html`<p class="note js" id="returning">${texts.returningIn} <bdi class="timer" id="returning-in">${returnAfterSeconds}</bdi> s <button type="button" class="link" data-stay>${texts.stay}</button></p>` : null}
<button type="button" class="quiet js" data-print>${texts.print}</button>`
}

function ended(view: View, mark: string, heading: string, note: string): Html {
  return html`<div class="state"><span class="mark" aria-hidden="true">${mark}</span>
<h2 id="heading" tabindex="-1">${heading}</h2>
<p>${note}</p></div>
${referenceRow(view)}
${onwards(view)}`
}

/** Part of the money may have arrived before the payment ended. */
function whatCameIn({ texts, payment, show }: View): string {
  return payment.amountPaid > 0 ? texts.partial(show(payment.amountPaid), show(payment.amount)) : texts.notCharged
}

function accountExpired({ choices }: Of<'account_expired'>, view: View): Html {
  const { texts } = view
  return html`<div class="state"><span class="mark" aria-hidden="true">!</span>
<h2 id="heading" tabindex="-1">${texts.accountExpired}</h2>
<p>${texts.accountExpiredNote}</p></div>
${form(view, 'new-account', html`${shownTotal(bankTransferOf(choices))}<button class="main">${texts.newAccount}</button>`)}
${another('virtual-bank-account', choices, view)}
${cancel(view)}`
}

function referenceRow({ texts, payment }: View): Html {
  return html`<dl class="rows"><div><dt>${texts.reference}</dt><dd><bdi>${payment.reference}</bdi>${copyButton(texts, texts.reference, payment.reference)}</dd></div></dl>`
}

export function copyButton(texts: Texts, what: string, value: string): Html {
  return html` <button type="button" class="copy" data-copy="${value}" data-copied="${texts.copied}" aria-label="${texts.copyOf(what)}">${texts.copy}</button>`
}

function onwards({ texts, returnTo, merchantName, embedded }: View): Html | null {
  if (embedded) return html`<button type="button" class="main js" data-close>${texts.close}</button>`
  return returnTo
    ? html`<a class="button main" href="${returnTo}" rel="noreferrer">${texts.returnTo(merchantName)}</a>`
    : null
}

function another(channel: Channel, { methods }: MethodChoices, { texts, here }: View): Html | null {
  const other = methods.find((method) => method.channel !== channel)
  return other
    ? html`<a class="button quiet" href="${addTo(here, `method=${IN_URL[other.channel]}`)}" data-panel>${texts.useAnotherMethod}</a>`
    : null
}

/** Asks before it cancels. A details element does so without scripts. */
function cancel(view: View): Html | null {
  if (!view.mayCancel) return null
  const { texts } = view
  return html`<details class="ask"><summary>${texts.cancel}</summary>
<p><strong>${texts.cancelQuestion}</strong> ${texts.cancelNote}</p>
<div class="pair"><button type="button" class="quiet js" data-keep>${texts.keepPaying}</button>${form(view, 'cancel', html`<button class="quiet">${texts.stop}</button>`)}</div>
</details>`
}

type Action = 'pay' | 'new-account' | 'check' | 'cancel'

function form({ here, token, key }: Pick<View, 'here' | 'token' | 'key'>, action: Action, inside: Html): Html {
  return html`<form method="post" action="${here}"><input type="hidden" name="action" value="${action}"><input type="hidden" name="token" value="${token}"><input type="hidden" name="key" value="${key}">
${inside}
</form>`
}
