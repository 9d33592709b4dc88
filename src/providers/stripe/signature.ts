import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RawNotice } from '../provider.ts'

const TOLERANCE_SECONDS = 300

/**
 * Why a notice is not to be believed; undefined when it is genuine.
 * `Stripe-Signature: t={unix seconds},v1={hex}[,v1=…][,v0=…]`, each v1 an HMAC-SHA256 of "{t}.{body}" with a secret of the endpoint's.
 * While a secret is being rolled there are two of them, and either is good.
 */
export function findForgery(webhookSecret: string, { headers, body, receivedAt }: RawNotice): string | undefined {
  const header = headers['stripe-signature']
  if (!header) return 'no signature'
  const { seconds, signatures } = read(header)
  if (!seconds || signatures.length === 0) return 'a signature that cannot be read'
  // Over the bytes as they came, and without a hint of how much of a guess was right.
  const right = createHmac('sha256', webhookSecret).update(`${seconds}.`).update(body).digest()
  if (!signatures.some((signature) => timingSafeEqual(signature, right))) return 'a wrong signature'
  const ageSeconds = Math.abs(receivedAt.getTime() / 1000 - Number(seconds))
  return ageSeconds > TOLERANCE_SECONDS ? 'a signature from another time' : undefined
}

function read(header: string): { seconds: string | undefined; signatures: Buffer[] } {
  const parts = header.length <= 2_048 ? header.split(',') : []
  const times = parts.flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? [])
  const signatures = parts.flatMap((part) => /^v1=([0-9a-f]{64})$/.exec(part)?.[1] ?? [])
  // Two times would leave it open which of them was signed.
  return {
    seconds: times.length === 1 ? times[0] : undefined,
    signatures: signatures.map((hex) => Buffer.from(hex, 'hex')),
  }
}
