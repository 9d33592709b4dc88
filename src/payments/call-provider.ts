import { shortenPageIds } from '../kernel/page-secrets.ts'
import { providerCallSeconds, providerCalls } from '../metrics/instruments.ts'
import type { Declined, ProviderClient, Unknown } from '../providers/provider.ts'
import { markFailed, startProviderSpan } from '../tracing/payment-traces.ts'
import type { PaymentDeps } from './deps.ts'
import { type Attempt, isOfProvider } from './state/attempt.ts'
import { type CallRecord, callRecorded } from './store/attempts.ts'

/** The names of calls as the timeline shows them. */
export type ProviderCall =
  | 'start'
  | 'submit code'
  | 'charge saved card'
  | 'check'
  | 'refund'
  | 'list returns'
  | 'list banks'

const START_CALLS: ReadonlySet<ProviderCall> = new Set(['start', 'submit code', 'charge saved card'])

/** Calls the attempt's provider and records the call for the timeline. */
export async function callProvider<Answer extends { kind: string }>(
  deps: PaymentDeps,
  attempt: Attempt,
  call: ProviderCall,
  request: (client: ProviderClient) => Promise<Answer>,
): Promise<Answer | Unknown> {
  const { answer, record } = await askProvider(deps, attempt, call, request)
  await recordProviderCall(deps, record)
  return answer
}

/** The timeline is information for people, so a failure to record a call does not fail the call. */
export async function recordProviderCall({ database, log }: PaymentDeps, record: CallRecord): Promise<void> {
  await database
    .rows(callRecorded(record))
    .catch((err) => log.warn({ err, attemptId: record.attemptId }, 'recording a provider call for the timeline failed'))
}

/**
 * Calls the attempt's provider. The caller writes the record for the timeline together with the outcome. Must not run
 * inside a transaction. An error of the adapter is an unknown outcome, because the request may have reached the
 * provider.
 */
export async function askProvider<Answer extends { kind: string }>(
  deps: PaymentDeps,
  attempt: Attempt,
  call: ProviderCall,
  request: (client: ProviderClient) => Promise<Answer>,
): Promise<{ answer: Answer | Unknown; record: CallRecord }> {
  const { id: attemptId, paymentId, provider, keysVersion } = attempt
  const isStart = START_CALLS.has(call)
  const span = await startProviderSpan(deps.database, paymentId, `${call} at ${provider}`)
  const start = performance.now()
  let answer: Answer | Unknown
  let isConnected = false
  try {
    const client = await deps.providers.connect(attempt, provider, {
      keysVersion,
      purpose: isStart ? 'start' : 'check',
    })
    isConnected = true
    answer = await request(client)
  } catch (err) {
    deps.log.error({ err, attemptId, provider, call }, 'provider adapter failed')
    const because = 'the adapter failed; the log has the reason'
    answer = { kind: 'unknown', because, ...(!isConnected && { neverSent: true }) }
  }
  const tookMs = performance.now() - start
  // The list of banks may fail while payments work, so it says nothing about the provider's health.
  if (call !== 'list banks' && (isStart || !isRefusedCheck(answer))) {
    const refusedStart = call === 'start' && isRefusal(answer)
    const result = answer.kind === 'unknown' || refusedStart ? 'failed' : 'succeeded'
    deps.providers.recordResult(attempt, provider, result)
  }
  const outcome = answer.kind
  providerCalls.inc({ provider, mode: attempt.mode, call, outcome })
  providerCallSeconds.observe({ provider, call }, tookMs / 1_000)
  deps.log.info({ paymentId, attemptId, provider, call, outcome, tookMs: Math.round(tookMs) }, 'provider called')
  const detail = 'because' in answer ? String(answer.because) : null
  span?.setAttributes({
    'manilla.payment.id': shortenPageIds(paymentId), // the whole id opens the payment page
    'manilla.attempt.id': attemptId,
    'manilla.outcome': outcome,
  })
  if (span && outcome === 'unknown') markFailed(span, detail ?? outcome)
  span?.end()
  return { answer, record: { attemptId, call, outcome, detail, tookMs, at: deps.clock.now() } }
}

/** A customer without money, or without an account at the network, says nothing about the provider. */
function isRefusal(answer: { kind: string } | Declined): boolean {
  return answer.kind === 'declined' && 'failure' in answer && isOfProvider(answer.failure)
}

/**
 * A check that the provider's rate limit (429) or our circuit breaker refused says nothing about the provider's health
 * for starts.
 */
function isRefusedCheck(answer: { kind: string } | Unknown): boolean {
  return answer.kind === 'unknown' && 'because' in answer && (answer.errorStatus === 429 || answer.neverSent === true)
}
