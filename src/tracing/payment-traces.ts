import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Queries } from '../database/database.ts'
import type { EventId, PaymentId } from '../kernel/ids.ts'
import { contextOf, startSpan, traceparentOf, tracing } from './spans.ts'
import { findTrace, findTraceOfEvent, saveTrace } from './trace-store.ts'

// A payment has one trace: that of the API request that made it, or one that begins with its first provider call. It is
// stored with the payment, because notices, checks and webhooks come later and in other processes. Nothing here may
// fail a payment.

/** Stores the trace of the current API request with the payment that it made. */
export async function keepTrace(db: Queries, paymentId: PaymentId): Promise<void> {
  if (tracing.isOn) await save(db, paymentId, trace.getActiveSpan())
}

/** A span for a call of the payment's provider. Undefined when tracing is off. */
export async function startProviderSpan(db: Queries, paymentId: PaymentId, name: string): Promise<Span | undefined> {
  if (!tracing.isOn) return undefined
  const request = trace.getActiveSpan()
  const stored = request ? undefined : await findTrace(db, paymentId).catch(() => undefined)
  const span = startSpan(name, SpanKind.CLIENT, request ? context.active() : contextOf(stored))
  if (!stored) await save(db, paymentId, request ?? span)
  return span
}

/** A span for one try of a delivery. Undefined when tracing is off. */
export async function startDeliverySpan(db: Queries, eventId: EventId): Promise<Span | undefined> {
  if (!tracing.isOn) return undefined
  const stored = await findTraceOfEvent(db, eventId).catch(() => undefined)
  return startSpan('send webhook', SpanKind.PRODUCER, contextOf(stored), { 'manilla.event.id': eventId })
}

export function markFailed(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}

async function save(db: Queries, paymentId: PaymentId, span: Span | undefined): Promise<void> {
  const traceparent = span && traceparentOf(span)
  if (traceparent) await saveTrace(db, paymentId, traceparent).catch(() => {})
}
