import type { TestContext } from 'node:test'
import type { Channel } from '../../../src/kernel/channel.ts'
import { type Currency, money } from '../../../src/kernel/money.ts'
import { paystack } from '../../../src/providers/paystack/adapter.ts'
import type { ChannelInput, Order, OrderHandle, RefundOrder } from '../../../src/providers/provider.ts'
import { httpTo } from '../upstream.ts'
import { startFakePaystack } from './fake.ts'

/** The fake, and a connection to it. */
export async function setUp(t: TestContext) {
  const fake = await startFakePaystack(t)
  const { settings, upstream } = fake
  const connection = paystack.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  /** Changes what they say in `data`, in the next answers. Lists stay as they are. */
  const alter = (changes: object) => {
    upstream.garble = ({ status, text }) => {
      const { data, ...envelope } = JSON.parse(text)
      if (Array.isArray(data)) return { status, text }
      return { status, text: JSON.stringify({ ...envelope, data: { ...data, ...changes } }) }
    }
  }
  const say = (status: number, body: object) => {
    upstream.garble = () => ({ status, text: JSON.stringify(body) })
  }
  return { ...fake, connection, alter, say }
}

/** A payment by card, and the refund of it. */
export async function paidCard(t: TestContext) {
  const rig = await setUp(t)
  await rig.connection.start(order())
  await rig.customer.payByCard(order().reference, { save: false })
  const transactionId = String(rig.find(order().reference).id)
  const wanted: RefundOrder = {
    reference: 'f'.repeat(32),
    order: handle(),
    transactionIds: [transactionId],
    amount: naira(200_000),
    reason: 'returned',
  }
  return { ...rig, transactionId, wanted }
}

export const naira = (amount: number) => money(amount, 'NGN' as Currency)

export const order = (changes: Partial<Order> = {}): Order => ({
  reference: 'r'.repeat(32),
  amount: naira(500_000),
  country: 'NG',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: '+2348000000000' },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return?order=1',
  startedAt: new Date(),
  expiresAt: new Date(Date.now() + 1_800_000),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

/** Orders by channels beside cards. */
export function orderBy(channel: Channel, amount: number, code: string, input: ChannelInput, country: string): Order {
  return order({ channel, amount: money(amount, code as Currency), country, input })
}
export const inGhana = (network: 'mtn' | 'telecel' | 'at', phoneNumber = '+233551234987') =>
  orderBy('mobile-money', 10_000, 'GHS', { network, phoneNumber }, 'GH')
export const inKenya = (input: ChannelInput) => orderBy('mobile-money', 10_000, 'KES', input, 'KE')
export const inAbidjan = (input: ChannelInput) => orderBy('mobile-money', 5_000, 'XOF', input, 'CI')
export const byUssd = (bank?: string) => orderBy('ussd', 10_000, 'NGN', bank === undefined ? {} : { bank }, 'NG')
export const byQr = () => orderBy('qr', 10_000, 'ZAR', {}, 'ZA')
export const byPesalink = () => orderBy('virtual-bank-account', 10_000, 'KES', {}, 'KE')

export const handle = (channel: Channel = 'card'): OrderHandle => ({
  reference: order().reference,
  providerReference: order().reference,
  channel,
  startedAt: new Date(),
})

export const unknown = (because: string) => ({ kind: 'unknown', because })
export const pending = { kind: 'pending', receipts: [] }
