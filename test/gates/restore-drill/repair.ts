import { setTimeout as pause } from 'node:timers/promises'
import type { UnmatchedReceipt } from '../../../src/payments/store/receipts.ts'
import type { Difference } from '../../../src/reconciliation/audit-provider.ts'
import type { Repaired } from '../../../src/reconciliation/repair-difference.ts'
import { manilla } from '../manilla.ts'
import type { Market } from '../whole-payments/market.ts'
import type { Processes } from '../whole-payments/processes.ts'
import type { Lost } from './trade.ts'

const MOST_ROUNDS = 20
const AUDIT = ['audit', '--provider', '--only', 'paystack', '--json']

type Handled = Omit<Difference, 'repair'> & { repaired: Repaired | null }

export interface Repairs {
  rounds: number
  /** By what was done; each transaction counts once. */
  counts: Record<Repaired, number>
  left: string[]
}

/** Repeats the repair until the provider's list has nothing that our records do not have. */
export async function repair(processes: Processes): Promise<Repairs> {
  const done = new Map<string, Repaired>()
  let left: Handled[] = []
  for (let rounds = 1; rounds <= MOST_ROUNDS; rounds++) {
    left = await differencesOf(processes)
    for (const { transactionId, repaired } of left) if (repaired) done.set(`${transactionId} ${repaired}`, repaired)
    if (left.length === 0) return { rounds, counts: countsOf(done), left: [] }
    await pause(2_000) // for the worker
  }
  const named = left.map(({ transactionId, finding }) => `after the repair: ${transactionId}: ${finding}`)
  return { rounds: MOST_ROUNDS, counts: countsOf(done), left: named }
}

async function differencesOf(processes: Processes): Promise<Handled[]> {
  const { out } = await manilla(processes, [...AUDIT, '--repair'])
  const { audits } = JSON.parse(out) as { audits: { differences: Handled[]; incomplete: string | null }[] }
  const [incomplete] = audits.flatMap((audit) => audit.incomplete ?? [])
  if (incomplete) throw new Error(`the audit was not complete: ${incomplete}`)
  return audits.flatMap(({ differences }) => differences)
}

function countsOf(done: Map<string, Repaired>): Record<Repaired, number> {
  const count = (wanted: Repaired) => [...done.values()].filter((each) => each === wanted).length
  return {
    'check due': count('check due'),
    'recorded as unmatched': count('recorded as unmatched'),
    'open again': count('open again'),
    'listing of refunds due': count('listing of refunds due'),
    'order of another merchant': count('order of another merchant'),
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
