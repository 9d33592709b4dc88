import { formatMoney } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import type { Scope } from '../kernel/scope.ts'
import { type Connection, NotSetUp, type Receipt, type Unknown, unknown } from '../providers/provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { returnedOf } from './state/returned-money.ts'
import { insertUnmatched } from './store/receipts.ts'
import type { UnmatchedMoney } from './store/transfers.ts'

/** A provider's calls may report times of one transaction that differ by hours. */
const MARGIN_MS = 24 * 3_600_000
/** A person waits for the answer. */
const MAX_PAGES = 50

/**
 * Asks the provider for unmatched money: it may be on record because a notice said so, and no payment is paid by what a notice says. Throws
 * unless the provider has it as it is on record.
 */
export async function confirmMoney(
  { database, providers }: PaymentDependencies,
  scope: Scope,
  money: UnmatchedMoney,
): Promise<void> {
  const { provider, account, receipt } = money
  const title = providers.find(provider)?.capabilities.title ?? provider
  const refused = (why: string) => new Problem('conflict', `${why} Nothing was matched.`)
  const connection = await providers.connect(scope, provider, { account }).catch((error) => {
    if (error instanceof NotSetUp)
      throw refused(`The keys of this account of ${title} are deleted, so it cannot be asked.`)
    throw error
  })
  const found = await findTransaction(connection, receipt)
  if ('kind' in found) {
    if (found.kind === 'missing') throw refused(`${title} does not know the transaction ${receipt.transactionId}.`)
    throw new Problem('provider_timeout', `${title} did not confirm this money: ${found.because}. Nothing was matched.`)
  }
  if (found.amount.amount !== receipt.amount.amount || found.amount.currency !== receipt.amount.currency)
    throw refused(`${title} has ${formatMoney(found.amount)} for this transaction, not ${formatMoney(receipt.amount)}.`)
  if (returnedOf(found) === returnedOf(receipt)) return
  await database.transaction((tx) => insertUnmatched(tx, scope, money, [found]))
  throw refused(`${title} has given back some of this money. Read the list again.`)
}

type Found = Receipt | { kind: 'missing' } | Unknown

async function findTransaction(connection: Connection, receipt: Receipt): Promise<Found> {
  const { transactionId } = receipt
  const isIt = (each: Receipt) => each.transactionId === transactionId
  const range = { from: new Date(receipt.at.getTime() - MARGIN_MS), to: new Date(receipt.at.getTime() + MARGIN_MS) }
  const order = await connection.findReference?.(transactionId)
  if (order?.kind === 'unknown') return order
  if (order?.kind === 'found') {
    const { reference } = order
    const names = { reference, providerReference: reference }
    const outcome = await connection.check({ ...names, channel: 'virtual-bank-account', startedAt: range.from })
    const found = 'receipts' in outcome ? outcome.receipts.find(isIt) : undefined
    if (found) return found
  }
  // Orders that were not made by us cannot always be found by their transaction.
  if (!connection.listTransactions) return unknown('it has no list of transactions')
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    const listed = await connection.listTransactions(range, cursor)
    if (listed.kind !== 'page') return unknown(listed.because)
    const found = listed.transactions.find(isIt)
    if (found) return found
    if (listed.nextCursor === null) return { kind: 'missing' }
    cursor = listed.nextCursor
  }
  return unknown(`it was not among the first ${MAX_PAGES} pages of its list`)
}
