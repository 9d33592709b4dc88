import type { Logger } from 'pino'
import type { Database } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { EndpointId } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import { webhookTries, webhookTrySeconds } from '../metrics/instruments.ts'
import type { TryResult } from './delivery-store.ts'
import { disableEndpoint, recordHealth } from './endpoint-store.ts'
import { holdDeliveries } from './hold-deliveries.ts'
import { recordTries } from './record-tries.ts'

const FAILING_DAYS = 5

/** Records tries (record-tries.ts), then the health of their endpoints. Returns the endpoints that this disabled. */
export async function recordResults(
  { database, log }: { database: Database; log: Logger },
  results: TryResult[],
): Promise<EndpointId[]> {
  await recordTries(database, results)
  const disabled = await recordHealthOf(results, { database, log })
  for (const result of results) count(result)
  return disabled
}

async function recordHealthOf(
  results: TryResult[],
  { database, log }: { database: Database; log: Logger },
): Promise<EndpointId[]> {
  const configured = results.filter(({ delivery }) => delivery.endpointId !== null)
  if (configured.length === 0) return []
  const idsOf = (some: TryResult[]) => [...new Set(some.map(({ delivery }) => delivery.endpointId as EndpointId))]
  const healthy = idsOf(configured.filter(({ state }) => state === 'delivered'))
  const failing = idsOf(configured.filter(({ state }) => state !== 'delivered')).filter((id) => !healthy.includes(id))
  const gone = idsOf(configured.filter(({ status }) => status === 410))
  const places = new Map(configured.map(({ delivery }) => [delivery.endpointId, delivery.place]))
  return database.transaction(async (tx) => {
    const disabled: EndpointId[] = []
    const sick = await recordHealth(tx, { healthy, failing, maxDays: FAILING_DAYS })
    const reasons = new Map<EndpointId, string>([
      ...sick.map((id) => [id, `It has only failed for ${FAILING_DAYS} days.`] as const),
      ...gone.map((id) => [id, 'It answered 410 Gone.'] as const),
    ])
    for (const [id, reason] of reasons) {
      const merchantId = await disableEndpoint(tx, id, reason)
      if (!merchantId) continue
      await holdDeliveries(tx, places.get(id) as Place, id)
      await recordAct(tx, { actor: 'worker', act: 'webhook_endpoint.disabled', merchantId, subject: id })
      log.warn({ merchantId, endpointId: id }, 'webhook endpoint disabled')
      disabled.push(id)
    }
    return disabled
  })
}

function count({ state, delivery: { mode }, tookMs }: TryResult): void {
  const outcome = state === 'delivered' ? 'delivered' : state === 'waiting' ? 'failed' : 'given_up'
  webhookTries.inc({ mode, outcome })
  webhookTrySeconds.observe({ outcome }, tookMs / 1_000)
}
