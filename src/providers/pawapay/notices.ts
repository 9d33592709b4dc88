import { constants, createHash, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { decode } from '../json-parsers.ts'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { outcomeOf, referenceOf } from './mapping.ts'
import { type Callback, type Moved, readCallback } from './wire.ts'

/**
 * Signatures of callbacks, RFC 9421. The keys are pawaPay's own, the same for all of its merchants: what was signed for
 * another merchant's address must not count at ours, so the address has to be covered. And another merchant can name
 * our address in its dashboard: a signature proves pawaPay, and never the account.
 */
const MUST_COVER = ['@authority', '@path', 'content-digest']
/** They sign for 60 seconds. A clock that is that much behind theirs still takes a callback. */
const BEHIND_SECONDS = 60
const VALID_SECONDS = 60
/** Nothing is signed for longer. */
const MAX_VALID_SECONDS = 300

export type Verdict = 'genuine' | 'unsigned' | 'key unread' | { forged: string }

interface SignatureInput {
  covered: string[]
  /** All after the label, as it came: the last line of what is signed. */
  params: string
  alg: string
  keyid: string
  created: number
  expires: number
}

/** `keyOf`: undefined if there is no such key, `unread` if the keys could not be asked for yet. */
export function judge(notice: RawNotice, keyOf: (id: string) => KeyObject | undefined | 'unread'): Verdict {
  const { headers, body, receivedAt } = notice
  if (headers.signature === undefined && headers['signature-input'] === undefined) return 'unsigned'
  const input = readSignatureInput(headers['signature-input'])
  const signature = input && readSignature(headers.signature, input.label)
  if (!input || !signature) return forged('a signature that is not one of theirs')
  if (!MUST_COVER.every((name) => input.covered.includes(name))) return forged('it covers too little')
  if (!isDigestOf(headers['content-digest'], body)) return forged('another digest')
  const seconds = receivedAt.getTime() / 1_000
  const { created, expires } = input
  if (created > seconds + BEHIND_SECONDS || expires > created + MAX_VALID_SECONDS || seconds > expires)
    return forged('not signed just now')
  const base = signatureBase(input, notice)
  if (base === undefined) return forged('it covers what is not there')
  const key = keyOf(input.keyid)
  if (key === 'unread') return 'key unread'
  return key && isSignedBy(key, input.alg, Buffer.from(base), signature) ? 'genuine' : forged('a wrong signature')
}

const forged = (why: string): Verdict => ({ forged: why })

/** The name of the key that a callback claims to be signed with. */
export const claimedKey = ({ headers }: RawNotice): string | undefined =>
  readSignatureInput(headers['signature-input'])?.keyid

function readSignatureInput(header: string | undefined): (SignatureInput & { label: string }) | undefined {
  const [, label, params, names] =
    /^([a-z*][\w.*-]{0,63})=(\(((?:"[a-z@][a-z\d@-]*" ?)*)\)[^,]*)$/.exec(header ?? '') ?? []
  if (header === undefined || header.length > 2_000 || !label || !params || names === undefined) return undefined
  const covered = [...names.matchAll(/"([^"]+)"/g)].map(([, name]) => name as string)
  const text = (name: string) => new RegExp(`;${name}="([^"]*)"`).exec(params)?.[1]
  const number = (name: string) => {
    const digits = new RegExp(`;${name}=(\\d{1,12})(?=;|$)`).exec(params)?.[1]
    return digits === undefined ? undefined : Number(digits)
  }
  const [alg, keyid, created] = [text('alg'), text('keyid'), number('created')]
  if (!alg || !keyid || created === undefined || new Set(covered).size !== covered.length) return undefined
  return { label, covered, params, alg, keyid, created, expires: number('expires') ?? created + VALID_SECONDS }
}

function readSignature(header: string | undefined, label: string): Buffer | undefined {
  const start = `${label}=:`
  if (!header?.startsWith(start) || !header.endsWith(':')) return undefined
  return fromBase64(header.slice(start.length, -1))
}

function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length > 0 && bytes.toString('base64') === text ? bytes : undefined
}

const DIGESTS: Record<string, string> = { 'sha-256': 'sha256', 'sha-512': 'sha512' }

function isDigestOf(header: string | undefined, body: Buffer): boolean {
  const [, name = '', text = ''] = /^(sha-256|sha-512)=:([\w+/=]+):$/.exec(header ?? '') ?? []
  const [algorithm, said] = [DIGESTS[name], fromBase64(text)]
  if (!algorithm || !said) return false
  const right = createHash(algorithm).update(body).digest()
  return said.length === right.length && timingSafeEqual(said, right)
}

