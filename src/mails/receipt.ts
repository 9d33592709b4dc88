import { Html, html } from '../kernel/html.ts'
import { type Currency, formatMoney, money } from '../kernel/money.ts'
import { inSentence } from '../kernel/text-direction.ts'
import { type Mail, nameInMail, plainName } from '../members/mail.ts'
import type { Language } from '../merchants/brand.ts'
import type { Branding } from '../merchants/branding.ts'
import { contrastReport } from '../merchants/theme.ts'
import type { Payment } from '../payments/state/payment.ts'
import type { Refund } from '../payments/state/refund.ts'
import type { ReceiptKind } from '../payments/store/customer-receipts.ts'
import { RECEIPT_TEXTS, type ReceiptTexts } from './receipt-texts.ts'

export interface ReceiptOf {
  payment: Payment
  refunds: Refund[]
  branding: Branding
  language: Language
}

export interface ReceiptRow {
  label: string
  value: string
  isTotal?: boolean
}

/** The lines of a receipt, on its page and in the mail. */
export function receiptRows({ payment, refunds, language }: Omit<ReceiptOf, 'branding'>): ReceiptRow[] {
  const texts = RECEIPT_TEXTS[language]
  const show = showIn(payment.currency, texts)
  const { amount, amountPaid } = payment
  const charge = payment.customerBearsCharge ? amountPaid - amount : 0
  return [
    ...(charge > 0
      ? [
          { label: texts.amount, value: show(amount) },
          { label: texts.charge, value: show(charge) },
        ]
      : []),
    { label: texts.total, value: show(amountPaid), isTotal: true },
    { label: texts.date, value: timeIn(texts, payment.completedAt ?? payment.createdAt) },
    ...refunds
      .filter(({ counted, status }) => counted && status === 'successful')
      .map((refund) => ({
        label: texts.refundOn(dayIn(texts, refund.resolvedAt ?? refund.createdAt)),
        value: `−${show(refund.amount)}`,
      })),
  ]
}

function showIn(currency: Currency, { locale }: ReceiptTexts): (minor: number) => string {
  return (minor) => formatMoney(money(minor, currency), locale)
}

function timeIn({ locale }: ReceiptTexts, date: Date): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  return `${format.format(date)} UTC`
}

function dayIn({ locale }: ReceiptTexts, date: Date): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(date)
}

/** A reference that mail programs make no link of, and that is no sentence. */
const PLAIN_REFERENCE = /^[A-Za-z0-9_-]{1,64}$/

/**
 * The mail to the customer. Merchants choose their name and the reference, and customers their name, and a stranger may
 * get the mail: only plain words of these are in it, and the only link leads to our own page.
 */
export function receiptMail(of: ReceiptOf, kind: ReceiptKind, link: string): Omit<Mail, 'to' | 'id'> {
  const { payment, branding, language } = of
  const texts = RECEIPT_TEXTS[language]
  const show = showIn(payment.currency, texts)
  const name = nameInMail(branding.name)
  const merchant = inSentence(name, texts.direction)
  const customer = payment.user.name === null ? undefined : plainName(payment.user.name)
  const isTest = payment.mode === 'sandbox'
  const lead = {
    success: () => texts.paid(show(payment.amountPaid), merchant),
    partial_refund: () => texts.partlyRefunded(show(payment.amountRefunded), show(payment.amountPaid), merchant),
    refund: () => texts.refunded(show(payment.amountRefunded), merchant),
  }[kind]()
  const rows = receiptRows(of)
  if (PLAIN_REFERENCE.test(payment.reference)) rows.push({ label: texts.reference, value: payment.reference })
  const subject = kind === 'success' ? texts.receiptFrom(name) : texts.refundFrom(name)
  const parts = {
    ...{ name, merchant, lead, rows, link },
    hello: customer && texts.hello(customer),
    test: isTest ? texts.testMode : undefined,
    note: kind === 'success' ? undefined : texts.refundNote,
  }
  return {
    subject: isTest ? `[Test] ${subject}` : subject,
    text: asText(parts, texts),
    html: asHtml(parts, of, subject).text,
  }
}

