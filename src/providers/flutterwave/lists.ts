import type { Unknown } from '../provider.ts'
import { type Api, unreadable } from './api.ts'
import { isNone } from './failures.ts'
import { unknown } from './mapping.ts'
import { readChargebacks, readEnvelope, readPages, readRefunds, type Transaction } from './wire.ts'

/** Of the refunds or chargebacks of one transaction. */
const MOST_PAGES = 5

/** The key works, and this list is not for it. */
export type Forbidden = { kind: 'forbidden'; status: number }

/**
 * Every entry of a list over all of its pages. An empty list may come as an error with 200, 400 or 404. `read` gets the entries of a page and
 * says undefined when one of them cannot be read.
 */
export async function everyEntry<T>(
  api: Api,
  path: string,
  query: Record<string, string>,
  read: (data: unknown) => T[] | undefined,
  mostPages: number,
): Promise<T[] | Forbidden | Unknown> {
  const entries: T[] = []
  let pages = 1
  for (let page = 1; page <= pages; page++) {
    const answer = await api.get(path, { ...query, ...(page > 1 && { page: String(page) }) })
    if (answer.kind === 'unknown') return answer
    const { status, text } = answer
    const envelope = readEnvelope(text)
    if (!envelope) return unreadable(status)
    if (!envelope.isSuccess) {
      if ([200, 400, 404].includes(status) && isNone(envelope.message)) return entries
      return status === 401 || status === 403 ? { kind: 'forbidden', status } : unreadable(status)
    }
    const isEmpty = envelope.data == null && isNone(envelope.message)
    const some = status === 200 ? (isEmpty ? [] : read(envelope.data)) : undefined
    if (!some) return unreadable(status)
    entries.push(...some)
    pages = readPages(envelope.meta)
    if (pages > mostPages) return unknown('the list has more pages than are read')
  }
  return entries
}

/** For a list that must be readable. */
export function required<T>(list: T[] | Forbidden | Unknown): T[] | Unknown {
  return !Array.isArray(list) && list.kind === 'forbidden' ? unreadable(list.status) : list
}

/** For a list that some accounts may not read: nothing is known to be in it. */
export function optional<T>(list: T[] | Forbidden | Unknown): T[] | Unknown {
  return !Array.isArray(list) && list.kind === 'forbidden' ? [] : list
}

export function refundsOf(api: Api, { id, currency }: Pick<Transaction, 'id' | 'currency'>) {
  return everyEntry(api, '/refunds', { id }, (data) => readRefunds(data, id, currency), MOST_PAGES)
}

/** `id` is the transaction's here, too. */
export function chargebacksOf(api: Api, { id, currency }: Transaction) {
  return everyEntry(api, '/chargebacks', { id }, (data) => readChargebacks(data, id, currency), MOST_PAGES)
}
