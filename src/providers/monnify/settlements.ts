import { decoderOf, digitsOf, Lenient, Required, some, word } from '../json-parsers.ts'
import type { ListedSettlementLine, NoticedSettlement } from '../provider.ts'
import { NAIRA } from './mapping.ts'
import { readNaira, readTime } from './wire.ts'

/** What Monnify pays out, and for which transactions. Only a notice says so. README.md has the table. */

const Word = Required((value) => word(value, 200))

const decodeSettlement = decoderOf({
  settlementReference: Word,
  amount: Required(readNaira),
  settlementTime: Lenient(readTime),
  transactionsCount: Lenient((value) => (/^\d{1,7}$/.test(digitsOf(value) ?? '') ? Number(digitsOf(value)) : null)),
  transactions: Lenient((value) => (Array.isArray(value) ? (value as unknown[]) : null)),
})

const decodeLine = decoderOf({
  transactionReference: Word,
  paymentReference: Word,
  amountPaid: Required(readNaira),
  currency: Required((value) => (value === NAIRA ? NAIRA : undefined)),
})

export function readSettlement(value: unknown, receivedAt: Date): NoticedSettlement | undefined {
  const said = decodeSettlement(value)
  if (!said) return undefined
  const { settlementReference: id, amount: net, settlementTime: paidAt, transactionsCount: count } = said
  const lines = some(said.transactions, readLine, () => {}) ?? []
  const settlement: NoticedSettlement['settlement'] = {
    ...{ id, currency: NAIRA, status: 'paid', because: null, madeAt: paidAt ?? receivedAt, expectedOn: null, paidAt },
    // The fee is no field: it is what is not paid out.
    ...{ gross: null, fees: null, deductions: null, net, bankReference: null, hasLines: lines.length > 0 },
    difference:
      count === null || count === lines.length
        ? null
        : `transactionsCount is ${count}, and ${lines.length} of the transactions can be read.`,
  }
  return { settlement, lines }
}

function readLine(value: unknown): ListedSettlementLine | undefined {
  const said = decodeLine(value)
  if (!said) return undefined
  const { transactionReference: name, paymentReference: orderReference, amountPaid: gross } = said
  return { id: name, kind: 'payment', transactionId: name, orderReference, gross, fee: null, net: null }
}
