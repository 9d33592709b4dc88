import { setTimeout as sleep } from 'node:timers/promises'
import { formatMoney } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import { addressNameOf } from '../../providers/capabilities.ts'
import { checkOrder } from '../../providers/check-order.ts'
import {
  type ListedTransaction,
  NotSetUp,
  type ProviderClient,
  type Receipt,
  type Unknown,
  unknown,
} from '../../providers/provider.ts'
import type { PaymentDeps } from '../deps.ts'
import { reversedAmount, totalsOf } from '../state/reversed-money.ts'
import { unmatchedFacts } from '../store/notices.ts'
import { insertUnmatched, readShares } from '../store/receipts.ts'
import type { UnmatchedMoney } from '../store/transfers.ts'

const DAY_MS = 24 * 3_600_000
/**
 * Around the time of payment: a provider's calls may report times of one transaction that differ by hours, and lists go
 * by the time when it was made, which may be days earlier. Mostly it is not, and the list of a busy day is long.
 */
const MARGINS_MS = [
  { before: 600_000, after: 600_000 },
  { before: 3 * DAY_MS, after: DAY_MS },
]
const MAX_PAGES = 50
/** A person waits for the answer. */
const DEADLINE_MS = 20_000
const MISSING = { kind: 'missing' } as const
const TOO_LATE = unknown('it took too long')

/**
 * Asks the provider for unmatched money: it may be on record because a notice said so, and no payment is paid by what a
 * notice says. Throws unless the provider has it as it is on record. Returns what the provider says of it; `reference`
 * is of its order, null if it does not say.
 */
export async function confirmMoney(
  { database, providers, links }: PaymentDeps,
  scope: Scope,
  money: UnmatchedMoney,
  deadlineMs = DEADLINE_MS,
): Promise<Pick<ListedTransaction, 'reference' | 'idIsProviders'>> {
  const { provider, keysVersion, receipt } = money
  const capabilities = providers.find(provider)?.capabilities
  const title = capabilities?.title ?? provider
  const refused = (why: string) => new Problem('conflict', `${why} Nothing was matched.`)
  const client = await providers.connect(scope, provider, { keysVersion }).catch((error) => {
    if (error instanceof NotSetUp)
      throw refused(`The keys of this account of ${title} are deleted, so it cannot be asked.`)
    throw error
  })
  const currentConnection = () =>
    providers.connect(scope, provider).catch((error) => {
      if (error instanceof NotSetUp) return client // the merchant has removed the provider
      throw error
    })
  const signal = AbortSignal.timeout(deadlineMs)
  const late = sleep(deadlineMs, TOO_LATE, { ref: false })
  const find = async (): Promise<Found> => {
    if (client.findTransaction) {
      const { transactionId: reference } = receipt
      const url = links.notices(scope, capabilities ? addressNameOf(capabilities) : provider)
      const facts = await unmatchedFacts(database, scope, { provider, reference })
      const named = await client.findTransaction(reference, { url, facts })
      return 'kind' in named ? named : { ...named, ofOrder: [named] }
    }
    const found = await findTransaction(client, receipt, signal)
    const isUnknown = 'kind' in found && found.kind === 'unknown' && !signal.aborted
    if (!isUnknown || (await client.verifyKeys()).kind !== 'bad') return found
    // As in rotated-keys.ts: the provider refuses the keys of this account, so the current keys are used. Only what
    // they find counts, because they may belong to another provider account.
    const other = await findTransaction(await currentConnection(), receipt, signal)
    return 'kind' in other ? found : other
  }
  const found = await Promise.race([find(), late])
  if ('kind' in found) {
    if (found.kind === 'missing') throw refused(`${title} does not know the transaction ${receipt.transactionId}.`)
    throw new Problem('provider_timeout', `${title} did not confirm this money: ${found.because}. Nothing was matched.`)
  }
  if (found.amount.amount !== receipt.amount.amount || found.amount.currency !== receipt.amount.currency)
    throw refused(`${title} has ${formatMoney(found.amount)} for this transaction, not ${formatMoney(receipt.amount)}.`)
  const returned = await database.transaction(async (tx) => {
    const shares = found.returnedIsOfOrder && (await readShares(tx, { ...scope, provider, keysVersion }, found.ofOrder))
    const now = shares ? (shares.get(receipt.transactionId) ?? 0) : reversedAmount(found)
    if (now > reversedAmount(receipt)) await insertUnmatched(tx, scope, money, [{ ...receipt, returned: now }])
    return now
  })
  if (returned > reversedAmount(receipt))
    throw refused(`${title} has given back some of this money. Read the list again.`)
  if (returned < reversedAmount(receipt))
    throw refused(`${title} has given back less of this money than is on record, so a refund may have failed.`)
  // Listed refunds do not name a transfer: those of the other one would be recorded for the payment as well.
  const ofOrder = totalsOf(found.ofOrder).returned
  if (found.returnedIsOfOrder && ofOrder > returned) {
    const why = `${title} has given back ${formatMoney({ ...found.amount, amount: ofOrder })} of this order`
    const what = 'Look in its dashboard, and return by hand only what it has not given back.'
    throw refused(`${why}, and does not say of which transfer. ${what}`)
  }
  return found
}

