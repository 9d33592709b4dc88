/** The demo shop's activity log: one line per API call, redirect and webhook. */
export interface Line {
  /** Increases across restarts, so that a browser can resume after the last line it saw. */
  number: number
  at: Date
  kind: 'request' | 'redirect' | 'widget' | 'webhook'
  title: string
  /** Outcome: 201, "signature verified". */
  outcome?: string
  ok: boolean
  /** The order of the line. Unverified webhooks have none. */
  reference?: string
  bodies?: { label: string; body: unknown }[]
}

type Listener = (line: Line) => void

const MOST_LINES = 200

/** The latest lines, in memory, shared by all visitors. */
export class LiveLog {
  readonly #lines: Line[] = []
  readonly #listeners = new Set<Listener>()
  #last = Date.now()

  add(line: Omit<Line, 'number' | 'at'>): void {
    const added = { ...line, number: ++this.#last, at: new Date() }
    this.#lines.push(added)
    if (this.#lines.length > MOST_LINES) this.#lines.shift()
    for (const listener of this.#listeners) listener(added)
  }

  /** The number of the newest line. */
  get last(): number {
    return this.#last
  }

  /** Lines after that number, of one order or of all. */
  after(number: number, reference?: string): Line[] {
    return this.#lines.filter((line) => line.number > number && (!reference || line.reference === reference))
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
