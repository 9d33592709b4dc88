import assert from 'node:assert/strict'
import { type Currency, decimalsOf, type Money, money, parseCurrency } from '../../../src/kernel/money.ts'

export const SETTINGS = {
  secretKey: 'FLWSECK_TEST-0123456789abcdef0123456789abcdef-X',
  publicKey: 'FLWPUBK_TEST-0123456789abcdef0123456789abcdef-X',
  secretHash: 'a-long-random-word-of-the-merchants-own',
}

export const TOKENS = {
  paying: 'flw-t1nf-f9b3bf384cd30d6fca42b6df9d27bd2f-m03k',
  declining: 'flw-t1nf-00000000000000000000000000declin-m03k',
  unheardOf: 'flw-t1nf-nobody-m03k',
  askingForAStep: 'flw-t1nf-000000000000000000000000000asks-m03k',
}

export interface FakeOrder {
  reference: string
  amount: Money
  redirectURL: string
  email: string
  /** The bank lets this card be kept. */
  save: boolean
  /** How its transactions are shown. */
  shownAs: { type: string; authModel: string }
}

/** One transaction. */
export interface Try {
  id: number
  order: FakeOrder
  status: string
  amount: number
  charged: number
  response: string
  authModel: string
  type: string
  at: string
}

export interface Given {
  id: number
  of: Try
  amount: number
  comments: string | null
  status: string
  at: string
}

export interface FakeChargeback {
  id: number
  of: Try
  amount: number
  comment: string
  status: string
  at: string
  dueAt: string
}

/** What the documents leave open, or tell in two ways. Tests turn these. */
export interface Oddities {
  /** Which of several tries a look by reference shows. */
  shows: 'first' | 'last'
  amountsAs: 'numbers' | 'text'
  expiryAs: 'milliseconds' | 'milliseconds as text' | 'ISO' | 'local'
  notFoundAs: 200 | 400 | 404
  /** How an empty list of refunds or chargebacks is told: as one, or as an error with this status. */
  noneAs: 'empty list' | 200 | 400 | 404
  /** Notices of charges: with an envelope, or flat as older accounts get them. */
  noticesAs: 'events' | 'flat'
  repeatedLink: 'refused' | 'another link'
  smallTransfer: 'less amount' | 'less charged_amount'
  /** What they add for the customer to pay, when the merchant's dashboard says so. */
  customerBears: number
  refundStatus: string
  comments: 'kept' | 'forgotten'
  pageSize: number
  /** How old an entry has to be, to be in a list. */
  lagMs: number
}

export type Books = ReturnType<typeof openBooks>

