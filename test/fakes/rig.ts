import assert from 'node:assert/strict'
import { type Currency, money } from '../../src/kernel/money.ts'
import type { Order, OrderHandle, Outcome, RefundOrder, Started } from '../../src/providers/provider.ts'
import type { Rig } from './conformance-rig.ts'

/** Orders, payments and refunds for the conformance suites. */

/** By card, or as `rig.pays` says. */
export async function startedOrder(rig: Rig, changes: Partial<Order> = {}) {
  const order = orderOf(rig, changes)
  const answer = await rig.connection.start(order)
  assert.equal(answer.kind, rig.pays?.starts ?? 'link', JSON.stringify(answer))
  const start = answer as Started
  return { order, start, reference: order.reference, handle: handleOf(order, start, order.channel) }
}

/** With what the provider's notices said of it, where an adapter needs that. */
export function withNotices({ provider, connection, notices }: Rig, handle: OrderHandle): OrderHandle {
  if (!provider.capabilities.noticesHaveFacts) return handle
  const facts = (['paid', 'refund'] as const).flatMap((kind) => {
    const body = notices.bodyOf(kind, handle.reference)
    const reading = body && connection.readNotice(notices.sign(body, new Date()))
    return reading?.kind === 'notice' && reading.facts ? [reading.facts] : []
  })
  return { ...handle, notices: { url: NOTICE_URL, facts } }
}

const NOTICE_URL = 'https://pay.example/notices/1'

export async function refundable(rig: Rig): Promise<RefundOrder> {
  const { order, reference, handle } = await startedOrder(rig)
  await rig.customer.payByCard(reference, { save: false })
  const outcome: Outcome = await rig.connection.check(handle)
  assert.equal(outcome.kind, 'paid')
  const transactionIds = outcome.receipts.map(({ transactionId }) => transactionId)
  const paid = withNotices(rig, handle)
  return { reference: newReference(), order: paid, transactionIds, amount: order.amount, reason: 'returned' }
}

export const handleOf = (
  { reference, amount }: Pick<Order, 'reference'> & Partial<Pick<Order, 'amount'>>,
  { providerReference, kind, ...given }: { providerReference: string; kind?: Started['kind'] | 'step' },
  channel: OrderHandle['channel'],
): OrderHandle => ({
  ...{ reference, providerReference, channel, startedAt: new Date(), ...(amount && { amount }) },
  ...(kind && kind !== 'step' && { startedAs: kind }),
  ...('personalId' in given && { personalId: String(given.personalId) }),
})

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
    noticeURL: NOTICE_URL,
    startedAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    channel: rig.pays?.channel ?? 'card',
    input: rig.pays?.input ?? {},
    saveCard: false,
    ...changes,
  }
}

export const byTransfer = (order: Order): Order => ({ ...order, channel: 'virtual-bank-account' })
