import pg from 'pg'

export interface Listener {
  heard(payload: string): void
  /** Connected, for the first time or again: something may have been said before we listened. */
  missed(): void
}

/**
 * Hears what is notified on some channels, on one connection of its own: a pooled one may sit behind a pooler that does not pass it on. A lost
 * connection is made again; what was said meanwhile is not heard, so whoever listens also looks by the clock.
 */
export function listen(url: string, listeners: Record<string, Listener>): { stop(): Promise<void> } {
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = 100

  async function connect() {
    const fresh = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      // We only ever wait on it: without this a peer that is gone without a word is noticed after two hours.
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'manilla-listen',
    })
    client = fresh
    fresh.on('error', () => {}) // its end follows
    fresh.on('end', again)
    fresh.on('notification', ({ channel, payload }) => listeners[channel]?.heard(payload ?? ''))
    try {
      await fresh.connect()
      for (const channel of Object.keys(listeners)) await fresh.query(`listen ${fresh.escapeIdentifier(channel)}`)
      pauseMs = 100
      for (const listener of Object.values(listeners)) listener.missed()
    } catch {
      await fresh.end().catch(() => {})
    }
  }

  function again() {
    if (stopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      if (!stopped) void connect()
    }, pauseMs)
    pauseMs = Math.min(pauseMs * 2, 5_000)
  }

  void connect()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}
