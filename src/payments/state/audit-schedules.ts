import type { Records } from './audited-records.ts'
import { nextCheck } from './check-schedule.ts'
import type { Payment } from './payment.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Longer than any wait of the service, with what it postpones because of rate limits. */
const MAX_WAIT_MS = 8 * DAY
const MAX_LEASE_MS = HOUR
/** The longest `expiresIn` of a payment. */
const MAX_OPEN_MS = 30 * DAY

/** Schedules that were switched off: nobody would notice what is never done. */
export function auditSchedules({ state: { payment, attempts }, refunds }: Records, now: Date): string[] {
  const found: string[] = []
  const isFar = (at: Date, ms: number) => Number(at) > now.getTime() + ms
  if (payment.status === 'pending' && Number(payment.expiresAt) - payment.createdAt.getTime() > MAX_OPEN_MS)
    found.push(`it expires at ${textOf(payment.expiresAt)}, later than any payment: set expires_at, or cancel it`)
  for (const attempt of attempts) {
    const { reference, checks } = attempt
    const next = nextCheck(attempt, now)
    const resync = `run \`manilla payment resync ${payment.reference}\``
    if (checks.nextAt === null && next instanceof Date && !isDemo(payment))
      found.push(`attempt ${reference} is ${attempt.status} and is not asked about any more: ${resync}`)
    if (checks.nextAt !== null && isFar(checks.nextAt, MAX_WAIT_MS))
      found.push(`attempt ${reference} is not asked about before ${textOf(checks.nextAt)}: ${resync}`)
  }
  for (const { id, status, dueAt, leasedUntil } of refunds) {
    if (status !== 'pending') continue
    if (isFar(leasedUntil, MAX_LEASE_MS))
      found.push(`pending refund ${id} is leased until ${textOf(leasedUntil)}: set leased_until to now()`)
    if (dueAt === null && !isFar(leasedUntil, 0))
      found.push(`pending refund ${id} is never asked for: set due_at to now()`)
    else if (dueAt !== null && isFar(dueAt, MAX_WAIT_MS))
      found.push(`pending refund ${id} is not asked for before ${textOf(dueAt)}: set due_at to now()`)
  }
  return found
}

/** Their provider does not know them, so that it is never asked: see demo-data/. */
function isDemo({ mode, reference }: Payment): boolean {
  return mode === 'sandbox' && reference.startsWith('DEMO-')
}

/** `infinity` of the database is no Date. */
function textOf(at: Date): string {
  return at instanceof Date ? at.toISOString() : 'the end of time'
}
