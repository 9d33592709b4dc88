import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

export interface Pressure {
  isHigh(): boolean
  stop(): void
}

const LOOK_EVERY_MS = 500
const MAX_DELAY_MS = 1_000
const MAX_HEAP_SHARE = 0.9

/** Looks twice a second whether this process keeps up: is the event loop on time, is there memory left? */
export function watchPressure(): Pressure {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let high = false
  const timer = setInterval(() => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    high = delay.mean / 1e6 > MAX_DELAY_MS || used_heap_size > heap_size_limit * MAX_HEAP_SHARE
    delay.reset()
  }, LOOK_EVERY_MS)
  timer.unref()
  return {
    isHigh: () => high,
    stop() {
      clearInterval(timer)
      delay.disable()
    },
  }
}
