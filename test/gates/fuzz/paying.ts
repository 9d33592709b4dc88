import { createHmac } from 'node:crypto'
import type { Random } from '../random.ts'
import { SPOILT_TEXT } from './bodies.ts'
import { type Body, SPOILT } from './checkouts.ts'
import type { Bench, Made } from './requests.ts'
import { LINE_BREAKS, NOT_TEXT, numberAsWritten, PAYLOADS, unicode, WRONG_AMOUNTS } from './values.ts'
import { bytesOf, type Header, type WireRequest } from './wire.ts'

/** Requests that start a payment or refund it, and notices. */
type Make = (bench: Bench) => Made

const V1 = '/payments/v1'
const JSON_TYPE: Header = ['content-type', 'application/json']

function whole(expected: readonly number[], request: WireRequest): Made {
  const { method, target } = request
  return { method, target, how: 'whole', expected, bytes: bytesOf(request) }
}

function post({ credentials, random }: Bench, path: string, body: string | Buffer, expected: readonly number[]): Made {
  const headers = [...credentials, JSON_TYPE]
  const chunkSize = random.chance(0.1) ? 1_000 : undefined
  return whole(expected, { method: 'POST', target: V1 + path, headers, body, chunkSize })
}

const INITIALIZE = '/payments/initialize'
const PROVIDERS = ['gateway', 'gateway-virtual-bank-account']
/** A checkout's 201 is a 200 here, or a refusal by the provider's own limits. */
const started = (expected: readonly number[]) => (expected.includes(201) ? [200, 400, 422] : expected)

function goodStart({ random, good }: Bench): Body {
  return { provider: random.pick(PROVIDERS), ...good() }
}

const ODD_PROVIDERS = [
  'paypal',
  'gateway-',
  '-virtual-bank-account',
  'GATEWAY',
  '__proto__',
  'constructor',
  ...PAYLOADS,
]

