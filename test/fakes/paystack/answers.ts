import type { Said } from '../upstream.ts'
import { toJSON } from './state.ts'

/** How Paystack words its answers. */

export const ok = (message: string, data: unknown): Said => ({
  status: 200,
  text: toJSON({ status: true, message, data }),
})

export const refuse = (status: number, code: string, message: string): Said => ({
  status,
  text: toJSON({ status: false, message, meta: { nextStep: 'Look again' }, type: 'validation_error', code }),
})

export const BANKS = [
  { id: 1, name: 'Access Bank', slug: 'access-bank', code: '044', currency: 'NGN', type: 'nuban' },
  { id: 9, name: 'Guaranty Trust Bank', slug: 'guaranty-trust-bank', code: '058', currency: 'NGN', type: 'nuban' },
  { id: 21, name: 'Zenith Bank', slug: 'zenith-bank', code: '057', currency: 'NGN', type: 'nuban' },
  { id: 30, name: 'GCB Bank', slug: 'gcb', code: '040100', currency: 'GHS', type: 'ghipss' },
]

/** With a cursor; the last page names no next one. */
export function listOfBanks(query: URLSearchParams): Said {
  if (query.get('use_cursor') !== 'true') return refuse(400, 'invalid_params', 'The fake lists banks by cursor alone')
  const [from, size] = [Number(query.get('next') ?? 0), Math.min(Number(query.get('perPage') ?? 50), 2)]
  const found = BANKS.filter(({ currency }) => currency === query.get('currency'))
  const next = from + size < found.length ? String(from + size) : null
  const meta = { next, previous: null, perPage: size }
  const data = found.slice(from, from + size)
  return { status: 200, text: toJSON({ status: true, message: 'Banks retrieved', data, meta }) }
}

export interface Paging {
  /** The most entries that a page of a list has. */
  longestPage: number
  /** Lists say how many pages they have, or name the next one. */
  pages: 'counted' | 'named'
  /** How old an entry has to be, to be in a list. */
  lagMs: number
}

/** By the time of creation. */
export function list<T extends { createdAt: string }>(
  { longestPage, pages, lagMs }: Paging,
  message: string,
  all: T[],
  query: URLSearchParams,
  show: (one: T) => object,
): Said {
  const [from, to] = [Date.parse(query.get('from') ?? '1970-01-01'), Date.parse(query.get('to') ?? '9999-12-31')]
  if (Number.isNaN(from) || Number.isNaN(to)) return refuse(400, 'invalid_params', '"from" is not valid')
  const latest = lagMs > 0 ? Math.min(to, Date.now() - lagMs) : to
  const found = all.filter(({ createdAt }) => Date.parse(createdAt) >= from && Date.parse(createdAt) <= latest)
  const asked = Number(query.get('perPage') ?? query.get('per_page') ?? 50)
  const [perPage, page] = [Math.min(asked, longestPage), Number(query.get('page') ?? 1)]
  const start = query.get('use_cursor') === 'true' ? query.get('next') : null
  const skipped = start === null ? (page - 1) * perPage : Number(Buffer.from(start, 'base64').toString().split(':')[1])
  const after = skipped + perPage
  const next = after < found.length ? Buffer.from(`undefined:${after}`).toString('base64') : null
  const meta =
    pages === 'named'
      ? { next, previous: null, perPage }
      : {
          ...{ total: found.length, skipped, perPage: `${perPage}`, page },
          pageCount: Math.ceil(found.length / perPage),
        }
  const data = found.slice(skipped, skipped + perPage).map(show)
  return { status: 200, text: toJSON({ status: true, message, data, meta }) }
}

/** Documented variations of its answers. */
export interface Behaviour extends Paging {
  /** How it says that it has no such transaction. */
  missing: 400 | 404
  /** It adds the fees by itself, in hundredths. */
  feesPassedOn: number
  metadata: unknown
  reusable: boolean
  /** A refund in the list names the dispute that it settles. */
  namesDispute: boolean
  /** `refund_amount` of a dispute is null while it is open. */
  hidesDisputedAmount: boolean
  /** Refunds wait for the account of the customer. */
  refundsNeedAttention: boolean
}

export const AS_USUAL: Behaviour = {
  ...{ missing: 404, feesPassedOn: 0, metadata: '', reusable: true, longestPage: 100 },
  ...{ pages: 'counted', lagMs: 0, namesDispute: true, hidesDisputedAmount: false, refundsNeedAttention: false },
}

export const TEST_CARD = {
  last4: '4081',
  exp_month: '09',
  exp_year: '2030',
  card_type: 'visa ',
  brand: 'visa',
  bank: 'TEST BANK',
}
