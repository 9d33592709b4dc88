import type { Queries } from '../../database/database.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { ListedSettlementLine } from '../../providers/provider.ts'
import type { Settlement } from '../state/settlement.ts'
import { type AuditScope, findOrders } from '../store/provider-audit.ts'
import {
  type MatchedLine,
  type MoneyOfLine,
  paymentsOfAttempts,
  type RefundOfLine,
  receiptsOfAttempts,
  receiptsOfTransactions,
  refundsOfAttempts,
} from '../store/settlement-lines.ts'

/**
 * What of ours each line of a page is about: one statement for each kind of record, not for each line. `first`: how
 * many lines came before this page.
 */
export async function matchLines(
  db: Queries,
  of: Settlement,
  lines: ListedSettlementLine[],
  { keysVersions, first }: { keysVersions: number[]; first: number },
): Promise<{ matched: MatchedLine[]; fees: { receiptId: number; attemptUuid: string | null; fee: number }[] }> {
  const scope: AuditScope = of
  const ids = [...new Set(lines.flatMap(({ transactionId }) => transactionId ?? []))]
  const receipts = ids.length > 0 ? await receiptsOfTransactions(db, scope, keysVersions, ids) : []
  const byId = receiptsById(receipts, of.keysVersion)
  const found = (line: ListedSettlementLine) => byId.get(line.transactionId ?? '')
  const names = lines
    .filter((line) => !found(line))
    .flatMap(({ orderReference, transactionId }) => orderReference ?? transactionId ?? [])
  const orders = names.length > 0 ? await findOrders(db, scope, [...new Set(names)]) : new Map()
  const attemptOf = (line: ListedSettlementLine): string | null => {
    const attemptId = orders.get(line.orderReference ?? line.transactionId ?? '')
    return found(line)?.attemptUuid ?? (attemptId ? uuidOf(attemptId) : null)
  }
  const attemptsOf = (wanted: ListedSettlementLine[]) => [...new Set(wanted.flatMap((line) => attemptOf(line) ?? []))]
  const withoutReceipt = attemptsOf(lines.filter((line) => line.kind === 'payment' && !found(line)))
  const ofAttempts = withoutReceipt.length > 0 ? await receiptsOfAttempts(db, scope, withoutReceipt) : []
  const back = attemptsOf(lines.filter(isBack))
  const payments = names.length > 0 ? await paymentsOfAttempts(db, scope, attemptsOf(lines)) : new Map<string, string>()
  const refunds = back.length > 0 ? await refundsOfAttempts(db, scope, back) : []
  const of_ = uuidOf(of.id)
  const [takeReceipt, takeRefund] = [taker(ofAttempts, of_), taker(refunds, of_)]
  const matched = lines.map((line, index): MatchedLine => {
    const attemptUuid = attemptOf(line)
    const receipt =
      line.kind === 'payment'
        ? (found(line) ??
          takeReceipt(
            (each) => each.attemptUuid === attemptUuid,
            (each) => each.amount === line.gross,
          ))
        : undefined
    const refund = isBack(line)
      ? takeRefund(
          (each) => each.attemptUuid === attemptUuid,
          (each) => each.providerRefundId !== null && each.providerRefundId === line.id,
          (each) => each.amount === -line.gross,
        )
      : undefined
    return {
      ...withFee(line, receipt),
      key: line.id ?? `#${first + index + 1}`,
      ...{ attemptUuid: receipt?.attemptUuid ?? attemptUuid, receiptId: receipt?.receiptId ?? null },
      paymentUuid: receipt?.paymentUuid ?? found(line)?.paymentUuid ?? payments.get(attemptUuid ?? '') ?? null,
      refundUuid: refund?.uuid ?? null,
    }
  })
  const known = new Map([...receipts, ...ofAttempts].map((each) => [each.receiptId, each]))
  const fees = matched.flatMap(({ kind, fee, receiptId, attemptUuid }) => {
    const receipt = kind === 'payment' && receiptId !== null ? known.get(receiptId) : undefined
    const isNews = receipt && fee !== null && fee >= 0 && receipt.currency === of.currency && receipt.feeCharged !== fee
    return isNews ? [{ receiptId: receipt.receiptId, attemptUuid, fee }] : []
  })
  return { matched, fees }
}

const isBack = ({ kind, gross }: ListedSettlementLine) => (kind === 'refund' || kind === 'dispute') && gross < 0

/** Ids are unique within one account: what the same keys have brought comes first. */
function receiptsById(receipts: MoneyOfLine[], keysVersion: number): Map<string, MoneyOfLine> {
  const own = receipts.filter((each) => each.keysVersion === keysVersion)
  return new Map([...receipts, ...own].map((each) => [each.transactionId, each]))
}

/** Gives each record to one line: the first that fits best, and is in no other settlement. */
function taker<Of extends MoneyOfLine | RefundOfLine>(records: Of[], settlementUuid: string) {
  const free = new Set(records.filter(({ settledIn }) => settledIn === null || settledIn === settlementUuid))
  return (belongs: (each: Of) => boolean, ...fits: ((each: Of) => boolean)[]): Of | undefined => {
    const own = [...free].filter(belongs)
    const best = fits.map((fit) => own.find(fit)).find((each) => each !== undefined)
    if (best) free.delete(best)
    return best
  }
}

/** Where the provider names no fee of each line, the one that it named with the payment. */
function withFee(line: ListedSettlementLine, receipt: MoneyOfLine | undefined): ListedSettlementLine {
  const onTop = line.hasFeeOnTop && receipt ? line.gross - receipt.amount : 0
  if (line.fee !== null && onTop > 0 && onTop <= line.fee)
    return { ...line, gross: line.gross - onTop, fee: line.fee - onTop }
  if (line.fee !== null && line.net !== null) return line
  const fee = line.fee ?? (line.net === null ? (receipt?.feeCharged ?? null) : line.gross - line.net)
  return { ...line, fee, net: line.net ?? (fee === null ? null : line.gross - fee) }
}
