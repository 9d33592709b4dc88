import type { Bench, Made } from './requests.ts'
import { PAYLOADS, unicode } from './values.ts'
import { bytesOf, type WireRequest } from './wire.ts'

/** Requests with an odd path, method or headers. */
type Make = (bench: Bench) => Made

const V1 = '/payments/v1'
const GOOD_JSON = '{"amount":1,"country":"NG","user":{"email":"a@b.co"}}'

function whole(expected: readonly number[], request: WireRequest): Made {
  const { method, target } = request
  return { method, target, how: 'whole', expected, bytes: bytesOf(request) }
}

const ODD_QUERIES = [
  'limit=0',
  'limit=101',
  'limit=-1',
  'limit=abc',
  'limit=',
  'limit=1e1',
  'limit=1&limit=2',
  'limit[]=1&limit[]=2&limit=%',
  'from=garbage',
  'from=2026-13-45',
  'from=2026-01-01T00:00:00+01:00',
  'to=99999-01-01',
  'from=2026-01-01&from=2026-01-02',
  'cursor=garbage',
  'cursor=',
  'cursor=%00',
  `cursor=${Buffer.from('after:chk_zzzzzzzzzzzzzzzzzzzzzz').toString('base64url')}`,
  'status=paid',
  'status=pending&status=expired',
  `email=${'a'.repeat(300)}`,
]

// Any status below 500 is right for these.
const STRANGE_QUERIES = [
  'email=%00',
  'email=a%00b',
  'email=%ff%fe',
  'email=%zz',
  'email=%ED%A0%80',
  'email=&status=pending',
  'limit=1;drop',
  '__proto__=1&constructor=2&toString=3',
  '&&&===&',
  'from=0000-01-01&to=9999-12-31T23:59:59-23:59',
  'from=2026-02-30',
  `${'a=1&'.repeat(1_500)}`,
  'email=%F0%9F%98%80%0d%0ax-injected:1',
]

const UPGRADE = [
  ['upgrade', 'websocket'],
  ['connection', 'upgrade'],
] as const

const BROKEN_ENCODING = ['%zz', '%', '%2', '%ff', '%c3%28', '%ED%A0%80', '%00', 'a%00b', '%u0041', '%0d%0ax-injected:1']

const WRONG_METHODS = [
  ['PUT', `${V1}/checkouts`],
  ['GET', `${V1}/checkouts`],
  ['DELETE', `${V1}/payments/a`],
  ['PATCH', `${V1}/payments`],
  ['GET', `${V1}/payments/a/cancel`],
  ['POST', '/healthz'],
  ['PUT', '/pay/a'],
  ['DELETE', '/s/a'],
  ['OPTIONS', `${V1}/checkouts`],
  ['PUT', '/openapi.json'],
] as const

