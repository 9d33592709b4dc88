import type { Mode } from '../../kernel/mode.ts'
import type { ListedTransaction, ProviderAnswer, TransactionsAnswer } from '../provider.ts'
import { isOfMode, isReversed, receiptOf, unknown } from './mapping.ts'
import { isLastPage, PER_PAGE } from './pages.ts'
import { returnedBy, returnsOf } from './returns.ts'
import { readData, readPaidTransactions } from './wire.ts'

type Get = (path: string) => Promise<ProviderAnswer>

/** Their list goes by the time of creation, ours by the time of payment. Links are paid within this time. */
const BEFORE_PAYMENT_MS = 3 * 86_400_000

/**
 * One page of `GET /transaction`. Without a filter by status: that takes one status at a time, and `reversal-pending` is not among those that
 * it takes. The cursor is the number of the page.
 */
export async function listTransactions(
  get: Get,
  mode: Mode,
  { from, to }: { from: Date; to: Date },
  cursor: string | null,
): Promise<TransactionsAnswer> {
  const page = Number(cursor ?? 1)
  const query = new URLSearchParams({
    from: new Date(from.getTime() - BEFORE_PAYMENT_MS).toISOString(),
    to: to.toISOString(),
    per_page: String(PER_PAGE),
    page: String(page),
  })
  const answer = await get(`/transaction?${query}`)
  if (answer.kind === 'unknown') return answer
  const data = answer.status === 200 ? readData(answer.text) : undefined
  const paid = readPaidTransactions(data)
  if (!paid) return unknown(`it answered ${answer.status} with what we cannot read`)
  const transactions: ListedTransaction[] = []
  for (const transaction of paid) {
    if (!isOfMode(transaction, mode)) return unknown('it answered in another mode')
    const { at, reference } = transaction
    if (!at || at < from || at >= to) continue
    let returned = 0
    if (isReversed(transaction)) {
      const returns = await returnsOf(get, mode, transaction)
      if ('kind' in returns) return returns
      const sum = returnedBy(returns, transaction, { withPending: false })
      if (typeof sum === 'object') return sum
      returned = sum
    }
    transactions.push({ ...receiptOf(transaction, at, returned), reference })
  }
  const isLast = isLastPage(answer.text, page, (data as unknown[]).length)
  return { kind: 'page', transactions, nextCursor: isLast ? null : String(page + 1) }
}
