import { batchItems } from '../metrics/instruments.ts'

/**
 * Batch writer (group commit). While one write is running, calls queue up; the next write takes them all. So a hundred
 * callers share one commit, and each gets its own result after that commit.
 *
 * There is no timer: without a running write, a call is written in the same turn of the event loop. A single caller
 * never waits.
 */
export interface BatchOptions<Item, Result> {
  /** For the metrics. */
  name: string
  /** One result per item, in order. An Error as result fails only that item. */
  write(items: Item[]): Promise<(Result | Error)[]>
  /** Larger batches make a statement slower without a gain. */
  maxItems: number
  /** Backpressure: with this many items waiting, further calls are refused. */
  maxWaiting: number
  tooMany(): Error
  /** Whether this failure also applies to the waiting items, which then fail at once. */
  failsAll(error: unknown): boolean
}

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

export function batch<Item, Result>(options: BatchOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let writing = false
  let scheduled = false

  function writeSoon() {
    if (writing || scheduled) return
    scheduled = true
    // Runs after this turn's sockets are read, so that requests that arrived together share a batch.
    setImmediate(() => {
      scheduled = false
      writeNext()
    })
  }

  function writeNext() {
    if (writing || waiting.length === 0) return
    const group = waiting.slice(0, options.maxItems)
    waiting = waiting.slice(options.maxItems)
    writing = true
    batchItems.observe({ batch: options.name }, group.length)
    options.write(group.map(({ item }) => item)).then(
      (results) => {
        writing = false
        // Starts the next batch before the callers are resolved, so that the database works meanwhile.
        writeNext()
        for (const [index, { resolve, reject }] of group.entries()) {
          const result = results[index] as Result | Error
          if (result instanceof Error) reject(result)
          else resolve(result)
        }
      },
      (error) => {
        writing = false
        const failed = options.failsAll(error) ? group.concat(waiting.splice(0)) : group
        writeNext()
        for (const { reject } of failed) reject(error)
      },
    )
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= options.maxWaiting) return reject(options.tooMany())
      waiting.push({ item, resolve, reject })
      writeSoon()
    })
}
