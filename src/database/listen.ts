import pg from 'pg'

/**
 * Hears what is notified on a channel, on a connection of its own: a pooled one may sit behind a pooler that does not pass it on. A lost
 * connection is made again; what was said meanwhile is not heard, so whoever listens also looks by the clock.
 */
export function listen(url: string, channel: string, onNotice: () => void): { stop(): Promise<void> } {
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = 100

  async function connect() {
    const fresh = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      application_name: 'manilla-listen',
    })
    client = fresh
    fresh.on('error', () => {}) // its end follows
    fresh.on('end', again)
    fresh.on('notification', onNotice)
    try {
      await fresh.connect()
      await fresh.query(`listen ${fresh.escapeIdentifier(channel)}`)
      pauseMs = 100
      onNotice() // something may have been said before we listened
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
