import { setTimeout as pause } from 'node:timers/promises'
import type { UnmatchedReceipt } from '../../../src/payments/store/receipts.ts'
import type { Difference, ProviderAudit } from '../../../src/reconciliation/audit-provider.ts'
import { manilla } from '../manilla.ts'
import type { Market } from '../whole-payments/market.ts'
import type { Processes } from '../whole-payments/processes.ts'
import type { Lost } from './trade.ts'

const MOST_ROUNDS = 20
const AUDIT = ['audit', '--provider', '--only', 'paystack', '--json']

export interface Repairs {
  rounds: number
  /** Entries that differed, by the list that they are in. */
  counts: Record<Difference['kind'], number>
  left: string[]
}

/** Repeats the repair until the provider's list has nothing that our records do not have. */
export async function repair(processes: Processes): Promise<Repairs> {
  const found = new Map<string, Difference['kind']>()
  let left: Difference[] = []
  for (let rounds = 1; rounds <= MOST_ROUNDS; rounds++) {
    left = await differencesOf(processes)
    for (const { id, kind } of left) found.set(`${kind} ${id}`, kind)
    if (left.length === 0) return { rounds, counts: countsOf(found), left: [] }
    await pause(2_000) // for the worker
  }
  const named = left.map(({ kind, id, finding }) => `after the repair: ${kind} ${id}: ${finding}`)
  return { rounds: MOST_ROUNDS, counts: countsOf(found), left: named }
}

async function differencesOf(processes: Processes): Promise<Difference[]> {
  const { out } = await manilla(processes, [...AUDIT, '--repair'])
  const { audits } = JSON.parse(out) as { audits: ProviderAudit[] }
  const [incomplete] = audits.flatMap((audit) => audit.incomplete ?? [])
  if (incomplete) throw new Error(`the audit was not complete: ${incomplete}`)
  return audits.flatMap(({ differences }) => differences)
}

function countsOf(found: Map<string, Difference['kind']>): Repairs['counts'] {
  const count = (wanted: Difference['kind']) => [...found.values()].filter((each) => each === wanted).length
  return {
    transactions: count('transactions'),
    refunds: count('refunds'),
    disputes: count('disputes'),
    absent: count('absent'),
  }
}

/**
 * The merchant creates the lost payments again, and the operator matches the money with them. Then they can be
 * refunded.
 */
export async function adopt(
  processes: Processes,
  { fake }: Market,
  lost: Lost[],
): Promise<{ count: number; left: string[] }> {
  const { out } = await manilla(processes, ['unmatched', 'list', '--json'])
  const { receipts } = JSON.parse(out) as { receipts: UnmatchedReceipt[] }
  const orders = new Map(fake.ledger().taken.map(({ id, reference }) => [id, reference]))
  const left: string[] = []
  for (const { visit, order } of lost) {
    if (await visit.read()) left.push(`${visit.reference} was created after the restored moment, and is there`)
    const receipt = receipts.find(({ transactionId }) => orders.get(transactionId) === order)
    if (!receipt) left.push(`${visit.reference}: its money is not in the unmatched list`)
    const made = await visit.checkout()
    if (!receipt || !made) continue
    await manilla(processes, ['unmatched', 'match', receipt.id, '--payment', visit.reference])
    if ((await visit.read())?.status !== 'successful') left.push(`${visit.reference} is not successful after the match`)
    await visit.refund()
  }
  return { count: receipts.length, left }
}
