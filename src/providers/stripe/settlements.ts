import { decoderOf, fields, Lenient, line, Required, word } from '../json-parsers.ts'
import type { ListedSettlement, ListedSettlementLine } from '../provider.ts'
import { dateOfSeconds, idOf, readCurrency } from './wire.ts'

/** What Stripe pays out, and the balance transactions in it. README.md has the tables. */

const Kind = (kind: string) => Required((value) => (value === kind ? kind : undefined))
const Word = Required((value) => word(value))
const OptionalWord = Lenient((value) => word(value))
const Sum = Required((value) => (Number.isSafeInteger(value) ? (value as number) + 0 : undefined))

const decodePayout = decoderOf({
  object: Kind('payout'),
  id: Word,
  amount: Sum,
  currency: Required(readCurrency),
  status: Word,
  automatic: Lenient((value) => value === true),
  reconciliation_status: OptionalWord,
  created: Required(dateOfSeconds),
  arrival_date: Lenient(dateOfSeconds),
  failure_code: OptionalWord,
  failure_message: Lenient(line),
  reversed_by: Lenient(idOf),
  /** The bank's own, some days later. */
  trace_id: Lenient((value) => line(fields(value)?.value)),
})

const decodeLine = decoderOf({
  object: Kind('balance_transaction'),
  id: Word,
  amount: Sum,
  fee: Sum,
  net: Sum,
  currency: Required(readCurrency),
  type: Word,
  reporting_category: OptionalWord,
  source: Lenient((value) => value),
})

export type StripePayout = NonNullable<ReturnType<typeof readPayout>>

export const readPayout = (value: unknown) => decodePayout(value)

const STATUSES = new Map<string, ListedSettlement['status']>([
  ['paid', 'paid'],
  ['pending', 'pending'],
  ['in_transit', 'pending'],
  ['canceled', 'failed'],
  ['failed', 'failed'],
])

export function listedSettlement(payout: StripePayout): ListedSettlement[] {
  const { id, currency, amount: net, created: madeAt, arrival_date: arrives, reversed_by: reversal } = payout
  const status = reversal ? 'failed' : (STATUSES.get(payout.status) ?? 'pending')
  return [
    {
      ...{ id, currency, status, because: reasonOf(payout), madeAt, net },
      expectedOn: arrives?.toISOString().slice(0, 10) ?? null,
      paidAt: status === 'paid' ? arrives : null,
      // Its balance transactions have these.
      ...{ gross: null, fees: null, deductions: null },
      bankReference: payout.trace_id,
      // Of a manual payout Stripe does not say which payments it is for.
      hasLines: payout.automatic === true && payout.reconciliation_status === 'completed',
      difference: null,
    },
  ]
}

function reasonOf({ status, reversed_by: reversal, failure_code, failure_message }: StripePayout): string | null {
  if (reversal) return `reversed by ${reversal}`
  const isPlain = STATUSES.has(status) && STATUSES.get(status) !== 'failed'
  return failure_message ?? failure_code ?? (isPlain ? null : `Stripe says “${status}”`)
}

/** docs.stripe.com/reports/reporting-categories: the groups that Stripe itself advises. Others are adjustments. */
const CATEGORIES = new Map<string, ListedSettlementLine['kind']>([
  ['charge', 'payment'],
  ['charge_failure', 'refund'],
  ['partial_capture_reversal', 'refund'],
  ['refund', 'refund'],
  ['refund_failure', 'refund'],
  ['dispute', 'dispute'],
  ['dispute_reversal', 'dispute'],
  ['fee', 'fee'],
  ['network_cost', 'fee'],
  ['tax', 'fee'],
])

/** Null for the payout's own row. All rows of a payout are in its currency: one that is not cannot be read. */
export function linesReader(payoutId: string): (value: unknown) => ListedSettlementLine | null | undefined {
  let currency: string | undefined
  return (value) => {
    const said = decodeLine(value)
    if (!said) return undefined
    const { id, amount: gross, fee, net, type, reporting_category: category, source } = said
    currency ??= said.currency
    if (said.currency !== currency) return undefined
    if (type === 'payout' && idOf(source) === payoutId) return null
    const kind = CATEGORIES.get(category ?? '') ?? 'adjustment'
    // A refund is taken from the balance once, and can be told from others of its payment by its own id.
    const refundId = category === 'refund' ? idOf(source) : undefined
    return { id: refundId ?? id, kind, ...namesOf(source), gross, fee, net }
  }
}

/** A charge, a refund or a dispute names the intent. A dispute has no notes of ours. */
function namesOf(source: unknown): Pick<ListedSettlementLine, 'transactionId' | 'orderReference'> {
  const about = fields(source)
  const intentId = idOf(about?.payment_intent) ?? (about?.object === 'charge' ? idOf(source) : undefined)
  return { transactionId: intentId ?? null, orderReference: word(fields(about?.metadata)?.reference) ?? null }
}
