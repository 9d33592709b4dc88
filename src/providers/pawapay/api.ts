import { createPublicKey, type KeyObject } from 'node:crypto'
import type { ClientOptions, ProviderAnswer, Unknown } from '../provider.ts'
import { type ActiveConf, readActiveConf, readPublicKeys } from './wire.ts'

/** Calls with the token of the account, and what they tell that does not change with each payment. */
export interface Session {
  get(path: string): Promise<ProviderAnswer>
  post(path: string, body: object): Promise<ProviderAnswer>
  /** At most five minutes old, or the last one there was. `status`: of the answer, when there never was one. */
  conf(): Promise<ActiveConf | NoConf>
  /** Asks for it now. */
  readConf(): Promise<ActiveConf | NoConf>
  /** As last read, without asking. */
  lastConf(): ActiveConf | undefined
  /** They refuse the token, so they tell nothing. */
  isRefused(): boolean
  /** The public key that signs callbacks: undefined if they have no such key, `unread` if they did not tell yet. */
  publicKey(id: string): KeyObject | undefined | 'unread'
  /** Makes sure that `publicKey` knows this one, if they have it. */
  readPublicKey(id: string): Promise<void>
}

export type NoConf = Unknown & { status?: number }

export const refusesKeys = (status: number | undefined): boolean => status === 401 || status === 403

const CONF_FRESH_MS = 5 * 60_000
const KEYS_FRESH_MS = 24 * 3_600_000
/** After a failure, and before an unknown key is asked for again: strangers can invent names of keys. */
const AGAIN_AFTER_MS = 60_000

/** `now` is a monotonic clock. */
export function openSession(
  { baseURL, http }: Pick<ClientOptions, 'baseURL' | 'http'>,
  apiToken: string,
  now: () => number = () => performance.now(),
): Session {
  const headers = { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' }
  let conf: ActiveConf | undefined
  let refused = false
  let confDueAt = 0
  let reading: Promise<ActiveConf | NoConf> | undefined
  let keys: Map<string, KeyObject> | undefined
  let keysReadAt = 0
  let keysAskedAt = Number.NEGATIVE_INFINITY
  let readingKeys: Promise<void> | undefined

  const get = (path: string) => http.request({ method: 'GET', url: baseURL + path, headers })

  async function askConf(): Promise<ActiveConf | NoConf> {
    const answer = await get('/v2/active-conf')
    const read = answer.kind === 'answer' && answer.status === 200 ? readActiveConf(answer.text) : undefined
    noteRefusal(answer)
    confDueAt = now() + (read ? CONF_FRESH_MS : AGAIN_AFTER_MS)
    if (read) {
      conf = read
      return read
    }
    if (answer.kind === 'unknown') return answer
    const because = `it answered ${answer.status} to a question about the account`
    return { kind: 'unknown', because, status: answer.status }
  }

  function noteRefusal(answer: ProviderAnswer): void {
    if (answer.kind === 'answer') refused = refusesKeys(answer.status)
  }

  /** One request at a time. Concurrent callers share its answer. */
  function readConf(): Promise<ActiveConf | NoConf> {
    reading ??= askConf().finally(() => {
      reading = undefined
    })
    return reading
  }

  async function askKeys(): Promise<void> {
    keysAskedAt = now()
    const answer = await get('/v2/public-key/http')
    noteRefusal(answer)
    const read = answer.kind === 'answer' && answer.status === 200 ? readPublicKeys(answer.text) : undefined
    if (!read) return
    keysReadAt = now()
    keys = new Map(
      read.flatMap(({ id, key }) => {
        const parsed = publicKeyOf(key)
        return parsed ? [[id, parsed] as const] : []
      }),
    )
  }

  return {
    get,
    post: (path, body) => http.request({ method: 'POST', url: baseURL + path, headers, body: JSON.stringify(body) }),
    async conf() {
      if (conf && now() < confDueAt) return conf
      const read = await readConf()
      return 'kind' in read ? (conf ?? read) : read
    },
    readConf,
    lastConf: () => conf,
    isRefused: () => refused,
    publicKey: (id) => (keys ? keys.get(id) : 'unread'),
    async readPublicKey(id) {
      const isKnown = keys?.has(id) && now() - keysReadAt < KEYS_FRESH_MS
      if (isKnown || now() - keysAskedAt < AGAIN_AFTER_MS) return readingKeys
      readingKeys = askKeys().finally(() => {
        readingKeys = undefined
      })
      return readingKeys
    },
  }
}

function publicKeyOf(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem)
  } catch {
    return undefined
  }
}
