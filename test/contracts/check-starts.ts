import assert from 'node:assert/strict'
import type { Channel } from '../../src/kernel/channel.ts'
import type { MobileNetwork } from '../../src/kernel/mobile-networks.ts'
import { MOBILE_MONEY, USSD_BANKS } from '../../src/providers/flutterwave/capabilities.ts'
import { USSD_BANKS as MONNIFY_BANKS } from '../../src/providers/monnify/capabilities.ts'
import type { ChannelInput } from '../../src/providers/provider.ts'
import type { StartFake } from '../fakes/fake-provider.ts'
import { orderOf } from '../fakes/flutterwave/charge-orders.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { startFakeMonnify } from '../fakes/monnify/fake.ts'
import { httpTo } from '../fakes/upstream.ts'
import { CHARGE_GAPS, CHARGES } from './flutterwave-charges.ts'
import { STARTS, STARTS_GAPS } from './monnify-starts.ts'
import { faultFinder, type Schema } from './schema.ts'

/** What a provider takes, and its rules lack. `type`: of a request. */
export interface StartGap {
  type: string
  field: string
  value?: string
  because: string
  source: string
}

interface Asked {
  path: string
  body: string
}

interface Started {
  channel: Channel
  country: string
  currency: string
  input: ChannelInput
}

export interface StartRules {
  name: string
  /** By type of request. */
  rules: Record<string, Schema>
  gaps: StartGap[]
  startFake: (t: Parameters<StartFake>[0]) => Promise<Awaited<ReturnType<StartFake>> & { asked: Asked[] }>
  starts: () => Iterable<Started>
  typeOf: (asked: Asked) => string | undefined
}

const naira = { country: 'NG', currency: 'NGN' }

/** Every network and bank that is offered, and the rest. */
function* chargesOfFlutterwave(): Generator<Started> {
  for (const [country, { currency, networks }] of Object.entries(MOBILE_MONEY)) {
    for (const network of Object.keys(networks) as MobileNetwork[]) {
      yield { channel: 'mobile-money', country, currency, input: { phoneNumber: '+233547099292', network } }
    }
  }
  for (const { code: bank } of USSD_BANKS) yield { channel: 'ussd', ...naira, input: { bank } }
  yield { channel: 'bank', ...naira, input: {} }
  yield { channel: 'virtual-bank-account', ...naira, input: {} }
  yield { channel: 'virtual-bank-account', country: 'GH', currency: 'GHS', input: {} }
}

function* startsOfMonnify(): Generator<Started> {
  yield { channel: 'card', ...naira, input: {} }
  yield { channel: 'virtual-bank-account', ...naira, input: {} }
  for (const { code: bank } of MONNIFY_BANKS) yield { channel: 'ussd', ...naira, input: { bank } }
}

/** The providers that publish rules for the requests that start a payment, and no description of all others. */
export const START_RULES: StartRules[] = [
  {
    ...{ name: 'flutterwave', rules: CHARGES, gaps: CHARGE_GAPS },
    ...{ startFake: startFakeFlutterwave, starts: chargesOfFlutterwave },
    typeOf: ({ path }) => new URLSearchParams(path.split('?')[1]).get('type') ?? undefined,
  },
  {
    ...{ name: 'monnify', rules: STARTS, gaps: STARTS_GAPS },
    ...{ startFake: startFakeMonnify, starts: startsOfMonnify },
    typeOf: ({ path }) => (Object.hasOwn(STARTS, path) ? path : undefined),
  },
]

const CUSTOMERS = [
  { email: 'ada@example.com', name: null, phoneNumber: null },
  { email: 'o’neil+shop@sub.example.co', name: 'Ọlá '.repeat(60), phoneNumber: '+234 801 234 5678' },
]

/** Starts a payment in every way. `times`: how often each type of request was made. */
export async function checkStarts({ rules, gaps, startFake, starts, typeOf }: StartRules) {
  const ends: (() => Promise<void>)[] = []
  const fake = await startFake({ after: (end) => ends.push(end) })
  const { provider, settings, upstream, asked } = fake
  const connection = provider.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  try {
    for (const { channel, country, currency, input } of starts()) {
      for (const customer of CUSTOMERS) {
        const order = { ...orderOf({ channel, price: { amount: 12_345, currency, country }, input }), customer }
        const { kind } = await connection.start(order)
        assert.ok(kind !== 'unknown', `${channel} ${country} ${JSON.stringify(input)}`)
      }
    }
  } finally {
    for (const end of ends) await end()
  }
  const find = faultFinder({})
  const times = new Map<string, number>()
  const wrong = new Set<string>()
  const used = new Set<StartGap>()
  for (const each of asked) {
    const type = typeOf(each)
    if (type === undefined) continue
    times.set(type, (times.get(type) ?? 0) + 1)
    const fields = JSON.parse(each.body)
    if (fields.phone_number !== undefined) assert.match(fields.phone_number, /^\+?\d+$/)
    if (fields.network) fields.network = fields.network.toUpperCase()
    for (const { field, rule, value } of find(fields, rules[type] ?? {}, 'body', 'json')) {
      const gap = gaps.find(
        (one) => one.type === type && one.field === field && (one.value === undefined || one.value === value),
      )
      if (gap) used.add(gap)
      else wrong.add(`${type}: ${field} is against the rule “${rule}” (${JSON.stringify(value)})`)
    }
    if (!Object.hasOwn(rules, type)) wrong.add(`${type} has no rules`)
  }
  const unused = [
    ...Object.keys(rules).flatMap((type) => (times.has(type) ? [] : [`${type} has rules, and is not asked`])),
    ...gaps.flatMap((gap) => (used.has(gap) ? [] : [`the gap ${gap.type} ${gap.field} is one no more`])),
  ]
  return { times, wrong: [...wrong, ...unused] }
}
