import type { OrderHandle, ProviderAnswer, Unknown } from '../provider.ts'
import { unknown, unreadable } from './mapping.ts'
import { readList, readListed } from './wire.ts'

/** Ours and theirs need not have the same time, and the order may have gone out some time after it was written down. */
const BEFORE_SECONDS = 10 * 60
const AFTER_SECONDS = 60 * 60
/** A session is some 5 kB, and an answer of more than a megabyte is not read. */
const PAGE = 50
const MOST_PAGES = 20

const TOO_MANY = unknown('it has too many orders of that hour to look through')

type Get = (path: string) => Promise<ProviderAnswer>

/**
 * The id of an order whose first answer was lost. They know no search by our reference that is up to date (theirs lags by a minute or more),
 * so the lists of that hour are read. Only who has read both to the end may say that it is not there.
 */
export async function findOrder(get: Get, order: OrderHandle): Promise<{ id: string } | { kind: 'missing' } | Unknown> {
  const session = await findIn(get, '/v1/checkout/sessions', order)
  if ('id' in session || (session.kind === 'unknown' && session !== TOO_MANY)) return session
  // A saved card is charged without a session.
  const intent = await findIn(get, '/v1/payment_intents', order)
  return 'id' in intent || session !== TOO_MANY ? intent : session
}

async function findIn(
  get: Get,
  path: string,
  { reference, startedAt }: OrderHandle,
): Promise<{ id: string } | { kind: 'missing' } | Unknown> {
  const started = Math.floor(startedAt.getTime() / 1000)
  const window = `created[gte]=${started - BEFORE_SECONDS}&created[lte]=${started + AFTER_SECONDS}`
  let cursor = ''
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await get(`${path}?limit=${PAGE}&${window}${cursor}`)
    if (answer.kind === 'unknown') return answer
    const list = answer.status === 200 ? readList(answer.text, readListed) : undefined
    if (!list) return unreadable(answer.status)
    const ours = list.data.find((listed) => listed.reference === reference)
    if (ours) return { id: ours.id }
    if (!list.hasMore) return { kind: 'missing' }
    const last = list.data.at(-1)
    if (!last) return unreadable(answer.status)
    cursor = `&starting_after=${encodeURIComponent(last.id)}`
  }
  return TOO_MANY
}
