import { createHmac, timingSafeEqual } from 'node:crypto'

export interface GatewayKeys {
  secretKey: string
  publicKey: string
}

const SECRET_KEY = /^gsk_([0-9a-f]{32})_[0-9a-f]{40}$/

/** A merchant's keys at the sandbox provider. They are derived from the master key, so they are not stored. */
export function gatewayKeys(masterKey: Buffer, merchantUuid: string): GatewayKeys {
  const hex = merchantUuid.replaceAll('-', '').toLowerCase()
  const proof = createHmac('sha256', masterKey).update(`gateway:${hex}`).digest('hex').slice(0, 40)
  return { secretKey: `gsk_${hex}_${proof}`, publicKey: publicKeyOf(merchantUuid) }
}

export function publicKeyOf(merchantUuid: string): string {
  return `gpk_${merchantUuid.replaceAll('-', '').toLowerCase()}`
}

/** The merchant's uuid for a secret key, or undefined. Compares in constant time. */
export function merchantOfKey(masterKey: Buffer, secretKey: string): string | undefined {
  const hex = SECRET_KEY.exec(secretKey)?.[1]
  if (!hex) return undefined
  const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const right = Buffer.from(gatewayKeys(masterKey, uuid).secretKey)
  return timingSafeEqual(Buffer.from(secretKey), right) ? uuid : undefined
}
