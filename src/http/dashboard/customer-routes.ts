import { Problem } from '../../kernel/problem.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { listCustomers, summarizeCustomer } from '../../payments/store/customers.ts'
import { listCards } from '../../payments/store/saved-cards.ts'
import { eraseCustomer } from '../../payments/upkeep/erase-customer.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { FORMATS } from '../contract/formats.ts'
import type { App } from '../server/framework.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { DEFAULT_PAGE_SIZE } from './payment-routes.ts'
import { CustomerAnswer, CustomersAnswer, CustomersQuery, ErasureAnswer } from './payments-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

/** A shop may use one address for many signed-in customers. */
const MAX_USER_IDS = 10
const UNKNOWN = 'You have no payment or saved card of a customer with this e-mail address.'

/** Customers, by the e-mail address of their payments. */
export function customerRoutes(app: App, { database }: PaymentDeps): void {
  const config = { access: 'read' } as const

  app.get(
    `${OF_MERCHANT}/customers`,
    { config, schema: { querystring: CustomersQuery, response: { 200: CustomersAnswer } } },
    async (request) => {
      const { limit, cursor } = request.query
      const { customers, nextBefore } = await listCustomers(database.reads, scopeOf(request), {
        before: cursor === undefined ? undefined : readCursor('payment', cursor),
        limit: Number(limit ?? DEFAULT_PAGE_SIZE),
      })
      return {
        data: customers.map(({ lastAt, ...customer }) => ({ ...customer, lastAt: lastAt.toISOString() })),
        nextCursor: nextBefore && makeCursor(nextBefore),
      }
    },
  )

  app.get<{ Params: { email: string } }>(
    `${OF_MERCHANT}/customers/:email`,
    { config, schema: { response: { 200: CustomerAnswer } } },
    async (request) => {
      const email = emailOf(request.params.email)
      const scope = scopeOf(request)
      const summary = await summarizeCustomer(database, scope, email)
      if (!summary) throw new Problem('not_found', UNKNOWN)
      const owners = [null, ...summary.userIds.slice(0, MAX_USER_IDS)]
      const cards = await Promise.all(owners.map((id) => listCards(database, scope, { id, email })))
      return {
        data: {
          ...summary,
          email,
          firstAt: summary.firstAt.toISOString(),
          lastAt: summary.lastAt.toISOString(),
          cards: cards.flat().map((card) => ({ ...card, createdAt: card.createdAt.toISOString() })),
        },
      }
    },
  )

  app.post<{ Params: { email: string } }>(
    `${OF_MERCHANT}/customers/:email/erase`,
    { config: { access: 'settings', stepUp: 'second-factor' }, schema: { response: { 200: ErasureAnswer } } },
    async (request) => {
      const { actor } = inMerchant(request)
      const data = await eraseCustomer({ database }, actor, scopeOf(request), emailOf(request.params.email))
      return { data }
    },
  )
}

function emailOf(text: string): string {
  if (text.length > 254 || !FORMATS['e-mail']?.test(text)) throw new Problem('not_found', UNKNOWN)
  return text
}
