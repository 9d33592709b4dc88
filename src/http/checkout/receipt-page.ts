import { html } from '../../kernel/html.ts'
import { formatMoney, money } from '../../kernel/money.ts'
import { inSentence } from '../../kernel/text-direction.ts'
import { type ReceiptOf, receiptRows } from '../../mails/receipt.ts'
import { RECEIPT_TEXTS } from '../../mails/receipt-texts.ts'
import { themeStyle } from '../../merchants/theme.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { Documents, Page } from './document.ts'
import { textField } from './field.ts'
import { all } from './markup.ts'
import { form, row, type View } from './parts.ts'
import { logo, plainFrame, shortened } from './payment-page.ts'
import { TEXTS } from './texts/texts.ts'

/** For the customer to keep and to print. It shows nothing of the customer: the address may be passed on. */
export function receiptPage(documents: Documents, of: ReceiptOf, paying: Attempt | undefined): Page {
  const { payment, branding, language } = of
  const texts = TEXTS[language]
  const receipt = RECEIPT_TEXTS[language]
  const name = shortened(branding.name)
  const merchant = inSentence(name, texts.direction)
  const paid = formatMoney(money(payment.amountPaid, payment.currency), texts.locale)
  const method = paying ? [row(texts, receipt.method, texts.method[paying.channel])] : []
  const body = html`${payment.mode === 'sandbox' ? html`<aside class="mode">${texts.testMode}</aside>` : null}
<div class="card receipt">
<header>
${logo(branding, name, '../')}
<div class="who"><h1><bdi>${name}</bdi></h1><p>${receipt.receipt}</p></div>
<p class="price"><bdi>${paid}</bdi></p>
</header>
<main id="panel" data-state="receipt">
<h2 id="heading">${texts.paidTo(paid, merchant)}</h2>
<dl class="rows">${all([
    ...receiptRows(of).map(({ label, value }) => row(texts, label, value)),
    ...method,
    row(texts, texts.reference, payment.reference),
  ])}</dl>
<p class="note">${receipt.questions(merchant)}</p>
</main>
</div>
<footer><p>${texts.securedBy} Manilla</p></footer>`
  const frame = { ...plainFrame(language, receipt.receiptFrom(merchant)), themeStyle: themeStyle(branding.brand) }
  return documents.render(frame, body, false)
}

/** What a paid payment's page offers. */
export interface ReceiptOffer {
  /** The address of the receipt's page. */
  href: string
  isOffered: boolean
  isSent: boolean
  /** What the customer typed, if it is no address. */
  wrongAddress: string | undefined
}

export function receiptOffer(offer: ReceiptOffer, language: keyof typeof TEXTS, view: View) {
  const receipt = RECEIPT_TEXTS[language]
  const { texts, embedded, merchantName } = view
  const { href, isOffered, isSent, wrongAddress } = offer
  const open = html`<a class="button quiet" href="${href}"${embedded ? html` target="_blank" rel="noopener"` : null}>${receipt.open}</a>`
  if (!isOffered) return html`${isSent ? html`<p class="note">${receipt.comesByMail}</p>` : null}${open}`
  const field = textField({
    id: 'receipt-address',
    name: 'address',
    label: receipt.byMail,
    hint: receipt.byMailHint(merchantName),
    value: wrongAddress ?? '',
    isRequired: false,
    attributes: { type: 'email', autocomplete: 'email', maxlength: '254', dir: 'ltr' },
    mistake: wrongAddress === undefined ? undefined : texts.link.wrongEmail,
    isFirstMistake: wrongAddress !== undefined,
  })
  return html`${form(view, 'receipt', html`${field}<button class="second">${receipt.send}</button>`)}${open}`
}
