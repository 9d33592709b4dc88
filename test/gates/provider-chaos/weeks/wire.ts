// biome-ignore lint/suspicious/noExplicitAny: JSON of a provider, as its fake writes it
export type Json = any

/** As much of a provider's JSON as the faults change. */
export interface Wire {
  /** Our reference of the order, if it is a transaction. */
  orderIn(object: Json): string | undefined
  /** The provider's id, if it is a refund. */
  refundIn(object: Json): string | undefined
  /** The provider's id, if it is a dispute. */
  disputeIn(object: Json): string | undefined
  /** As if the customer had not paid. */
  unpay(transaction: Json): void
  /** The money has gone back, and no refund says so. Absent: the provider has no such thing. */
  reverse?(transaction: Json): void
  /** Without the list of transfers that an answer has otherwise. */
  omitList?(transaction: Json): void
  /** These two: absent where no answer has refunds. */
  failRefund?(refund: Json): void
  /** By half of it. */
  growRefund?(refund: Json): void
  /** What the transaction says is refunded, less that, which may be negative. */
  lessRefunded?(transaction: Json, amount: number): void
}

const WIRES: Record<string, Wire> = {
  paystack: {
    orderIn: (it) => ('gateway_response' in it ? it.reference : undefined),
    refundIn: (it) => ('merchant_note' in it && 'transaction' in it ? idOf(it.id) : undefined),
    disputeIn: (it) => ('resolution' in it ? idOf(it.id) : undefined),
    unpay: (it) => Object.assign(it, { status: 'abandoned', paid_at: null, paidAt: null }),
    reverse: (it) => Object.assign(it, { status: 'reversed' }),
    growRefund: (it) => grow(it, 'amount'),
    failRefund: (it) => Object.assign(it, { status: 'failed' }),
    // A transaction whose refund has failed is a success again.
    lessRefunded: (it, amount) => amount > 0 && it.status === 'reversed' && Object.assign(it, { status: 'success' }),
  },
  flutterwave: {
    orderIn: (it) => ('processor_response' in it ? it.tx_ref : undefined),
    refundIn: (it) => ('amount_refunded' in it ? idOf(it.id) : undefined),
    disputeIn: (it) => ('due_date' in it ? idOf(it.id) : undefined),
    unpay: (it) => Object.assign(it, { status: 'pending' }),
    reverse: (it) => Object.assign(it, { status: 'reversed' }),
    growRefund: (it) => grow(it, 'amount_refunded'),
    failRefund: (it) => Object.assign(it, { status: 'failed' }),
  },
  mpesa: {
    // An answer to a query. The fake has our reference in their id of the request.
    orderIn: (it) => ('ResultCode' in it && 'MerchantRequestID' in it ? it.MerchantRequestID.slice(0, 32) : undefined),
    refundIn: () => undefined,
    disputeIn: () => undefined,
    unpay: (it) => Object.assign(it, { ResultCode: '4999', ResultDesc: 'The transaction is still under processing' }),
  },
  monnify: {
    orderIn: (it) => ('paymentStatus' in it ? it.paymentReference : undefined),
    refundIn: (it) => ('refundReference' in it ? it.refundReference : undefined),
    disputeIn: () => undefined,
    unpay: (it) =>
      Object.assign(it, {
        paymentStatus: 'PENDING',
        ...('amountPaid' in it && { amountPaid: '0.00', accountPayments: [], paidOn: null, cardDetails: null }),
        ...('completed' in it && { completed: false }),
      }),
    reverse: (it) => Object.assign(it, { paymentStatus: 'REVERSED' }),
    omitList: (it) => 'accountPayments' in it && Object.assign(it, { accountPayments: [] }),
    growRefund: (it) => grow(it, 'refundAmount'),
    failRefund: (it) => Object.assign(it, { refundStatus: 'FAILED' }),
  },
  pawapay: {
    orderIn: (it) => ('depositId' in it && 'payer' in it ? it.clientReferenceId : undefined),
    refundIn: (it) => ('refundId' in it && 'recipient' in it ? it.refundId : undefined),
    disputeIn: () => undefined,
    unpay: (it) => Object.assign(it, { status: 'PROCESSING' }),
    // No list has refunds, and what is final stays final: it is not asked about again.
  },
  gateway: {
    orderIn: (it) => ('requested' in it || ('refunded' in it && 'at' in it) ? it.reference : undefined),
    refundIn: (it) => (/^grf_/.test(it.id) ? it.id : undefined),
    disputeIn: (it) => ('respondBy' in it ? it.id : undefined),
    // An entry of the list has no status: there it stays.
    unpay: (it) => 'status' in it && Object.assign(it, { status: 'pending', amount: 0, transactions: [] }),
    reverse(it) {
      if ('status' in it && it.status === 'paid') Object.assign(it, { status: 'refunded', refunded: it.amount })
      else if (!('status' in it)) it.refunded = it.amount
    },
    omitList: (it) => 'transactions' in it && Object.assign(it, { transactions: [] }),
    growRefund: (it) => grow(it, 'amount'),
    failRefund: (it) => Object.assign(it, { status: 'failed' }),
    lessRefunded: (it, amount) =>
      'requested' in it && amount !== 0 && Object.assign(it, { status: 'paid', refunded: it.refunded - amount }),
  },
  stripe: {
    orderIn: (it) =>
      it.object === 'checkout.session' ? it.client_reference_id : STRIPE.has(it.object) && it.metadata.reference,
    refundIn: (it) => (it.object === 'refund' ? it.id : undefined),
    disputeIn: (it) => (it.object === 'dispute' ? it.id : undefined),
    unpay(it) {
      if (it.object === 'checkout.session') Object.assign(it, { payment_status: 'unpaid' })
      else if (it.object === 'charge') Object.assign(it, { status: 'pending', amount_captured: 0, amount_refunded: 0 })
      else Object.assign(it, { status: 'processing', amount_received: 0 })
    },
    growRefund: (it) => grow(it, 'amount'),
    failRefund: (it) => Object.assign(it, { status: 'failed' }),
    lessRefunded: (it, amount) =>
      it.object === 'charge' && Object.assign(it, { amount_refunded: it.amount_refunded - amount }),
  },
}
const grow = (refund: Json, field: string) => Object.assign(refund, { [field]: refund[field] * 1.5 })
const STRIPE = new Set(['payment_intent', 'charge'])

export function wireOf(provider: string): Wire {
  const wire = WIRES[provider]
  if (!wire) throw new Error(`the faults do not know the JSON of ${provider}`)
  return wire
}

const MARK = '@number:'
const idOf = (id: unknown) => String(id).replace(MARK, '')

/** Numbers of 64 bits stay whole. */
export const parse = (text: string): Json => JSON.parse(text.replaceAll(/([:[,])(\d{16,})(?=[,}\]])/g, `$1"${MARK}$2"`))
export const print = (json: Json): string => JSON.stringify(json).replaceAll(new RegExp(`"${MARK}(\\d+)"`, 'g'), '$1')
