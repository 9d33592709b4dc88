const FRESH_MS = 1_000
const MAX_AGE_MS = 2_000
const MAX_ENTRIES = 10_000

/**
 * A stale-while-revalidate cache. A value younger than FRESH_MS is returned as it is. An older one is returned and read
 * again in the background. After MAX_AGE_MS the caller waits for the read. Concurrent reads of one key are one read.
 */
export interface RefreshingCache<Key, Value> {
  /** Without a promise when the value is cached: a microtask per request is measurable. */
  get(key: Key): Value | Promise<Value>
  /** A read of this key that is under way is not cached. */
  delete(key: Key): void
  clear(): void
}

interface Options<Key, Value> {
  /** `previous` is the value that the new one replaces. */
  read: (key: Key, previous: Value | undefined) => Promise<Value>
  nameOf: (key: Key) => string
  /** A monotonic clock. */
  nowMs?: (() => number) | undefined
}

export function refreshingCache<Key, Value>({
  read,
  nameOf,
  nowMs = () => performance.now(),
}: Options<Key, Value>): RefreshingCache<Key, Value> {
  const entries = new Map<string, { value: Value; readAtMs: number }>()
  const reads = new Map<string, Promise<Value>>()

  function refresh(name: string, key: Key): Promise<Value> {
    const underWay = reads.get(name)
    if (underWay) return underWay
    const readAtMs = nowMs() // taken before the read: the value may be as old as this
    const started = read(key, entries.get(name)?.value)
      .then((value) => {
        if (reads.get(name) !== started) return value // deleted meanwhile
        entries.delete(name) // so that the order of the map is the order of the reads
        entries.set(name, { value, readAtMs })
        if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value as string)
        return value
      })
      .finally(() => {
        if (reads.get(name) === started) reads.delete(name)
      })
    reads.set(name, started)
    return started
  }

  return {
    get(key) {
      const name = nameOf(key)
      const entry = entries.get(name)
      const ageMs = entry ? nowMs() - entry.readAtMs : MAX_AGE_MS
      if (!entry || ageMs >= MAX_AGE_MS) return refresh(name, key)
      // A failed refresh is reported to the first caller after MAX_AGE_MS.
      if (ageMs >= FRESH_MS) refresh(name, key).catch(() => {})
      return entry.value
    },
    delete(key) {
      entries.delete(nameOf(key))
      reads.delete(nameOf(key))
    },
    clear() {
      entries.clear()
      reads.clear()
    },
  }
}
