import { Html, html } from '../kernel/html.ts'
import { type Currency, formatMoney, money } from '../kernel/money.ts'
import { CITIES, CITY_NAMES, type City } from './cities.ts'
import type { Line } from './live-log.ts'
import type { Account, Payment } from './payments-api.ts'
import { PRODUCTS, priceIn, productOf } from './products.ts'

/** Data of every page of the shop. */
export interface Frame {
  /** Path of the shop: "/demo". */
  path: string
  /** Path prefix of the service: "". */
  servicePath: string
  clientId: string
  script: string
  style: string
}

/** The activity log beside the page: initial lines and the stream's position. */
export interface Panel {
  lines: Line[]
  /** The newest line when the page was rendered. */
  after: number
  /** Only lines of this order. */
  reference?: string | undefined
}

export interface Form {
  product: string
  email: string
  customerBearsCharge: boolean
  city: City
  phoneNumber: string
}

const SHOP = 'Demo Store'
export const emptyForm = (city: City): Form => ({
  ...{ product: 'adire', email: 'ada@example.com', customerBearsCharge: false, city },
  phoneNumber: CITIES[city].phoneNumber ?? '',
})

const LINK = {
  way: 'link',
  title: 'Pay by link',
  about: 'Off to the payment page, and back here when it is done.',
  icon: html`<path d="M10 14 20 4m-7 0h7v7M9 5H5a1 1 0 0 0-1 1v13a1 1 0 0 0 1 1h13a1 1 0 0 0 1-1v-4"/>`,
}
const WIDGET = {
  way: 'widget',
  title: 'Pay in a widget',
  about: 'The same page on top of this one. You never leave the shop.',
  icon: html`<path d="M3 5h18v14H3zM7 9h10v6H7z"/>`,
}
const TRANSFER = {
  way: 'transfer',
  title: 'Pay by bank transfer',
  about: 'The shop shows an account number, for this order alone.',
  icon: html`<path d="m3 9 9-5 9 5M5 10v8m5-8v8m4-8v8m5-8v8M3 21h18"/>`,
}
const PHONE = {
  way: 'phone',
  title: 'Pay by mobile money',
  about: 'The network asks on your phone, and you approve there.',
  icon: html`<path d="M7 3h10v18H7zM11 18h2"/>`,
}
/** Without a phone number to start with, customers pay by transfer. */
const waysIn = (city: City) => [LINK, WIDGET, CITIES[city].phoneNumber === null ? TRANSFER : PHONE]

export const amountIn = (currency: string) => (amount: number) => formatMoney(money(amount, currency as Currency))
const joined = (parts: Html[]) => new Html(parts.map(({ text }) => text).join('\n'))

export function shopPage(frame: Frame, panel: Panel, form: Form, mistake?: string): string {
  const products = PRODUCTS.map(
    (product) => html`<label class="product">
<input type="radio" name="product" value="${product.id}"${product.id === form.product ? html` checked` : null} required>
${product.picture} <strong>${product.name}</strong> <span>${product.about}</span> <b>${formatMoney(priceIn(form.city, product))}</b></label>`,
  )
  const ways = waysIn(form.city).map(
    ({ way, title, about, icon }) => html`<button name="way" value="${way}">
<svg viewBox="0 0 24 24" aria-hidden="true">${icon}</svg><strong>${title}</strong> <span>${about}</span></button>`,
  )
  return render(
    frame,
    panel,
    `${SHOP}: three good things from Nigeria`,
    html`<h1>Three good things from Nigeria</h1>
<nav aria-label="City">${joined(CITY_NAMES.map((city) => html`<a href="${frame.path}?city=${city}"${city === form.city ? html` aria-current="page"` : null}>${CITIES[city].name}</a>`))}</nav>
<p class="lead">The shop is pretend, its backend is real. Choose a thing and a way to pay, and watch what shop and payment service say to each other.</p>
${mistake ? html`<p class="alert" role="alert">${mistake}</p>` : null}
<div id="order" aria-live="polite"></div>
<form method="post" action="${frame.path}/buy" id="buy">
<input type="hidden" name="city" value="${form.city}">
<fieldset class="products"><legend>What you buy</legend>${joined(products)}</fieldset>
<fieldset class="you"><legend>Who you are</legend>
<label>Your e-mail <input type="email" name="email" value="${form.email}" maxlength="254" autocomplete="email" required></label>
${CITIES[form.city].phoneNumber === null ? null : html`<label>Your phone number <input type="tel" name="phoneNumber" value="${form.phoneNumber}" maxlength="32" autocomplete="tel"></label>`}
<label class="check"><input type="checkbox" name="bears" value="yes"${form.customerBearsCharge ? html` checked` : null}>The customer bears the charge</label>
<p class="note">Save a card, buy again with the same e-mail, and it is offered to you.</p></fieldset>
<fieldset class="ways"><legend>How you pay</legend>${joined(ways)}</fieldset>
</form>`,
  )
}

