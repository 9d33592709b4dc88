// The thread of the watchdog. `workerData` counts the turns of the main thread's event loop.
import { write } from 'node:fs'
import { Session } from 'node:inspector'
import { workerData } from 'node:worker_threads'
import { DEBUGGED } from './watchdog.ts'

const LOOK_EVERY_MS = 500
/**
 * 10 s. Ticks of this thread, not wall time: when the process or the machine was suspended, this thread was as well.
 */
const MOST_IDLE_LOOKS = 20
/** Code outside of JavaScript cannot be interrupted, so it has no stack to show. */
const STACK_WITHIN_MS = 5_000
/** Who reads the log may be what hangs. */
const LOG_WITHIN_MS = 2_000

const turns: Int32Array = workerData
let lastSeen = 0
let idleLooks = 0

const timer = setInterval(() => {
  const seen = Atomics.load(turns, 0)
  idleLooks = seen === lastSeen && seen !== DEBUGGED ? idleLooks + 1 : 0
  lastSeen = seen
  if (idleLooks < MOST_IDLE_LOOKS) return
  clearInterval(timer)
  setTimeout(() => end('    (its stack could not be read: it is in native code)', kill), STACK_WITHIN_MS)
  stopMainThread(end)
}, LOOK_EVERY_MS)

/** Stops the main thread where it is, even in a loop without end. */
function stopMainThread(onStack: (stack: string, end: () => void) => void): void {
  const session = new Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url))
  session.once('Debugger.paused', ({ params: { callFrames } }) => {
    const lines = callFrames.map(({ functionName, location: { scriptId, lineNumber, columnNumber = 0 } }) => {
      const place = `${urls.get(scriptId)}:${lineNumber + 1}:${columnNumber + 1}`
      return `    at ${functionName || '<anonymous>'} (${place})`
    })
    onStack(lines.join('\n'), () => {
      kill()
      // In a container we may be process 1, which the kernel protects from signals of its own container, SIGKILL as
      // well.
      const callFrameId = callFrames[0]?.callFrameId ?? ''
      session.post('Debugger.evaluateOnCallFrame', { callFrameId, expression: 'process.reallyExit(1)' })
    })
  })
  session.post('Debugger.enable')
  session.post('Debugger.pause')
}

/** SIGKILL: the main thread handles no other signal. All state is in the database, so a process may end at any time. */
function kill(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Logs, and ends the process also when nobody reads the log. */
async function end(stack: string, endProcess: () => void): Promise<void> {
  setTimeout(endProcess, LOG_WITHIN_MS)
  const seconds = (MOST_IDLE_LOOKS * LOOK_EVERY_MS) / 1_000
  const err = new Error(`the event loop has not turned for ${seconds} s`)
  err.stack = `${err}\n${stack}`
  // Loaded lazily: this thread is in every process, and should be small.
  const { createLog } = await import('../log.ts')
  const log = createLog('fatal', { write: (line) => write(2, line, endProcess) })
  log.fatal({ err }, 'blocked: the watchdog ends this process')
}
