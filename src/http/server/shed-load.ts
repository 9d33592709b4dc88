import { getHeapStatistics } from 'node:v8'
import underPressure from '@fastify/under-pressure'
import { Problem } from '../../kernel/problem.ts'
import type { App } from './framework.ts'

const LOAD_SAMPLE_MS = 500

/**
 * Backpressure: refuses POST requests while the event loop lags or the heap is nearly full. Reads are still answered.
 * The start itself blocks the loop, which says nothing about the load: the first samples are ignored.
 */
export async function shedLoad(api: App): Promise<void> {
  let measuresLoadFrom = 0
  api.addHook('onListen', async () => {
    measuresLoadFrom = performance.now() + 2 * LOAD_SAMPLE_MS
  })
  await api.register(underPressure, {
    maxEventLoopDelay: 1_000,
    maxHeapUsedBytes: getHeapStatistics().heap_size_limit * 0.9,
    sampleInterval: LOAD_SAMPLE_MS,
    pressureHandler: async ({ method }) => {
      if (method === 'POST' && performance.now() >= measuresLoadFrom)
        throw new Problem('unavailable', 'The service is overloaded. Try again shortly.', { retryAfterSeconds: 1 })
    },
  })
}
