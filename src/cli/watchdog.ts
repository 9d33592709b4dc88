import { url as inspectorUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'

/** The loop says this often that it turns. */
const TURN_EVERY_MS = 500
/** Instead of a number of turns: a debugger may stop this process for as long as it likes. */
export const DEBUGGED = -1

/**
 * Ends this process when its event loop has not turned for 10 s, so that a supervisor starts a new one. A blocked loop
 * answers nothing, not even SIGTERM, so a thread of its own watches it: `watchdog-thread.ts`. Called when the service
 * has started.
 */
export function startWatchdog(log: Logger): void {
  const turns = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  let count = 0
  const turn = () => Atomics.store(turns, 0, inspectorUrl() ? DEBUGGED : ++count)
  turn()
  setInterval(turn, TURN_EVERY_MS).unref()
  const thread = new Worker(new URL('./watchdog-thread.ts', import.meta.url), { workerData: turns, execArgv: [] })
  thread.on('error', (err) => log.error({ err }, 'the watchdog ended; a blocked event loop would not be noticed'))
  thread.unref()
}
