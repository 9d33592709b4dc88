import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTracing } from '../../src/tracing/start-tracing.ts'
import { startListener } from '../support/listener.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'

const collector = await startListener()
const OTEL_EXPORTER_OTLP_ENDPOINT = new URL('/', collector.url).href
const endpoint = await startListener()
const untraced = await (await startPaying({ deliver: true })).addShop()
const service = await startPaying({ deliver: true, workerSettings: { OTEL_EXPORTER_OTLP_ENDPOINT } })
const shop = await service.addShop()
const CARD = { card: '4084 0840 8408 4081' }

interface ExportedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
}

/** Pays by `initialize` and returns the headers of the webhook. */
async function pay(reference: string, headers: Record<string, string> = {}, by: Shop = shop) {
  const before = endpoint.heard.length
  const started = await by.initialize({ reference, webhook: endpoint.url }, headers)
  assert.equal(started.status, 200)
  await by.call('POST', `/sandbox/gateway/charges/${started.body.data.data.reference}`, CARD)
  return (await endpoint.hears(before + 1))[before]?.headers ?? {}
}

test('without tracing no trace is stored or sent', async () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const { traceparent } = await pay('untraced', { traceparent: `00-${trace}-b7ad6b7169203331-01` }, untraced)
  assert.equal(traceparent, undefined)
})

test('one trace leads from the caller over the provider calls to the webhook, in every way to pay', async () => {
  const tracing = await startTracing(OTEL_EXPORTER_OTLP_ENDPOINT)

  const trace = '0af7651916cd43dd8448eb211c80319c'
  const caller = 'b7ad6b7169203331'
  const byCaller = await pay('traced', { traceparent: `00-${trace}-${caller}-01` })
  const [, webhookTrace, webhookSpan] = String(byCaller.traceparent).split('-')
  assert.equal(webhookTrace, trace)

  const [, ownTrace] = String((await pay('own')).traceparent).split('-')
  const [, replaced] = String((await pay('malformed', { traceparent: '00-0-0-01' })).traceparent).split('-')
  for (const made of [ownTrace, replaced]) assert.match(made ?? '', /^[0-9a-f]{32}$/)

  const unsampled = '11111111111111111111111111111111'
  const notRecorded = await pay('unsampled', { traceparent: `00-${unsampled}-${caller}-00` })
  assert.match(String(notRecorded.traceparent), new RegExp(`^00-${unsampled}-[0-9a-f]{16}-00$`))

  const checkout = { country: 'NG', amount: 5_000, user: { email: 'ada@example.com' }, webhook: endpoint.url }
  const checkoutTrace = '22222222222222222222222222222222'
  const created = await shop.call('POST', '/payments/v1/checkouts', checkout, {
    traceparent: `00-${checkoutTrace}-${caller}-01`,
  })
  const before = endpoint.heard.length
  await shop.call('POST', `/payments/v1/payments/${created.body.data.reference}/cancel`)
  const cancelled = (await endpoint.hears(before + 1))[before]?.headers.traceparent
  assert.ok(String(cancelled).startsWith(`00-${checkoutTrace}-`), 'the event of a later request')

  await tracing.stop()
  const readSpans = async (): Promise<ExportedSpan[]> =>
    collector.heard
      .flatMap(({ body }) => JSON.parse(body).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap((scope) => scope.spans)
  // A worker that runs apart sends its own.
  const isSent = (span: ExportedSpan) => span.name === 'send webhook' && span.traceId === ownTrace
  const spans = await eventually(readSpans, (sent) => sent.some(isSent))
  const traced = spans.filter(({ traceId }) => traceId === trace)
  const request = traced.find(({ name }) => name === 'POST /payments/v1/payments/initialize')
  assert.equal(request?.parentSpanId, caller)
  const children = traced.filter(({ parentSpanId }) => parentSpanId === request?.spanId)
  assert.deepEqual(children.map(({ name }) => name).sort(), ['check at gateway', 'send webhook', 'start at gateway'])
  assert.equal(children.find(({ name }) => name === 'send webhook')?.spanId, webhookSpan)
  assert.equal(spans.filter(({ traceId }) => traceId === ownTrace).length, 4, 'all of a payment without a caller')
  assert.equal(spans.filter(({ traceId }) => traceId === unsampled).length, 0)
  assert.equal(collector.heard[0]?.headers['content-type'], 'application/json')

  const { id } = await shop.payment('traced')
  const exported = JSON.stringify(spans)
  assert.ok(exported.includes(`${id.slice(0, 12)}…`), 'the payment can be found')
  assert.ok(!exported.includes(id), 'its whole id opens the payment page, and is a secret')
})
