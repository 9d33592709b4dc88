import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RawNotice } from '../provider.ts'

/**
 * Why a notice is not to be believed; undefined when it is genuine. `x-paystack-signature` is the HMAC-SHA512 of the body in lowercase hex,
 * with the secret key. There is no time in it: an old notice is as genuine as a new one, and a check tells what is true now.
 */
export function findForgery(secretKey: string, { headers, body }: RawNotice): string | undefined {
  const header = headers['x-paystack-signature']
  if (!header) return 'no signature'
  if (!/^[0-9a-f]{128}$/.test(header)) return 'a signature that cannot be read'
  // Over the bytes as they came: their own sample writes the parsed body anew, which need not give the same bytes.
  const right = createHmac('sha512', secretKey).update(body).digest()
  return timingSafeEqual(Buffer.from(header, 'hex'), right) ? undefined : 'a wrong signature'
}
