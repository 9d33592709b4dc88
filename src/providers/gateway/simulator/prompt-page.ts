import { type Html, html } from '../../../kernel/html.ts'
import { MOBILE_NETWORKS } from '../../../kernel/mobile-networks.ts'
import { failureOfPrompt, isPaid } from './answer-prompt.ts'
import { amountOf, endPage, paymentPage, render, testTable } from './hosted-page.ts'
import type { Books } from './ledger.ts'
import { RIGHT_CODE, TEST_NUMBERS } from './prompts.ts'
import type { Payment } from './record.ts'
import { isExpired } from './take-money.ts'

interface PromptPageOptions {
  framed: boolean
  /** The customer is done and goes back to the shop by itself. */
  leave: boolean
}

/** The customer's phone, or the page of their bank. A tester presses what the customer would do. */
export function promptPage(books: Books, { framed, leave }: PromptPageOptions): string {
  const { payment } = books
  const end = endOf(books)
  if (end) return isBank(payment) ? endPage(payment, end.heading, end.note, leave) : phoneEnd(payment, end)
  const { heading, note, approve } = wordsOf(payment)
  const canApprove = !payment.prompt?.code
  return paymentPage(
    payment,
    { framed, below: testNumbers(payment), canCancel: false },
    html`<h2>${heading}</h2>
<p class="note">${note}</p>
${isExpired(payment) ? html`<p class="note">The time is over. What is approved now comes late.</p>` : null}
<form method="post">
${canApprove ? html`<button name="action" value="approve">${approve}</button>` : null}
<button class="quiet" name="action" value="refuse">Refuse</button>
${isExpired(payment) ? null : html`<button class="quiet" name="action" value="expire">Let the time run out</button>`}
</form>`,
  )
}

interface End {
  heading: string
  note: string
}

function endOf(books: Books): End | undefined {
  const { payment } = books
  if (isPaid(payment)) {
    return payment.refunded === payment.taken
      ? { heading: 'Refunded', note: 'Nothing more to pay.' }
      : { heading: 'Approved', note: 'The shop will hear of it shortly.' }
  }
  if (failureOfPrompt(books)) return { heading: 'Not approved', note: 'No money has moved.' }
  return isBank(payment) && isExpired(payment)
    ? { heading: 'This link has expired', note: 'You have not been charged. Ask the shop for a new link.' }
    : undefined
}

/** A second device: the shop is on the first. */
function phoneEnd(payment: Payment, { heading, note }: End): string {
  return render(
    `${heading} · ${payment.merchantName}`,
    html`<h1>${payment.merchantName}</h1>
<p class="amount">${amountOf(payment)}</p>
<h2>${heading}</h2>
<p class="note">${note} You can close this page.</p>`,
  )
}

function wordsOf(payment: Payment): End & { approve: string } {
  const { channel, prompt, accountNumber } = payment
  const bank = prompt?.bank ?? 'the bank'
  switch (channel) {
    case 'mobile-money': {
      const network = prompt?.network ? MOBILE_NETWORKS[prompt.network] : 'The network'
      if (accountNumber !== null) {
        const note = `The customer pays to the account ${accountNumber} from the menu of ${network}.`
        return { heading: 'The customer’s phone', note, approve: `Pay ${amountOf(payment)}` }
      }
      const note = prompt?.code
        ? `${network} wants a code first: ${RIGHT_CODE}, entered at the shop.`
        : `${network} asks whether to pay.`
      return { heading: 'The customer’s phone', note, approve: `Approve ${amountOf(payment)}` }
    }
    case 'ussd':
      return {
        heading: 'The customer’s phone',
        note: `The customer dials the code of ${bank}.`,
        approve: `Dial and approve ${amountOf(payment)}`,
      }
    case 'qr':
      return {
        heading: 'The customer’s bank app',
        note: 'The customer has scanned the QR code.',
        approve: `Pay ${amountOf(payment)}`,
      }
    case 'card':
    case 'transfer':
    case 'bank':
      return { heading: bank, note: 'You are signed in to your account.', approve: `Pay ${amountOf(payment)}` }
  }
}

/** Only this one is the customer's own page. */
function isBank({ channel }: Payment): boolean {
  switch (channel) {
    case 'bank':
    case 'card':
      return true
    case 'transfer':
    case 'mobile-money':
    case 'ussd':
    case 'qr':
      return false
  }
}

function testNumbers({ prompt, accountNumber }: Payment): Html | null {
  if (!prompt?.network || accountNumber !== null) return null
  const rows = TEST_NUMBERS.map(({ ends, says }) => [`… ${ends}`, says] as const)
  return testTable('Test numbers', rows, 'By the last three digits. With any other number, you decide here.')
}
