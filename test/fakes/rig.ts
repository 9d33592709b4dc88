import assert from 'node:assert/strict'
import { type Currency, money } from '../../src/kernel/money.ts'
import type { Order, OrderHandle, Outcome, RefundOrder } from '../../src/providers/provider.ts'
import type { Rig } from './conformance-rig.ts'

/** Orders, payments and refunds for the conformance suites. */

export async function startedCard(rig: Rig, changes: Partial<Order> = {}) {
  const order = orderOf(rig, changes)
  const start = await rig.connection.start(order)
  assert.equal(start.kind, 'link')
  return { order, start, reference: order.reference, handle: handleOf(order, start, 'card') }
}

export async function refundable(rig: Rig): Promise<RefundOrder> {
  const { order, reference, handle } = await startedCard(rig)
  await rig.customer.payByCard(reference, { save: false })
  const outcome: Outcome = await rig.connection.check(handle)
  assert.equal(outcome.kind, 'paid')
  const transactionIds = outcome.receipts.map(({ transactionId }) => transactionId)
  return { reference: newReference(), order: handle, transactionIds, amount: order.amount, reason: 'returned' }
}

export const handleOf = (
  { reference, amount }: Pick<Order, 'reference'> & Partial<Pick<Order, 'amount'>>,
  { providerReference }: { providerReference: string },
  channel: OrderHandle['channel'],
): OrderHandle => ({ reference, providerReference, channel, startedAt: new Date(), ...(amount && { amount }) })

export const priceOf = ({ price }: Rig) => money(price.amount, price.currency as Currency)

let references = 0
/** As ours are: 32 letters and digits. */
export const newReference = () =>
  `r${Date.now().toString(36)}${String(++references).padStart(22, '0')}`.padStart(32, 'r')

export function orderOf(rig: Rig, changes: Partial<Order> = {}): Order {
  return {
    reference: newReference(),
    amount: priceOf(rig),
    country: rig.price.country,
    customer: { email: 'ada@example.com', name: 'Adébáyọ̀ Ọlá', phoneNumber: null },
    merchantName: 'Ada & Sons',
    returnURL: 'https://shop.example/return?order=1',
    startedAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    channel: 'card',
    input: {},
    saveCard: false,
    ...changes,
  }
}

export const byTransfer = (order: Order): Order => ({ ...order, channel: 'virtual-bank-account' })
