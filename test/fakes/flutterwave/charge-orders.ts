import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Channel } from '../../../src/kernel/channel.ts'
import { type Currency, money } from '../../../src/kernel/money.ts'
import { flutterwave } from '../../../src/providers/flutterwave/adapter.ts'
import type { ChannelInput, Order, OrderHandle, Start } from '../../../src/providers/provider.ts'
import { httpTo } from '../upstream.ts'
import { startFakeFlutterwave } from './fake.ts'

/** Orders of the charges without a payment page, for the tests of the adapter. */

export async function setUp(t: TestContext) {
  const fake = await startFakeFlutterwave(t)
  const { settings, upstream } = fake
  const http = httpTo(upstream)
  const connection = flutterwave.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const bodyOf = (index: number) => {
    const { method, path, body } = fake.asked[index] ?? assert.fail('it was asked')
    return [`${method} ${path}`, JSON.parse(body)]
  }
  return { ...fake, connection, bodyOf }
}

let references = 0
export const STARTED = new Date()

export interface Wanted {
  channel: Channel
  price: { amount: number; currency: string; country: string }
  input: ChannelInput
}

export function orderOf({ channel, price: { amount, currency, country }, input }: Wanted, reference?: string): Order {
  return {
    reference: reference ?? String(++references).padStart(32, 'r'),
    ...{ amount: money(amount, currency as Currency), country, channel, input, saveCard: false },
    customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
    merchantName: 'Ada & Sons',
    returnURL: 'https://shop.example/return?order=1',
    startedAt: STARTED,
    expiresAt: new Date(STARTED.getTime() + 900_000),
  }
}

export const handleOf = ({ reference, channel, amount }: Order, start: Start): OrderHandle => ({
  ...{ reference, channel, startedAt: STARTED, amount },
  providerReference: 'providerReference' in start ? start.providerReference : reference,
})

export const nameOf = ({ channel, price, input }: Wanted) =>
  [channel, price.country, input.network ?? input.bank].filter(Boolean).join(' ')

export const GHANA: Wanted = {
  channel: 'mobile-money',
  price: { amount: 15_000, currency: 'GHS', country: 'GH' },
  input: { phoneNumber: '+233547099292', network: 'telecel' },
}
export const KENYA: Wanted = {
  channel: 'mobile-money',
  price: { amount: 1_000, currency: 'KES', country: 'KE' },
  input: { phoneNumber: '+254709929220', network: 'mpesa' },
}
export const CAMEROON: Wanted = {
  channel: 'mobile-money',
  price: { amount: 10, currency: 'XAF', country: 'CM' },
  input: { phoneNumber: '+237690000020', network: 'orange' },
}
export const TANZANIA: Wanted = {
  channel: 'mobile-money',
  price: { amount: 15_000, currency: 'TZS', country: 'TZ' },
  input: { phoneNumber: '+255620835136', network: 'halopesa' },
}
export const RWANDA: Wanted = {
  channel: 'mobile-money',
  price: { amount: 1_500, currency: 'RWF', country: 'RW' },
  input: { phoneNumber: '+250780992922', network: 'mtn' },
}
export const USSD: Wanted = {
  channel: 'ussd',
  price: { amount: 150_000, currency: 'NGN', country: 'NG' },
  input: { bank: '058' },
}
export const BANK: Wanted = { channel: 'bank', price: { amount: 30_000, currency: 'NGN', country: 'NG' }, input: {} }
export const ACCOUNT: Wanted = {
  channel: 'virtual-bank-account',
  price: { amount: 150_000, currency: 'GHS', country: 'GH' },
  input: {},
}
