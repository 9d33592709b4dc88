import cluster from 'node:cluster'
import { AggregatorRegistry, type Registry } from 'prom-client'

// With WORKERS, each process has its own metrics, and a scrape reaches any of them. That process asks the primary
// process, which asks all workers (prom-client) and answers with the sums.
const METRICS = 'manilla:metrics'
const TIMEOUT_MS = 6_000

interface Question {
  type: typeof METRICS
  id: number
}
type Answer = Question & { text?: string }

const isMetrics = (message: unknown): message is Answer => (message as { type?: unknown } | null)?.type === METRICS

/** In the primary process: answers the workers. */
export function answerMetrics(): void {
  const aggregator = new AggregatorRegistry()
  cluster.on('message', async (worker, message: unknown) => {
    if (!isMetrics(message)) return
    const text = await aggregator.clusterMetrics().catch(() => undefined) // a worker has just ended
    if (worker.isConnected()) worker.send({ type: METRICS, id: message.id, text } satisfies Answer)
  })
}

/** In a worker: the metrics of all workers. Otherwise those of this process. */
export function metricsReader(registry: Registry): () => Promise<string> {
  const { worker } = cluster
  if (!worker) return () => registry.metrics()
  AggregatorRegistry.setRegistries([registry])
  new AggregatorRegistry() // makes this process answer the primary
  let last = 0
  const waiting = new Map<number, (text: string | undefined) => void>()
  worker.on('message', (message: unknown) => {
    if (isMetrics(message)) waiting.get(message.id)?.(message.text)
  })
  return async () => {
    const id = ++last
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    waiting.set(id, resolve)
    const timer = setTimeout(resolve, TIMEOUT_MS, undefined)
    worker.send({ type: METRICS, id } satisfies Question)
    const text = await promise
    clearTimeout(timer)
    waiting.delete(id)
    return text ?? registry.metrics()
  }
}
