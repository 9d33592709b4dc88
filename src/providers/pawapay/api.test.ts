import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakePawapay } from '../../../test/fakes/pawapay/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { pawapay } from './adapter.ts'
import { openSession } from './api.ts'
import { offersOf } from './mapping.ts'
import { readActiveConf } from './wire.ts'

async function rigFor(t: TestContext) {
  const fake = await startFakePawapay(t)
  let nowMs = 0
  const { upstream, settings } = fake
  const session = openSession({ baseURL: upstream.url, http: httpTo(upstream) }, settings.apiToken ?? '', () => nowMs)
  const asked = (path: string) => fake.asked.filter((each) => each.path === path).length
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { ...fake, session, pass, asked }
}

const MINUTE = 60_000

test('what the account can do is asked for once in five minutes, also by many at once', async (t) => {
  const { session, pass, asked } = await rigFor(t)
  await Promise.all([1, 2, 3].map(() => session.conf()))
  pass(5 * MINUTE - 1)
  await session.conf()
  assert.equal(asked('/v2/active-conf'), 1)
  pass(1)
  await session.conf()
  assert.equal(asked('/v2/active-conf'), 2)
})

test('the last good answer is kept for as long as there is no other, and asked for again each minute', async (t) => {
  const { session, pass, upstream } = await rigFor(t)
  const first = await session.conf()
  let calls = 0
  upstream.trouble = () => {
    calls++
    return { status: 404, text: '{}' }
  }
  for (let seconds = 0; seconds < 3 * 24 * 3_600; seconds += 30) {
    pass(30_000)
    assert.equal(await session.conf(), first)
  }
  const minutes = 3 * 24 * 60
  assert.ok(calls > minutes / 2 && calls <= minutes, `${calls} calls`)
})

test('without any answer so far nothing was sent, and refused keys are told', async (t) => {
  const { session, upstream, settings } = await rigFor(t)
  upstream.trouble = 'answering 500 before the work'
  const conf = await session.conf()
  assert.ok('kind' in conf && conf.kind === 'unknown')
  upstream.trouble = undefined
  upstream.garble = () => ({ status: 401, text: '{"status":"REJECTED"}' })
  const client = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  assert.equal((await client.readOffers?.())?.kind, 'unknown')
  assert.equal((await client.verifyKeys()).kind, 'bad')
})

test('public keys are kept for a day, and an unknown one is asked for at most once a minute', async (t) => {
  const { session, pass, asked } = await rigFor(t)
  const known = 'HTTP_EC_P256_KEY:1'
  assert.equal(session.publicKey(known), 'unread')
  await Promise.all([1, 2].map(() => session.readPublicKey(known)))
  assert.ok(typeof session.publicKey(known) === 'object')
  assert.equal(session.publicKey('HTTP_EC_P256_KEY:2'), undefined)
  for (let times = 0; times < 100; times++) await session.readPublicKey('HTTP_EC_P256_KEY:2')
  assert.equal(asked('/v2/public-key/http'), 1)
  pass(MINUTE)
  await session.readPublicKey('HTTP_EC_P256_KEY:2')
  await session.readPublicKey(known)
  assert.equal(asked('/v2/public-key/http'), 2)
  pass(24 * 60 * MINUTE)
  await session.readPublicKey(known)
  assert.equal(asked('/v2/public-key/http'), 3)
})

test('countries, currencies, bounds and networks are those of the account', async (t) => {
  const { conf } = await rigFor(t)
  const { offers, countries, currencies } = offersOf(readActiveConf(JSON.stringify(conf)) ?? assert.fail())
  assert.deepEqual(
    [countries, currencies],
    [
      ['ZM', 'RW', 'BF', 'SN'],
      ['ZMW', 'RWF', 'XOF'],
    ],
  )
  const { ZMW, RWF, XOF } = offers['mobile-money'] ?? {}
  assert.deepEqual(
    [ZMW?.limits, RWF?.limits],
    [
      { min: 100, max: 9_000_000_000 },
      { min: 100, max: 90_000_000 },
    ],
  )
  assert.deepEqual([ZMW?.networks, ZMW?.closed], [{ ZM: ['mtn', 'airtel', 'zamtel'] }, { ZM: ['airtel'] }])
  // DELAYED: a deposit would be refused, too.
  assert.deepEqual([RWF?.networks, RWF?.closed], [{ RW: ['mtn', 'airtel'] }, { RW: ['airtel'] }])
  // The one that we do not know is left out.
  assert.deepEqual(XOF?.networks, { BF: ['orange'], SN: ['wave', 'orange'] })
  assert.deepEqual(XOF?.codeBeforehand, { BF: ['orange'] })
  assert.deepEqual(XOF?.codeHelp, { BF: 'Composez *144*4*6#' })
})

test('an entry that cannot be read is left out, and the rest counts', () => {
  const good = {
    ...{ authType: 'PROVIDER_AUTH', minAmount: '1', maxAmount: '100', decimalsInAmount: 'NONE', status: 'OPERATIONAL' },
  }
  const operator = (provider: unknown, terms: object) => ({
    ...{ provider, currencies: [{ currency: 'ZMW', operationTypes: terms }] },
  })
  const providers = [
    operator('MTN_MOMO_ZMB', { DEPOSIT: good }),
    operator('ZAMTEL_ZMB', { DEPOSIT: { ...good, maxAmount: 100 } }),
    operator('TNM_ZMB', { PAYOUT: good }),
    operator(5, { DEPOSIT: good }),
    null,
  ]
  const read = readActiveConf(JSON.stringify({ countries: [{ country: 'ZMB', providers }, { country: 'X' }, 7] }))
  assert.deepEqual(
    read?.operators.map(({ provider }) => provider),
    ['MTN_MOMO_ZMB'],
  )
  for (const text of ['', '{}', '[]', '{"countries":{}}']) assert.equal(readActiveConf(text), undefined, text)
})
