import { constants, createHash, type KeyObject, sign } from 'node:crypto'

/** Signatures as they make them: RFC 9421, but for ECDSA in DER, as their own samples do. */
export interface Signing {
  key: KeyObject
  keyid: string
  /** The public address that the callback goes to. */
  url: string
  /** By their clock. */
  at: Date
  form?: 'der' | 'ieee-p1363'
  alg?: string
  digest?: 'sha-256' | 'sha-512'
  covered?: string[]
}

const HASHES: Record<string, string> = {
  'rsa-pss-sha512': 'sha512',
  'ecdsa-p256-sha256': 'sha256',
  'ecdsa-p384-sha384': 'sha384',
  'rsa-v1_5-sha256': 'sha256',
}

export function signedHeaders(body: Buffer, signing: Signing): Record<string, string> {
  const { key, keyid, url, at, form = 'der', alg = 'ecdsa-p256-sha256', digest = 'sha-512' } = signing
  const { covered = ['@method', '@authority', '@path', 'signature-date', 'content-digest', 'content-type'] } = signing
  const { host, pathname } = new URL(url)
  const hash = createHash(digest.replace('-', '')).update(body).digest('base64')
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'content-digest': `${digest}=:${hash}:`,
    'signature-date': at.toISOString().replace('Z', '905Z'),
  }
  const values: Record<string, string> = { ...headers, '@method': 'POST', '@authority': host, '@path': pathname }
  const created = Math.floor(at.getTime() / 1_000)
  const names = covered.map((name) => `"${name}"`).join(' ')
  const params = `(${names});alg="${alg}";keyid="${keyid}";created=${created};expires=${created + 60}`
  const base = [...covered.map((name) => `"${name}": ${values[name]}`), `"@signature-params": ${params}`].join('\n')
  const pss = alg === 'rsa-pss-sha512' && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }
  const signature = sign(HASHES[alg], Buffer.from(base), { key, dsaEncoding: form, ...pss })
  return { ...headers, 'signature-input': `sig-pp=${params}`, signature: `sig-pp=:${signature.toString('base64')}:` }
}