export const PAYING: Record<string, Make> = {
  'start payment': (bench) => {
    const key: Header[] = bench.random.chance(0.4) ? [['idempotency-key', `start ${bench.index}`]] : []
    const body = JSON.stringify(goodStart(bench))
    // 422: the charge on top is more than the provider takes.
    return whole([200, 422], {
      method: 'POST',
      target: V1 + INITIALIZE,
      headers: [...bench.credentials, JSON_TYPE, ...key],
      body,
    })
  },
  'start earlier payment': (bench) => {
    const body = { ...goodStart(bench), reference: bench.earlierReference() }
    return post(bench, INITIALIZE, JSON.stringify(body), [200, 400, 409, 422])
  },
  'start: odd provider': (bench) => {
    const provider = bench.random.pick<unknown>([...ODD_PROVIDERS, ...NOT_TEXT, null, 5, [], {}, '', 'x'.repeat(101)])
    return post(bench, INITIALIZE, JSON.stringify({ ...goodStart(bench), provider }), [400, 422])
  },
  'start: spoilt field': (bench) => {
    const [, spoil] = bench.random.pick(Object.entries(SPOILT))
    const { body, expected } = spoil(bench.random, goodStart(bench))
    // The country is the one thing that a checkout needs and this call does not.
    return post(bench, INITIALIZE, JSON.stringify(body), body.country === undefined ? [200, 422] : started(expected))
  },
  'start: spoilt body': (bench) => {
    const [, spoil] = bench.random.pick(Object.entries(SPOILT_TEXT))
    const { text, expected } = spoil(bench.random, goodStart(bench))
    return post(bench, INITIALIZE, text, started(expected))
  },

  refund: (bench) => {
    const { random, known } = bench
    const name = random.chance(0.5) && known.ids.length > 0 ? random.pick(known.ids) : bench.earlierReference()
    const path = `/payments/${encodeURIComponent(name)}/refunds`
    const good: Body = random.pick([
      {},
      { amount: 5 },
      { amount: null, reason: null },
      { reason: random.pick(PAYLOADS) },
    ])
    // Without a body it is the whole payment, as with an empty object.
    const sent = random.chance(0.1) ? '' : JSON.stringify(good)
    if (random.chance(0.5)) return post(bench, path, sent, [404, 409, 422])
    const odd = random.pick<() => string | Buffer>([
      () => JSON.stringify({ amount: random.pick(WRONG_AMOUNTS.filter((amount) => amount !== null)) }),
      () => JSON.stringify({ reason: random.pick([...NOT_TEXT, ...LINE_BREAKS, 'x'.repeat(201), 5, {}]) }),
      () => JSON.stringify({ [random.pick(['amonut', 'Amount', 'amounts', 'raeson'])]: 5 }),
      () => random.pick(['null', '[]', '5', '{']),
      () => random.bytes(random.between(1, 200)),
    ])()
    return post(bench, path, odd, [400])
  },

  'fee quote': (bench) => {
    const { random } = bench
    const good = {
      amount: random.pick([1, 246_249, 246_250, 999_999_999_999, random.between(1, 999_999_999_999)]),
      country: random.pick(['NG', 'Ghana', 'FR']),
      currency: random.pick(['NGN', 'ghs', '', null, 'EUR']),
      customerBearsCharge: random.pick([true, false, null]),
    }
    if (random.chance(0.5)) return post(bench, '/fees/quote', JSON.stringify(good), [200])
    const odd = random.pick<Body>([
      { amount: random.pick(WRONG_AMOUNTS) },
      { country: random.pick<unknown>([...PAYLOADS, ...NOT_TEXT, null, 5]) },
      { currency: random.pick<unknown>(['XXX1', 5, [], ...NOT_TEXT]) },
      { customerBearsCharge: random.pick<unknown>(['true', 1, []]) },
      { customerBearCharge: true },
    ])
    return post(bench, '/fees/quote', JSON.stringify({ ...good, ...odd }), [400])
  },

  'list cards': ({ random, credentials }) => {
    const [expected, query] = random.pick<[number[], string]>([
      [[200], 'email=ada%40example.com'],
      [[200], `email=${encodeURIComponent(`ådá'--@exämple.ng`)}`],
      [[400], ''],
      [[400], 'email='],
      [[400], 'email=ada'],
      [[400], 'email=a%40b.co&email=c%40d.co'],
      [[400], `email=${'a'.repeat(300)}%40b.co`],
      [[400], 'email=a%00%40b.co'],
      [[200, 400], 'email=%ff%fe%40b.co'],
      [[200, 400], 'email=%zz%40b.co'],
    ])
    return whole(expected, { method: 'GET', target: `${V1}/cards?${query}`, headers: credentials })
  },
  'delete card': ({ random, credentials, known }) => {
    const id = random.pick([
      'crd_',
      'crd_zzzzzzzzzzzzzzzzzzzzzz',
      'crd_8e1Ch4GF7j2A42jthTVYSAwY',
      ...PAYLOADS,
      ...known.ids,
    ])
    const target = `${V1}/cards/${encodeURIComponent(id)}`
    return whole([404], { method: 'DELETE', target, headers: credentials })
  },
  integrations: ({ random, credentials }) => {
    const [expected, query] = random.pick<[number[], string]>([
      [[200], ''],
      [[200], 'country=ng&currency=ngn'],
      [[200], 'country=FR'],
      [[400], 'country=Atlantis'],
      [[400], 'currency=kobo'],
      [[400], 'country=NG&country=GH'],
      [[400], 'country=%00'],
    ])
    return whole(expected, { method: 'GET', target: `${V1}/integrations?${query}`, headers: credentials })
  },
  timeline: (bench) => {
    const name = bench.random.chance(0.7) ? bench.earlierReference() : bench.random.pick(PAYLOADS)
    const target = `${V1}/payments/${encodeURIComponent(name)}/timeline`
    return whole([200, 404], { method: 'GET', target, headers: bench.credentials })
  },
  'widget token': (bench) => {
    const name = bench.random.chance(0.7) ? bench.earlierReference() : bench.random.pick(PAYLOADS)
    const target = `${V1}/payments/${encodeURIComponent(name)}/widget-token`
    return whole([201, 404], { method: 'POST', target, headers: bench.credentials })
  },
  'opening the widget': (bench) => {
    const { random } = bench
    const odd = () => random.pick([...PAYLOADS, 'http://localhost:99999', 'null', 'wgt_x', unicode(random, 20)])
    const query = new URLSearchParams({ reference: random.chance(0.5) ? bench.earlierReference() : odd() })
    const [, clientId = ''] = bench.credentials.find(([name]) => name === 'client-id') ?? []
    query.set('client-id', random.chance(0.7) ? String(clientId) : odd())
    for (const name of ['token', 'origin', 'lang', 'theme']) if (random.chance(0.4)) query.append(name, odd())
    return whole([302, 403, 404], { method: 'GET', target: `/widget/open?${query}` })
  },
  'page with an odd query': ({ random, known }) => {
    const query = new URLSearchParams()
    for (const name of ['lang', 'theme', 'origin', 'embed', 'method', 'sent', 'back'])
      if (random.chance(0.4)) query.append(name, random.pick([...PAYLOADS, '1', 'fr', unicode(random, 20)]))
    return whole([200, 404], {
      method: random.pick(['GET', 'HEAD']),
      target: `/pay/${random.pick(known.ids)}?${query}`,
    })
  },
  'return link': ({ random, known }) => {
    const name = random.pick(['att_', 'att_zzzzzzzzzzzzzzzzzzzzzz', 'x', '%00', '%zz', '..%2f', ...known.ids])
    return whole([400, 404], { method: random.pick(['GET', 'HEAD']), target: `/return/${name}` })
  },

  'forged notice': ({ random, known, index }) => {
    const { merchantId, secretKey } = known.account
    const body = JSON.stringify(notice(random, `forged${index}`))
    const seconds = Math.floor(Date.now() / 1_000)
    const right = signatureOf(secretKey, seconds, Buffer.from(body))
    const signature = random.pick<string | Buffer>([
      '',
      'v1',
      `t=${seconds}`,
      `t=${seconds},v1=`,
      `t=${seconds},v1=${'0'.repeat(64)}`,
      `t=${seconds},v1=${'é'.repeat(64)}`,
      `t=NaN,v1=${'0'.repeat(64)}`,
      `${right}0`,
      right.replace('t=', 't=1'),
      right.toUpperCase(),
      `${right},${right}`,
      signatureOf(secretKey, seconds - 10_000, Buffer.from(body)),
      signatureOf(`${secretKey}x`, seconds, Buffer.from(body)),
      random.bytes(40).map((byte) => byte | 0x80) as Buffer,
    ])
    const headers: Header[] = random.chance(0.9) ? [['gateway-signature', signature]] : []
    return tell([401], merchantId, headers, body)
  },
  'notice to nobody': ({ random, known }) => {
    const { merchantId } = known.account
    const target = random.pick([
      `/notices/paypal/sandbox/${merchantId}`,
      `/notices/gateway/test/${merchantId}`,
      '/notices/gateway/sandbox/mer_zzzzzzzzzzzzzzzzzzzzzz',
      '/notices/gateway/sandbox/x',
      `/notices/gateway/sandbox/${encodeURIComponent(random.pick(PAYLOADS))}`,
      `/notices/__proto__/sandbox/${merchantId}`,
      '/notices/gateway/sandbox/%00',
    ])
    return whole([400, 404], { method: 'POST', target, body: random.pick(['', '{}', random.bytes(50)]) })
  },
  'notice of another mode': ({ known }) =>
    whole([401, 404], { method: 'POST', target: `/notices/gateway/live/${known.account.merchantId}`, body: '{}' }),
  /** Signed with the right key, so it counts as the provider's, with any content. It is stored and breaks nothing. */
  'signed odd notice': ({ random, known, index }) => {
    const { merchantId, secretKey, orders } = known.account
    const reference = orders.length > 0 && random.chance(0.3) ? random.pick(orders) : `unheard${index}`
    const body = oddNotice(random, reference)
    const signature = signatureOf(secretKey, Math.floor(Date.now() / 1_000), body)
    const type = random.pick(['application/json', 'text/plain', 'a/b', undefined, ''])
    const headers: Header[] = [['gateway-signature', signature]]
    if (type !== undefined) headers.push(['content-type', type])
    // without a content type it is refused before the route runs
    return tell(type === '' ? [415] : [200], merchantId, headers, body)
  },
  'huge notice': ({ random, known }) => {
    const { merchantId, secretKey } = known.account
    const body = Buffer.alloc(random.pick([256 * 1_024 + 1, 300_000]), 'a')
    const signature = signatureOf(secretKey, Math.floor(Date.now() / 1_000), body)
    return tell([413], merchantId, [['gateway-signature', signature], JSON_TYPE], body)
  },
}

function tell(expected: readonly number[], merchantId: string, headers: Header[], body: string | Buffer): Made {
  return whole(expected, { method: 'POST', target: `/notices/gateway/sandbox/${merchantId}`, headers, body })
}

function signatureOf(secretKey: string, seconds: number, body: Buffer): string {
  return `t=${seconds},v1=${createHmac('sha256', secretKey).update(`${seconds}.`).update(body).digest('hex')}`
}

function notice(random: Random, reference: string): Body {
  const type = random.pick([
    'payment.paid',
    'payment.failed',
    'transfer.received',
    'refund.successful',
    'payment.other',
  ])
  const transaction = {
    id: `gtx_f${random.between(1, 1e9)}`,
    kind: random.pick(['charge', 'transfer', 'refund']),
    status: random.pick(['paid', 'failed', 'processing']),
    amount: 1_250_000,
    currency: 'NGN',
    at: new Date(1.8e12).toISOString(),
  }
  const data = {
    reference,
    channel: 'card',
    status: random.pick(['pending', 'paid', 'failed', 'refunded', 'wonderful']),
    requested: 1_250_000,
    amount: 1_250_000,
    refunded: 0,
    currency: 'NGN',
    publicKey: 'gpk',
    expiresAt: new Date(1.9e12).toISOString(),
    transactions: [transaction],
  }
  const refund = { id: `grf_f${random.between(1, 1e9)}`, amount: 5, currency: 'NGN' }
  return { id: `ntc_${random.between(1, 1e9)}`, type, reference, createdAt: data.expiresAt, data, refund }
}

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  '',
  [],
  {},
  [null],
  ...['1e400', '9007199254740993', '-0', '1e300', '999999999999999'].map(numberAsWritten),
  ...PAYLOADS,
  ...NOT_TEXT,
  'x'.repeat(20_000),
]

function oddNotice(random: Random, reference: string): Buffer {
  const good = notice(random, reference) as Body & { data: Body & { transactions: Body[] }; refund: Body }
  const odd = () => random.pick(ODD_VALUES)
  const change = (value: Body): Body => ({ ...value, [random.pick(Object.keys(value))]: odd() })
  return random.pick<() => Buffer>([
    () => json(good),
    () => json(change(good)),
    () => json({ ...good, data: change(good.data) }),
    () => json({ ...good, data: { ...good.data, transactions: good.data.transactions.map(change) } }),
    () => json({ ...good, refund: change(good.refund) }),
    () => json({ ...good, [unicode(random, 20)]: odd() }),
    () => json(odd()),
    () => Buffer.from(`${'['.repeat(50_000)}${']'.repeat(50_000)}`),
    () => Buffer.alloc(0),
    () => random.bytes(random.between(1, 2_000)),
  ])()
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value) ?? '')
}
