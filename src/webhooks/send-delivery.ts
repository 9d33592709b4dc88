import type { KeyObject } from 'node:crypto'
import type { Span } from '@opentelemetry/api'
import type { Logger } from 'pino'
import type { Queries } from '../database/database.ts'
import { defaultSecretContext, ensureDefaultSecret } from '../events/webhook-secret-store.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Mode } from '../kernel/mode.ts'
import { Problem } from '../kernel/problem.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { WebhookAnswer, WebhookHttp } from '../outbound/webhook-http.ts'
import { markFailed, startDeliverySpan } from '../tracing/payment-traces.ts'
import { traceparentOf } from '../tracing/spans.ts'
import type { DueDelivery } from './claim-store.ts'
import { judge } from './delivery.ts'
import type { TryResult } from './delivery-store.ts'
import { endpointSecretContext } from './endpoint-store.ts'
import { signingKeys, webhookHeaders } from './signature.ts'

export interface SendDependencies {
  database: Queries
  clock: Clock
  log: Logger
  secrets: SecretBox
  http: Pick<WebhookHttp, 'post'>
  /** Whether webhooks of a mode, or one webhook URL, may have a private address. */
  allowPrivate: (mode: Mode, url?: string) => boolean
}

/**
 * Signs deliveries and sends them. The result never throws. Undefined: the database did not answer while the first
 * webhook of a merchant was signed. Nothing was sent, so that is no try: the delivery stays due.
 */
export function deliverySender(
  dependencies: SendDependencies,
): (delivery: DueDelivery) => Promise<WebhookAnswer | undefined> {
  const { database, clock, log, secrets, http, allowPrivate } = dependencies
  const keyOf = signingKeys((sealed, context) => secrets.open(sealed, context))

  /** One key for each secret that is valid now. A merchant's default secret is created when it first has to sign. */
  async function keysOf(delivery: DueDelivery): Promise<KeyObject[]> {
    const { endpointId, sealedSecret, sealedPreviousSecret } = delivery
    if (endpointId === null && sealedSecret === null) {
      const created = await ensureDefaultSecret(database, secrets, delivery)
      return [keyOf(created.toString('base64'), defaultSecretContext(delivery))]
    }
    const context = endpointId ? endpointSecretContext(endpointId) : defaultSecretContext(delivery)
    const keys = sealedSecret ? [keyOf(sealedSecret, context)] : []
    if (sealedPreviousSecret) keys.push(keyOf(sealedPreviousSecret, context))
    return keys
  }

  return async (delivery) => {
    const { eventId: id, body, url, mode, destination } = delivery
    let span: Span | undefined
    try {
      span = await startDeliverySpan(database, id)
      const traceparent = span && traceparentOf(span)
      const headers = webhookHeaders(await keysOf(delivery), { id, body, at: clock.now() })
      if (traceparent) headers.traceparent = traceparent
      const answer = await http.post({ url, headers, body, allowPrivate: allowPrivate(mode, url), destination })
      if (span) endSpan(span, answer)
      return answer
    } catch (err) {
      span?.end()
      if (err instanceof Problem && err.code === 'unavailable') {
        log.warn({ err, eventId: id }, 'a webhook waits until its secret can be read')
        return undefined
      }
      log.error({ err, eventId: id }, 'sending a delivery failed unexpectedly')
      return { kind: 'failed', because: 'other', detail: 'it could not be sent; the log has the reason', tookMs: 0 }
    }
  }
}

function endSpan(span: Span, answer: WebhookAnswer): void {
  if (answer.kind === 'failed') markFailed(span, answer.because)
  else {
    span.setAttribute('http.response.status_code', answer.status)
    if (answer.status >= 300) markFailed(span, String(answer.status))
  }
  span.end()
}

export function resultOf(delivery: DueDelivery, answer: WebhookAnswer, at: Date): TryResult {
  const { state, waitSeconds } = judge(answer, delivery.tries - delivery.triesBefore + 1, Math.random())
  return {
    delivery,
    at,
    state,
    waitSeconds,
    status: answer.kind === 'answer' ? answer.status : null,
    error: answer.kind === 'answer' ? null : `${answer.because}: ${answer.detail}`,
    answer: answer.kind === 'answer' ? answer.excerpt : '',
    tookMs: answer.tookMs,
  }
}
