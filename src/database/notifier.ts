/**
 * The shortest time between two statements with notifications of one process, so that many changes cost one statement.
 */
const INTERVAL_MS = 40

const ignore = () => {}

export interface Notifier {
  notify(channel: string, payload?: string): void
  onNotify(handler: (channel: string, payload: string) => void): void
  stop(): Promise<void>
}

/**
 * Sends PostgreSQL notifications after the commit of the change, never inside its transaction: NOTIFY takes a lock on
 * the whole database that is held until the commit is on disk, so that transactions with a NOTIFY commit one after
 * another. This process learns of its own changes at once, other processes within 40 ms. A notification that is lost
 * with its process does no harm: every listener also polls.
 */
export function notifier(send: (channels: string[], payloads: string[]) => Promise<unknown>): Notifier {
  const handlers: ((channel: string, payload: string) => void)[] = []
  let waiting = new Map<string, [channel: string, payload: string]>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let sentAtMs = Number.NEGATIVE_INFINITY

  /** One statement at a time: if PostgreSQL is slow, further ones would take connections from the payments. */
  function schedule() {
    if (timer || sending || waiting.size === 0) return
    timer = setTimeout(sendWaiting, Math.max(0, sentAtMs + INTERVAL_MS - performance.now()))
  }

  function sendWaiting() {
    timer = undefined
    sentAtMs = performance.now()
    const group = [...waiting.values()]
    waiting = new Map()
    const sent = send(
      group.map(([channel]) => channel),
      group.map(([, payload]) => payload),
    )
    sending = sent.then(ignore, ignore).then(() => {
      sending = undefined
      schedule()
    })
  }

  return {
    notify(channel, payload = '') {
      for (const handler of handlers) handler(channel, payload)
      waiting.set(`${channel} ${payload}`, [channel, payload])
      schedule()
    },
    onNotify: (handler) => void handlers.push(handler),
    async stop() {
      const last = sending
      clearTimeout(timer)
      if (waiting.size > 0) sendWaiting()
      await Promise.all([last, sending])
    },
  }
}
