import { Html, html } from '../../../kernel/html.ts'
import { type Currency, formatMoney, money } from '../../../kernel/money.ts'
import { type Card, RIGHT_CODE, TEST_CARDS } from './cards.ts'
import { STYLE } from './page-style.ts'
import type { Payment } from './record.ts'

/** Which field of the card form has a mistake, and what to do about it. */
export interface Mistake {
  field?: 'number' | 'expiry' | 'cvv' | 'otp'
  message: string
}

/** The card form, empty each time: what was typed into it is never sent back. */
export function cardPage(payment: Payment, mistake?: Mistake): string {
  const flag = (field: Mistake['field']) =>
    mistake?.field === field ? html` aria-invalid="true" aria-describedby="mistake"` : null
  return paymentPage(
    payment,
    mistake,
    html`<form method="post">
<label>Card number
<input type="text" name="number" inputmode="numeric" autocomplete="cc-number" maxlength="23" placeholder="0000 0000 0000 0000" required${flag('number')}></label>
<div class="row">
<label>Expiry date
<input type="text" name="expiry" inputmode="numeric" autocomplete="cc-exp" maxlength="9" placeholder="MM / YY" required${flag('expiry')}></label>
<label>Security code
<input type="text" name="cvv" inputmode="numeric" autocomplete="cc-csc" maxlength="4" placeholder="CVV" required${flag('cvv')}></label>
</div>
<label class="check"><input type="checkbox" name="save" value="yes">Save this card for next time</label>
<button name="action" value="pay">Pay ${amountOf(payment)}</button>
</form>`,
  )
}

export function savedCardPage(payment: Payment, card: Card, mistake?: Mistake): string {
  return paymentPage(
    payment,
    mistake,
    html`<form method="post">
<button name="action" value="saved">Pay ${amountOf(payment)} with ${card.brand} ending ${card.last4}</button>
</form>
<a class="button quiet" href="?card=new">Use another card</a>`,
  )
}

export function codePage(payment: Payment, card: Card, mistake?: Mistake): string {
  const flag = mistake?.field === 'otp' ? html` aria-invalid="true" aria-describedby="mistake"` : null
  return paymentPage(
    payment,
    mistake,
    html`<h2>Confirm it is you</h2>
<p class="note">Enter the code that your bank sent you for ${card.brand} ending ${card.last4}.</p>
<form method="post">
<label>One-time code
<input type="text" name="otp" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required${flag}></label>
<button name="action" value="otp">Pay ${amountOf(payment)}</button>
</form>
<form method="post" class="next"><button class="quiet" name="action" value="other">Use another card</button></form>`,
  )
}

/** Nothing is left to do here. `leave`: the browser goes on by itself; the button is for those that do not. */
export function endPage(payment: Payment, heading: string, note: string, leave = false): string {
  const onwards = html`<meta http-equiv="refresh" content="0;url=${payment.returnURL}">`
  return render(
    `${heading} · ${payment.merchantName}`,
    html`<h1>${payment.merchantName}</h1>
<p class="amount">${amountOf(payment)}</p>
<h2>${heading}</h2>
<p class="note">${note}</p>
<a class="button" href="${payment.returnURL}">Return to ${payment.merchantName}</a>`,
    { head: leave ? onwards : null },
  )
}

export function troublePage(heading: string, note: string): string {
  return render(
    heading,
    html`<h1>${heading}</h1>
<p class="note">${note}</p>`,
  )
}

function paymentPage(payment: Payment, mistake: Mistake | undefined, body: Html): string {
  const title = `Pay ${amountOf(payment)} to ${payment.merchantName}`
  return render(
    mistake ? `Error: ${title}` : title, // the first thing that a screen reader says
    html`<h1>${payment.merchantName}</h1>
<p class="amount">${amountOf(payment)}</p>
${mistake ? html`<p class="alert" role="alert" id="mistake">${mistake.message}</p>` : null}
${body}
<form method="post" class="next"><button class="quiet" name="action" value="cancel">Cancel</button></form>`,
    { below: testCards() },
  )
}

function amountOf({ requested, currency }: Payment): string {
  return formatMoney(money(requested, currency as Currency))
}

function testCards(): Html {
  const rows = TEST_CARDS.map(({ number, says }) => html`<tr><td>${number}</td><td>${says}</td></tr>`.text).join('\n')
  return html`<details><summary>Test cards</summary>
<table>${new Html(rows)}</table>
<p>Any date to come, any security code. The one-time code is ${RIGHT_CODE}.</p>
</details>`
}

function render(title: string, body: Html, more: { head?: Html | null; below?: Html } = {}): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${more.head}
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<section>
${body}
</section>
<footer><p>Sandbox: no real money</p>${more.below}</footer>
</main>
</body>
</html>
`.text
}
