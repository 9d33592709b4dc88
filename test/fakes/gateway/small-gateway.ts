import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { gateway } from '../../../src/providers/gateway/adapter.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import type { NoticeKind, Rig } from '../../../test/fakes/conformance-rig.ts'
import { type Asked, httpTo, type Said, startUpstream } from '../../../test/fakes/upstream.ts'

export const SECRET_KEY = 'gsk_0190a1b2c3d47e5f8a9b0c1d2e3f4a5b_0123456789abcdef0123456789abcdef01234567'

export const PUBLIC_KEY = 'gpk_0190a1b2c3d47e5f8a9b0c1d2e3f4a5b'

export const CARD = { token: 'tok_paying', brand: 'Visa', last4: '4081', expiryMonth: 12, expiryYear: 2030 }

export interface Payment {
  asked: Record<string, unknown>
  body: string
  transactions: { id: string; kind: string; status: string; amount: unknown; [field: string]: unknown }[]
  saved: boolean
  /** Wrong codes so far; undefined when none is wanted, or not any more. */
  codeWanted?: number | undefined
}

/** What the customer pays with. A number that ends in 059 gives a code first. */
function meansOf(asked: Payment['asked'], codeWanted: number | undefined, name: string | undefined): object {
  const { reference, channel = 'card', expiresAt, network } = asked
  switch (channel) {
    case 'transfer':
      return { account: { name, number: '9912345678', bank: 'Sandbox Bank', expiresAt } }
    case 'mobile-money': {
      if (network === 'mpesa-paybill') return { payTo: { number: '402402', account: '9912345679' } }
      const input = codeWanted !== undefined && { input: { kind: 'otp', message: 'Enter the code.' } }
      return { prompt: { message: 'Approve on your phone.' }, ...input }
    }
    case 'ussd':
      return { dial: { code: '*402*000*7#', bank: 'Guaranty Trust Bank', message: 'Dial it.' } }
    case 'qr':
      return { qr: `https://gateway.example/pay/${reference}` }
    default:
      return { link: `https://gateway.example/pay/${reference}` }
  }
}

