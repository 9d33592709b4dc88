import { browserAs, type DashboardBrowser } from './dashboard.ts'
import { eventually, type PayingService, type Shop } from './paying.ts'
import { type Json, payElsewhere } from './payment-records.ts'
import { type Started, start, TRANSFER, transfer } from './sandbox-payments.ts'
import type { Answer } from './service.ts'

/** Of the payments that `begin` starts. */
export const AMOUNT = 10_000

/** The list of transfers in the dashboard, for an owner and a support member of the shop. */
export async function atTransfers(service: PayingService, shop: Shop) {
  const { merchantId } = shop
  const base = `/merchants/${merchantId}/sandbox`
  const owner = await browserAs(service, 'owner', merchantId)
  const support = await browserAs(service, 'support', merchantId)
  const open = async (): Promise<Json[]> => (await owner.call('GET', `${base}/transfers`)).body.data

  async function openMoney(transaction: string): Promise<Json> {
    const all = await eventually(open, (some) => some.some(({ transactionId }) => transactionId === transaction))
    return all.find(({ transactionId }) => transactionId === transaction)
  }

  return {
    ...{ base, owner, support, open, openMoney },
    openOf: async (reference: string) => (await open()).find((each) => each.paymentReference === reference),
    /** Money at the provider for an order that is not ours. */
    unmatchedMoney: async (amount: number) => openMoney((await payElsewhere(service, shop, amount)).transactionId),
    act: (browser: DashboardBrowser, { id, amount }: Json, how: string, body: object): Promise<Answer> =>
      browser.call('POST', `${base}/transfers/${id}/${how}`, { amount, ...body }),
    begin: (reference: string, changes: object = {}): Promise<Started> =>
      start(shop, { ...TRANSFER, amount: AMOUNT, reference, ...changes }),
    async pay(reference: string, accountNumber: string, amount: number, isSo: (payment: Json) => boolean) {
      await transfer(shop, accountNumber, amount)
      return eventually(() => shop.payment(reference), isSo)
    },
  }
}
