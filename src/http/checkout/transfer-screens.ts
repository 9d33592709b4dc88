import { dialCodesFor } from '../../kernel/dial-codes.ts'
import { type Html, html } from '../../kernel/html.ts'
import { money, plainAmount } from '../../kernel/money.ts'
import { all } from './markup.ts'
import { telLink } from './outside-screens.ts'
import { another, cancel, countdown, form, type Of, row, shownTotal, type View } from './parts.ts'
import { type AccountDetails, transferIn } from './screen.ts'

export function awaiting(screen: Of<'awaiting' | 'partial'>, view: View): Html {
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
<p class="note">${texts.forThisPaymentOnly} ${countdown(account.expiresAt, view)}</p>
${dialTransfer(account, view)}
${form(view, 'check', html`<button class="main">${texts.sentIt}</button>`)}
${screen.state === 'partial' ? null : form(view, 'new-account', html`${shownTotal(transferIn(screen.choices))}<button class="quiet">${texts.newAccount}</button>`)}
${another('virtual-bank-account', screen.choices, view)}
${cancel(view)}`
}

export function partialText({ received, amountToTransfer }: AccountDetails, { texts, show }: View): string {
  return `${texts.partial(show(received), show(amountToTransfer))} ${texts.sendTheRest(show(amountToTransfer - received))}`
}

function accountRows(account: AccountDetails, { texts, payment, show }: View): Html {
  const { bankName, accountNumber, accountName, narration } = account
  const rest = Math.max(0, account.amountToTransfer - account.received)
  const amount = plainAmount(money(rest, payment.currency))
  return html`<dl class="rows account">${row(texts, texts.bankName, bankName)}${row(texts, texts.accountNumber, accountNumber, accountNumber)}${row(texts, texts.accountName, accountName)}${row(texts, texts.amount, show(rest), amount)}${narration ? row(texts, texts.narration, narration, narration) : null}</dl>${
    narration
      ? html`
<p class="note">${texts.narrationNote}</p>`
      : null
  }`
}

/** The customer's bank makes the transfer when this is dialled. In Nigeria most do. */
function dialTransfer(account: AccountDetails, { texts, payment }: View): Html | null {
  const rest = money(Math.max(0, account.amountToTransfer - account.received), payment.currency)
  const codes = dialCodesFor(rest, account)
  if (codes.length === 0) return null
  // The account number of a sandbox may be a real one: a dialled code would send real money there.
  const isTest = payment.mode === 'sandbox'
  const shown = (code: string) => html`<bdi dir="ltr">${code}</bdi>`
  const rows = codes.map(
    ({ bankName, code }) =>
      html`<div><dt>${bankName}</dt><dd>${isTest ? shown(code) : html`<a href="${telLink(code)}">${shown(code)}</a>`}</dd></div>`,
  )
  return html`<details class="ask help"><summary>${texts.dialTransfer}</summary>
<p>${isTest ? texts.dialTransferTest : texts.dialTransferNote}</p>
<dl class="rows dials">${all(rows)}</dl>
</details>`
}

export function checking({ account, choices }: Of<'checking'>, view: View): Html {
  const { texts, here, merchantName } = view
  const [sent, received, confirmed] = texts.steps
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${texts.checking}</h2>
<ol class="steps"><li aria-current="step">${sent}</li><li>${received}</li><li>${confirmed}</li></ol>
<p>${texts.checkingNote}</p>
<p class="note" data-after="600" hidden>${texts.checkingLong(merchantName)}</p>
<p class="note">${countdown(account.expiresAt, view)}</p></div>
${form(view, 'check', html`<button class="main">${texts.checkNow}</button>`)}
<a class="button quiet" href="${here}" data-panel>${texts.showDetails}</a>
${another('virtual-bank-account', choices, view)}
${cancel(view)}`
}

export function accountExpired({ choices }: Of<'account_expired'>, view: View): Html {
  const { texts } = view
  return html`<div class="state"><span class="mark" aria-hidden="true">!</span>
<h2 id="heading" tabindex="-1">${texts.accountExpired}</h2>
<p>${texts.accountExpiredNote}</p></div>
${form(view, 'new-account', html`${shownTotal(transferIn(choices))}<button class="main">${texts.newAccount}</button>`)}
${another('virtual-bank-account', choices, view)}
${cancel(view)}`
}