/** The page that customers return to. Query parameters can be forged, so the shop asks the API. */
export function thanksPage(
  frame: Frame,
  panel: Panel,
  payment: Payment,
  told: { status?: string; from?: string },
): string {
  const { reference, status } = payment
  const amount = amountIn(payment.currency)
  const product = productOf(payment.metadata.product)?.name ?? 'order'
  const failure = payment.attempts.findLast((attempt) => attempt.failure)?.failure
  const heading = {
    successful: 'Thank you! It is paid.',
    pending: 'Not paid yet',
    cancelled: 'Cancelled',
    expired: 'This order has expired',
  }[status]
  const hint = told.from ? `The widget says (${told.from})` : 'The address says'
  return render(
    frame,
    panel,
    `${heading} · ${SHOP}`,
    html`<div id="order" aria-live="polite"><section class="card">
<h1 tabindex="-1" class="is-${status}">${heading}</h1>
<p>${product}, ${amount(payment.amount)}. Order <code>${reference}</code>.</p>
<dl class="told">
<div><dt>${hint}</dt><dd><code>${told.status ?? 'nothing'}</code><span>A hint: anyone can type it.</span></dd></div>
<div class="truth"><dt>The service says</dt><dd><code>${status}</code><span>The truth: <code>GET /payments/v1/payments/${reference}</code>, asked by the shop’s backend just now.</span></dd></div>
</dl>
${told.status && told.status !== status ? html`<p class="alert">They differ. A shop believes the service.</p>` : null}
${status === 'pending' && failure ? html`<p>The last try failed: ${failure.message}</p>` : null}
${status === 'pending' ? html`<p><a class="button" href="${payment.url}">Go on paying</a></p>` : null}
${webhooksOf(panel.lines)}
</section></div>
<p><a href="${frame.path}">Back to the shop</a></p>`,
  )
}

export function transferPage(frame: Frame, panel: Panel, payment: Payment, account: Account, received: number): string {
  const { reference, status } = payment
  const amount = amountIn(payment.currency)
  const missing = account.amountToTransfer - received
  const product = productOf(payment.metadata.product)?.name ?? 'order'
  const isOpen = status === 'pending'
  const heading = isOpen
    ? `Transfer ${amount(missing)}`
    : status === 'successful'
      ? 'Thank you! It is paid.'
      : 'This order is closed'
  const charge = account.amountToTransfer - payment.amount
  return render(
    frame,
    panel,
    `${heading} · ${SHOP}`,
    html`<div id="order" aria-live="polite"><section class="card">
<h1 tabindex="-1" class="is-${status}">${heading}</h1>
<p>${product}, ${amount(payment.amount)}${charge > 0 ? ` and a charge of ${amount(charge)}` : null}. Order <code>${reference}</code>.</p>
${isOpen && received > 0 ? html`<p class="alert">${amount(received)} of ${amount(account.amountToTransfer)} has arrived. ${amount(missing)} is missing.</p>` : null}
<dl class="account">
<div><dt>Bank</dt><dd>${account.bankName}</dd></div>
<div><dt>Account number</dt><dd class="number">${account.accountNumber}</dd></div>
<div><dt>Account name</dt><dd>${account.accountName}</dd></div>
<div><dt>${isOpen ? 'Received so far' : 'Received'}</dt><dd>${amount(received)}</dd></div>
</dl>
${
  isOpen
    ? html`<form method="post" action="${frame.path}/transfer" class="send">
<input type="hidden" name="reference" value="${reference}">
<button class="button" name="part" value="all">Send the transfer (sandbox)</button>
<button class="button quiet" name="part" value="half">Send only half</button>
</form>
<p class="note">Waiting for the money. This page changes by itself; without scripts, <a href="${frame.path}/transfer?reference=${encodeURIComponent(reference)}">look again</a>.</p>`
    : null
}
${webhooksOf(panel.lines)}
</section></div>
<p><a href="${frame.path}">Back to the shop</a></p>`,
  )
}

