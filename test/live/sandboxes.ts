import { type Currency, type Money, money } from '../../src/kernel/money.ts'
import type { Order, Provider, RefundOutcome, Start } from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'

/** What the questions need to know about a provider's sandbox. */
export interface Sandbox {
  provider: Provider
  price: Money
  country: string
  /** The setting that is wrong in the question about wrong keys. */
  keyToBreak: string
  /** An unknown saved card, in the provider's format. Absent: it has no cards, and no question about them is asked. */
  wrongToken?: string
  /** An unknown transaction, in the provider's format. */
  wrongTransaction: string
  /**
   * Allowed answers to a repeated start. `another link`: their links are not orders, so each request gets a new one.
   */
  repeated: 'one order' | 'another link'
  /** `unknown` where their documents do not say how they refuse it. */
  refundOfNothing: RefundOutcome['kind'][]
  /** The channels whose start needs no phone, and what it answers. Those that ask on a phone are left out. */
  channels?: (Pick<Order, 'channel' | 'country' | 'input'> & { price: Money; starts: Start['kind'] })[]
  /** Keys of a sandbox account that the provider publishes for everyone. */
  sharedKeys?: Record<string, string>
}

const naira = money(1_000_000, 'NGN' as Currency)

const ROWS: Record<string, Omit<Sandbox, 'provider'>> = {
  paystack: {
    ...{ price: naira, country: 'NG', keyToBreak: 'secretKey', repeated: 'one order' },
    ...{ wrongToken: 'AUTH_nobody0000', wrongTransaction: '1', refundOfNothing: ['refused'] },
    // An account has the currency of its country alone: these are Nigeria's.
    channels: [
      { channel: 'ussd', price: naira, country: 'NG', input: { bank: '058' }, starts: 'dial' },
      { channel: 'bank', price: naira, country: 'NG', input: {}, starts: 'link' },
    ],
  },
  flutterwave: {
    ...{ price: naira, country: 'NG', keyToBreak: 'secretKey', repeated: 'another link' },
    ...{ wrongToken: 'flw-t1nf-nobody0000-m03k', wrongTransaction: '1', refundOfNothing: ['refused', 'unknown'] },
    channels: [
      { channel: 'ussd', price: naira, country: 'NG', input: { bank: '058' }, starts: 'dial' },
      { channel: 'bank', price: naira, country: 'NG', input: {}, starts: 'link' },
      {
        ...{ channel: 'virtual-bank-account', price: money(10_000, 'GHS' as Currency), country: 'GH', input: {} },
        starts: 'account',
      },
      // The page asks for the code before anything comes to the phone.
      {
        ...{ channel: 'mobile-money', price: money(10_000, 'GHS' as Currency), country: 'GH', starts: 'link' },
        input: { phoneNumber: '+233547099292', network: 'mtn' },
      },
    ],
  },
  monnify: {
    ...{ price: naira, country: 'NG', keyToBreak: 'secretKey', repeated: 'one order' },
    ...{
      wrongToken: 'MNFY_NOBODY0000',
      wrongTransaction: 'MNFY|00|20200101000000|000000',
      refundOfNothing: ['refused'],
    },
    channels: [{ channel: 'ussd', price: naira, country: 'NG', input: { bank: '058' }, starts: 'dial' }],
    // "Public Test Credentials" in Monnify's own API description:
    // https://github.com/Monnify/mcp-server/blob/0d5b2fe9bb0bb6542736d5f29d006395ac944491/openapi/monnify.yaml
    sharedKeys: {
      apiKey: 'MK_TEST_GC3B8XG2XX',
      secretKey: 'A663NRZA544DDPEM7KDN7Z8HRV6YXD8S',
      contractCode: '5867418298',
    },
  },
  pawapay: {
    ...{ price: money(1_500, 'ZMW' as Currency), country: 'ZM', keyToBreak: 'apiToken', repeated: 'one order' },
    ...{ wrongTransaction: '1', refundOfNothing: ['refused'] },
    // Their sandbox asks on no phone: this number pays by itself.
    channels: [
      {
        ...{ channel: 'mobile-money', price: money(1_500, 'ZMW' as Currency), country: 'ZM', starts: 'prompt' },
        input: { phoneNumber: '+260763456789', network: 'mtn' },
      },
    ],
  },
  mpesa: {
    // A push asks on a phone, so that none is started here.
    ...{ price: money(10_000, 'KES' as Currency), country: 'KE', keyToBreak: 'consumerSecret', repeated: 'one order' },
    ...{ wrongTransaction: 'ws_CO_01012020000000000000', refundOfNothing: ['unknown', 'refused'] },
  },
  stripe: {
    ...{ price: money(1_099, 'USD' as Currency), country: 'US', keyToBreak: 'secretKey', repeated: 'one order' },
    ...{ wrongToken: 'cus_nobody0000:pm_nobody0000', wrongTransaction: 'pi_nobody0000' },
    refundOfNothing: ['refused', 'unknown'],
  },
}

/** Every provider with a server of its own. A provider without a row here is a mistake. */
export const SANDBOXES: Sandbox[] = PROVIDERS.filter(({ baseURL }) => baseURL !== null).map((provider) => {
  const row = ROWS[provider.capabilities.name]
  if (!row) throw new Error(`${provider.capabilities.name} needs a row in test/live/sandboxes.ts`)
  return { provider, ...row }
})
