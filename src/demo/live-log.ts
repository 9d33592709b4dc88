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
  /**
   * The order of the line, and the visitor who made it. Unverified webhooks have neither, and show nothing of what was
   * sent.
   */
  reference?: string
  visitor?: string | undefined
  bodies?: { label: string; body: unknown }[]
}

type Listener = (line: Line) => void

const MOST_LINES_OF_VISITOR = 200
const MOST_LINES = 2_000

/** What a page shows: the lines of its visitor, of one order or of all. */
export interface Shown {
  visitor: string
  reference?: string | undefined
}

export function isShown({ visitor, reference }: Shown, line: Line): boolean {
  const isOwn = line.visitor === visitor || line.visitor === undefined
  return isOwn && (!reference || line.reference === reference)
}

/** The latest lines of all visitors, in memory. */
export class LiveLog {
  readonly #lines: Line[] = []
  readonly #listeners = new Set<Listener>()
  #last = Date.now()

  add(line: Omit<Line, 'number' | 'at'>): void {
    const added = { ...line, number: ++this.#last, at: new Date() }
    this.#lines.push(added)
    const own = this.#lines.filter(({ visitor }) => visitor === added.visitor)
    if (own.length > MOST_LINES_OF_VISITOR) this.#lines.splice(this.#lines.indexOf(own[0] as Line), 1)
    if (this.#lines.length > MOST_LINES) this.#lines.shift()
    for (const listener of this.#listeners) listener(added)
  }

  /** The number of the newest line. */
  get last(): number {
    return this.#last
  }

  /** Lines after that number. */
  after(number: number, shown: Shown): Line[] {
    return this.#lines.filter((line) => line.number > number && isShown(shown, line))
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
