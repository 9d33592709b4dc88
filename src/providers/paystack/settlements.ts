import { currencyOf, date, decoderOf, digitsOf, Lenient, Required, word } from '../json-parsers.ts'
import type { ListedSettlement, ListedSettlementLine } from '../provider.ts'
import { differenceIn, less } from '../settlement-difference.ts'
import { digits, fromHundredths } from './wire.ts'

/** What Paystack pays out, and for which transactions. README.md has the table. */

const Id = Required(digits)
const Word = Required((value) => word(value))
const Time = Lenient(date)
const Sum = Lenient(hundredths)

const decodeSettlement = decoderOf({
  id: Id,
  domain: Word,
  status: Word,
  currency: Required(currencyOf),
  total_processed: Sum,
  total_fees: Sum,
  total_amount: Sum,
  effective_amount: Required(hundredths),
  deductions: Sum,
  settlement_date: Lenient((value) => date(value)?.toISOString().slice(0, 10)),
  createdAt: Time,
  created_at: Time,
})

const decodeLine = decoderOf({
  id: Id,
  domain: Word,
  reference: Word,
  currency: Required(currencyOf),
  amount: Required(hundredths),
  /** Less than `amount` where fees are passed on. */
  requested_amount: Sum,
  /** Null for some channels. */
  fees: Sum,
})

export type PaystackSettlement = NonNullable<ReturnType<typeof readSettlement>>

export function readSettlement(value: unknown) {
  const settlement = decodeSettlement(value)
  const madeAt = settlement?.createdAt ?? settlement?.created_at
  if (!settlement || !madeAt) return undefined
  const { id, domain, status, currency, settlement_date: expectedOn } = settlement
  const minor = (sum: number | null) => (sum === null ? null : (fromHundredths(sum, currency) ?? null))
  const sums = {
    processed: minor(settlement.total_processed),
    fees: minor(settlement.total_fees),
    amount: minor(settlement.total_amount),
    effective: minor(settlement.effective_amount),
    deductions: minor(settlement.deductions),
  }
  return sums.effective === null ? undefined : { id, domain, status, currency, madeAt, expectedOn, ...sums }
}

export function readLine(value: unknown) {
  const line = decodeLine(value)
  if (!line) return undefined
  const { id, domain, reference, currency, amount, requested_amount: requested, fees } = line
  // As in the receipt: what the customer paid beyond the order is neither gross nor fee.
  const onTop = Math.max(0, amount - (requested ?? amount))
  const gross = fromHundredths(amount - onTop, currency)
  const fee = fees === null ? null : fromHundredths(fees - onTop, currency)
  return gross === undefined || fee === undefined ? undefined : { id, domain, reference, gross, fee }
}

const STATUSES = new Map<string, ListedSettlement['status']>([
  ['success', 'paid'],
  ['failed', 'failed'],
  ['pending', 'pending'],
  ['processing', 'pending'],
])

/** `deductions` is null in all of their samples. Refunds and chargebacks may only make `effective_amount` smaller. */
export function listedSettlement(settlement: PaystackSettlement): ListedSettlement[] {
  const { id, currency, status, madeAt, expectedOn, processed: gross, fees, amount, effective: net } = settlement
  const named = settlement.deductions ?? 0
  return [
    {
      ...{ id, currency, madeAt, expectedOn, gross, fees, net },
      status: STATUSES.get(status) ?? 'pending',
      because: STATUSES.has(status) ? null : `Paystack says “${status}”`,
      paidAt: null,
      deductions: less(amount, net),
      bankReference: null,
      hasLines: true,
      difference: differenceIn(currency, [
        ['total_processed - total_fees', less(gross, fees), 'total_amount', amount],
        ['total_amount - deductions', less(amount, named), 'effective_amount', net],
      ]),
    },
  ]
}

export function listedLine({
  id,
  reference,
  gross,
  fee,
}: NonNullable<ReturnType<typeof readLine>>): ListedSettlementLine[] {
  const sums = { gross, fee, net: less(gross, fee) }
  return [{ id, kind: 'payment', transactionId: id, orderReference: reference, ...sums }]
}

/** A whole number that may be below 0, as text or as a number. */
function hundredths(value: unknown): number | undefined {
  const text = digitsOf(value) ?? ''
  const size = Number(digits(text.replace(/^-/, '')) ?? Number.NaN)
  return Number.isSafeInteger(size) ? (text.startsWith('-') ? 0 - size : size) : undefined
}
