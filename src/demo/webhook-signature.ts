import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const TOLERANCE_SECONDS = 5 * 60

/**
 * Why this webhook must not be believed; undefined if it may. By Standard Webhooks, over the bytes as they came. In a shop of your own a library
 * does this: see docs/webhooks.md.
 */
export function whyForged(
  secret: string,
  headers: IncomingHttpHeaders,
  body: Buffer,
  now = new Date(),
): string | undefined {
  const {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures,
  } = headers as Record<string, string | undefined>
  if (!id || !timestamp || !signatures) return 'not signed'
  const ageSeconds = Math.abs(now.getTime() / 1_000 - Number(timestamp))
  if (!(ageSeconds <= TOLERANCE_SECONDS)) return 'signed at another time'
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const right = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  // More than one while a secret is being replaced.
  const holds = signatures.split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',')
    const given = Buffer.from(value, 'base64')
    return version === 'v1' && given.length === right.length && timingSafeEqual(given, right)
  })
  return holds ? undefined : 'signature does not hold'
}
