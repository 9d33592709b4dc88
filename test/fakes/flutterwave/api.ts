import { type HostedOrder, hostedPage } from '../hosted-page.ts'
import type { Asked, Said } from '../upstream.ts'
import { accept, DUPLICATE, NOT_FOUND, refuse, succeed } from './answers.ts'
import { charges, phones } from './charges.ts'
import type { settlementsOf } from './settlements.ts'
import { type Books, type FakeOrder, type Given, minorOfDigits, SETTINGS, TOKENS } from './state.ts'

/** A strict Flutterwave: what the documents do not allow is refused, also where the real one may let it pass. */
export function speaks(
  books: Books,
  settlements: ReturnType<typeof settlementsOf>,
  ownURL: () => string,
): (asked: Asked) => Said {
  const { odd, orders } = books
  const charge = charges(books, ownURL)
  const phone = phones(books)

  function startLink(body: string): Said {
    const needed = ['tx_ref', 'amount', 'currency', 'redirect_url', 'customer', 'payment_options']
    const fields = accept(body, needed, ['configurations', 'customizations'])
    if (typeof fields === 'string') return refuse(400, fields)
    const { customer = {}, configurations = {} } = fields as Record<string, Record<string, unknown> | undefined>
    const { session_duration: minutes } = configurations
    if (!/^\S+@\S+$/.test(String(customer.email))) return refuse(400, 'customer.email is required')
    if (Object.keys(customer).some((name) => !['email', 'name', 'phonenumber'].includes(name)))
      return refuse(400, 'customer has fields that are not allowed')
    if (!Number.isInteger(minutes) || Number(minutes) < 1 || Number(minutes) > 1_440)
      return refuse(400, 'session_duration must be 1 to 1440 minutes')
    const known = orders.get(String(fields.tx_ref))
    if (known && odd.repeatedLink === 'refused') return refuse(400, DUPLICATE)
    const name = `flwlnk-${String(books.nextId()).padStart(26, '0')}`
    books.links.set(name, known ?? books.addOrder(fields, customer.email))
    return succeed('Hosted Link', { data: { link: `${ownURL()}/v3/hosted/pay/${name}` } })
  }

  function chargeToken(body: string): Said {
    const needed = ['token', 'email', 'currency', 'country', 'amount', 'tx_ref', 'redirect_url']
    const fields = accept(body, needed, ['narration', 'first_name', 'last_name', 'ip', 'meta'])
    if (typeof fields === 'string') return refuse(400, fields)
    const { token, email, tx_ref: reference } = fields
    if (orders.has(String(reference))) return refuse(400, DUPLICATE)
    if (!Object.values(TOKENS).includes(String(token)) || token === TOKENS.unheardOf)
      return refuse(400, 'Invalid token')
    const order = books.addOrder(fields, email)
    if (token === TOKENS.declining) {
      return succeed('Charge initiated', { data: books.record(books.fail(order, 'Do Not Honour'), true) })
    }
    if (token === TOKENS.paying) {
      return succeed('Charge successful', { data: books.record(books.addTry(order, { authModel: 'noauth' }), true) })
    }
    const open = books.addTry(order, { status: 'pending', response: 'Approved' })
    // Their own sample has a space in this address.
    const redirect = `${ownURL()}/mockvbvpage/${order.reference}?code=00&message=Approved. Successful`
    const meta = { authorization: { mode: 'redirect', redirect } }
    return succeed('Charge initiated', { data: { ...books.record(open, false), meta } })
  }

  function refund(id: string, body: string): Said {
    const of = books.tries.find((one) => String(one.id) === id && one.status === 'successful')
    if (!of) return refuse(404, NOT_FOUND)
    const fields = accept(body, ['amount'], ['comments', 'callbackurl'], of.order.amount.currency)
    if (typeof fields === 'string') return refuse(400, fields)
    const amount = minorOfDigits(fields.amount)
    if (amount > books.leftOf(of)) return refuse(400, 'Refund amount cannot be greater than the transaction amount')
    const comments = typeof fields.comments === 'string' ? fields.comments : null
    const made = books.addRefund(of, amount, comments, odd.refundStatus)
    const sum = { id: made.id, tx_id: of.id, amount_refunded: books.major(amount, of.order), status: made.status }
    return succeed('Transaction refund initiated', {
      data: { ...sum, account_id: 17_321, flw_ref: `URF_${made.id}`, destination: 'payment_source' },
    })
  }

  /** Newest first. */
  function page<T>(all: T[], query: URLSearchParams, show: (one: T) => object): { data: object[]; meta: object } {
    const current = Number(query.get('page') ?? 1)
    const some = all.toReversed().slice((current - 1) * odd.pageSize, current * odd.pageSize)
    const pages = Math.max(1, Math.ceil(all.length / odd.pageSize))
    const info = { total: all.length, current_page: current, total_pages: pages, page_size: odd.pageSize }
    return { data: some.map(show), meta: { page_info: info } }
  }

  /** `from` and `to` are days, both included. */
  function within<T extends { at: string }>(all: T[], query: URLSearchParams): T[] {
    const [from, to] = [query.get('from') ?? '0000-01-01', query.get('to') ?? '9999-12-31']
    const known = all.filter(({ at }) => odd.lagMs === 0 || Date.parse(at) <= Date.now() - odd.lagMs)
    return known.filter(({ at }) => at.slice(0, 10) >= from && at.slice(0, 10) <= to)
  }

  function listTransactions(query: URLSearchParams): Said {
    const [reference, status] = [query.get('tx_ref'), query.get('status')]
    const some = within(books.tries, query).filter(
      (one) => (!reference || one.order.reference === reference) && (!status || one.status === status),
    )
    // Here an id is text.
    const show = (one: (typeof some)[number]) => ({ ...books.record(one, false), id: String(one.id) })
    return succeed('Transactions fetched', page(some, query, show))
  }

  function listRefunds(query: URLSearchParams): Said {
    const some = ofTransaction(within(books.refunds, query), query)
    const show = ({ id, of, amount, comments, status, at }: Given) => ({
      ...{
        id,
        amount_refunded: books.major(amount, of.order),
        status,
        flw_ref: `URF_${id}`,
        settlement_id: 'NEW',
        meta: '{}',
      },
      ...{ comment: odd.comments === 'kept' ? comments : null, account_id: 17_321, transaction_id: of.id },
      created_at: at,
    })
    if (some.length === 0 && odd.noneAs !== 'empty list') return refuse(odd.noneAs, 'No refund found')
    return succeed('Refunds fetched', page(some, query, show))
  }

  function listChargebacks(query: URLSearchParams): Said {
    const some = ofTransaction(within(books.chargebacks, query), query)
    if (some.length === 0 && odd.noneAs !== 'empty list') return refuse(odd.noneAs, 'No chargebacks found')
    return succeed('Chargebacks fetched', page(some, query, books.chargebackRecord))
  }

  function verify(path: string, query: URLSearchParams): Said {
    const some = path.endsWith('/verify_by_reference')
      ? books.triesOf(query.get('tx_ref') ?? '')
      : books.tries.filter(({ id }) => path === `/v3/transactions/${id}/verify`)
    const one = odd.shows === 'first' ? some[0] : some.at(-1)
    if (!one) return refuse(odd.notFoundAs, NOT_FOUND)
    return succeed('Transaction fetched successfully', { data: books.record(one, true) })
  }

  /** The page behind a link. It stays open after a decline. */
  const cardPage = (order: FakeOrder | undefined): HostedOrder | undefined =>
    order && {
      amount: order.amount,
      pay: () => void books.addTry(order),
      decline: () => void books.fail(order),
      paidTo: () => {
        const id = books.triesOf(order.reference).at(-1)?.id
        return backTo(order, { status: 'successful', tx_ref: order.reference, transaction_id: String(id) })
      },
      cancelledTo: () => backTo(order, { status: 'cancelled', tx_ref: order.reference }),
    }

  /** Where a bank asks for a code. The customer comes back with one parameter, which holds JSON. */
  const bankPage = (order: FakeOrder | undefined): HostedOrder | undefined =>
    order && {
      amount: order.amount,
      pay: () => books.end(order.reference, { status: 'successful' }),
      decline: () => books.end(order.reference, { status: 'failed', response: 'Authentication failed' }),
      paidTo: () => backTo(order, { response: JSON.stringify({ txRef: order.reference, status: 'successful' }) }),
      cancelledTo: () => backTo(order, { response: JSON.stringify({ txRef: order.reference, status: 'failed' }) }),
    }

  /** Of a network or a bank: a code is typed there, then the customer approves. */
  const networkPage = (order: FakeOrder | undefined): HostedOrder | undefined =>
    order && {
      amount: order.amount,
      pay: () => void phone.approve(order.reference),
      decline: () => void phone.refuse(order.reference),
      paidTo: () => backTo(order, { status: 'successful', tx_ref: order.reference }),
      cancelledTo: () => backTo(order, { status: 'cancelled', tx_ref: order.reference }),
    }

  return (asked) => {
    const { method, path, headers, body } = asked
    const shown =
      hostedPage(asked, '/v3/hosted/pay/', (name) => cardPage(books.links.get(name))) ??
      hostedPage(asked, '/mockvbvpage/', (reference) => bankPage(orders.get(reference))) ??
      hostedPage(asked, '/captcha/verify/lang-en/', (reference) => networkPage(orders.get(reference)))
    if (shown) return shown
    if (headers.authorization !== `Bearer ${SETTINGS.secretKey}`) return refuse(401, 'Invalid authorization key')
    const { pathname, searchParams } = new URL(path, ownURL())
    if (method === 'GET') {
      const paidOut = settlements.speak(pathname, searchParams, page, within)
      if (paidOut) return paidOut
      if (pathname === '/v3/transactions') return listTransactions(searchParams)
      if (pathname === '/v3/chargebacks') return listChargebacks(searchParams)
      return pathname === '/v3/refunds' ? listRefunds(searchParams) : verify(pathname, searchParams)
    }
    if (headers['content-type'] !== 'application/json') return refuse(400, 'JSON is required')
    const [, refunded] = /^\/v3\/transactions\/(\d+)\/refund$/.exec(pathname) ?? []
    if (refunded) return refund(refunded, body)
    if (path === '/v3/payments') return startLink(body)
    if (path === '/v3/tokenized-charges') return chargeToken(body)
    if (pathname === '/v3/charges') return charge(searchParams.get('type') ?? '', body)
    return { status: 404, text: `Cannot ${method} ${path}` }
  }
}

const ofTransaction = <T extends { of: { id: number } }>(all: T[], query: URLSearchParams) =>
  all.filter(({ of }) => !query.has('id') || String(of.id) === query.get('id'))

function backTo({ redirectURL }: FakeOrder, added: Record<string, string>): string {
  const url = new URL(redirectURL)
  for (const [name, value] of Object.entries(added)) url.searchParams.set(name, value)
  return url.href
}
