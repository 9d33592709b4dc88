import assert from 'node:assert/strict'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import type { AccountLists, ListedSettlement, ListedSettlementLine, Providers } from '../../src/providers/provider.ts'
import type { PayingService, Shop } from './paying.ts'
import type { Json } from './payment-records.ts'
import { makeDue, runDue } from './reconciling.ts'

/** What a provider that pays out ₦1,000.00 for one payment says. */
export const SETTLEMENT: ListedSettlement = {
  ...{ id: 'set_1', currency: 'NGN' as ListedSettlement['currency'], status: 'paid', because: null },
  ...{ madeAt: new Date(), expectedOn: null, paidAt: new Date() },
  ...{ gross: 100_000, fees: 1_500, deductions: 0, net: 98_500 },
  ...{ bankReference: null, hasLines: true, difference: null },
}
export const LINE: ListedSettlementLine = {
  ...{
    id: 'l_1',
    kind: 'payment',
    transactionId: 't_1',
    orderReference: null,
    gross: 100_000,
    fee: 1_500,
    net: 98_500,
  },
}
export const page = <Entry>(entries: Entry[]) => ({ kind: 'page' as const, entries, nextCursor: null })

export const only = <T>(all: T[]): T => {
  assert.equal(all.length, 1, JSON.stringify(all))
  return all[0] as T
}

export async function get(shop: Shop, path: string) {
  const { status, body } = await shop.call('GET', `/payments/v1/${path}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}

export const settlementsOf = (shop: Shop): Promise<Json[]> => get(shop, 'settlements')

/** The providers, with other lists. */
export function withLists(parts: PaymentDeps, lists: AccountLists): PaymentDeps {
  const connect: Providers['connect'] = async (...of) => {
    const own = await parts.providers.connect(...of)
    return { ...own, lists: { ...own.lists, ...lists } }
  }
  return { ...parts, providers: { ...parts.providers, connect } }
}

/** Reads the lists of a shop whose provider says so of one settlement. */
export async function hears(
  { database, parts }: PayingService,
  shop: Shop,
  changes: Partial<ListedSettlement>,
  lines: ListedSettlementLine[] = [LINE],
): Promise<Json> {
  await makeDue(database, shop, '10 days')
  await runDue(
    withLists(parts, {
      settlements: async () => page([{ ...SETTLEMENT, ...changes }]),
      settlementLines: async () => page(lines),
    }),
  )
  const settlements = await settlementsOf(shop)
  return settlements.find(({ providerId }) => providerId === (changes.id ?? SETTLEMENT.id)) ?? assert.fail()
}
