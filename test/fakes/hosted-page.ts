import { html } from '../../src/kernel/html.ts'
import { formatMoney, type Money } from '../../src/kernel/money.ts'
import type { Asked, Said } from './upstream.ts'

/** An order as its hosted page needs it. */
export interface HostedOrder {
  amount: Money
  /** What becomes of it when the customer presses the button of that name. */
  pay(): void
  decline(): void
  /** Where the customer goes afterwards, with what this provider adds to the address; undefined: they stay. */
  paidTo(): string | undefined
  cancelledTo(): string | undefined
}

/**
 * The page on which a fake provider takes cards: three buttons. Under `{prefix}{id}`; undefined for what is not there.
 */
export function hostedPage(
  { method, path, body }: Asked,
  prefix: string,
  find: (id: string) => HostedOrder | undefined,
): Said | undefined {
  if (!path.startsWith(prefix)) return undefined
  const order = find(decodeURIComponent(path.slice(prefix.length).split('?')[0] ?? ''))
  if (!order) return page(404, 'No such payment', '')
  if (method !== 'POST') return show(order, '')
  switch (new URLSearchParams(body).get('press')) {
    case 'pay':
      order.pay()
      return leave(order.paidTo()) ?? page(200, 'Paid', '')
    case 'decline':
      order.decline()
      return show(order, 'Declined. Try another card.')
    default:
      return leave(order.cancelledTo()) ?? page(200, 'Cancelled', '')
  }
}

function show({ amount }: HostedOrder, note: string): Said {
  const buttons = html`<form method="post"><button name="press" value="pay">Pay</button>
    <button name="press" value="decline">Decline</button> <button name="press" value="cancel">Cancel</button></form>`
  return page(200, `Pay ${formatMoney(amount)}`, html`<p role="status">${note}</p>${buttons}`.text)
}

const page = (status: number, title: string, markup: string): Said => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  text: `${html`<!doctype html><title>${title}</title><h1>${title}</h1>`.text}${markup}`,
})

const leave = (location: string | undefined): Said | undefined =>
  location === undefined ? undefined : { status: 302, headers: { location }, text: '' }
