import type { ChannelSample } from '../conformance-rig.ts'
import { RIGHT_CODE } from './charges.ts'

const [accra, nairobi, abidjan] = [
  { amount: 25_000, currency: 'GHS', country: 'GH' },
  { amount: 130_000, currency: 'KES', country: 'KE' },
  { amount: 5_000, currency: 'XOF', country: 'CI' },
]
const [lagos, durban] = [
  { amount: 1_025_381, currency: 'NGN', country: 'NG' },
  { amount: 18_900, currency: 'ZAR', country: 'ZA' },
]
const code = { right: RIGHT_CODE, leadsTo: 'prompt' } as const
const byPhone = { channel: 'mobile-money', refused: 'customer_cancelled' } as const
const onScreen = { refused: 'customer_cancelled' } as const

/** One for each answer to a charge that differs. */
export const SAMPLES: ChannelSample[] = [
  { ...byPhone, price: accra, input: { phoneNumber: '+233551234987', network: 'mtn' }, starts: 'prompt' },
  {
    ...byPhone,
    price: accra,
    input: { phoneNumber: '+233201234987', network: 'telecel' },
    starts: 'code wanted',
    code,
  },
  { ...byPhone, price: nairobi, input: { phoneNumber: '+254710000000', network: 'mpesa' }, starts: 'prompt' },
  { ...byPhone, price: nairobi, input: { network: 'mpesa-paybill' }, starts: 'pay to' },
  { ...byPhone, price: abidjan, input: { phoneNumber: '+2250500000000', network: 'mtn' }, starts: 'prompt' },
  {
    ...byPhone,
    price: abidjan,
    input: { phoneNumber: '+2250700000000', network: 'orange' },
    starts: 'code wanted',
    code,
  },
  { ...byPhone, price: abidjan, input: { phoneNumber: '+2250700000000', network: 'wave' }, starts: 'link' },
  { ...onScreen, channel: 'ussd', price: lagos, input: { bank: '058' }, starts: 'dial' },
  { ...onScreen, channel: 'bank', price: lagos, input: {}, starts: 'link' },
  { ...onScreen, channel: 'bank', price: durban, input: {}, starts: 'link' },
  { ...onScreen, channel: 'qr', price: durban, input: {}, starts: 'qr' },
]
