export interface Waiting {
  begin(): void
}

export type HostQueues = ReturnType<typeof createHostQueues>

/** Backpressure for each host: so many requests are active, so many wait in order, and further ones are rejected. */
export function createHostQueues(maxActive: number, maxWaiting: number) {
  const hosts = new Map<string, { active: number; waiting: Set<Waiting> | null }>()
  return {
    /** Begins the request now or later. Returns false if the queue is full. A request that began must leave, once. */
    enter(name: string, request: Waiting): boolean {
      const host = hosts.get(name)
      if (host && host.active >= maxActive) {
        host.waiting ??= new Set()
        return host.waiting.size < maxWaiting && host.waiting.add(request).has(request)
      }
      if (host) host.active++
      else hosts.set(name, { active: 1, waiting: null })
      request.begin()
      return true
    },
    leave(name: string): void {
      const host = hosts.get(name)
      if (!host) return
      const [next] = host.waiting ?? []
      if (next) {
        host.waiting?.delete(next)
        next.begin()
      } else if (--host.active === 0) hosts.delete(name)
    },
    /** The request no longer waits. */
    giveUp(name: string, request: Waiting): void {
      hosts.get(name)?.waiting?.delete(request)
    },
  }
}
