import type { ProviderAnswer, Unknown } from '../provider.ts'
import { unknown } from './mapping.ts'
import { readData, readPageCount } from './wire.ts'

export const PER_PAGE = 100
/** A payment with more refunds than fit on these pages needs a person. */
export const MAX_PAGES = 10

/** `meta.pageCount` decides. Without it, a page that is not full is the last. */
export function isLastPage(text: string, page: number, entries: number): boolean {
  const pages = readPageCount(text)
  return pages === undefined ? entries < PER_PAGE : page >= pages
}

/** Every entry of a list over all of its pages. `path` ends with a query. */
export async function everyEntry<T>(
  get: (path: string) => Promise<ProviderAnswer>,
  path: string,
  read: (data: unknown) => T[] | undefined,
): Promise<T[] | Unknown> {
  const entries: T[] = []
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await get(`${path}&perPage=${PER_PAGE}&page=${page}`)
    if (answer.kind === 'unknown') return answer
    const some = answer.status === 200 ? read(readData(answer.text)) : undefined
    if (!some) return unknown(`it answered ${answer.status} with what we cannot read`)
    entries.push(...some)
    if (isLastPage(answer.text, page, some.length)) return entries
  }
  return unknown('the list has more pages than are read')
}
