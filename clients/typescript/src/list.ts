import { ManillaError } from './errors.ts'

export interface Page<Item> {
  data: Item[]
  /** Pass it as `cursor` to get the next page. `null`: this is the last one. */
  nextCursor: string | null
}

type ReadPage<Item> = (defaults: { limit?: number }, cursor?: string) => Promise<Page<Item>>

const LARGEST_PAGE = { limit: 100 }

/** A list of any length. `for await` reads page after page; `page()` reads one. */
export class List<Item> implements AsyncIterable<Item> {
  readonly #read: ReadPage<Item>

  constructor(read: ReadPage<Item>) {
    this.#read = read
  }

  /** One page, with the `limit` and `cursor` of the query. */
  page(): Promise<Page<Item>> {
    return this.#read({})
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    let page = await this.#read(LARGEST_PAGE)
    yield* page.data
    const seen = new Set<string>()
    while (page.nextCursor) {
      const cursor = page.nextCursor
      if (seen.has(cursor)) throw new ManillaError(`The list does not end: its cursor ${cursor} comes again.`)
      seen.add(cursor)
      page = await this.#read(LARGEST_PAGE, cursor)
      yield* page.data
    }
  }
}
