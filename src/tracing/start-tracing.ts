import { setTimeout as sleep } from 'node:timers/promises'
import { context, propagation, trace } from '@opentelemetry/api'
import { OperatorError } from '../kernel/operator-error.ts'
import { tracing } from './spans.ts'

/** A collector that does not answer must not hold up the end of the process, which has 10 s. */
const STOP_WITHIN_MS = 2_000

/**
 * Exports spans to an OpenTelemetry collector by OTLP over HTTP. The packages are optional and loaded only here. They
 * read the other settings of OpenTelemetry (OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER_ARG …) from the environment
 * by themselves.
 */
export async function startTracing(endpoint: string): Promise<{ stop(): Promise<void> }> {
  const [sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, { W3CTraceContextPropagator }, resources] =
    await loadPackages()
  context.setGlobalContextManager(new AsyncLocalStorageContextManager())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })
  const provider = new sdk.TracerProvider({
    resource: resources
      .resourceFromAttributes({ 'service.name': 'manilla' })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    // A caller that does not sample its trace is followed in that.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  })
  trace.setGlobalTracerProvider(provider)
  tracing.isOn = true
  return {
    async stop() {
      tracing.isOn = false
      const late = sleep(STOP_WITHIN_MS, undefined, { ref: false }).then(() => {
        throw new Error(`the collector did not take them within ${STOP_WITHIN_MS} ms`)
      })
      await Promise.race([provider.shutdown(), late])
    },
  }
}

function loadPackages() {
  return Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
  ]).catch((error: Error) => {
    throw new OperatorError(
      `OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages of OpenTelemetry are not installed: run npm ci without --omit=optional (${error.message}).`,
    )
  })
}
