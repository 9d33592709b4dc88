import type { Database } from '../database/database.ts'
import { alertRaised } from '../events/alert-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { uuidOf } from '../kernel/ids.ts'
import { groupByPlace } from '../kernel/place.ts'
import { isAllowed } from '../members/permissions.ts'
import {
  type Alert,
  type AlertChoice,
  findUnaddressed,
  insertCopies,
  listRecipients,
  OPERATOR,
  type Recipient,
  takeUnaddressed,
} from './alert-queue-store.ts'
import { findDisputesDue, findFailingEndpoints, findFailingProviders } from './alert-search-store.ts'
import { ALERTS } from './alert-texts.ts'

interface Deps {
  database: Database
  clock: Clock
}

const BATCH = 500
const HOUR_MS = 3_600_000
const DUE_MS = 72 * HOUR_MS

/** Raises the alerts that no event does. */
export async function findAlerts({ database, clock }: Deps): Promise<void> {
  const now = clock.now()
  const hourAgo = new Date(now.getTime() - HOUR_MS)
  const found = [
    ...(await findDisputesDue(database, now, new Date(now.getTime() + DUE_MS), BATCH)),
    ...(await findFailingEndpoints(database, hourAgo)),
    ...(await findFailingProviders(database, hourAgo)),
  ]
  for (const each of found) await database.rows(alertRaised(each, each, now))
}

/** Writes down who is told of new alerts. Returns true when there may be more. */
export async function addressAlerts({ database, clock }: Deps, hasOperator: boolean): Promise<boolean> {
  const found = await findUnaddressed(database, BATCH)
  const now = clock.now()
  for (const [place, group] of groupByPlace(found, (alert) => alert.place)) {
    const ids = group.map(({ id }) => id)
    await database.transaction(async (tx) => {
      const alerts = await takeUnaddressed(tx, place, ids, now)
      const recipients = await listRecipients(tx, [...new Set(alerts.map(({ merchantId }) => merchantId))])
      const copies = alerts.flatMap((alert) => [
        ...recipients
          .filter((each) => wants(each, alert))
          .map(({ memberId }) => ({ alert, recipient: uuidOf(memberId) })),
        ...(hasOperator && alert.mode === 'live' ? [{ alert, recipient: OPERATOR }] : []),
      ])
      if (copies.length > 0) await insertCopies(tx, place, copies)
    })
  }
  return found.length === BATCH
}

export function wants(
  member: Recipient,
  { merchantId, mode, kind }: Pick<Alert, 'merchantId' | 'mode' | 'kind'>,
): boolean {
  if (member.merchantId !== merchantId || member.mode !== mode) return false
  return isAllowed(member.role, ALERTS[kind].permission) && choiceOf(member).kinds.includes(kind)
}

/** Of a member who has not chosen: who runs the merchant is told of everything in live mode. */
export function choiceOf({ choice, role, mode }: Pick<Recipient, 'choice' | 'role' | 'mode'>): AlertChoice {
  const isTold = mode === 'live' && isAllowed(role, 'settings')
  return choice ?? { kinds: isTold ? (Object.keys(ALERTS) as Alert['kind'][]) : [], daily: false }
}
