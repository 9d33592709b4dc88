import { type Html, html } from '../../kernel/html.ts'
import { formatMoney, MAX_AMOUNT, money, plainAmount } from '../../kernel/money.ts'
import { inSentence } from '../../kernel/text-direction.ts'
import type { Language } from '../../merchants/brand.ts'
import type { Branding } from '../../merchants/branding.ts'
import { themeStyle } from '../../merchants/theme.ts'
import { amountLimits, type LinkStatus, type PaymentLink } from '../../payments/state/payment-link.ts'
import type { Documents, Page } from './document.ts'
import { textField } from './field.ts'
import type { FieldMistake, FieldName, LinkValues } from './link-form.ts'
import { all } from './markup.ts'
import { logo, plainFrame, shortened, withoutControls } from './payment-page.ts'
import { TEXTS, type Texts } from './texts/texts.ts'

/** The page of a reusable link, as one visitor sees it. */
export interface LinkVisit {
  link: PaymentLink
  branding: Branding
  language: Language
  /** The address of the page, relative to itself. */
  here: string
  /** The part of the query that is kept. */
  query: string
}

interface FormData {
  token: string
  key: string
  values: LinkValues
  mistakes: FieldMistake[]
}

/** A form that works without scripts: it makes a payment and leads to its page. */
export function linkPage(documents: Documents, visit: LinkVisit, form: FormData): Page {
  const { link, language, here, query } = visit
  const texts = TEXTS[language]
  const fields = fieldsOf(link, texts, language).map((field) => input(field, form, texts))
  return page(
    documents,
    visit,
    html`<h2 id="heading" tabindex="-1"><bdi>${withoutControls(link.title)}</bdi></h2>
${link.description === null ? null : html`<p><bdi>${withoutControls(link.description)}</bdi></p>`}
<form method="post" action="${here}${query}"><input type="hidden" name="token" value="${form.token}"><input type="hidden" name="key" value="${form.key}">
${form.mistakes.length > 0 ? html`<p class="warn" role="alert">${texts.link.checkFields}</p>` : null}
${all(fields)}
<button class="main">${texts.link.continue}</button>
</form>`,
  )
}

/** A link that takes no payment now. */
export function linkEndedPage(
  documents: Documents,
  visit: LinkVisit,
  why: Exclude<LinkStatus, 'active'> | 'unpayable',
): Page {
  const { branding, language } = visit
  const texts = TEXTS[language]
  const merchant = inSentence(shortened(branding.name), texts.direction)
  const isUnpayable = why === 'unpayable'
  return page(
    documents,
    visit,
    html`<div class="state"><span class="mark" aria-hidden="true">!</span>
<h2 id="heading" tabindex="-1">${isUnpayable ? texts.unpayable : texts.link[why]}</h2>
<p>${isUnpayable ? texts.unpayableNote(merchant) : texts.link.endedNote(merchant)}</p></div>`,
  )
}

function page(documents: Documents, { link, branding, language }: LinkVisit, inside: Html): Page {
  const texts = TEXTS[language]
  const name = shortened(branding.name)
  const title = withoutControls(link.title)
  const body = html`${link.mode === 'sandbox' ? html`<aside class="mode">${texts.testMode}</aside>` : null}
<div class="card">
<header>
${logo(branding, name, '../')}
<div class="who"><h1><bdi>${name}</bdi></h1></div>
${link.amount === null ? null : html`<p class="price"><bdi>${formatMoney(money(link.amount, link.currency), texts.locale)}</bdi></p>`}
</header>
<main id="panel">
${inside}
</main>
</div>
<footer><p>${texts.securedBy} Manilla</p></footer>`
  const frame = { ...plainFrame(language, `${title} · ${name}`), themeStyle: themeStyle(branding.brand) }
  return documents.render(frame, body, false)
}

interface LinkField {
  name: FieldName
  label: string
  hint?: string | undefined
  attributes: Record<string, string | undefined>
}

function fieldsOf(link: PaymentLink, texts: Texts, language: Language): LinkField[] {
  const { amount, currency, collectName, collectPhoneNumber, customField } = link
  const fields: (LinkField | false)[] = [
    amount === null && {
      name: 'amount',
      label: `${texts.amount} (${currency})`,
      hint: limitsText(link, language),
      attributes: { type: 'text', inputmode: 'decimal', maxlength: '24', autocomplete: 'transaction-amount' },
    },
    {
      name: 'email',
      label: texts.link.email,
      attributes: { type: 'email', autocomplete: 'email', maxlength: '254', dir: 'ltr' },
    },
    collectName && {
      name: 'name',
      label: texts.link.name,
      attributes: { type: 'text', autocomplete: 'name', maxlength: '100', dir: 'auto' },
    },
    collectPhoneNumber && {
      name: 'phoneNumber',
      label: texts.link.phoneNumber,
      attributes: { type: 'tel', autocomplete: 'tel', maxlength: '32', dir: 'ltr' },
    },
    customField !== null && {
      name: 'answer',
      label: withoutControls(customField),
      attributes: { type: 'text', maxlength: '200', dir: 'auto' },
    },
  ]
  return fields.filter((field) => field !== false)
}

function limitsText(link: PaymentLink, language: Language): string | undefined {
  const { minAmount, maxAmount, currency } = link
  const { lowest, highest } = amountLimits(link)
  const { link: texts, locale } = TEXTS[language]
  const show = (amount: number) => formatMoney(money(amount, currency), locale)
  if (minAmount !== null && maxAmount !== null) return texts.between(show(lowest), show(highest))
  if (minAmount !== null) return texts.atLeast(show(lowest))
  return maxAmount !== null && highest < MAX_AMOUNT ? texts.atMost(show(highest)) : undefined
}

function input({ name, label, hint, attributes }: LinkField, { values, mistakes }: FormData, texts: Texts): Html {
  const mistake = mistakes.find((each) => each.field === name)
  const isFirstMistake = mistake !== undefined && mistake === mistakes[0]
  const wrong = mistake && mistakeText(mistake, texts)
  return textField({ id: name, name, label, hint, attributes, value: values[name], mistake: wrong, isFirstMistake })
}

function mistakeText({ why, limit }: FieldMistake, { link, locale }: Texts): string {
  const amount = limit && formatMoney(limit, locale)
  switch (why) {
    case 'missing':
      return link.missing
    case 'email':
      return link.wrongEmail
    case 'text':
      return link.wrongText
    case 'amount':
      return link.wrongAmount(limit ? plainAmount(limit) : '')
    case 'too_low':
      return link.atLeast(amount ?? '')
    case 'too_high':
      return link.atMost(amount ?? '')
  }
}
