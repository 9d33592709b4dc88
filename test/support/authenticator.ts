import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'

/** A passkey in software: what a browser and its authenticator do together, without either. */
export interface Authenticator {
  /** `navigator.credentials.create()` on a page of this origin. */
  create(options: { challenge: string; rp: { id?: string } }, origin: string): RegistrationResponseJSON
  /**
   * `navigator.credentials.get()`. `isVerified: false`: the user was present and gave neither PIN nor fingerprint.
   * `counter`: of the signatures; 0 in every synced passkey.
   */
  get(
    options: { challenge: string; rpId?: string },
    origin: string,
    more?: { isVerified?: boolean; counter?: number },
  ): AuthenticationResponseJSON
}

const FLAGS = { present: 0x01, verified: 0x04, hasKey: 0x40 }

export function newAuthenticator(): Authenticator {
  const id = randomBytes(16)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  function authenticatorData(rpId: string, flags: number, more = Buffer.alloc(0), counter = 0): Buffer {
    const head = Buffer.alloc(5)
    head[0] = flags
    head.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(rpId), head, more])
  }
  const credential = {
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key' as const,
    clientExtensionResults: {},
  }

  return {
    create({ challenge, rp }, origin) {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const flags = FLAGS.present | FLAGS.verified | FLAGS.hasKey
      const key = Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)])
      const authData = authenticatorData(rp.id ?? '', flags, key)
      const attestation = cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      )
      return {
        ...credential,
        response: {
          clientDataJSON: clientData('webauthn.create', challenge, origin).toString('base64url'),
          attestationObject: attestation.toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    get({ challenge, rpId }, origin, { isVerified = true, counter } = {}) {
      const client = clientData('webauthn.get', challenge, origin)
      const flags = FLAGS.present | (isVerified ? FLAGS.verified : 0)
      const authData = authenticatorData(rpId ?? '', flags, undefined, counter)
      return {
        ...credential,
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: sign('sha256', Buffer.concat([authData, sha256(client)]), privateKey).toString('base64url'),
        },
      }
    },
  }
}

function clientData(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** RFC 9052: an ES256 key on P-256. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  return cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  )
}

/** The part of CBOR (RFC 8949) that is needed here: integers, bytes, text and maps. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  const map = value as Map<unknown, unknown>
  return Buffer.concat([head(5, map.size), ...[...map].flatMap(([key, each]) => [cbor(key), cbor(each)])])
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(major << 5) | count])
  if (count < 256) return Buffer.from([(major << 5) | 24, count])
  return Buffer.from([(major << 5) | 25, count >> 8, count & 255])
}