/** `ofOrder`: all transactions of its order, where the provider names one reversed sum for them. */
type Found = (ListedTransaction & { ofOrder: Receipt[] }) | { kind: 'missing' } | Unknown

async function findTransaction(client: ProviderClient, receipt: Receipt, signal: AbortSignal): Promise<Found> {
  const { transactionId } = receipt
  const order = await client.findReference?.(transactionId)
  if (order?.kind === 'unknown') return order
  const checked = order?.kind === 'found' ? await findInOrder(client, receipt, order.reference) : undefined
  if (checked && !('kind' in checked)) return checked
  // Orders that were not made by us cannot always be found by their transaction.
  for (const margin of MARGINS_MS) {
    const listed = await findListed(client, receipt, margin, signal)
    if ('kind' in listed && listed.kind === 'missing') continue
    if ('kind' in listed) return listed
    // The list may name some transactions of the order only, and not what went back.
    const whole = listed.reference === null ? MISSING : await findInOrder(client, receipt, listed.reference)
    if ('kind' in whole && whole.kind === 'missing')
      return listed.isReversed ? unknown('its list does not say how much of it went back') : listed
    if ('kind' in whole) return whole
    // The list may also count money that was lost in a dispute.
    return reversedAmount(listed) > totalsOf(whole.ofOrder).returned ? listed : whole
  }
  return checked ?? { kind: 'missing' }
}

/** The transaction, as the check of its order has it: refunds that are under way count. */
export async function findInOrder(
  client: ProviderClient,
  { transactionId, at }: Receipt,
  reference: string,
): Promise<Found> {
  const outcome = await checkOrder(client, reference, at)
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const found = receipts.find((each) => each.transactionId === transactionId)
  if (found) return { ...found, reference, ofOrder: receipts }
  return outcome.kind === 'unknown' ? outcome : { kind: 'missing' }
}

async function findListed(
  client: ProviderClient,
  { transactionId, at }: Receipt,
  { before, after }: (typeof MARGINS_MS)[number],
  signal: AbortSignal,
): Promise<Found> {
  if (!client.lists?.transactions) return unknown('it has no list of transactions')
  const range = { from: new Date(at.getTime() - before), to: new Date(at.getTime() + after) }
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    if (signal.aborted) return TOO_LATE
    const listed = await client.lists.transactions(range, cursor)
    if (listed.kind !== 'page') return unknown(listed.because)
    const found = listed.entries.find((each) => each.transactionId === transactionId && !each.isOfOrder)
    if (found) return { ...found, ofOrder: [found] }
    if (listed.nextCursor === null) return { kind: 'missing' }
    cursor = listed.nextCursor
  }
  return unknown(`it was not among the first ${MAX_PAGES} pages of its list`)
}
