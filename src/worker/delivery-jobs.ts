import type { Database } from '../database/database.ts'
import { forgetOldDeliveries } from '../webhooks/delivery-store.ts'
import { holdNextDeliveries } from '../webhooks/hold-deliveries.ts'
import { forgetOldLeases } from '../webhooks/lease-store.ts'
import { scheduleMissedRetries } from '../webhooks/retry-store.ts'
import type { Job } from './worker.ts'

const HOUR_MS = 3_600_000
// Rows of one statement, so that none comes near the statement timeout.
const HOLD = 2_000
const FORGET = 500
const LOOK_AT = 1_000

/** What the worker does for webhooks, besides sending them. */
export function deliveryJobs({ database }: { database: Database }): Job[] {
  let [oldLeasesAfter, missedAfter] = ['', '']
  return [
    {
      name: 'hold deliveries of endpoints that are off',
      everyMs: 1_000,
      run: () => holdNextDeliveries(database, HOLD),
    },
    {
      name: 'schedule missed retries',
      everyMs: 5_000,
      async run() {
        missedAfter = (await scheduleMissedRetries(database, missedAfter, LOOK_AT)) ?? ''
        return false
      },
    },
    {
      name: 'forget old deliveries',
      everyMs: HOUR_MS,
      run: async () => (await forgetOldDeliveries(database, FORGET)) === FORGET,
    },
    {
      name: 'forget old leases',
      everyMs: HOUR_MS,
      async run() {
        oldLeasesAfter = (await forgetOldLeases(database, oldLeasesAfter, LOOK_AT)) ?? ''
        return oldLeasesAfter !== ''
      },
    },
  ]
}
