import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import { type Currency, money } from '../../src/kernel/money.ts'
import { providerHttp } from '../../src/outbound/provider-http.ts'
import type { Order, OrderHandle, Provider, ProviderClient } from '../../src/providers/provider.ts'
import { findProvider } from '../../src/providers/registry.ts'
import { byTransfer } from './rig.ts'
import { startUpstream, TROUBLES } from './upstream.ts'

type Settings = Record<string, string>

/** What is started: an order that is paid by card, unless the provider has none. */
type Pays = Pick<Order, 'channel' | 'input'>
const BY_CARD: Pays = { channel: 'card', input: {} }

/** The part of the conformance suite that needs no API: a new adapter passes it before its fake exists. */
export function offlineConformance(
  provider: Provider,
  settingsFor: (t: TestContext) => Promise<Settings>,
  sample: Pays = BY_CARD,
): void {
  const { name, countries, currencies, limits, offers, offersOfAccount } = provider.capabilities
  const pays = offers.card ? BY_CARD : sample
  const test = (what: string, run: (t: TestContext, settings: Settings) => Promise<void>) =>
    nodeTest(`${name}: ${what}`, async (t) => run(t, await settingsFor(t)))
  const connect = (settings: Settings, baseURL: string) =>
    provider.connect({ mode: 'sandbox', settings, baseURL, http: providerHttp({ deadlineMs: 500 }) })

  test('the registry finds it by its name', async () => {
    assert.equal(findProvider(name), provider)
  })

  test('each setting matches its own pattern, and no pattern takes an empty text', async (_, settings) => {
    for (const { name, pattern, looksLike, optional } of provider.settings) {
      const value = settings[name]
      assert.ok(value !== undefined || optional, `the settings have ${name}`)
      if (value !== undefined) assert.match(value, pattern.sandbox)
      for (const mode of ['sandbox', 'live'] as const) {
        assert.doesNotMatch('', pattern[mode])
        assert.ok(looksLike[mode], `${name} has an example for ${mode} mode`)
      }
    }
  })

  test('it does not connect without a required setting', async (_, settings) => {
    for (const missing of provider.settings.filter(({ optional }) => !optional)) {
      const incomplete = { ...settings, [missing.name]: '' }
      const account = {
        mode: 'sandbox',
        settings: incomplete,
        baseURL: 'http://localhost',
        http: providerHttp(),
      } as const
      assert.throws(() => provider.connect(account), new RegExp(missing.name))
    }
  })

  test('every currency has limits and a fee, and every channel has a fee', async () => {
    if (offersOfAccount) return assert.deepEqual([currencies, countries, limits], [[], [], {}])
    for (const currency of currencies) {
      const limit = limits[currency]
      assert.ok(limit && limit.min >= 1 && limit.min <= limit.max, `limits of ${currency}`)
      assert.ok(
        Object.values(offers).some((byCurrency) => byCurrency[currency]),
        `a fee of ${currency}`,
      )
    }
    for (const [channel, byCurrency] of Object.entries(offers)) assert.ok(Object.keys(byCurrency).length > 0, channel)
  })

  test('what the customer enters, dials or scans ends before the payment, so that a new one can be had', async () => {
    for (const channel of ['mobile-money', 'ussd', 'qr'] as const) {
      for (const [currency, { lifetimeSeconds }] of Object.entries(offers[channel] ?? {}))
        assert.ok(lifetimeSeconds && lifetimeSeconds <= 3_600, `${channel} in ${currency}`)
    }
  })

  test('calls to a server that fails are unknown, never declined or paid', async (t, settings) => {
    const upstream = await startUpstream(t, () => ({ status: 200, text: '{}' }))
    for (const trouble of [undefined, ...TROUBLES]) {
      upstream.trouble = trouble
      for (const [call, { kind }] of await callsOf(provider, connect(settings, upstream.url), pays)) {
        assert.equal(kind, 'unknown', `${call}: ${trouble ?? 'an empty answer'}`)
      }
    }
  })

  test('calls to a server that is not there are unknown, and known to be unsent', async (t, settings) => {
    const upstream = await startUpstream(t, () => ({ status: 200, text: '{}' }))
    await upstream.close()
    for (const [call, outcome] of await callsOf(provider, connect(settings, upstream.url), pays)) {
      assert.ok(outcome.kind === 'unknown' && 'neverSent' in outcome && outcome.neverSent, call)
    }
  })

  test('a notice without a signature is not believed', async (_, settings) => {
    const connection = connect(settings, 'http://localhost')
    for (const text of ['', '{}', '[]', '{"event":"charge.success"}', '\u0000']) {
      const { kind } = connection.readNotice({ headers: {}, body: Buffer.from(text), receivedAt: new Date() })
      assert.equal(kind, 'forged', text)
    }
  })
}

async function callsOf(
  { capabilities }: Provider,
  connection: ProviderClient,
  { channel, input }: Pays,
): Promise<[string, { kind: string }][]> {
  const currency = (capabilities.currencies[0] ?? 'NGN') as Currency
  const amount = money(capabilities.limits[currency]?.min ?? 1, currency)
  const startedAt = new Date()
  const order: Order = {
    reference: 'r'.repeat(32),
    amount,
    country: capabilities.countries[0] ?? 'NG',
    customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
    merchantName: 'Ada & Sons',
    returnURL: 'https://shop.example/return',
    startedAt,
    expiresAt: new Date(startedAt.getTime() + 3_600_000),
    noticeURL: 'https://pay.example/notices/1',
    channel,
    input,
    saveCard: false,
  }
  const { reference } = order
  const handle: OrderHandle = { reference, providerReference: reference, channel, startedAt, amount }
  const calls: [string, { kind: string }][] = [
    ['start', await connection.start(order)],
    ['check', await connection.check(handle)],
  ]
  if (capabilities.offers['virtual-bank-account']) {
    calls.push(['start by transfer', await connection.start(byTransfer(order))])
  }
  return calls
}