/** What a fake Flutterwave has written down. */
export function openBooks() {
  const orders = new Map<string, FakeOrder>()
  const tries: Try[] = []
  /** A function writes its notice when it is sent. */
  const notices: (Buffer | (() => Buffer))[] = []
  let ids = 288_200_000
  const odd: Oddities = {
    shows: 'first', // the one that hides the most
    amountsAs: 'numbers',
    expiryAs: 'milliseconds',
    notFoundAs: 400,
    noneAs: 'empty list',
    noticesAs: 'events',
    repeatedLink: 'refused',
    smallTransfer: 'less amount',
    customerBears: 0,
    refundStatus: 'completed',
    comments: 'kept',
    pageSize: 20,
    lagMs: 0,
  }

  // A quotient of two doubles is the nearest to it that there is, so it prints as it should.
  const major = (minor: number, { amount: { currency } }: FakeOrder) => {
    const places = decimalsOf(currency)
    return odd.amountsAs === 'numbers' ? minor / 10 ** places : (minor / 10 ** places).toFixed(places)
  }

  /** As each of their answers shows a transaction; the token is in some of them only. */
  const record = ({ id, order, ...one }: Try, withToken: boolean) => ({
    id,
    tx_ref: order.reference,
    flw_ref: `FLW-MOCK-${id}`,
    device_fingerprint: 'N/A',
    amount: major(one.amount, order),
    currency: order.amount.currency,
    charged_amount: major(one.charged, order),
    app_fee: 1.4,
    merchant_fee: 0,
    processor_response: one.response,
    auth_model: one.authModel,
    ip: '::ffff:10.5.179.3',
    narration: 'CARD Transaction ',
    status: one.status,
    payment_type: one.type,
    created_at: one.at,
    account_id: 17_321,
    customer: { id: 1, name: 'Anonymous customer', phone_number: 'N/A', email: order.email, created_at: one.at },
    ...(one.type === 'card' && {
      card: {
        ...{ first_6digits: '553188', last_4digits: '2950', issuer: 'MASTERCARD CREDIT', country: 'NIGERIA NG' },
        ...{ type: 'MASTERCARD', expiry: '09/32', ...(withToken && order.save && { token: TOKENS.paying }) },
      },
    }),
  })

  /** Successes and failures have the same name; the card in them has no token. */
  const noticeOf = (one: Try) => {
    const type = `${one.type.toUpperCase()}_TRANSACTION`
    return asBody(
      odd.noticesAs === 'flat'
        ? { ...flatRecord(one), 'event.type': type }
        : { event: 'charge.completed', data: record(one, false), 'event.type': type },
    )
  }

  const flatRecord = ({ id, order, amount, charged, status, at }: Try) => ({
    ...{
      id,
      txRef: order.reference,
      flwRef: `FLW-MOCK-${id}`,
      orderRef: `URF_${id}`,
      paymentPlan: null,
      createdAt: at,
    },
    ...{ amount: major(amount, order), charged_amount: major(charged, order), status, IP: '::ffff:10.5.179.3' },
    ...{ currency: order.amount.currency, customer: { id: 1, email: order.email }, entity: { card6: '553188' } },
  })

  /** Names the transaction alone, in words of its own. */
  const refundNoticeOf = ({ id, of, amount, comments, status, at }: Given) =>
    asBody({
      ...{
        id,
        AccountId: 17_321,
        TransactionId: of.id,
        FlwRef: `URF_${id}`,
        walletId: 1,
        AmountRefunded: major(amount, of.order),
      },
      ...{
        status,
        destination: 'payment_source',
        comments,
        settlementId: 'NEW',
        meta: '{}',
        createdAt: at,
        updatedAt: at,
      },
    })

  const chargebackRecord = ({ id, of, amount, status, comment, at, dueAt }: FakeChargeback) => ({
    ...{
      id,
      amount: major(amount, of.order),
      flw_ref: `FLW-MOCK-${of.id}`,
      status,
      stage: 'new',
      comment,
      due_date: dueAt,
    },
    ...{ meta: { uploaded_proof: null, history: [] }, settlement_id: 'N/A', created_at: at },
    ...{ transaction_id: of.id, tx_ref: of.order.reference },
  })

  const chargebackNoticeOf = (one: FakeChargeback) =>
    asBody({ event: `chargeback.${one.status}`, data: chargebackRecord(one) })

  function addTry(order: FakeOrder, changes: Partial<Omit<Try, 'id' | 'order'>> = {}): Try {
    const { amount } = order.amount
    const made: Try = {
      ...{ id: ++ids, order, status: 'successful', amount, charged: amount + odd.customerBears },
      ...{ response: 'Approved by Financial Institution', ...order.shownAs },
      at: `${new Date().toISOString().slice(0, 19)}.000Z`,
      ...changes,
    }
    tries.push(made)
    if (made.status === 'successful' || made.status === 'failed') notices.push(noticeOf(made))
    return made
  }

  function change(one: Try, changes: Partial<Try>): void {
    Object.assign(one, changes)
    notices.push(noticeOf(one))
  }

  const refunds: Given[] = []
  const chargebacks: FakeChargeback[] = []

  const paidTry = (reference: string) =>
    tries.findLast(({ order, status }) => order.reference === reference && status === 'successful') ??
    assert.fail('it was paid')

  const leftOf = (of: Try) =>
    refunds
      .filter((refund) => refund.of === of && refund.status !== 'failed')
      .reduce((left, { amount }) => left - amount, of.amount)

  function addRefund(of: Try, amount: number, comments: string | null, status: string): Given {
    const made = { id: ++ids, of, amount, comments, status, at: new Date().toISOString() }
    refunds.push(made)
    notices.push(refundNoticeOf(made))
    // Disbursed by the time that they tell of it.
    if (status === 'completed')
      notices.push(() => {
        made.status = doneAs(of.type)
        return refundNoticeOf(made)
      })
    return made
  }

  function addChargeback(of: Try, amount: number, comment: string): FakeChargeback {
    const [at, dueAt] = [0, 86_400_000].map(
      (ahead) => `${new Date(Date.now() + ahead).toISOString().slice(0, 19)}.000Z`,
    )
    const made = { ...{ id: ++ids, of, amount, comment, status: 'initiated' }, at: String(at), dueAt: String(dueAt) }
    chargebacks.push(made)
    notices.push(chargebackNoticeOf(made))
    return made
  }

  function closeChargeback(id: string, status: 'won' | 'lost'): void {
    const one = chargebacks.find((each) => String(each.id) === id) ?? assert.fail('there is such a chargeback')
    one.status = status
    notices.push(chargebackNoticeOf(one))
  }

  return {
    ...{ refunds, chargebacks, paidTry, leftOf, addRefund, addChargeback, closeChargeback },
    ...{ refundNoticeOf, chargebackRecord, chargebackNoticeOf },
    odd,
    orders,
    links: new Map<string, FakeOrder>(),
    tries,
    notices,
    major,
    record,
    noticeOf,
    addTry,
    nextId: () => ++ids,
    fail: (order: FakeOrder, response = 'Insufficient Funds') => addTry(order, { status: 'failed', response }),
    triesOf: (reference: string) => tries.filter(({ order }) => order.reference === reference),
    find: (reference: string) => orders.get(reference) ?? assert.fail('there is such an order'),

    addOrder(fields: Record<string, unknown>, email: unknown, shownAs = BY_CARD): FakeOrder {
      const { tx_ref: reference = '', amount = '', currency = '', redirect_url = '' } = fields as Record<string, string>
      const sum = money(minorOfDigits(amount), parseCurrency(currency) as Currency)
      const order = { reference, amount: sum, redirectURL: redirect_url, email: String(email), save: true, shownAs }
      orders.set(reference, order)
      return order
    },

    /** A try that waited for the bank's word has it. */
    end(reference: string, changes: Partial<Try>): void {
      const open = tries.findLast(({ order, status }) => order.reference === reference && status === 'pending')
      if (open) change(open, changes)
    },
    change,
  }
}

export const BY_CARD = { type: 'card', authModel: 'VBVSECURECODE' }

/** The status of a refund that the customer has, by how the payment was made. */
function doneAs(type: string): string {
  if (type === 'card') return 'completed-mpgs'
  return /^(mpesa|mobilemoney)/.test(type) ? 'completed-momo' : 'completed-bank-transfer'
}

const asBody = (notice: object) => Buffer.from(JSON.stringify(notice))

/** Of an amount with two decimals. */
export const minorOfDigits = (amount: unknown) => Number(String(amount).replace('.', ''))