/** The protocol, as small as it can be: payments in a map, and a customer who acts on them. */
export function smallGateway() {
  const payments = new Map<string, Payment>()
  const refunds = new Map<string, { id: string; [field: string]: unknown }>()
  const disputes: { of: string; id: string; amount: number; status: string; [field: string]: unknown }[] = []
  let [pageSize, lagMs] = [100, 0]
  const asked: Asked[] = []
  let [ids, namesHidden] = [0, false]

  function add(payment: Payment, kind: string, status: string, amount: unknown, more: object = {}): string {
    const id = `gtx_${++ids}`
    const { currency } = payment.asked
    payment.transactions.push({ id, kind, status, amount, currency, at: new Date().toISOString(), ...more })
    return id
  }
  const fail = (payment: Payment, code: string) =>
    add(payment, 'charge', 'failed', payment.asked.amount, { failure: { code, message: `No: ${code}.` } })

  function recordOf({ asked, transactions, saved, codeWanted }: Payment) {
    const { reference, channel = 'card', currency, expiresAt, amount: requested } = asked
    const sum = (kinds: string[]) =>
      transactions
        .filter(({ kind, status }) => kinds.includes(kind) && status === 'paid')
        .reduce((sum, { amount }) => sum + (amount as number), 0)
    const [amount, refunded] = [sum(['charge', 'transfer']), sum(['refund', 'dispute'])]
    const last = transactions.findLast(({ kind }) => kind === 'charge')?.status
    const isInParts = transactions.some(({ kind }) => kind === 'transfer')
    const isPaid = amount > 0 && (!isInParts || amount >= (requested as number))
    const status =
      amount > 0 && amount === refunded ? 'refunded' : isPaid ? 'paid' : last === 'failed' ? 'failed' : 'pending'
    return {
      ...{ reference, channel, status, requested, amount, refunded, currency, publicKey: PUBLIC_KEY, expiresAt },
      ...meansOf(asked, codeWanted, namesHidden ? undefined : 'Ada & Sons'),
      transactions,
      ...(saved && amount > 0 && { savedCard: CARD }),
    }
  }

  const ok = (data: object, status = 200): Said => ({ status, text: JSON.stringify({ data }) })
  const refuse = (status: number, code: string): Said => ({
    status,
    text: JSON.stringify({ type: `urn:manilla:problem:${code}`, code, detail: `Refused: ${code}` }),
  })

  function open(body: string, charge: boolean): Said {
    const asked = JSON.parse(body)
    const existing = payments.get(asked.reference)
    if (existing) return existing.body === body ? ok(recordOf(existing)) : refuse(409, 'duplicate_reference')
    if (asked.savedCard && !asked.savedCard.startsWith('tok_')) return refuse(422, 'invalid_token')
    const payment: Payment = { asked, body, transactions: [], saved: false }
    if (asked.phoneNumber?.endsWith('059')) payment.codeWanted = 0
    payments.set(asked.reference, payment)
    if (charge && asked.savedCard === 'tok_paying') add(payment, 'charge', 'paid', asked.amount)
    if (charge && asked.savedCard === 'tok_declining') fail(payment, 'insufficient_funds')
    return ok(recordOf(payment), charge ? 200 : 201)
  }

  function takeCode(payment: Payment, code: string): Said {
    if (payment.codeWanted === undefined) return ok(recordOf(payment))
    if (code !== '123456') {
      payment.codeWanted++
      if (payment.codeWanted < 3) return refuse(422, 'incorrect_otp')
      payment.codeWanted = undefined
      fail(payment, 'incorrect_otp')
      return ok(recordOf(payment))
    }
    payment.codeWanted = undefined
    add(payment, 'charge', 'paid', payment.asked.amount)
    return ok(recordOf(payment))
  }

  function leftOf(payment: Payment): number {
    const { amount, refunded } = recordOf(payment)
    return amount - refunded
  }

  function refund(body: string): Said {
    const { reference, payment: of, amount } = JSON.parse(body)
    const payment = payments.get(of)
    if (!payment) return refuse(404, 'not_found')
    const earlier = refunds.get(reference)
    if (earlier) return ok(earlier)
    if (amount > leftOf(payment)) return refuse(422, 'refund_exceeds_payment')
    const { currency } = recordOf(payment)
    const given = { id: add(payment, 'refund', 'paid', amount), reference, payment: of, amount, currency }
    refunds.set(reference, { ...given, status: 'successful' })
    return ok({ ...given, status: 'successful' })
  }

  function returnsIn(payment: Payment) {
    const { reference, currency } = payment.asked
    const listed = payment.transactions
      .filter(({ kind }) => kind === 'refund')
      .map(({ id, amount, currency, at }) => {
        const ours = [...refunds.entries()].find(([, refund]) => refund.id === id)?.[0] ?? null
        return { id, reference: ours, amount, currency, at, status: 'successful' }
      })
    const own = disputes.filter(({ of }) => of === reference).map(({ of, ...dispute }) => ({ ...dispute, currency }))
    return { reference, refunds: listed, disputes: own }
  }

  function takenIn(payment: Payment) {
    return payment.transactions
      .filter(({ kind, status }) => (kind === 'charge' || kind === 'transfer') && status === 'paid')
      .map(({ id, amount, currency, at }) => {
        const { reference, refunded } = recordOf(payment)
        return { id, reference, amount, currency, at, refunded }
      })
  }

  /** A page of a list of the account. */
  function listed(name: string, query: URLSearchParams): Said {
    const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
    const latest = new Date(Date.now() - lagMs).toISOString()
    const all = [...payments.values()].flatMap((payment): Record<string, unknown>[] => {
      if (name === 'transactions') return takenIn(payment)
      const { reference, refunds, disputes } = returnsIn(payment)
      return (name === 'refunds' ? refunds : disputes).map((one) => ({ ...one, payment: reference }))
    })
    const found = all.filter(
      ({ openedAt, at = openedAt }) => String(at) >= from && String(at) < to && String(at) <= latest,
    )
    const start = Number(query.get('cursor') ?? 0)
    const end = start + Math.min(pageSize, Number(query.get('limit')))
    return ok({ [name]: found.slice(start, end), nextCursor: end < found.length ? String(end) : null })
  }

  return {
    asked,
    payments,
    refunds,
    disputes,
    leftOf,
    limitPages: (size: number) => {
      pageSize = size
    },
    listsLag: (ms: number) => {
      lagMs = ms
    },
    otherShopSells() {
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const asked = { reference: 'order-77', channel: 'card', amount: 700, currency: 'NGN', expiresAt }
      const payment: Payment = { asked, body: '', transactions: [], saved: false }
      payments.set(asked.reference, payment)
      add(payment, 'charge', 'paid', 700)
      add(payment, 'refund', 'paid', 200)
    },
    add,
    fail,
    recordOf,
    hideNames: () => {
      namesHidden = true
    },
    speak(request: Asked): Said {
      asked.push(request)
      const { method, path, headers, body } = request
      if (headers.authorization !== `Bearer ${SECRET_KEY}`) return refuse(401, 'unauthorized')
      if (method === 'POST' && path === '/sandbox/gateway/v1/payments') return open(body, false)
      if (method === 'POST' && path === '/sandbox/gateway/v1/charges') return open(body, true)
      if (method === 'POST' && path === '/sandbox/gateway/v1/refunds') return refund(body)
      const [, name = '', rest] = /^\/sandbox\/gateway\/v1\/payments\/([^/]+)(\/returns|\/input)?$/.exec(path) ?? []
      const [, list = '', query] = /^\/sandbox\/gateway\/v1\/(transactions|refunds|disputes)\?(.*)$/.exec(path) ?? []
      if (list) return listed(list, new URLSearchParams(query))
      const payment = payments.get(name)
      if (method === 'POST' && payment && rest === '/input') return takeCode(payment, JSON.parse(body).code)
      if (method === 'GET' && payment && rest) return ok(returnsIn(payment))
      return method === 'GET' && payment ? ok(recordOf(payment)) : refuse(404, 'not_found')
    },
  }
}

