import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitiesWith, type Integration } from '../../integrations/integration.ts'
import type { Country } from '../../kernel/country.ts'
import { newId } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'
import type { Problem } from '../../kernel/problem.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { Provider } from '../../providers/provider.ts'
import { bestOptions, optionsForChannel } from './payment-options.ts'

const PAYMENT = {
  merchantId: newId('merchant', new Date()),
  mode: 'live' as const,
  amount: 100_000,
  currency: 'NGN' as Currency,
  country: 'NG' as Country,
  customerBearsCharge: false,
}
const BOTH: Integration['channels'] = ['card', 'virtual-bank-account']

const set = (provider: string, changes: Partial<Integration> = {}): Integration => ({
  provider,
  channels: BOTH,
  countries: ['NG' as Country],
  currencies: ['NGN' as Currency],
  ...changes,
})

function provider(name: string, changes: Partial<Capabilities> = {}): Provider {
  const capabilities: Capabilities = {
    name,
    title: name,
    sandboxOnly: true,
    framed: true,
    pageTakesSavedCards: true,
    pageAsksToSave: true,
    countries: ['NG'],
    currencies: ['NGN'],
    limits: { NGN: { min: 1, max: 1_000_000 } },
    offers: {
      card: { NGN: { fee: { basisPoints: 200 } } },
      'virtual-bank-account': { NGN: { fee: { basisPoints: 0 } } },
    },
    ...changes,
  }
  return {
    capabilities,
    settings: [],
    baseURL: null,
    connect: () => assert.fail('payment options make no provider call'),
  }
}

const known = [
  provider('first'),
  provider('second', { limits: { NGN: { min: 1, max: 10_000_000 } } }),
  provider('cards-only', { offers: { card: { NGN: { fee: { basisPoints: 200 } } } } }),
]
const unhealthy = new Set<string>()
const providers = {
  find: (name: string) => known.find(({ capabilities }) => capabilities.name === name),
  isHealthy: (_owner: object, name: string) => !unhealthy.has(name),
}
const offered = (integrations: Integration[], changes: Partial<typeof PAYMENT> = {}) =>
  bestOptions({ ...PAYMENT, ...changes }, integrations, providers).map(
    ({ channel, capabilities }) => `${channel} by ${capabilities.name}`,
  )

test('a network that takes whole units only is not offered for an amount with cents', () => {
  const networks = { NG: ['mtn', 'airtel'] as const }
  const offers = (whole: 'mtn'[] | ['mtn', 'airtel']) => ({
    'mobile-money': { NGN: { fee: { basisPoints: 0 }, networks, wholeUnits: { NG: whole } } },
  })
  const optionsFor = (amount: number, whole: Parameters<typeof offers>[0]) => {
    const providers = { find: () => provider('mobile', { offers: offers(whole) }), isHealthy: () => true }
    const integrations = [set('mobile', { channels: ['mobile-money'] })]
    return bestOptions({ ...PAYMENT, amount }, integrations, providers).map(
      ({ capabilities }) => capabilities.offers['mobile-money']?.NGN?.networks,
    )
  }
  assert.deepEqual(optionsFor(1_200, ['mtn', 'airtel']), [networks])
  assert.deepEqual(optionsFor(1_250, ['mtn']), [{ NG: ['airtel'] }])
  assert.deepEqual(optionsFor(1_250, ['mtn', 'airtel']), [])
})

test('each channel is offered once, by the first integration that has it', () => {
  assert.deepEqual(offered([set('first'), set('second')]), ['card by first', 'virtual-bank-account by first'])
  assert.deepEqual(offered([set('cards-only'), set('second')]), [
    'card by cards-only',
    'virtual-bank-account by second',
  ])
})

test('the options have the order of the integrations', () => {
  const transfers = set('second', { channels: ['virtual-bank-account'] })
  assert.deepEqual(offered([transfers, set('first')]), ['virtual-bank-account by second', 'card by first'])
})