interface Parts {
  name: string
  /** The name inside of a sentence. */
  merchant: string
  lead: string
  rows: ReceiptRow[]
  link: string
  hello: string | undefined
  test: string | undefined
  note: string | undefined
}

function asText({ test, hello, lead, note, rows, link, merchant }: Parts, texts: ReceiptTexts): string {
  const lines = rows.map(({ label, value }) => `${label}: ${value}`).join('\n')
  const end = `${texts.questions(merchant)}\n${texts.automatic}`
  return [test, hello, [lead, note].filter(Boolean).join('\n'), lines, `${texts.open}:\n${link}`, end]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n')
}

const FONT = 'font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif'

/** Tables and styles at each element, because mail programs know little else. It loads nothing. */
function asHtml(parts: Parts, { branding, language }: ReceiptOf, title: string): Html {
  const texts = RECEIPT_TEXTS[language]
  const { direction } = texts
  const { test, hello, lead, note, rows, link, name, merchant } = parts
  const { button, dark, link: linkColour } = contrastReport(branding.brand.colour)
  const inDark = contrastReport(dark.colour).button
  const end = direction === 'rtl' ? 'left' : 'right'
  const line = rows.map(
    ({ label, value, isTotal }) =>
      html`<tr><td class="soft line" style="padding:10px 0;padding-inline-end:12px;border-top:1px solid #e3e5e9;color:#555c66">${label}</td><td class="ink line" align="${end}" style="padding:10px 0;border-top:1px solid #e3e5e9;color:#16181d${isTotal ? ';font-weight:600' : ''}"><bdi>${value}</bdi></td></tr>`
        .text,
  )
  const p = (text: string | undefined, style: string, look = 'ink') =>
    text ? html`<p class="${look}" style="margin:0 0 12px;${style}">${text}</p>` : null
  return html`<!doctype html>
<html lang="${language}" dir="${direction}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${title}</title>
<style>@media(prefers-color-scheme:dark){.ground{background:#0f1115!important}.card{background:#1a1d24!important}.ink{color:#f1f3f6!important}.soft{color:#aab1bd!important}.line{border-color:#343944!important}.band,.go{background:${inDark.colour}!important;color:${inDark.text}!important}.link{color:${dark.colour}!important}}</style></head>
<body class="ground" style="margin:0;padding:0;background:#f4f5f7"><div role="main">
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f4f5f7"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:520px;background:#ffffff;border-radius:12px;overflow:hidden;${FONT};font-size:15px;line-height:1.5;text-align:start">
<tr><td class="band" style="padding:18px 24px;background:${button.colour};color:${button.text};font-size:17px;font-weight:600"><bdi>${name}</bdi></td></tr>
<tr><td style="padding:24px">
${p(test, 'font-size:13px;color:#555c66', 'soft')}${p(hello, 'color:#16181d')}<h1 class="ink" style="margin:0 0 12px;font-size:18px;line-height:1.4;color:#16181d">${lead}</h1>${p(note, 'color:#555c66', 'soft')}
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 20px;font-size:15px">${new Html(line.join(''))}</table>
<a class="go" href="${link}" style="display:inline-block;padding:11px 20px;border-radius:8px;background:${button.colour};color:${button.text};text-decoration:none;font-weight:600">${texts.open}</a>
<p class="soft" style="margin:20px 0 0;font-size:13px;color:#555c66">${texts.questions(merchant)}<br>${texts.automatic}</p>
<p style="margin:12px 0 0;font-size:12px;word-break:break-all"><a class="link" href="${link}" style="color:${linkColour.colour}">${link}</a></p>
</td></tr></table></td></tr></table></div></body></html>
`
}
