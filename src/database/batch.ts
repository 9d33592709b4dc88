/**
 * Writes together what arrives together. While one write is under way, calls queue up; the next write takes them all, so
 * a hundred callers share one commit, and each still gets its own answer, after that commit.
 *
 * There is no timer: with nothing under way a call is written in the same turn of the event loop, so a lone caller waits for
 * nobody.
 */
export interface BatchOptions<Item, Result> {
  /** One result for each item, in order. An Error in place of a result fails that item alone. */
  write(items: Item[]): Promise<(Result | Error)[]>
  /** More would make one statement slow without saving anything more. */
  maxItems: number
  /** Beyond this many waiting, a newcomer is told at once to come back later. */
  maxWaiting: number
  tooMany(): Error
  /** Whether this failure would meet those who wait as well, so that they need not wait to hear it. */
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
    // After this turn's sockets are read: requests that came in together go out together.
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
    options.write(group.map(({ item }) => item)).then(
      (results) => {
        writing = false
        // Before anyone is told: the database works on the next group while we answer this one.
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
