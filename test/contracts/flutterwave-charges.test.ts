import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel } from '../../src/kernel/channel.ts'
import type { MobileNetwork } from '../../src/kernel/mobile-networks.ts'
import { MOBILE_MONEY, USSD_BANKS } from '../../src/providers/flutterwave/capabilities.ts'
import type { ChannelInput } from '../../src/providers/provider.ts'
import { orderOf, setUp } from '../fakes/flutterwave/charge-orders.ts'
import { CHARGE_GAPS, CHARGES } from './flutterwave-charges.ts'
import { faultFinder } from './schema.ts'

const CUSTOMERS = [
  { email: 'ada@example.com', name: null, phoneNumber: null },
  { email: 'o’neil+shop@sub.example.co', name: 'Ọlá '.repeat(60), phoneNumber: '+234 801 234 5678' },
]

/** Every network and bank that is offered, and the rest. */
function* everyCharge(): Generator<{ channel: Channel; country: string; currency: string; input: ChannelInput }> {
  for (const [country, { currency, networks }] of Object.entries(MOBILE_MONEY)) {
    for (const network of Object.keys(networks) as MobileNetwork[]) {
      yield { channel: 'mobile-money', country, currency, input: { phoneNumber: '+233547099292', network } }
    }
  }
  const naira = { country: 'NG', currency: 'NGN' }
  for (const { code: bank } of USSD_BANKS) yield { channel: 'ussd', ...naira, input: { bank } }
  yield { channel: 'bank', ...naira, input: {} }
  yield { channel: 'virtual-bank-account', ...naira, input: {} }
  yield { channel: 'virtual-bank-account', country: 'GH', currency: 'GHS', input: {} }
}

test('every charge is one that the rules of their library accept, or a listed gap', async (t) => {
  const { connection, asked } = await setUp(t)
  const find = faultFinder({})
  const wrong: string[] = []
  const types = new Set<string>()
  const gapsUsed = new Set<object>()
  for (const { channel, country, currency, input } of everyCharge()) {
    for (const customer of CUSTOMERS) {
      const order = { ...orderOf({ channel, price: { amount: 12_345, currency, country }, input }), customer }
      const start = await connection.start(order)
      assert.ok(
        start.kind !== 'declined' && start.kind !== 'unknown',
        `${channel} ${country}: ${JSON.stringify(start)}`,
      )
      const { path, body } = asked.at(-1) ?? assert.fail('it was asked')
      const type = new URLSearchParams(path.split('?')[1]).get('type') ?? ''
      types.add(type)
      const fields = JSON.parse(body)
      if (fields.phone_number !== undefined) assert.match(fields.phone_number, /^\+?\d+$/)
      if (fields.network) fields.network = fields.network.toUpperCase()
      for (const { field, rule, value } of find(fields, CHARGES[type] ?? assert.fail(type), 'body', 'json')) {
        const gap = CHARGE_GAPS.find(
          (each) => each.type === type && each.field === field && (each.value === undefined || each.value === value),
        )
        if (gap) gapsUsed.add(gap)
        else wrong.push(`${type}: ${field} is against the rule “${rule}” (${JSON.stringify(value)})`)
      }
    }
  }
  assert.deepEqual(wrong, [])
  assert.deepEqual([...types].sort(), Object.keys(CHARGES).sort(), 'no rules without a charge')
  assert.deepEqual(
    CHARGE_GAPS.filter((gap) => !gapsUsed.has(gap)),
    [],
    'no gap that is none',
  )
})
