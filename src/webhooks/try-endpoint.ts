import type { WebhookSecret } from '../events/webhook-secret.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Answer } from './delivery.ts'
import type { DeliveryDependencies } from './delivery-loop.ts'
import { webhookHeaders } from './signature.ts'

/** Sends an endpoint something that is no event, signed like one, to see whether it answers. Nothing is recorded. */
export function tryEndpoint(
  { http, allowPrivate, clock }: Pick<DeliveryDependencies, 'http' | 'allowPrivate'> & { clock: Clock },
  { url, mode, secret }: { url: string; mode: Mode; secret: WebhookSecret },
): Promise<Answer> {
  const now = clock.now()
  const id = newId('event', now)
  const body = JSON.stringify({ id, type: 'endpoint.test', timestamp: now.toISOString(), mode, sequence: 0, data: {} })
  const headers = webhookHeaders([secret], { id, body, at: now })
  return http.post({ url, headers, body, allowPrivate: allowPrivate(mode) })
}
