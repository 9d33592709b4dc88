import { createHmac, randomBytes } from 'node:crypto'

/** A secret as Standard Webhooks writes it: any of its libraries takes this text. */
export type WebhookSecret = string

const PREFIX = 'whsec_'

export function newWebhookSecret(): WebhookSecret {
  return PREFIX + randomBytes(32).toString('base64')
}

/** 24 to 64 bytes in base64 behind its prefix. */
export function isWebhookSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const { length } = Buffer.from(text.slice(PREFIX.length), 'base64')
  return length >= 24 && length <= 64
}

/** All headers of a webhook, the same whoever sends it. */
export function webhookHeaders(
  secrets: readonly WebhookSecret[],
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
  secrets: readonly WebhookSecret[],
  { id, body, at }: { id: string; body: string; at: Date },
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1_000)
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}
