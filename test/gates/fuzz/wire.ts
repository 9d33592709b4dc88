import type { Random } from '../random.ts'

export type Header = readonly [name: string, value: string | Buffer]

export interface WireRequest {
  method: string
  target: string
  headers?: readonly Header[]
  body?: string | Buffer | undefined
  /** Sent with Transfer-Encoding rather than Content-Length, in parts of this size. */
  chunkSize?: number | undefined
  version?: string
}

/** The bytes of a request, without validation. Text becomes one byte per character, bodies UTF-8. */
export function bytesOf({ method, target, headers = [], body, chunkSize, version = '1.1' }: WireRequest): Buffer {
  const content = typeof body === 'string' ? Buffer.from(body) : body
  const framing: Header[] = chunkSize
    ? [['transfer-encoding', 'chunked']]
    : content
      ? [['content-length', String(content.length)]]
      : []
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/${version}\r\nhost: 127.0.0.1\r\n`, 'latin1'),
    ...[...headers, ...framing].flatMap(([name, value]) => [
      Buffer.from(`${name}: `, 'latin1'),
      typeof value === 'string' ? Buffer.from(value, 'latin1') : value,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('\r\n'),
    ...(content ? (chunkSize ? chunked(content, chunkSize) : [content]) : []),
  ])
}

function chunked(content: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < content.length; at += size) {
    const chunk = content.subarray(at, at + size)
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return [...chunks, Buffer.from('0\r\n\r\n')]
}

/** The same bytes in up to five pieces, as a slow network would bring them. */
export function inPieces(random: Random, bytes: Buffer): Buffer[] {
  const cuts = Array.from({ length: random.between(1, 4) }, () => random.between(1, bytes.length - 1))
  const edges = [0, ...new Set(cuts.sort((a, b) => a - b)), bytes.length]
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge))
}

/** For people: what can be printed as it is, the rest as escapes, and a long run of one character only once. */
export function printable(bytes: Buffer, limit = 900): string {
  const escaped = JSON.stringify(bytes.toString('latin1'))
    .slice(1, -1)
    .replaceAll(/[\x7f-\xff]/g, (character) => `\\x${character.charCodeAt(0).toString(16)}`)
    .replaceAll(/(.)\1{39,}/g, (run, character) => `${character}…(×${run.length})`)
  return escaped.length > limit ? `${escaped.slice(0, limit)}… (${bytes.length} bytes in all)` : escaped
}
