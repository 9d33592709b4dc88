/** What the shop did, and what was done to it: one line each, for the panel beside the shop. */
export interface Line {
  /** Rises from line to line, over restarts too, so that a browser can say which one it saw last. */
  number: number
  at: Date
  kind: 'request' | 'redirect' | 'widget' | 'webhook'
  title: string
  /** How it went: 201, "signature verified". */
  outcome?: string
  ok: boolean
  /** The order that it belongs to. What cannot be trusted belongs to none. */
  reference?: string
  bodies?: { label: string; body: unknown }[]
}

type Listener = (line: Line) => void

const MOST_LINES = 200

/** The last lines, in memory, the same for everyone who looks. */
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
