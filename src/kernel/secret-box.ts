import { createCipheriv, createDecipheriv, createHash, createHmac, hash, randomBytes } from 'node:crypto'

/**
 * Encrypts what must not be readable in the database: tokens of saved cards, keys of providers. AES-256-GCM, a new nonce each time, and
 * the place of the value (table, column, row) as associated data, so that a value copied to another row does not open there.
 */
export interface SecretBox {
  /** Tells keys apart without telling anything about them. */
  readonly keyId: string
  seal(secret: string, place: string): Buffer
  open(sealed: Buffer, place: string): string
  /** Proves, to ourselves alone, that we have said this there. */
  mark(text: string, place: string): string
}

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 4
const HEAD_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES

export function secretBox(key: Buffer): SecretBox {
  const keyId = createHash('sha256').update('manilla key id').update(key).digest().subarray(0, KEY_ID_BYTES)
  const context = (place: string) => Buffer.from(`manilla:${VERSION}:${keyId.toString('hex')}:${place}`)
  const markKey = createHmac('sha256', key).update('manilla marks').digest('base64url')
  return {
    keyId: keyId.toString('hex'),
    seal(secret, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(context(place))
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from([VERSION]), keyId, nonce, text, cipher.getAuthTag()])
    },
    open(sealed, place) {
      if (sealed[0] !== VERSION || !sealed.subarray(1, 1 + KEY_ID_BYTES).equals(keyId)) {
        throw new Error(`${place} was sealed with another SECRET_KEY`)
      }
      const nonce = sealed.subarray(1 + KEY_ID_BYTES, HEAD_BYTES)
      const tag = sealed.subarray(sealed.length - TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(context(place))
        .setAuthTag(tag)
      const text = [decipher.update(sealed.subarray(HEAD_BYTES, sealed.length - TAG_BYTES)), decipher.final()]
      return Buffer.concat(text).toString('utf8')
    },
    // The key in front is enough for SHA-3, which nobody can go on from; an HMAC costs three times as much, and every page has a mark.
    mark: (text, place) => hash('sha3-256', `${markKey}\0${place}\0${text}`, 'base64url'),
  }
}
