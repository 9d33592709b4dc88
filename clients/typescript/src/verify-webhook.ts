import type { WebhookEvent } from './api-types.ts'
import { ManillaError, WebhookVerificationError } from './errors.ts'

/** Sent by `webhookEndpoints.test()` only. */
export interface EndpointTest {
  id: string
  type: 'endpoint.test'
  timestamp: string
  mode: 'sandbox' | 'live'
  sequence: number
  data: Record<string, never>
}

/** DOM and Node declare the name `CryptoKey` in different ways. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** Bytes as they arrived, before anything parsed them. */
export type RawBody = string | Uint8Array | ArrayBuffer
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>

export interface VerifyOptions {
  /** How old a webhook may be, and how far ahead of your clock. Default: 300. */
  toleranceSeconds?: number
  /** Default: the current time. */
  now?: Date
}

/**
 * Checks the signature (Standard Webhooks) and the age of a webhook, and returns its event. Throws
 * `WebhookVerificationError`. While you rotate a secret, pass the new and the old one.
 */
export async function verifyWebhook(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Promise<WebhookEvent | EndpointTest> {
  const body = textOf(rawBody)
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => header(headers, `webhook-${name}`))
  if (!id || !timestamp || !signatures)
    throw new WebhookVerificationError(
      'missing_headers',
      'The request has no webhook-id, webhook-timestamp and webhook-signature.',
    )
  const keys = await Promise.all([secret].flat().map(importSecret))
  const isSigned = async (text: string) => {
    const found = await Promise.all(keys.map((key) => matches(key, `${id}.${timestamp}.${text}`, signatures)))
    return found.includes(true)
  }
  if (!(await isSigned(body))) {
    const compact = compactJson(body)
    if (compact !== undefined && (await isSigned(compact)))
      throw notRaw('Something has parsed the body and serialised it again.')
    throw new WebhookVerificationError(
      'no_match',
      'No signature matches. Either the secret is that of another endpoint or mode, or the body is not the one that was sent: ' +
        'it was altered, or parsed and serialised again. Pass the raw body.',
    )
  }
  checkAge(timestamp, now, toleranceSeconds)
  return JSON.parse(body)
}

function checkAge(timestamp: string, now: Date, toleranceSeconds: number): void {
  const age = Math.round(now.getTime() / 1000 - Number(timestamp))
  if (Math.abs(age) <= toleranceSeconds) return
  const clock = `Is the clock of this machine right? It shows ${now.toISOString()}.`
  if (age < 0)
    throw new WebhookVerificationError('in_future', `The webhook was signed ${-age} s in the future. ${clock}`)
  throw new WebhookVerificationError('too_old', `The webhook was signed ${age} s ago: it is a replay. ${clock}`)
}

function textOf(rawBody: RawBody): string {
  if (typeof rawBody === 'string') return rawBody
  // Not `instanceof`: edge runtimes have several realms.
  if (ArrayBuffer.isView(rawBody) || Object.prototype.toString.call(rawBody) === '[object ArrayBuffer]')
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(rawBody)
  throw notRaw(rawBody === undefined ? 'The body is undefined.' : 'The body is an object: something has parsed it.')
}

export function notRaw(what: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'body_not_raw',
    `${what} Pass the raw body, byte for byte: express.raw({ type: '*/*' }) in Express, await request.text() in a route ` +
      'handler, or a helper of @manilla/client/webhooks.',
  )
}

/** As Manilla writes it. Only to find out why a signature does not match. */
function compactJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  const value =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers as Record<string, string | string[] | undefined>).find(
          ([each]) => each.toLowerCase() === name,
        )?.[1]
  return (Array.isArray(value) ? value[0] : value) ?? undefined
}

function importSecret(secret: string): Promise<HmacKey> {
  const bytes = bytesOf(/^whsec_([A-Za-z0-9+/]+=*)$/.exec(secret)?.[1] ?? '')
  // Anyone can sign with an empty key.
  if (bytes.length === 0) throw new ManillaError('A webhook secret begins with whsec_ and continues in base64.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

async function matches(key: HmacKey, text: string, signatures: string): Promise<boolean> {
  const expected = new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text)))
  let found = false
  for (const each of signatures.split(' ')) {
    if (each.startsWith('v1,') && isEqual(bytesOf(each.slice(3)), expected)) found = true
  }
  return found
}

/** In constant time for signatures of the right length. */
function isEqual(given: Uint8Array, expected: Uint8Array): boolean {
  if (given.length !== expected.length) return false
  let difference = 0
  for (let index = 0; index < expected.length; index++) difference |= (given[index] ?? 0) ^ (expected[index] ?? 0)
  return difference === 0
}

/** Empty when it is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
