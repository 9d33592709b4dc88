import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/**
 * Encrypts secrets that are stored in the database, such as card tokens and provider keys. AES-256-GCM with a new nonce
 * each time. The context of the value (table, column, row) is the associated data, so that a value copied to another
 * row cannot be decrypted there.
 */
export interface SecretBox {
  /** Identifies the key without revealing it. */
  readonly keyId: string
  /** During a rotation: the key of SECRET_KEY_PREVIOUS, which opens and verifies, and seals and signs nothing. */
  readonly previousKeyId?: string | undefined
  seal(secret: string, context: string): Buffer
  open(sealed: Buffer, context: string): string
  /** HMAC-SHA256 over (purpose, text), to detect forged or changed form fields and tokens. */
  sign(text: string, purpose: string): string
  /** Compares in constant time. */
  verify(signature: string, text: string, purpose: string): boolean
}

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 4
const HEAD_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES

export function secretBox(key: Buffer, previousKey?: Buffer): SecretBox {
  const current = boxOf(key)
  const previous = previousKey && boxOf(previousKey)
  return {
    ...current,
    previousKeyId: previous?.keyId,
    open(sealed, context) {
      const box = [current, previous].find((each) => each?.keyId === keyIdOf(sealed))
      if (!box) throw new Error(`${context} was sealed with another SECRET_KEY`)
      return box.open(sealed, context)
    },
    verify: (signature, text, purpose) =>
      current.verify(signature, text, purpose) || previous?.verify(signature, text, purpose) === true,
  }
}

/** The key that a value was sealed with; undefined when it is not a sealed value. */
export function keyIdOf(sealed: Buffer): string | undefined {
  return sealed[0] === VERSION ? sealed.subarray(1, 1 + KEY_ID_BYTES).toString('hex') : undefined
}

function boxOf(key: Buffer): SecretBox {
  const keyId = createHash('sha256').update('manilla key id').update(key).digest().subarray(0, KEY_ID_BYTES)
  const associatedData = (context: string) => Buffer.from(`manilla:${VERSION}:${keyId.toString('hex')}:${context}`)
  // Key objects: with a buffer, each use takes five times as long.
  const sealingKey = createSecretKey(key)
  const signingKey = createSecretKey(createHmac('sha256', key).update('manilla signing key').digest())
  const sign = (text: string, purpose: string) =>
    createHmac('sha256', signingKey).update(`${purpose}\0${text}`).digest('base64url')
  return {
    keyId: keyId.toString('hex'),
    seal(secret, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength: TAG_BYTES }).setAAD(
        associatedData(context),
      )
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from([VERSION]), keyId, nonce, text, cipher.getAuthTag()])
    },
    open(sealed, context) {
      const nonce = sealed.subarray(1 + KEY_ID_BYTES, HEAD_BYTES)
      const tag = sealed.subarray(sealed.length - TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength: TAG_BYTES })
        .setAAD(associatedData(context))
        .setAuthTag(tag)
      const text = [decipher.update(sealed.subarray(HEAD_BYTES, sealed.length - TAG_BYTES)), decipher.final()]
      return Buffer.concat(text).toString('utf8')
    },
    sign,
    verify(signature, text, purpose) {
      const [given, expected] = [Buffer.from(signature), Buffer.from(sign(text, purpose))]
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