/** One line for each covered component, then the parameters. Address and path are those of our public address. */
function signatureBase({ covered, params }: SignatureInput, { headers, url }: RawNotice): string | undefined {
  const address = url === undefined ? null : URL.parse(url)
  if (!address) return undefined
  const components: Record<string, string | undefined> = {
    '@method': 'POST',
    '@authority': address.host,
    '@path': address.pathname,
    '@scheme': address.protocol.slice(0, -1),
    '@target-uri': address.href,
  }
  const lines = covered.map((name) => {
    const value = name.startsWith('@') ? components[name] : headers[name]?.trim()
    return value === undefined ? undefined : `"${name}": ${value}`
  })
  if (lines.includes(undefined)) return undefined
  return [...lines, `"@signature-params": ${params}`].join('\n')
}

interface Algorithm {
  keyType: 'ec' | 'rsa'
  curve?: string
  digest: string
  /** Of a signature that is r and s one after the other. */
  rawBytes?: number
  options?: { padding: number; saltLength?: number }
}

const ALGORITHMS: Record<string, Algorithm> = {
  'ecdsa-p256-sha256': { keyType: 'ec', curve: 'prime256v1', digest: 'sha256', rawBytes: 64 },
  'ecdsa-p384-sha384': { keyType: 'ec', curve: 'secp384r1', digest: 'sha384', rawBytes: 96 },
  'rsa-pss-sha512': {
    ...{ keyType: 'rsa', digest: 'sha512' },
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 },
  },
  'rsa-v1_5-sha256': { keyType: 'rsa', digest: 'sha256', options: { padding: constants.RSA_PKCS1_PADDING } },
}

/** RFC 9421 wants r and s one after the other. Their own samples sign in DER, so both forms count. */
function isSignedBy(key: KeyObject, name: string, base: Buffer, signature: Buffer): boolean {
  const algorithm = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name] : undefined
  if (!algorithm || key.asymmetricKeyType !== algorithm.keyType) return false
  const { curve, digest, rawBytes, options } = algorithm
  if (curve && key.asymmetricKeyDetails?.namedCurve !== curve) return false
  const isValid = (dsaEncoding: 'der' | 'ieee-p1363') => {
    try {
      return verify(digest, base, { key, dsaEncoding, ...options }, signature)
    } catch {
      return false // what is no signature at all
    }
  }
  return (signature.length === rawBytes && isValid('ieee-p1363')) || isValid('der')
}

/** An unsigned callback is not trusted. At most the order that it names is checked. */
export function hintOf(body: Buffer): NoticeReading {
  const callback = readCallback(decode(body))
  const reference = callback && 'moved' in callback ? orderOf(callback) : null
  return reference ? { kind: 'hint', reference } : { kind: 'forged', because: 'not signed, and names no order' }
}

export function readingOf({ body, receivedAt }: RawNotice): NoticeReading {
  const callback = readCallback(decode(body))
  if (!callback) return { kind: 'unreadable', because: 'not a callback of the documented shape' }
  if (!('moved' in callback)) return { kind: 'notice', reference: null, says: 'other', receipts: [] }
  const reference = orderOf(callback)
  // A refund that was made elsewhere names neither the deposit nor its order.
  if (callback.kind === 'refund' || reference === null)
    return { kind: 'notice', reference, says: reference === null ? 'other' : 'refund', receipts: [] }
  const { id } = callback.moved
  // Of another program, or of another merchant.
  if (reference === id) return { kind: 'hint', reference }
  const outcome = outcomeOf(callback.moved, receivedAt)
  switch (outcome.kind) {
    case 'paid':
      return { kind: 'notice', reference, says: 'paid', receipts: outcome.receipts, transactionId: id }
    case 'declined':
      return { kind: 'notice', reference, says: 'failed', receipts: [] }
    // Also: the page of the network is ready. So not each callback is the last one. `processing` would be applied
    // without a check.
    case 'pending':
    case 'processing':
      return { kind: 'notice', reference, says: 'pending', receipts: [] }
    default:
      return { kind: 'notice', reference, says: 'other', receipts: [] }
  }
}

const orderOf = ({ kind, moved }: Extract<Callback, { moved: Moved }>): string | null =>
  kind === 'refund' ? moved.order : referenceOf(moved)
