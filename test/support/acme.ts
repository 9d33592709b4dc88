import { createHmac } from 'node:crypto'
import type { ClientOptions, Provider, ProviderClient, Unknown } from '../../src/providers/provider.ts'
import { type Asked, startUpstream, type Upstream } from '../fakes/upstream.ts'

export const KEYS = {
  sandbox: { secretKey: 'sk_test_Zf81ab', publicKey: 'pk_test_Aa01' },
  live: { secretKey: 'sk_live_Qq77cd', publicKey: 'pk_live_Bb02' },
}

const both = <Value>(value: Value) => ({ sandbox: value, live: value })

/** A minimal provider for tests of integrations: two keys, an optional secret, cards in NGN and GHS. */
export function acmeAt(url: string): Provider {
  return {
    capabilities: {
      name: 'acme',
      title: 'Acme',
      sandboxOnly: false,
      framed: false,
      pageTakesSavedCards: false,
      pageAsksToSave: false,
      countries: ['NG', 'GH'],
      currencies: ['NGN', 'GHS'],
      limits: {},
      offers: { card: { NGN: { fee: { basisPoints: 150 } }, GHS: { fee: { basisPoints: 200 } } } },
    },
    settings: [
      {
        name: 'secretKey',
        about: 'The secret key, from Settings, API keys',
        secret: true,
        pattern: { sandbox: /^sk_test_\w+$/, live: /^sk_live_\w+$/ },
        looksLike: { sandbox: 'sk_test_…', live: 'sk_live_…' },
      },
      {
        name: 'publicKey',
        about: 'The public key, from Settings, API keys.',
        secret: false,
        pattern: { sandbox: /^pk_test_\w+$/, live: /^pk_live_\w+$/ },
        looksLike: { sandbox: 'pk_test_…', live: 'pk_live_…' },
      },
      {
        name: 'noticeSecret',
        about: 'The secret that you chose for notices',
        secret: true,
        optional: true,
        pattern: both(/^\S{8,}$/),
        looksLike: both('8 characters or more'),
      },
    ],
    baseURL: both(url),
    connect,
  }
}

const unknown = (because: string): Unknown => ({ kind: 'unknown', because })

function connect({ settings, baseURL, http }: ClientOptions): ProviderClient {
  const { secretKey = '', publicKey = '' } = settings
  const call = (method: 'GET' | 'POST', path: string) =>
    http.request({ method, url: baseURL + path, headers: { authorization: `Bearer ${secretKey}` } })
  return {
    publicKey,
    async verifyKeys() {
      const answer = await call('GET', '/me')
      if (answer.kind === 'unknown') return answer
      return answer.status === 200 ? { kind: 'good' } : { kind: 'bad', because: 'it refused the key' }
    },
    async start({ reference, expiresAt }) {
      const answer = await call('POST', `/orders/${reference}`)
      if (answer.kind === 'unknown') return answer
      if (answer.status !== 200) return unknown(`it answered ${answer.status}`)
      return { kind: 'link', link: 'https://acme.example/pay', providerReference: reference, publicKey, expiresAt }
    },
    chargeSavedCard: async () => unknown('it keeps no cards'),
    async check({ reference }) {
      const answer = await call('GET', `/orders/${reference}`)
      if (answer.kind === 'unknown') return answer
      if (answer.status !== 200) return unknown(`it answered ${answer.status}`)
      const amount = JSON.parse(answer.text)
      return { kind: 'paid', receipts: [{ transactionId: `t-${reference}`, amount, at: new Date() }] }
    },
    readNotice({ headers, body }) {
      const isGood = headers.signature === sign(secretKey, body)
      if (!isGood) return { kind: 'forged', because: 'the signature is not ours' }
      return { kind: 'notice', reference: body.toString(), says: 'paid', receipts: [] }
    },
    async refund({ reference }) {
      const answer = await call('POST', `/refunds/${reference}`)
      return answer.kind === 'answer' && answer.status === 200
        ? { kind: 'refunded', refundId: `r-${reference}` }
        : unknown('it did not')
    },
  }
}

export function sign(secretKey: string, body: Buffer): string {
  return createHmac('sha256', secretKey).update(body).digest('hex')
}

/** Its server: accepts requests with one of `keys`, and every order is paid immediately. */
export async function startAcme(t: Parameters<typeof startUpstream>[0]): Promise<{
  upstream: Upstream
  provider: Provider
  /** All requests so far. */
  asked: Asked[]
  keys: Set<string>
}> {
  const asked: Asked[] = []
  const keys = new Set(Object.values(KEYS).map(({ secretKey }) => secretKey))
  const upstream = await startUpstream(t, (each) => {
    asked.push(each)
    if (!keys.has(each.headers.authorization?.replace('Bearer ', '') ?? '')) return { status: 401, text: '{}' }
    return { status: 200, text: JSON.stringify({ amount: 1_250_000, currency: 'NGN' }) }
  })
  return { upstream, provider: acmeAt(upstream.url), asked, keys }
}