export function troublePage(frame: Frame, panel: Panel, heading: string, note: string): string {
  return render(
    frame,
    panel,
    `${heading} · ${SHOP}`,
    html`<section class="card"><h1>${heading}</h1><p>${note}</p></section><p><a href="${frame.path}">Back to the shop</a></p>`,
  )
}

export function webhooksOf(lines: Line[]): Html {
  const webhooks = lines
    .filter(({ kind }) => kind === 'webhook')
    .map(({ title, outcome }) => html`<li><code>${title}</code> ${outcome}</li>`)
  return html`<h2>Webhooks so far</h2>
${webhooks.length > 0 ? html`<ul class="webhooks">${joined(webhooks)}</ul>` : html`<p class="note">None yet. They come within a second of the change.</p>`}`
}

const KIND = { request: 'Shop → service', redirect: 'Browser', widget: 'Widget', webhook: 'Service → shop' }

/** One line of the log, as HTML that the browser inserts. */
export function lineItem({ number, at, kind, title, outcome, ok, bodies = [] }: Line): Html {
  const details = bodies.map(({ label, body }) => {
    const short = JSON.stringify(body, masked)
    return html`<details><summary><i>${label}</i> ${short.slice(0, 200)}</summary><pre tabindex="0">${JSON.stringify(body, masked, 2).slice(0, 8_000)}</pre></details>`
  })
  return html`<li id="line-${number}" class="${kind}${ok ? null : ' bad'}"><p><span class="kind">${KIND[kind]}</span><time datetime="${at.toISOString()}">${at.toLocaleTimeString('en-GB')}</time></p>
<p class="title">${title}${outcome ? html` <b>${outcome}</b>` : null}</p>${joined(details)}</li>`
}

/** E-mail addresses and phone numbers are redacted: the panel explains the calls and does not need them. */
function masked(name: string, value: unknown): unknown {
  if (name === 'phoneNumber' && typeof value === 'string') return '•••'
  return typeof value === 'string' ? value.replace(/([^\s@])[^\s@]*@(?=[^\s@])/g, '$1•••@') : value
}

export function page(frame: Frame, panel: Panel, heading: string, body: Html): string {
  return render(frame, panel, `${heading} · ${SHOP}`, body)
}

function render(frame: Frame, { lines, after, reference }: Panel, title: string, body: Html): string {
  const of = reference ? `reference=${encodeURIComponent(reference)}&` : ''
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(frame.style)}</style>
<script src="${frame.servicePath}/widget/v1.js" data-client-id="${frame.clientId}" defer></script>
</head>
<body>
<header><a href="${frame.path}">${SHOP}</a><span>Sandbox: no real money moves</span></header>
<div class="columns">
<main data-thanks="${frame.path}/thanks">
${body}
</main>
<aside class="behind" aria-labelledby="behind"><div>
<h2 id="behind">Behind the counter</h2>
<p>${reference ? html`All that happened to <code>${reference}</code>.` : 'All that you do here, as it happens.'} Each request carries <code>client-id</code> and <code>client-secret</code>; no browser ever sees the secret.<noscript> Without scripts, reload to see more.</noscript></p>
<ol id="lines" tabindex="0" aria-label="Requests, redirects and webhooks" data-live="${frame.path}/live?${of}after=${after}">${joined(lines.map(lineItem))}</ol>
<p class="empty">Nothing yet. Pay for something.</p>
<h3>Test cards</h3>
<dl>
<div><dt>4084 0840 8408 4081</dt><dd>pays</dd></div>
<div><dt>4000 0000 0000 9995</dt><dd>has insufficient funds</dd></div>
<div><dt>5060 6666 6666 6666 666</dt><dd>asks for a code: 123456</dd></div>
</dl>
<p>Any date to come, any security code.</p>
<h3>Where next</h3>
<p><a href="${frame.servicePath}/docs">The API, to read and to try</a>. docs/quickstart.md makes the same requests with <code>curl</code>; docs/webhooks.md has handlers to copy; this shop is <code>src/demo/</code>.</p>
</div></aside>
</div>
<script>${new Html(frame.script)}</script>
</body>
</html>
`.text
}
