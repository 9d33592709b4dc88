import type { Queries } from '../database/database.ts'
import { type CasesByMode, countOpenCases } from '../payments/store/open-cases.ts'
import { type Queue, readPaymentQueues } from '../payments/store/queues.ts'
import { type ComparisonAge, oldestComparisons } from '../reconciliation/run-store.ts'
import { readDeliveryQueue } from '../webhooks/queue-store.ts'

export const QUEUES = ['checks', 'notices', 'refunds', 'expiries', 'reconciliations', 'deliveries'] as const
export type QueueName = (typeof QUEUES)[number]

/** The state of the whole installation, as the database has it. Metrics and `manilla doctor` report it. */
export interface Status {
  queues: Record<QueueName, Queue>
  /** Processes that send webhooks. */
  workers: number
  cases: CasesByMode
  /** Comparisons of live accounts with the lists of their providers. */
  comparisons: ComparisonAge[]
}

/** One after the other, so that the payments keep their connections. */
export async function readStatus(db: Queries, maxCounted: number): Promise<Status> {
  const payments = await readPaymentQueues(db, maxCounted)
  const deliveries = await readDeliveryQueue(db, maxCounted)
  const cases = await countOpenCases(db, maxCounted)
  const comparisons = await oldestComparisons(db)
  return {
    queues: { ...payments, deliveries: { due: deliveries.waiting, oldestAt: deliveries.oldestDueAt } },
    workers: deliveries.workers,
    cases,
    comparisons,
  }
}
