import { type Currency, decimalsOf } from '../../kernel/money.ts'
import { currencyOf, date, decoderOf, fields, Lenient, line, Nullable, Required, some, word } from '../json-parsers.ts'
import type { ListedSettlement, ListedSettlementLine } from '../provider.ts'
import { differenceIn, less } from '../settlement-difference.ts'
import { numeric, phrase } from './wire.ts'

/** What Flutterwave pays out, and for which transactions. README.md has the table. */

const Id = Required(numeric)
const Line = Lenient(line)
/** Null, or left out: 0. */
const Part = Nullable(exact)

const decodeSettlement = decoderOf({
  id: Id,
  status: Required(phrase),
  currency: Required(currencyOf),
  gross_amount: Part,
  app_fee: Part,
  merchant_fee: Part,
  stampduty_charge: Part,
  refund: Part,
  chargeback: Part,
  net_amount: Required(exact),
  due_date: Lenient((value) => date(value)?.toISOString().slice(0, 10)),
  processed_date: Lenient(date),
  disburse_ref: Line,
  disburse_message: Line,
  flag_message: Line,
  created_at: Required(date),
})

const decodeLine = decoderOf({
  id: Id,
  tx_ref: Required(word),
  currency: Required(currencyOf),
  charged_amount: Required(exact),
  app_fee: Part,
  merchant_fee: Part,
  stampduty_charge: Part,
  settlement_amount: Part,
})

export type Settlement = NonNullable<ReturnType<typeof readSettlement>>

export function readSettlement(value: unknown) {
  const settlement = decodeSettlement(value)
  if (!settlement) return undefined
  const { currency, net_amount, gross_amount, refund, chargeback, created_at: madeAt } = settlement
  const net = minorOf(net_amount, currency)
  const gross = gross_amount === null ? null : minorOf(gross_amount, currency)
  const deductions = minorOf((refund ?? 0n) + (chargeback ?? 0n), currency)
  const fees = rest(feesIn(settlement), less(gross, deductions, net), currency)
  return { ...settlement, net, gross, deductions, fees, madeAt }
}

const STATUSES = new Map<string, ListedSettlement['status']>([
  ['completed', 'paid'],
  ['failed', 'failed'],
])

export function listedSettlement(settlement: Settlement): ListedSettlement {
  const {
    id,
    currency,
    status,
    madeAt,
    due_date: expectedOn,
    processed_date,
    gross,
    fees,
    deductions,
    net,
  } = settlement
  const ours = STATUSES.get(status) ?? 'pending'
  const said = settlement.flag_message ?? settlement.disburse_message
  const held = status === 'pending' || ours === 'paid' ? null : `Flutterwave says “${status}”`
  return {
    ...{ id, currency, madeAt, expectedOn, gross, fees, deductions, net },
    status: ours,
    because: ours === 'paid' ? null : (said ?? held),
    paidAt: ours === 'paid' ? processed_date : null,
    bankReference: settlement.disburse_ref,
    hasLines: true,
    difference: differenceIn(currency, [
      ['gross_amount - fees - refund - chargeback', less(gross, fees, deductions), 'net_amount', net],
    ]),
  }
}

/** Undefined if it is not this settlement, or has no list. What cannot be read goes to `others`. */
export function readLines(
  data: unknown,
  id: string,
  others: (one: unknown) => void,
): ListedSettlementLine[] | undefined {
  const settlement = fields(data)
  const currency = currencyOf(settlement?.currency)
  if (!currency || numeric(settlement?.id) !== id) return undefined
  return some(settlement?.transactions, (one) => readLine(one, currency), others)
}

function readLine(value: unknown, currency: Currency): ListedSettlementLine | undefined {
  const said = decodeLine(value)
  if (said?.currency !== currency) return undefined
  const { id, tx_ref: orderReference, charged_amount, settlement_amount } = said
  const gross = minorOf(charged_amount, currency)
  const net = settlement_amount === null ? null : minorOf(settlement_amount, currency)
  const named = feesIn(said)
  // VAT is not in these fields: more may be kept than they name, but not less.
  const isMore = net !== null && BigInt(gross - net) * unitOf(currency) > named
  const fee = net === null ? null : isMore ? gross - net : rest(named, gross - net, currency)
  return { id, kind: 'payment', transactionId: id, orderReference, gross, fee, net, hasFeeOnTop: true }
}

interface Fees {
  app_fee: bigint | null
  merchant_fee: bigint | null
  stampduty_charge: bigint | null
}

const feesIn = ({ app_fee, merchant_fee, stampduty_charge }: Fees) =>
  (app_fee ?? 0n) + (merchant_fee ?? 0n) + (stampduty_charge ?? 0n)

/** Fees have more decimals than money has: what rounding leaves, which is less than a unit, is theirs. */
function rest(fees: bigint, left: number | null, currency: Currency): number {
  const off = left === null ? unitOf(currency) : fees - BigInt(left) * unitOf(currency)
  return left !== null && off < unitOf(currency) && off > -unitOf(currency) ? left : minorOf(fees, currency)
}

const DECIMALS = 20
const unitOf = (currency: Currency) => 10n ** BigInt(DECIMALS - decimalsOf(currency))

/** Their digits, which may be below 0, without rounding. */
function exact(value: unknown): bigint | undefined {
  const [, sign, whole, fraction = ''] =
    typeof value === 'string' ? (/^(-?)(\d{1,13})(?:\.(\d{1,20}))?$/.exec(value) ?? []) : []
  if (whole === undefined) return undefined
  const size = BigInt(whole + fraction.padEnd(DECIMALS, '0'))
  return sign ? -size : size
}

/** To the nearest unit. */
function minorOf(sum: bigint, currency: Currency): number {
  const unit = unitOf(currency)
  const size = Number(((sum < 0n ? -sum : sum) + unit / 2n) / unit)
  return sum < 0n && size > 0 ? -size : size
}
