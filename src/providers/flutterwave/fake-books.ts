import assert from 'node:assert/strict'
import { type Currency, type Money, money, parseCurrency } from '../../kernel/money.ts'

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
  type: 'card' | 'bank_transfer'
  at: string
}

export interface Given {
  id: number
  of: Try
  amount: number
  comments: string | null
  status: string
}

/** What the documents leave open, or tell in two ways. Tests turn these. */
export interface Oddities {
  /** Which of several tries a look by reference shows. */
  shows: 'first' | 'last'
  amountsAs: 'numbers' | 'text'
  expiryAs: 'milliseconds' | 'ISO' | 'local'
  notFoundAs: 400 | 404
  repeatedLink: 'refused' | 'another link'
  smallTransfer: 'less amount' | 'less charged_amount'
  /** What they add for the customer to pay, when the merchant's dashboard says so. */
  customerBears: number
  refundStatus: string
  comments: 'kept' | 'forgotten'
  pageSize: number
}

export type Books = ReturnType<typeof openBooks>

/** What a fake Flutterwave has written down. */
export function openBooks() {
  const orders = new Map<string, FakeOrder>()
  const tries: Try[] = []
  const notices: Buffer[] = []
  let ids = 288_200_000
  const odd: Oddities = {
    shows: 'first', // the one that hides the most
    amountsAs: 'numbers',
    expiryAs: 'milliseconds',
    notFoundAs: 400,
    repeatedLink: 'refused',
    smallTransfer: 'less amount',
    customerBears: 0,
    refundStatus: 'completed',
    comments: 'kept',
    pageSize: 20,
  }

  // A quotient of two doubles is the nearest to it that there is, so it prints as it should.
  const major = (minor: number) => (odd.amountsAs === 'numbers' ? minor / 100 : (minor / 100).toFixed(2))

  /** As each of their answers shows a transaction; the token is in some of them only. */
  const record = ({ id, order, ...one }: Try, withToken: boolean) => ({
    id,
    tx_ref: order.reference,
    flw_ref: `FLW-MOCK-${id}`,
    device_fingerprint: 'N/A',
    amount: major(one.amount),
    currency: order.amount.currency,
    charged_amount: major(one.charged),
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
  const noticeOf = (one: Try) =>
    Buffer.from(
      JSON.stringify({
        event: 'charge.completed',
        data: record(one, false),
        'event.type': one.type === 'card' ? 'CARD_TRANSACTION' : 'BANK_TRANSFER_TRANSACTION',
      }),
    )

  function addTry(order: FakeOrder, changes: Partial<Omit<Try, 'id' | 'order'>> = {}): Try {
    const { amount } = order.amount
    const made: Try = {
      ...{ id: ++ids, order, status: 'successful', amount, charged: amount + odd.customerBears },
      ...{ response: 'Approved by Financial Institution', authModel: 'VBVSECURECODE', type: 'card' as const },
      at: `${new Date().toISOString().slice(0, 19)}.000Z`,
      ...changes,
    }
    tries.push(made)
    if (made.status === 'successful' || made.status === 'failed') notices.push(noticeOf(made))
    return made
  }

  return {
    odd,
    orders,
    links: new Map<string, FakeOrder>(),
    tries,
    refunds: [] as Given[],
    notices,
    major,
    record,
    noticeOf,
    addTry,
    nextId: () => ++ids,
    fail: (order: FakeOrder, response = 'Insufficient Funds') => addTry(order, { status: 'failed', response }),
    triesOf: (reference: string) => tries.filter(({ order }) => order.reference === reference),
    find: (reference: string) => orders.get(reference) ?? assert.fail('there is such an order'),

    addOrder(fields: Record<string, unknown>, email: unknown): FakeOrder {
      const { tx_ref: reference = '', amount = '', currency = '', redirect_url = '' } = fields as Record<string, string>
      const sum = money(minorOfDigits(amount), parseCurrency(currency) as Currency)
      const order = { reference, amount: sum, redirectURL: redirect_url, email: String(email), save: true }
      orders.set(reference, order)
      return order
    },

    /** A try that waited for the bank's word has it. */
    end(reference: string, changes: Partial<Try>): void {
      const open = tries.findLast(({ order, status }) => order.reference === reference && status === 'pending')
      if (!open) return
      Object.assign(open, changes)
      notices.push(noticeOf(open))
    },
  }
}

/** Of an amount with two decimals. */
export const minorOfDigits = (amount: unknown) => Number(String(amount).replace('.', ''))
