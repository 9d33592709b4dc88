import pg from 'pg'

export interface Listener {
  heard(payload: string): void
  /** Connected or reconnected: notifications may have been missed. */
  missed(): void
}

/**
 * LISTEN on a dedicated connection: a pooler may not forward notifications. A lost connection is reopened;
 * notifications in between are lost, so every listener also polls. `isKnown`: ignores notifications from that backend
 * of PostgreSQL.
 */
export function listen(
  url: string,
  listeners: Record<string, Listener>,
  isKnown = (_processId: number) => false,
): { stop(): Promise<void> } {
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = 100

  async function connect() {
    const fresh = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      // This connection only waits. Without keep-alive, a vanished peer is detected after two hours.
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'manilla-listen',
    })
    client = fresh
    fresh.on('error', () => {}) // the `end` event follows
    fresh.on('end', again)
    fresh.on('notification', ({ processId, channel, payload }) => {
      if (!isKnown(processId)) listeners[channel]?.heard(payload ?? '')
    })
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
