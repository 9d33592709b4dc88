import { context, type Span, SpanKind, trace } from '@opentelemetry/api'
import { markFailed } from '../../tracing/payment-traces.ts'
import { contextOf, startSpan, tracing } from '../../tracing/spans.ts'
import type { App } from './framework.ts'

/**
 * A span for each API request, in the trace of the caller's `traceparent`. Requests that are refused before their
 * handler have none.
 */
export function traceRequests(api: App): void {
  const spans = new WeakMap<object, Span>()
  // preHandler: earlier, the context would be lost while Fastify reads the body.
  api.addHook('preHandler', (request, reply, done) => {
    if (!tracing.isOn) return done()
    const { method, routeOptions } = request
    const parent = contextOf(request.headers.traceparent)
    const span = startSpan(`${method} ${routeOptions.url}`, SpanKind.SERVER, parent, {
      'http.request.method': method,
      'http.route': routeOptions.url ?? '',
      'manilla.request.id': request.id,
    })
    spans.set(reply, span)
    context.with(trace.setSpan(parent, span), done)
  })
  api.addHook('onSend', (_request, reply, _payload, done) => {
    const span = spans.get(reply)
    span?.setAttribute('http.response.status_code', reply.statusCode)
    if (span && reply.statusCode >= 500) markFailed(span, String(reply.statusCode))
    span?.end()
    done()
  })
}