export function sign(body: Buffer, at: Date, secretKey = SECRET_KEY): RawNotice {
  const t = Math.floor(at.getTime() / 1000)
  const v1 = createHmac('sha256', secretKey)
    .update(Buffer.concat([Buffer.from(`${t}.`), body]))
    .digest('hex')
  return { headers: { 'gateway-signature': `t=${t},v1=${v1}` }, body, receivedAt: at }
}

export const TYPES: Partial<Record<NoticeKind, string>> = {
  paid: 'payment.paid',
  failed: 'payment.failed',
  processing: 'payment.processing',
  refund: 'refund.successful',
  dispute: 'dispute.opened',
}

export async function setUp(t: TestContext) {
  const server = smallGateway()
  const upstream = await startUpstream(t, server.speak)
  const settings = { secretKey: SECRET_KEY, publicKey: PUBLIC_KEY }
  const baseURL = `${upstream.url}/sandbox/gateway`
  const connection = gateway.connect({ mode: 'sandbox', settings, baseURL, http: httpTo(upstream) })
  const find = (reference: string) => server.payments.get(reference) ?? assert.fail('there is such a payment')

  const rig: Rig = {
    provider: gateway,
    baseURL,
    settings,
    connection,
    upstream,
    secrets: [SECRET_KEY],
    price: { amount: 1_025_381, currency: 'NGN', country: 'NG' },
    ordersMade: () => server.payments.size,
    refundsMade: () => server.refunds.size,
    customer: {
      async payByCard(reference, { save }) {
        const payment = find(reference)
        payment.saved = save
        server.add(payment, 'charge', 'paid', payment.asked.amount)
      },
      async failByCard(reference) {
        server.fail(find(reference), 'card_declined')
      },
      async approve(reference) {
        const payment = find(reference)
        const kind = payment.asked.network === 'mpesa-paybill' ? 'transfer' : 'charge'
        server.add(payment, kind, 'paid', payment.asked.amount)
      },
      async refuse(reference) {
        server.fail(find(reference), 'customer_cancelled')
      },
      async expire(reference) {
        // A link and a number to pay to merely end.
        const { channel, network } = find(reference).asked
        if (channel !== 'bank' && network !== 'mpesa-paybill') server.fail(find(reference), 'prompt_expired')
      },
      async transfer(reference, amount) {
        server.add(find(reference), 'transfer', 'paid', amount)
      },
    },
    savedCards: {
      paying: 'tok_paying',
      declining: 'tok_declining',
      unheardOf: 'nobody',
      askingForAStep: 'tok_asking',
    },
    hideAccountNames: server.hideNames,
    limitPages: server.limitPages,
    listsLag: server.listsLag,
    otherShopSells: server.otherShopSells,
    async refundAtProvider(reference, amount) {
      const left = server.leftOf(find(reference))
      return amount > left ? undefined : server.add(find(reference), 'refund', 'paid', amount)
    },
    async disputeAtProvider(reference, { amount, reason }) {
      const id = `gds_${server.disputes.length + 1}`
      const openedAt = new Date().toISOString()
      const respondBy = new Date(Date.now() + 86_400_000).toISOString()
      server.disputes.push({ of: reference, id, amount, reason, status: 'open', openedAt, respondBy })
      return id
    },
    async closeDispute(id, outcome) {
      const dispute = server.disputes.find((each) => each.id === id) ?? assert.fail('there is such a dispute')
      dispute.status = outcome
      if (outcome === 'lost') server.add(find(dispute.of), 'dispute', 'paid', dispute.amount)
    },
    notices: {
      sign,
      signAsAnother: (body, at) => sign(body, at, SECRET_KEY.replace('gsk_0', 'gsk_1')),
      covers: { body: true, time: true },
      bodyOf(kind, reference) {
        const type = TYPES[kind]
        if (!type) return undefined
        const given = find(reference).transactions.find((transaction) => transaction.kind === 'refund')
        const refund = given && { id: given.id, amount: given.amount, currency: given.currency }
        return noticeBody({ type, reference, data: server.recordOf(find(reference)), ...(refund && { refund }) })
      },
    },
  }
  return { ...rig, server, find }
}

export const noticeBody = (fields: object) =>
  Buffer.from(JSON.stringify({ id: 'ntc_1', createdAt: new Date().toISOString(), ...fields }))
