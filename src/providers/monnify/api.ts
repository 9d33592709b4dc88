import { type ClientOptions, type ProviderAnswer, type ProviderCall, type Unknown, unreadable } from '../provider.ts'
import { readEnvelope, readToken } from './wire.ts'

/** Calls with a token that is got by logging in, and kept until shortly before its end. */
export interface Session {
  /** Anew, even if there is a token. */
  login(): Promise<Login>
  get(path: string): Promise<SessionAnswer>
  post(path: string, body: string): Promise<SessionAnswer>
}

/** `keysRefused`: there was no login, because they do not know the keys. */
export type SessionAnswer = Exclude<ProviderAnswer, Unknown> | (Unknown & { keysRefused?: true })

export type Login = Token | { kind: 'refused' } | Unknown

interface Token {
  kind: 'token'
  token: string
  /** Monotonic milliseconds. */
  until: number
}

const EARLY_SECONDS = 60

export function openSession({ baseURL, http }: ClientOptions, apiKey: string, secretKey: string): Session {
  const basic = `Basic ${Buffer.from(`${apiKey}:${secretKey}`).toString('base64')}`
  let kept: Token | undefined
  let underWay: Promise<Login> | undefined

  /** One login at a time. Concurrent callers share its result. */
  function login(): Promise<Login> {
    underWay ??= logIn().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  async function logIn(): Promise<Login> {
    const headers = { authorization: basic, 'content-type': 'application/json' }
    const answer = await http.request({ method: 'POST', url: `${baseURL}/api/v1/auth/login`, headers, body: '{}' })
    if (answer.kind === 'unknown') return answer
    const said = readEnvelope(answer.text)
    if (answer.status === 401 || said?.kind === 'error') return { kind: 'refused' }
    const given = answer.status === 200 && said ? readToken(said.body) : undefined
    if (!given) return { kind: 'unknown', because: `it answered ${answer.status} to a login with what we cannot read` }
    const { accessToken: token, expiresIn: expiresInSeconds } = given
    // For a lifetime shorter than the margin, half of it, so that a token is used more than once.
    const seconds = expiresInSeconds - Math.min(EARLY_SECONDS, expiresInSeconds / 2)
    kept = { kind: 'token', token, until: performance.now() + seconds * 1000 }
    return kept
  }

  const tokenNow = async () => (kept && performance.now() < kept.until ? kept : login())

  const send = (call: ProviderCall, { token }: Token) => {
    const headers = { authorization: `Bearer ${token}`, ...(call.body && { 'content-type': 'application/json' }) }
    return http.request({ ...call, headers })
  }

  async function request(call: ProviderCall): Promise<SessionAnswer> {
    const first = await tokenNow()
    // The login failed, so the call itself was never sent.
    if (first.kind !== 'token') return { ...withoutLogin(first), neverSent: true }
    const answer = await send(call, first)
    if (answer.kind === 'unknown' || answer.status !== 401) return answer
    // A token may end early. A request that got a 401 was not executed, so it is repeated once with a new token.
    if (kept === first) kept = undefined
    const second = await tokenNow()
    return second.kind === 'token' ? send(call, second) : withoutLogin(second)
  }

  return {
    login,
    get: (path) => request({ method: 'GET', url: baseURL + path }),
    post: (path, body) => request({ method: 'POST', url: baseURL + path, body }),
  }
}

function withoutLogin(login: Exclude<Login, Token>): Unknown & { keysRefused?: true } {
  if (login.kind === 'refused') return { kind: 'unknown', because: 'it refused the keys', keysRefused: true }
  const { because, errorStatus } = login
  return { kind: 'unknown', because: `no login: ${because}`, ...(errorStatus && { errorStatus }) }
}

export type Reading<T> = { kind: 'good'; body: T } | { kind: 'refused'; code: string; status: number } | Unknown

/** A refusal is in the envelope. HTTP 200 may carry one, too. */
export function read<T>(answer: ProviderAnswer, readBody: (body: unknown) => T | undefined): Reading<T> {
  if (answer.kind === 'unknown') return withoutKeys(answer)
  const { status, text } = answer
  const said = readEnvelope(text)
  if (said?.kind === 'error' && [200, 400, 403, 404, 422].includes(status))
    return { kind: 'refused', code: said.code, status }
  const body = said?.kind === 'good' && (status === 200 || status === 201) ? readBody(said.body) : undefined
  return body === undefined ? unreadable(status) : { kind: 'good', body }
}

/** What only a start call tells on: see `Declined.keysRefused`. */
function withoutKeys({ kind, because, neverSent, errorStatus }: Unknown): Unknown {
  return { kind, because, ...(errorStatus && { errorStatus }), ...(neverSent && { neverSent }) }
}

export const isMissing = (answer: ProviderAnswer) =>
  answer.kind === 'answer' && answer.status === 404 && readEnvelope(answer.text)?.kind === 'error'
