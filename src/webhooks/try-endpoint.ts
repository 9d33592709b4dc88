import type { WebhookSecret } from '../events/webhook-secret.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Place } from '../kernel/place.ts'
import type { WebhookAnswer } from '../outbound/webhook-http.ts'
import type { DeliveryDependencies } from './delivery-loop.ts'
import { webhookHeaders } from './signature.ts'

/** Sends a signed test message to an endpoint and returns its answer. Nothing is recorded. */
export function tryEndpoint(
  { http, allowPrivate, clock }: Pick<DeliveryDependencies, 'http' | 'allowPrivate'> & { clock: Clock },
  { url, place, mode, secret }: { url: string; place: Place; mode: Mode; secret: WebhookSecret },
): Promise<WebhookAnswer> {
  const now = clock.now()
  const { id, body } = testMessage(now, place, mode)
  const headers = webhookHeaders([secret], { id, body, at: now })
  return http.post({ url, headers, body, allowPrivate: allowPrivate(mode, url) })
}

export function testMessage(now: Date, place: Place, mode: Mode): { id: string; body: string } {
  const id = newId('event', now, place)
  const timestamp = now.toISOString()
  return { id, body: JSON.stringify({ id, type: 'endpoint.test', timestamp, mode, sequence: 0, data: {} }) }
}