export const ADDRESSES: Record<string, Make> = {
  'read payment': ({ random, credentials, known, earlierReference }) => {
    const made = random.chance(0.3) && known.ids.length > 0
    const name = made ? random.pick(known.ids) : earlierReference()
    const method = random.pick(['GET', 'GET', 'HEAD'])
    return whole([200, 404], { method, target: `${V1}/payments/${encodeURIComponent(name)}`, headers: credentials })
  },
  'read odd name': ({ random, credentials }) => {
    const name = random.chance(0.5) ? random.pick(PAYLOADS) : unicode(random, random.between(1, 60))
    const target = `${V1}/payments/${encodeURIComponent(name)}`
    return whole([404], { method: 'GET', target, headers: credentials })
  },
  'cancel payment': ({ random, credentials, earlierReference }) => {
    const target = `${V1}/payments/${encodeURIComponent(earlierReference())}/cancel`
    const body = random.pick([undefined, '', '{}', GOOD_JSON, '[', 'null'])
    const headers = random.chance(0.5) ? [...credentials, ['content-type', 'application/json'] as const] : credentials
    return whole([200, 400, 404, 409, 415], { method: 'POST', target, headers, body })
  },
  'list payments': ({ random, credentials, index }) => {
    const query = random.pick([
      '',
      '?limit=1',
      '?status=pending&limit=5',
      `?email=ada${index}%40EXAMPLE.com`,
      '?from=2026-01-01',
    ])
    return whole([200], { method: 'GET', target: `${V1}/payments${query}`, headers: credentials })
  },
  'refused query': ({ random, credentials }) =>
    whole([400], { method: 'GET', target: `${V1}/payments?${random.pick(ODD_QUERIES)}`, headers: credentials }),
  'strange query': ({ random, credentials }) =>
    whole([200, 400], {
      method: 'GET',
      target: `${V1}/payments?${random.pick(STRANGE_QUERIES)}`,
      headers: credentials,
    }),

  link: ({ random, credentials, index }) => {
    const odd = () =>
      random.pick([null, '', 0, -1, 1.5, 2 ** 53, '1000', [], {}, true, random.pick(PAYLOADS), unicode(random, 300)])
    const good: Record<string, unknown> = { title: `Link ${index}`, amount: 1_000, country: 'NG' }
    const fields = [
      'title',
      'description',
      'amount',
      'minAmount',
      'maxAmount',
      'customField',
      'maxPayments',
      'expiresIn',
    ]
    const more = [...fields, 'redirectURL', 'metadata', 'currency', 'country', 'active', 'collectName', 'unknown']
    for (let left = random.between(0, 3); left > 0; left--) good[random.pick(more)] = odd()
    const target = random.chance(0.7)
      ? `${V1}/links`
      : `${V1}/links/${random.pick(['x', 'lnk_x', '%00', 'lnk_'.repeat(50)])}`
    const method = target.endsWith('/links') ? 'POST' : random.pick(['GET', 'PATCH'])
    const headers = [...credentials, ['content-type', 'application/json'] as const]
    return whole([200, 201, 400, 404, 415], { method, target, headers, body: JSON.stringify(good) })
  },
  'list links': ({ random, credentials }) =>
    whole([200, 400], { method: 'GET', target: `${V1}/links?${random.pick(ODD_QUERIES)}`, headers: credentials }),
  export: ({ random, credentials }) => {
    const list = random.pick(['payments', 'refunds', 'transfers', 'deliveries', 'keys', '%00'])
    const query = random.pick([
      ...ODD_QUERIES,
      'columns=id',
      'columns=id,id',
      'columns=',
      'columns=__proto__',
      'bom=1',
      'status=expired',
    ])
    return whole([200, 400, 404, 429], {
      method: 'GET',
      target: `${V1}/exports/${list}?${query}`,
      headers: credentials,
    })
  },

  'payment page': ({ random, known }) => {
    const [folder, names] = random.pick([
      ['pay', known.ids] as const,
      ['s', known.codes] as const,
      ['l', known.codes] as const,
    ])
    const name = names.length > 0 && random.chance(0.8) ? random.pick(names) : 'x'.repeat(random.between(1, 1_500))
    return whole([200, 302, 404], { method: random.pick(['GET', 'HEAD']), target: `/${folder}/${name}` })
  },
  'form of a page': ({ random, known }) => {
    const id =
      known.ids.length > 0 && random.chance(0.8) ? random.pick(known.ids) : 'x'.repeat(random.between(1, 1_500))
    const type = random.pick([
      'application/x-www-form-urlencoded',
      'application/json',
      'text/plain',
      'multipart/form-data',
    ])
    const body = random.pick(['action=pay&method=card', 'action=cancel&token=x', '%%%', 'a'.repeat(5_000), '{}', '\0'])
    const target = `/pay/${id}${random.pick(['', '?embed=1&origin=null', '?lang=%00', '?method=card&method=transfer', '?sent'])}`
    const headers = [
      ['content-type', type] as [string, string],
      ['x-panel', random.pick(['pending', '', 'x'])] as [string, string],
    ]
    return whole([400, 403, 404, 413, 415], { method: 'POST', target, headers, body })
  },
  operations: ({ random }) =>
    whole([200], { method: 'GET', target: random.pick(['/openapi.json', '/healthz', '/healthz?a', '/readyz']) }),
  'unknown path': ({ random, credentials }) => {
    const target = random.pick([
      '/',
      '//',
      '/nothing',
      `${V1}/checkout`,
      '/payments/v2/checkouts',
      `${V1}/payments/a/b/c`,
      '/*',
      '/.env',
    ])
    return whole([404], { method: random.pick(['GET', 'POST', 'PUT']), target, headers: credentials })
  },
  'wrong method': ({ random, credentials }) => {
    const [method, target] = random.pick(WRONG_METHODS)
    return whole([405], { method, target, headers: credentials, body: random.pick([undefined, GOOD_JSON, 'garbage']) })
  },
  'broken percent-encoding': ({ random, credentials }) => {
    const folder = random.pick([`${V1}/payments/`, '/pay/', '/s/', '/', `${V1}/payments/a/`])
    return whole([400, 404], { method: 'GET', target: folder + random.pick(BROKEN_ENCODING), headers: credentials })
  },

  'long address': ({ random, credentials }) => {
    const start = random.pick([
      `${V1}/payments/`,
      `${V1}/payments?email=`,
      '/pay/',
      '/s/x?',
      '/pay/x?',
      '/nothing/',
      '/healthz?',
    ])
    const length = random.pick([1_100, 8_300, 17_000])
    const expected = length > 16_384 ? [431] : length > 8_192 ? [400, 404, 414] : [200, 400, 404]
    return whole(expected, { method: 'GET', target: start + 'a'.repeat(length), headers: credentials })
  },
  'long header': ({ random, credentials }) => {
    const headers = [...credentials, [random.pick(['x-a', 'idempotency-key', 'cookie']), 'a'.repeat(17_000)] as const]
    return whole([431], { method: 'GET', target: `${V1}/payments`, headers })
  },
  credentials: ({ random, credentials: [id, secret], index }) => {
    if (!id || !secret) throw new Error('credentials are two headers')
    const garbage = random.pick([
      '',
      ' ',
      'x',
      `cid_${index}`,
      'é'.repeat(20),
      `'--`,
      'y'.repeat(6_000),
      `${secret[1]}x`,
    ])
    const headers = random.pick([
      [],
      [id],
      [secret],
      [id, ['client-secret', garbage] as const],
      [['client-id', garbage] as const, secret],
      [['client-id', garbage] as const, ['client-secret', garbage] as const],
      [id, id, secret],
      [['client-id', random.bytes(30).map((byte) => 0x80 | byte) as Buffer] as const, secret],
    ])
    const [method, target] = random.pick([['GET', `${V1}/payments`] as const, ['POST', `${V1}/checkouts`] as const])
    return whole([401], { method, target, headers, body: method === 'POST' ? GOOD_JSON : undefined })
  },
  'idempotency key': ({ random, credentials, index }) => {
    const value = random.pick(['', ' ', 'k'.repeat(256), 'a\tb', Buffer.from('clé'), Buffer.from([0x80, 0xff]), '\x7f'])
    const sent = random.chance(0.7)
      ? { expected: [400], value, body: GOOD_JSON }
      : { expected: [400, 415], value: `bodiless ${index}`, body: random.pick([undefined, '']) }
    const type = random.chance(0.7) ? [['content-type', 'application/json'] as const] : []
    const headers = [...credentials, ['idempotency-key', sent.value] as const, ...type]
    const expected = type.length > 0 ? sent.expected : [400, 415]
    return whole(expected, { method: 'POST', target: `${V1}/checkouts`, headers, body: sent.body })
  },
  'content type': ({ random, credentials }) => {
    const types = [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=a',
      'application/jsonx',
      ';;',
      '',
      'a',
      'json',
      '*/*',
    ]
    const headers = [...credentials, ['content-type', random.pick([...types, Buffer.from('é')])] as const]
    return whole([400, 415], { method: 'POST', target: `${V1}/checkouts`, headers, body: GOOD_JSON })
  },
  'huge body': ({ random, credentials }) => {
    const body = random.pick([`"${'a'.repeat(70 * 1_024)}"`, `{"a":"${'é'.repeat(40_000)}"}`, '['.repeat(70_000)])
    const headers = [...credentials, ['content-type', 'application/json'] as const]
    const chunkSize = random.pick([undefined, 9_000])
    return whole([413], { method: 'POST', target: `${V1}/checkouts`, headers, body, chunkSize })
  },
  'HTTP oddities': ({ random, credentials }) => {
    const get = { method: 'GET', target: '/healthz', headers: credentials }
    return random.pick<() => Made>([
      () => whole([200], { ...get, version: '1.0' }),
      () => whole([200, 404], { ...get, target: 'http://elsewhere.example/healthz' }),
      // Alone: on a connection that saw this, Node 24 leaves a later broken request without an answer or an event.
      () => ({ ...whole([200], { ...get, headers: UPGRADE }), alone: true }),
      () => whole([200, 400, 417], { ...get, headers: [['expect', 'the-unexpected']] }),
      () =>
        whole([200], {
          ...get,
          headers: [
            ['x-forwarded-for', `'--, ::1`],
            ['accept', '*'],
            ['accept-version', '9'],
          ],
        }),
      () => whole([404, 405], { ...get, method: random.pick(['PROPFIND', 'TRACE', 'PURGE', 'M-SEARCH']) }),
      () => whole([404, 405], { ...get, method: 'OPTIONS', target: '*' }),
      () => whole([200], { ...get, body: random.bytes(100) }),
    ])()
  },
}
