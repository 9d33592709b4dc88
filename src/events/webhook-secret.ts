import { randomBytes } from 'node:crypto'

/** A signing secret in the text format of Standard Webhooks. */
export type WebhookSecret = string

const PREFIX = 'whsec_'

/** `bytes`: 32 random or derived bytes, which must be secret. */
export function newWebhookSecret(bytes: Buffer = randomBytes(32)): WebhookSecret {
  return PREFIX + bytes.toString('base64')
}

/** 24 to 64 bytes in base64 after the prefix. */
export function isWebhookSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const { length } = secretBytes(text)
  return length >= 24 && length <= 64
}

export function secretBytes(secret: WebhookSecret): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}
