import type { Database } from '../database/database.ts'
import { holdNextDeliveries } from '../webhooks/hold-deliveries.ts'
import { forgetOldLeases } from '../webhooks/lease-store.ts'
import { scheduleMissedRetries } from '../webhooks/retry-store.ts'
import type { Destination } from '../webhooks/search-store.ts'
import type { Job } from './worker.ts'

const HOUR_MS = 3_600_000
// Rows per statement, so that each stays far below the statement timeout.
const HOLD_BATCH = 2_000
const SCAN_BATCH = 1_000

/** Housekeeping of webhook deliveries. The delivery loop in webhooks/ sends them. */
export function deliveryJobs({ database }: { database: Database }): Job[] {
  let oldLeasesAfter: Destination | undefined
  let missedAfter: Destination | undefined
  return [
    {
      name: 'hold deliveries of disabled endpoints',
      everyMs: 1_000,
      run: () => holdNextDeliveries(database, HOLD_BATCH),
    },
    {
      name: 'schedule missed retries',
      everyMs: 5_000,
      async run() {
        missedAfter = await scheduleMissedRetries(database, missedAfter, SCAN_BATCH)
        return false
      },
    },
    {
      name: 'delete old leases',
      everyMs: HOUR_MS,
      async run() {
        oldLeasesAfter = await forgetOldLeases(database, oldLeasesAfter, SCAN_BATCH)
        return oldLeasesAfter !== undefined
      },
    },
  ]
}
