import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { secretBytes, type WebhookSecret } from '../events/webhook-secret.ts'

/** A secret made ready to sign with, which costs six times what a signature does. */
function signingKey(secret: WebhookSecret): KeyObject {
  return createSecretKey(secretBytes(secret))
}

/** Keys of sealed secrets, which come in base64. Remembers the last ones: to open a secret is cheap, but not thousands of times a second. */
export function signingKeys(open: (sealed: Buffer, place: string) => WebhookSecret) {
  const opened = new Map<string, { sealed: string; key: KeyObject }[]>()
  const MOST = 10_000
  return (sealed: string, place: string): KeyObject => {
    const known = opened.get(place) ?? []
    const found = known.find((each) => each.sealed === sealed)
    if (found) return found.key
    const key = signingKey(open(Buffer.from(sealed, 'base64'), place))
    if (opened.size >= MOST) opened.clear()
    opened.set(place, [{ sealed, key }, ...known.slice(0, 1)]) // a place has one, and for a while the one before it
    return key
  }
}

/** All headers of a webhook, the same whoever sends it. */
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

/** The headers that prove a webhook to be ours: by Standard Webhooks, with a signature for each secret that is valid now. */
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