test('integrations for another country or currency and unknown providers are skipped', () => {
  const abroad = set('first', { countries: ['GH' as Country] })
  const cedis = set('first', { currencies: ['GHS' as Currency] })
  assert.deepEqual(offered([abroad, cedis, set('gone'), set('second')]), [
    'card by second',
    'virtual-bank-account by second',
  ])
  assert.deepEqual(offered([abroad]), [])
})

test('providers whose limits exclude the charged amount are skipped', () => {
  const both = [set('first'), set('second')]
  assert.deepEqual(offered(both, { amount: 1_000_001 }), ['card by second', 'virtual-bank-account by second'])
  // With its fee of 2 % this is beyond the first one's limit by card, but not by transfer, which has no fee.
  assert.deepEqual(offered(both, { amount: 990_000, customerBearsCharge: true }), [
    'virtual-bank-account by first',
    'card by second',
  ])
})

test('an option has the amount for the customer and the provider’s fee', () => {
  const price = (customerBearsCharge: boolean) => {
    const [offer] = optionsForChannel({ ...PAYMENT, customerBearsCharge }, [set('first')], providers, 'card')
    return { amountCharged: offer?.amountCharged, fee: offer?.fee }
  }
  assert.deepEqual(price(false), { amountCharged: 100_000, fee: 2_000 })
  assert.deepEqual(price(true), { amountCharged: 102_041, fee: 2_041 })
})

test('a channel without options throws the reason', () => {
  const code = (integrations: Integration[], amount = 1) => {
    try {
      return optionsForChannel({ ...PAYMENT, amount }, integrations, providers, 'virtual-bank-account')[0]?.channel
    } catch (error) {
      return (error as Problem).code
    }
  }
  assert.equal(code([set('first')]), 'virtual-bank-account')
  assert.equal(code([set('first')], 1_000_001), 'amount_out_of_range')
  assert.equal(code([set('cards-only', { channels: ['card'] })]), 'no_integration_available')
  assert.equal(code([]), 'no_integration_available')
})

test('an unhealthy provider comes last and is still an option', () => {
  const both = [set('first'), set('second')]
  unhealthy.add('first')
  assert.deepEqual(offered(both), ['card by second', 'virtual-bank-account by second'])
  assert.deepEqual(
    optionsForChannel(PAYMENT, both, providers, 'card').map(({ capabilities }) => capabilities.name),
    ['second', 'first'],
  )
  unhealthy.add('second')
  assert.deepEqual(offered(both), ['card by first', 'virtual-bank-account by first'])
  unhealthy.clear()
})

test('a channel takes only the currencies that it has a fee for', () => {
  known.push(
    provider('cards-in-cedis', {
      currencies: ['NGN', 'GHS'],
      offers: {
        card: { GHS: { fee: { basisPoints: 195 } } },
        'virtual-bank-account': { NGN: { fee: { basisPoints: 0 } } },
      },
    }),
  )
  assert.deepEqual(offered([set('cards-in-cedis')]), ['virtual-bank-account by cards-in-cedis'])
  known.pop()
})

test('an offer that needs a setting is off until the integration has it', () => {
  const offers = { card: { NGN: { fee: { basisPoints: 200 }, needsSetting: 'confirmed' } } }
  const { capabilities } = provider('careful', { offers })
  const withSetting = { ...set('careful'), settingsGiven: ['secretKey', 'confirmed'] }
  assert.deepEqual(capabilitiesWith(capabilities, set('careful')).offers, { card: {} })
  assert.deepEqual(capabilitiesWith(capabilities, withSetting), capabilities)
  const all = { ...providers, find: () => provider('careful', { offers }) }
  assert.deepEqual(bestOptions(PAYMENT, [set('careful')], all), [])
  assert.equal(bestOptions(PAYMENT, [withSetting], all).length, 1)
})
