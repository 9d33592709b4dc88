import { Html, html } from '../../../kernel/html.ts'
import { type Currency, formatMoney, money } from '../../../kernel/money.ts'
import { type Card, RIGHT_CODE, TEST_CARDS } from './cards.ts'
import { STYLE } from './page-style.ts'
import type { Payment } from './record.ts'

type Field = 'number' | 'expiry' | 'cvv' | 'otp'

/** Which field of the card form has a mistake, and what to do about it. */
export interface Mistake {
  field?: Field
  message: string
}

export interface PageOptions {
  mistake?: Mistake
  /** Inside a frame: the page around it shows the merchant, the amount and a way to cancel. */
  framed?: boolean
  /** Default: the test cards. */
  below?: Html | null
  canCancel?: boolean
}

/** The card form, empty each time: what was typed into it is never sent back. */
export function cardPage(payment: Payment, options: PageOptions): string {
  const input = (field: Field, attributes: Html) => inputFor(field, attributes, options.mistake)
  return paymentPage(
    payment,
    options,
    html`<form method="post">
<div><label for="number">Card number</label>
${input('number', html`autocomplete="cc-number" maxlength="23" placeholder="0000 0000 0000 0000"`)}</div>
<div class="row">
<div><label for="expiry">Expiry date</label>
${input('expiry', html`autocomplete="cc-exp" maxlength="9" placeholder="MM / YY"`)}</div>
<div><label for="cvv">Security code</label>
${input('cvv', html`autocomplete="cc-csc" maxlength="4" placeholder="CVV"`)}</div>
</div>
<label class="check"><input type="checkbox" name="save" value="yes">Save this card for next time</label>
<button name="action" value="pay">Pay ${amountOf(payment)}</button>
</form>`,
  )
}

/** With its mistake below it, and the cursor in it. */
function inputFor(field: Field, attributes: Html, mistake: Mistake | undefined): Html {
  const isWrong = mistake?.field === field
  const flag = isWrong ? html` aria-invalid="true" aria-describedby="mistake" autofocus` : null
  const note = isWrong ? html`<p class="wrong" role="alert" id="mistake">${mistake.message}</p>` : null
  return html`<input type="text" id="${field}" name="${field}" inputmode="numeric" ${attributes} required${flag}>${note}`
}

export function savedCardPage(payment: Payment, card: Card, options: PageOptions): string {
  return paymentPage(
    payment,
    options,
    html`<form method="post">
<button name="action" value="saved">Pay ${amountOf(payment)} with ${card.brand} ending ${card.last4}</button>
</form>
<a class="button quiet" href="?card=new">Use another card</a>`,
  )
}

export function codePage(payment: Payment, card: Card, options: PageOptions): string {
  return paymentPage(
    payment,
    options,
    html`<h2>Confirm it is you</h2>
<p class="note">Enter the code that your bank sent you for ${card.brand} ending ${card.last4}.</p>
<form method="post">
<div><label for="otp">One-time code</label>
${inputFor('otp', html`autocomplete="one-time-code" maxlength="10"`, options.mistake)}</div>
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

export function paymentPage(payment: Payment, options: PageOptions, body: Html): string {
  const { mistake, framed, below = testCards(), canCancel = !framed } = options
  const title = `Pay ${amountOf(payment)} to ${payment.merchantName}`
  return render(
    mistake ? `Error: ${title}` : title, // the first thing that a screen reader says
    html`${framed ? html`<h1>${payment.prompt ? 'Your bank' : 'Card details'}</h1>` : html`<h1>${payment.merchantName}</h1><p class="amount">${amountOf(payment)}</p>`}
${mistake && !mistake.field ? html`<p class="alert" role="alert">${mistake.message}</p>` : null}
${body}
${canCancel ? html`<form method="post" class="next"><button class="quiet" name="action" value="cancel">Cancel</button></form>` : null}`,
    { below },
  )
}

export function amountOf({ requested, currency }: Payment): string {
  return formatMoney(money(requested, currency as Currency))
}

function testCards(): Html {
  const rows = TEST_CARDS.map(({ number, says }) => [number, says] as const)
  return testTable('Test cards', rows, `Any date to come, any security code. The one-time code is ${RIGHT_CODE}.`)
}

export function testTable(title: string, rows: (readonly [string, string])[], note: string): Html {
  const lines = rows.map(([what, says]) => html`<tr><td>${what}</td><td>${says}</td></tr>`.text).join('\n')
  return html`<details><summary>${title}</summary>
<table>${new Html(lines)}</table>
<p>${note}</p>
</details>`
}

export function render(title: string, body: Html, more: { head?: Html | null; below?: Html | null } = {}): string {
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
