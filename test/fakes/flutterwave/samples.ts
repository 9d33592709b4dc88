import type { MobileNetwork } from '../../../src/kernel/mobile-networks.ts'
import type { ChannelSample } from '../conformance-rig.ts'

const byPhone = (
  [country, currency, amount]: [string, string, number],
  [network, phoneNumber]: [MobileNetwork, string],
  starts: 'link' | 'prompt',
): ChannelSample => ({
  channel: 'mobile-money',
  price: { amount, currency, country },
  input: { phoneNumber, network },
  starts,
  refused: 'customer_cancelled',
  // Of a page that nobody used they know nothing.
  ...(starts === 'prompt' && { expired: 'prompt_expired' }),
})

const wave = byPhone(['CI', 'XOF', 1_500], ['wave', '+2250700000000'], 'link')

export const CHANNELS: readonly ChannelSample[] = [
  byPhone(['GH', 'GHS', 15_050], ['mtn', '+233547099292'], 'link'),
  byPhone(['GH', 'GHS', 15_050], ['telecel', '+233201234567'], 'link'),
  byPhone(['KE', 'KES', 200_000], ['mpesa', '+254709929220'], 'prompt'),
  byPhone(['UG', 'UGX', 1_500], ['mtn', '+256770992922'], 'link'),
  byPhone(['RW', 'RWF', 1_500], ['airtel', '+250730992922'], 'link'),
  byPhone(['ZM', 'ZMW', 15_000], ['zamtel', '+260950992922'], 'link'),
  byPhone(['TZ', 'TZS', 150_000], ['halopesa', '+255620835136'], 'prompt'),
  byPhone(['CI', 'XOF', 1_500], ['mtn', '+2250500000000'], 'prompt'),
  // They know of it before the customer is on the page.
  { ...wave, expired: 'prompt_expired' },
  byPhone(['CM', 'XAF', 1_500], ['orange', '+237690000020'], 'prompt'),
  {
    ...{ channel: 'ussd', price: { amount: 150_000, currency: 'NGN', country: 'NG' }, input: { bank: '058' } },
    ...{ starts: 'dial', refused: 'customer_cancelled' },
  },
  {
    ...{ channel: 'bank', price: { amount: 30_000, currency: 'NGN', country: 'NG' }, input: {} },
    ...{ starts: 'link', refused: 'customer_cancelled' },
  },
]
