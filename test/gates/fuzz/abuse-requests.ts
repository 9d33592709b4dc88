import { newId } from '../../../src/kernel/ids.ts'
import { randomPlace } from '../../../src/kernel/place.ts'
import type { Random } from '../random.ts'

/** What an unauthenticated client can know: public paths, one payment link, a merchant's id. Never a credential. */
export interface Public {
  origin: string
  merchantId: string
  clientId: string
  pagePath: string
  shortPath: string
  /** An order of ours at each provider, as a customer may see it in an address. */
  order: string
}

export interface AbuseRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** A stream does not end, so the client closes it. */
  stream?: boolean
}

type Make = (random: Random, known: Public) => AbuseRequest

const V1 = '/payments/v1'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }
const base58 = (random: Random, length: number) =>
  Array.from({ length }, () => random.pick([...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'])).join('')
const anyMerchant = (random: Random, known: Public) =>
  random.chance(0.7) ? known.merchantId : newId('merchant', new Date())
const anyPage = (random: Random, known: Public) =>
  random.chance(0.5) ? known.pagePath : `/pay/${newId('payment', new Date(), randomPlace())}`

function notice(provider: string, headers: (random: Random) => Record<string, string>): Make {
  return (random, known) => {
    const reference = random.chance(0.3) ? known.order : base58(random, 32)
    const filler = 'x'.repeat(random.chance(0.05) ? 200_000 : random.between(0, 2_000))
    const body = JSON.stringify({
      event: 'charge.success',
      eventType: 'SUCCESSFUL_TRANSACTION',
      eventData: { paymentReference: reference, product: { reference, type: 'WEB_SDK' }, filler },
      data: { reference, tx_ref: reference, id: random.between(1, 1e9), status: 'success', object: { id: reference } },
    })
    const path = `/notices/${provider}/sandbox/${anyMerchant(random, known)}`
    return { method: 'POST', path, headers: { ...JSON_TYPE, ...headers(random) }, body }
  }
}

const hex = (random: Random, length: number) => random.bytes(length / 2).toString('hex')
const get =
  (path: string): Make =>
  () => ({ method: 'GET', path })

function fromDashboard(path: string, body: (random: Random) => object | undefined): Make {
  return (random, { origin }) => ({
    method: 'POST',
    path: `/dashboard/api${path}`,
    headers: { ...JSON_TYPE, origin, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify(body(random) ?? {}),
  })
}

/** Every path that answers without a credential. */
export const ABUSE: Record<string, Make> = {
  'notice gateway': notice('gateway', (random) => ({ 'gateway-signature': `t=1,v1=${hex(random, 64)}` })),
  'notice paystack': notice('paystack', (random) => ({ 'x-paystack-signature': hex(random, 128) })),
  'notice flutterwave': notice('flutterwave', (random) => ({ 'verif-hash': hex(random, 32) })),
  'notice monnify': notice('monnify', (random) => ({ 'monnify-signature': hex(random, 128) })),
  'notice monnify unsigned': notice('monnify', () => ({})),
  'notice stripe': notice('stripe', (random) => ({ 'stripe-signature': `t=1,v1=${hex(random, 64)}` })),
  'notice nobody': notice('nobody', () => ({})),
  page: (random, known) => ({ method: 'GET', path: anyPage(random, known) }),
  'page form': (random, known) => ({
    method: 'POST',
    path: anyPage(random, known),
    headers: FORM,
    body: `action=${random.pick(['pay', 'cancel', 'check', 'new-account'])}&method=card&key=${hex(random, 16)}&token=${hex(random, 32)}`,
  }),
  'page stream': (random, known) => ({ method: 'GET', path: `${anyPage(random, known)}/live`, stream: true }),
  'page status': (random, known) => ({ method: 'GET', path: `${anyPage(random, known)}/status` }),
  'short link': (random, known) => ({
    method: 'GET',
    path: random.chance(0.3) ? known.shortPath : `/s/${base58(random, 15)}`,
  }),
  'reusable link': (random) => ({ method: 'GET', path: `/l/${base58(random, 15)}` }),
  'reusable link form': (random) => ({
    method: 'POST',
    path: `/l/${base58(random, 15)}`,
    headers: FORM,
    body: `email=a%40example.com&amount=1000&key=${hex(random, 16)}&token=${hex(random, 32)}`,
  }),
  'short link qr': (random) => ({ method: 'GET', path: `/s/${base58(random, 15)}/qr.svg` }),
  return: () => ({ method: 'GET', path: `/return/${newId('attempt', new Date(), randomPlace())}` }),
  'widget open': (random, known) => ({
    method: 'GET',
    path: `/widget/open?client-id=${random.chance(0.7) ? known.clientId : base58(random, 20)}&reference=${base58(random, 12)}`,
  }),
  'widget script': get('/widget/v1.js'),
  logo: (random, known) => ({ method: 'GET', path: `/logo/${anyMerchant(random, known)}/${hex(random, 16)}` }),
  'sandbox card page': (random) => ({ method: 'GET', path: `/sandbox/gateway/pay/${base58(random, 30)}` }),
  'sandbox card form': (random) => ({
    method: 'POST',
    path: `/sandbox/gateway/pay/${base58(random, 30)}`,
    headers: FORM,
    body: `number=4000000000000002&expiry=12/40&cvv=123`,
  }),
  'sandbox api': (random) => ({
    method: 'POST',
    path: '/sandbox/gateway/v1/payments',
    headers: { ...JSON_TYPE, authorization: `Bearer gsk_${hex(random, 32)}` },
    body: '{}',
  }),
  'sandbox control': (random) => ({
    method: 'POST',
    path: `/sandbox/gateway/charges/${base58(random, 32)}`,
    headers: { ...JSON_TYPE, 'client-id': 'x', 'client-secret': 'y' },
    body: '{}',
  }),
  'demo page': get('/demo'),
  'demo order': (random) => ({
    method: 'POST',
    path: '/demo/buy',
    headers: FORM,
    body: `product=${random.pick(['jollof', 'adire', 'drum'])}&email=a%40example.com&way=${random.pick(['link', 'transfer'])}`,
  }),
  'demo thanks': (random) => ({ method: 'GET', path: `/demo/thanks?reference=DEMO-${base58(random, 9)}` }),
  'demo webhook': (random) => ({
    method: 'POST',
    path: '/demo/webhook',
    headers: { ...JSON_TYPE, 'webhook-signature': `v1,${hex(random, 44)}` },
    body: '{}',
  }),
  'demo stream': () => ({ method: 'GET', path: '/demo/live', stream: true }),
  docs: get('/docs'),
  'docs script': get('/docs/js/scalar.js'),
  openapi: get('/openapi.json'),
  favicon: get('/favicon.ico'),
  healthz: get('/healthz'),
  readyz: get('/readyz'),
  metrics: get('/metrics'),
  'api without credentials': get(`${V1}/payments`),
  'api with an unknown client': (random) => ({
    method: 'POST',
    path: `${V1}/checkouts`,
    headers: { ...JSON_TYPE, 'client-id': `cid_sandbox_${hex(random, 16)}`, 'client-secret': 'x' },
    body: '{"amount":1}',
  }),
  'api with a wrong secret': (random, known) => ({
    method: 'POST',
    path: `${V1}/payments/initialize`,
    headers: { ...JSON_TYPE, 'client-id': known.clientId, 'client-secret': hex(random, 64) },
    body: '{"amount":1}',
  }),
  dashboard: (random) => ({
    method: 'GET',
    path: random.pick(['/dashboard', '/dashboard/payments', '/dashboard/welcome']),
  }),
  'dashboard password': fromDashboard('/sign-in/password', (random) => ({
    email: random.chance(0.5) ? 'ada@example.com' : `${base58(random, 12)}@example.com`,
    password: base58(random, 20),
  })),
  'dashboard forgotten password': fromDashboard('/sign-in/forgot', (random) => ({
    email: `${base58(random, 12)}@example.com`,
  })),
  'dashboard passkey': fromDashboard('/sign-in/passkey-options', () => undefined),
  'dashboard one-time link': fromDashboard('/welcome/read', (random) => ({ token: base58(random, 43) })),
  'dashboard session': (random) => ({
    method: 'GET',
    path: '/dashboard/api/session',
    headers: { cookie: `manilla_session=${base58(random, 43)}` },
  }),
  'nothing there': (random) => ({ method: random.pick(['GET', 'POST']), path: `/${base58(random, 20)}` }),
  'wrong method': (random) => ({ method: random.pick(['PUT', 'DELETE']), path: random.pick(['/pay/x', '/healthz']) }),
}
