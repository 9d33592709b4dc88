import { decoderOf, digitsOf, Lenient, Required, some, word } from '../json-parsers.ts'
import type { ListedSettlementLine, NoticedSettlement } from '../provider.ts'
import { NAIRA, receiptsOf } from './mapping.ts'
import { readNaira, readTime, readTransaction } from './wire.ts'

/** What Monnify pays out, and for which transactions. Only a notice says so. README.md has the table. */

const Word = Required((value) => word(value, 200))

const decodeSettlement = decoderOf({
  settlementReference: Word,
  amount: Required(readNaira),
  settlementTime: Lenient(readTime),
  transactionsCount: Lenient((value) => (/^\d{1,7}$/.test(digitsOf(value) ?? '') ? Number(digitsOf(value)) : null)),
  transactions: Lenient((value) => (Array.isArray(value) ? (value as unknown[]) : null)),
})

const NO_TIME = new Date(0)

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
  const members = some(said.transactions, readLines, () => {}) ?? []
  const lines = members.flat()
  const settlement: NoticedSettlement['settlement'] = {
    ...{ id, currency: NAIRA, status: 'paid', because: null, madeAt: paidAt ?? receivedAt, expectedOn: null, paidAt },
    // The fee is no field: it is what is not paid out.
    ...{ gross: null, fees: null, deductions: null, net, bankReference: null, hasLines: lines.length > 0 },
    difference:
      count === null || count === members.length
        ? null
        : `transactionsCount is ${count}, and ${members.length} of the transactions can be read.`,
  }
  return { settlement, lines }
}

/** One line for each transfer, as its receipts are. They name no fee of each. */
function readLines(value: unknown): ListedSettlementLine[] | undefined {
  const said = decodeLine(value)
  if (!said) return undefined
  const { transactionReference: name, paymentReference: orderReference, amountPaid: gross } = said
  const whole = { id: name, kind: 'payment', transactionId: name, orderReference, gross, fee: null, net: null } as const
  const transaction = readTransaction(value)
  const receipts = (transaction && receiptsOf(transaction, NO_TIME)) ?? []
  if (receipts.length < 2) return [whole]
  return receipts.map(({ transactionId: id, amount }) => ({ ...whole, id, transactionId: id, gross: amount.amount }))
}
