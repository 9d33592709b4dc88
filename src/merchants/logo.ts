import { hash } from 'node:crypto'

/** A merchant's logo. Its version is a digest of its bytes, so that a URL with it never changes its content. */
export interface Logo {
  version: string
  type: LogoType
  bytes: Buffer
}

export type LogoType = 'image/png' | 'image/jpeg' | 'image/webp'

export const MAX_LOGO_BYTES = 10 * 1024

/** Detects the type by the bytes, not by the file name. SVG is not accepted: it can contain scripts. */
export function logoOf(bytes: Buffer): Logo | undefined {
  const type = typeOf(bytes)
  if (!type || bytes.length > MAX_LOGO_BYTES) return undefined
  return { version: hash('sha256', bytes).slice(0, 16), type, bytes }
}

function typeOf(bytes: Buffer): LogoType | undefined {
  const has = (text: string, at: number) => bytes.toString('latin1', at, at + text.length) === text
  if (has('\x89PNG\r\n\x1a\n', 0) && has('IHDR', 12)) return 'image/png'
  if (has('\xff\xd8\xff', 0)) return 'image/jpeg'
  if (has('RIFF', 0) && has('WEBP', 8)) return 'image/webp'
  return undefined
}
