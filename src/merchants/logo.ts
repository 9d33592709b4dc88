import { hash } from 'node:crypto'

/** A merchant's picture. Its version is a digest of its bytes: what stands at one address never changes. */
export interface Logo {
  version: string
  type: LogoType
  bytes: Buffer
}

export type LogoType = 'image/png' | 'image/jpeg' | 'image/webp'

export const MAX_LOGO_BYTES = 10 * 1024

/** Told by the bytes themselves, whatever the file is called. An SVG is a document that can carry scripts, so it is none. */
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
