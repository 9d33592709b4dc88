import { html } from '../../kernel/html.ts'
import { formatMoney } from '../../kernel/money.ts'
import type { PaymentStatus } from '../../payments/payment.ts'
import type { PaymentOnPage } from '../../payments/payment-store.ts'
import { renderPage } from './page.ts'

const STATUS_TEXT: Record<PaymentStatus, { word: string; note: string }> = {
  pending: { word: 'Waiting for payment', note: 'You have not been charged.' },
  successful: { word: 'Paid', note: 'Nothing more to pay.' },
  cancelled: { word: 'Cancelled', note: 'You have not been charged.' },
  expired: { word: 'Expired', note: 'You have not been charged. Ask the shop for a new link.' },
}

/** What anyone with the link may see: who asks, how much, and how it stands. Nothing about the customer. */
export function paymentPage({ payment, merchantName }: PaymentOnPage): string {
  const amount = formatMoney(payment)
  const { word, note } = STATUS_TEXT[payment.status]
  return renderPage(
    `${amount} to ${merchantName}`,
    html`${payment.mode === 'sandbox' ? html`<p class="mode">Test mode: no real money moves</p>` : null}
<h1>${merchantName}</h1>
<p class="amount">${amount}</p>
<dl>
<dt>Reference</dt><dd>${payment.reference}</dd>
<dt>Status</dt><dd class="status">${word}</dd>
</dl>
<p class="note">${note}</p>`,
  )
}

/** The same for a link that is wrong and for one that never was. */
export function unknownPaymentPage(): string {
  return renderPage(
    'Payment not found',
    html`<h1>We can’t find this payment</h1>
<p class="note">Check the link, or ask the shop for a new one.</p>`,
  )
}

export function troublePage(heading: string, note: string): string {
  return renderPage(
    heading,
    html`<h1>${heading}</h1>
<p class="note">${note}</p>`,
  )
}
