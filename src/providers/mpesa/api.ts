import { type ClientOptions, type Order, type ProviderAnswer, type Unknown, unknown } from '../provider.ts'
import type { Account } from './capabilities.ts'
import { readError, readToken, timestampOf } from './wire.ts'

/** `keysRefused`: there is no token, because they do not know the keys. */
export type Answer = Exclude<ProviderAnswer, Unknown> | (Unknown & { keysRefused?: true })

export interface Api {
  /** A new token, even if there is one. */
  login(): Promise<Login>
  /** `isAnswer`: of HTTP 500, by its code and message. */
  post(path: string, body: object, isAnswer?: (code: string, message: string) => boolean): Promise<Answer>
}

type Login = Token | { kind: 'refused' } | Unknown

interface Token {
  kind: 'token'
  token: string
  /** Monotonic milliseconds. */
  until: number
}

const EARLY_SECONDS = 60
/** A new token ends the one before it, which another process may have fetched just now. */
const MOST_TOKENS = 3
const NO_SUCH_TOKEN = new Set(['404.001.03', '400.003.01', '401.003.01'])

export function openApi({ baseURL, http }: ClientOptions, { consumerKey, consumerSecret }: Account): Api {
  const basic = `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`
  let kept: Token | undefined
  let underWay: Promise<Login> | undefined

  /** One at a time. Concurrent callers share its result. */
  function login(): Promise<Login> {
    underWay ??= logIn().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  async function logIn(): Promise<Login> {
    const url = `${baseURL}/oauth/v1/generate?grant_type=client_credentials`
    const answer = await http.request({ method: 'GET', url, headers: { authorization: basic } })
    if (answer.kind === 'unknown') return answer
    const { status, text } = answer
    // 400.008.01: their words for keys that they do not know.
    if (status === 401 || status === 403 || readError(text)?.code === '400.008.01') return { kind: 'refused' }
    const given = status === 200 ? readToken(text) : undefined
    if (!given) return unknown(`it answered ${status} to a login with what we cannot read`)
    // For a lifetime shorter than the margin, half of it, so that a token is used more than once.
    const seconds = given.seconds - Math.min(EARLY_SECONDS, given.seconds / 2)
    kept = { kind: 'token', token: given.token, until: performance.now() + seconds * 1_000 }
    return kept
  }

  return {
    login,
    async post(path, body, isAnswer) {
      let answer: Answer = unknown('it was not asked')
      for (let tries = 0; tries < MOST_TOKENS; tries++) {
        const token = kept && performance.now() < kept.until ? kept : await login()
        if (token.kind !== 'token') return withoutLogin(token)
        answer = await http.request({
          method: 'POST',
          url: baseURL + path,
          headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          ...(isAnswer && { isAnswer: (text) => isOneOf(text, isAnswer) }),
        })
        if (answer.kind === 'unknown' || !isTokenRefused(answer)) return answer
        // What was refused for its token was not executed, so it is sent again with a new one.
        if (kept === token) kept = undefined
      }
      return { ...unknown('it refused its own tokens'), neverSent: true, keysRefused: true }
    },
  }
}

function isOneOf(text: string, isAnswer: (code: string, message: string) => boolean): boolean {
  const said = readError(text)
  return said !== undefined && isAnswer(said.code, said.message)
}

function isTokenRefused({ status, text }: { status: number; text: string }): boolean {
  return status === 401 || (status >= 400 && NO_SUCH_TOKEN.has(readError(text)?.code ?? ''))
}

/** The call itself was never sent. */
function withoutLogin(login: Exclude<Login, Token>): Unknown & { keysRefused?: true } {
  if (login.kind === 'refused') return { ...unknown('it refused the keys'), neverSent: true, keysRefused: true }
  const { because, errorStatus } = login
  return { ...unknown(`no login: ${because}`), neverSent: true, ...(errorStatus && { errorStatus }) }
}

/** Without what only a start tells: see `Declined.keysRefused`. */
export function unanswered({ because, neverSent, errorStatus }: Unknown): Unknown {
  return { ...unknown(because), ...(errorStatus && { errorStatus }), ...(neverSent && { neverSent }) }
}

/** What a request of M-PESA Express is signed with. */
export function passwordAt({ shortCode, passkey }: Account, at: Date) {
  const Timestamp = timestampOf(at)
  const Password = Buffer.from(shortCode + passkey + Timestamp).toString('base64')
  return { BusinessShortCode: shortCode, Password, Timestamp }
}

/** At most 12 characters, shown in the prompt and in the statement of the paybill. As `referenceLength` makes it. */
export const accountReferenceOf = ({ reference }: Pick<Order, 'reference'>) => reference.slice(-12).toUpperCase()

/** As customers type it. Ours have the digits 0 to 9 and the letters A to F. */
export const accountTyped = (text: string) =>
  text
    .replaceAll(/[^0-9a-z]/gi, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
