import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RawNotice } from '../provider.ts'

/**
 * `monnify-signature: {hex}`, an HMAC-SHA512 of the raw body with the secret key. Their prose says a plain SHA-512 of key and body; their own
 * library and what they send say HMAC. There is no time in it, so an old notice can be sent again: it only makes us ask.
 */
export function readSignature(secretKey: string, { headers, body }: RawNotice): 'genuine' | 'wrong' | 'missing' {
  const header = headers['monnify-signature']
  if (header === undefined) return 'missing'
  if (!/^[0-9a-f]{128}$/i.test(header)) return 'wrong'
  // Over the bytes as they came, and without a hint of how much of a guess was right.
  const right = createHmac('sha512', secretKey).update(body).digest()
  return timingSafeEqual(Buffer.from(header, 'hex'), right) ? 'genuine' : 'wrong'
}
