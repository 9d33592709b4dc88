import { FAKES } from '../../fakes/index.ts'
import type { Bench, Made } from './requests.ts'
import { NOT_TEXT, PAYLOADS, unicode } from './values.ts'
import { bytesOf, type Header } from './wire.ts'

/**
 * Requests that set up providers. None succeeds, because a provider that is set up would be called over the network.
 */
type Make = (bench: Bench) => Made

const V1 = '/payments/v1/integrations'
const JSON_TYPE: Header = ['content-type', 'application/json']
const REAL = FAKES.map(({ provider }) => provider.capabilities.name)
const NOBODY = ['paypal', '__proto__', 'constructor', 'GATEWAY', 'gateway-virtual-bank-account', ...PAYLOADS]

function made(expected: readonly number[], method: string, target: string, headers: Header[], body?: string): Made {
  return { method, target, how: 'whole', expected, bytes: bytesOf({ method, target, headers, body }) }
}

export const INTEGRATIONS: Record<string, Make> = {
  'set integration, refused': ({ random, credentials }) => {
    const odd = random.pick<unknown>([
      {},
      { settings: {} },
      { settings: random.pick<unknown>([...NOT_TEXT, 'x', 5, null, []]) },
      { settings: { secretKey: random.pick<unknown>([...NOT_TEXT, ...PAYLOADS, unicode(random, 40), '', 5]) } },
      { settings: { __proto__x: 'y', constructor: 'z', secretKey: 'sk_live_0123456789abcdef' } },
      { baseURL: random.pick<unknown>(['file:///etc/passwd', 'http://user:pass@127.0.0.1/', 'x', 5, ...PAYLOADS]) },
      { priority: random.pick<unknown>([-1, 1_001, 0.5, '1', 1e300, ...NOT_TEXT]), settings: {} },
      { currencies: random.pick<unknown>(['NGN', ['XXX1'], [5], [[]], {}]), settings: {} },
      { countries: random.pick<unknown>(['NG', ['Atlantis'], [null], {}]), settings: {} },
      { channels: random.pick<unknown>(['card', ['cash'], [null], {}]), settings: {} },
    ])
    const target = `${V1}/${random.pick(REAL)}`
    return made([400, 422], 'PUT', target, [...credentials, JSON_TYPE], JSON.stringify(odd))
  },
  'integration of nobody': ({ random, credentials }) => {
    const target = `${V1}/${encodeURIComponent(random.pick(NOBODY))}`
    const method = random.pick(['GET', 'PUT', 'DELETE'])
    const [headers, body] =
      method === 'PUT' ? [[...credentials, JSON_TYPE], '{"settings":{}}'] : [credentials, undefined]
    return made([400, 404, 422], method, target, headers, body)
  },
  'integration that is not set up': ({ random, credentials }) => {
    const name = random.pick(REAL)
    return random.chance(0.5)
      ? made([404], 'GET', `${V1}/${name}`, credentials)
      : made([404], 'POST', `${V1}/${name}/check`, [...credentials, JSON_TYPE], '{}')
  },
  'notice of a provider that is not set up': ({ random, known }) => {
    const { merchantId } = known.account
    const target = `/notices/${random.pick(REAL)}/${random.pick(['sandbox', 'live'])}/${merchantId}`
    return made([401], 'POST', target, [JSON_TYPE], random.pick(['{}', '', '[', ...PAYLOADS]))
  },
}
