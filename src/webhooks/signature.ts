import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { secretBytes, type WebhookSecret } from '../events/webhook-secret.ts'

/** The HMAC key of a secret. To create it costs six times as much as a signature. */
function signingKey(secret: WebhookSecret): KeyObject {
  return createSecretKey(secretBytes(secret))
}

/** Cache of HMAC keys by sealed secret, because thousands of deliveries a second need them. */
export function signingKeys(open: (sealed: Buffer, context: string) => WebhookSecret) {
  const opened = new Map<string, { sealed: string; key: KeyObject }[]>()
  const MOST = 10_000
  return (sealed: string, context: string): KeyObject => {
    const known = opened.get(context) ?? []
    const found = known.find((each) => each.sealed === sealed)
    if (found) return found.key
    const key = signingKey(open(Buffer.from(sealed, 'base64'), context))
    if (opened.size >= MOST) opened.clear()
    // after a rotation the previous secret is valid for a day
    opened.set(context, [{ sealed, key }, ...known.slice(0, 1)])
    return key
  }
}

/** All headers of a webhook. */
export function webhookHeaders(
  secrets: readonly (WebhookSecret | KeyObject)[],
  message: { id: string; body: string; at: Date },
): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Manilla-Webhooks/1',
    ...signedHeaders(secrets, message),
  }
}

/** The signature headers of Standard Webhooks: an HMAC for each secret that is valid now. */
export function signedHeaders(
  secrets: readonly (WebhookSecret | KeyObject)[],
  { id, body, at }: { id: string; body: string; at: Date },
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1_000)
  const signatures = secrets.map((secret) => {
    const key = typeof secret === 'string' ? signingKey(secret) : secret
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}
