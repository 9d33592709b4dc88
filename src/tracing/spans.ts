import {
  type Attributes,
  type Context,
  context,
  propagation,
  type Span,
  type SpanKind,
  trace,
} from '@opentelemetry/api'

/** Set by startTracing. Off: nothing is read from or written to the database for traces. */
export const tracing = { isOn: false }

const tracer = trace.getTracer('manilla')

/** Starts a span. Without a parent it begins a trace. */
export function startSpan(name: string, kind: SpanKind, parent: Context, attributes: Attributes = {}): Span {
  return tracer.startSpan(name, { kind, attributes }, parent)
}

/** The caller's position in a trace, from the header `traceparent` of W3C Trace Context. A malformed one is ignored. */
export function contextOf(traceparent: string | string[] | null | undefined): Context {
  return propagation.extract(context.active(), { traceparent })
}

/** The value of the header `traceparent` for this span. */
export function traceparentOf(span: Span): string | undefined {
  const headers: { traceparent?: string } = {}
  propagation.inject(trace.setSpan(context.active(), span), headers)
  return headers.traceparent
}
