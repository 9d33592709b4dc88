/** The shortest time between two statements with notifications of one process, so that many changes cost one statement. */
const INTERVAL_MS = 40

export interface Notifier {
  notify(channel: string, payload?: string): void
  onNotify(handler: (channel: string, payload: string) => void): void
  stop(): Promise<void>
}

/**
 * Sends PostgreSQL notifications after the commit of the change, never inside its transaction: NOTIFY takes a lock on the whole database
 * that is held until the commit is on disk, so that transactions with a NOTIFY commit one after another. This process learns of its own
 * changes at once, other processes within 40 ms. A notification that is lost with its process does no harm: every listener also polls.
 */
export function notifier(send: (channels: string[], payloads: string[]) => Promise<unknown>): Notifier {
  const handlers: ((channel: string, payload: string) => void)[] = []
  let waiting = new Map<string, [channel: string, payload: string]>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<unknown> = Promise.resolve()
  let sentAtMs = Number.NEGATIVE_INFINITY

  function sendWaiting() {
    timer = undefined
    sentAtMs = performance.now()
    const group = [...waiting.values()]
    waiting = new Map()
    sending = send(
      group.map(([channel]) => channel),
      group.map(([, payload]) => payload),
    ).catch(() => {})
  }

  return {
    notify(channel, payload = '') {
      for (const handler of handlers) handler(channel, payload)
      waiting.set(`${channel} ${payload}`, [channel, payload])
      timer ??= setTimeout(sendWaiting, Math.max(0, sentAtMs + INTERVAL_MS - performance.now()))
    },
    onNotify: (handler) => void handlers.push(handler),
    async stop() {
      if (timer) {
        clearTimeout(timer)
        sendWaiting()
      }
      await sending
    },
  }
}
