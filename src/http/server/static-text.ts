import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

const CODINGS = ['br', 'gzip']

/** Route handler for a text that is constant while the process runs. */
export type PreparedText = (request: FastifyRequest, reply: FastifyReply) => FastifyReply
type Text = string | Uint8Array

// The best quality takes several seconds for 3.5 MB (Scalar's script).
const LARGE_BYTES = 1_000_000
const LARGE = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** Compresses the text once, and answers conditional requests by ETag. */
export async function prepareText(text: Text, headers: Record<string, string>): Promise<PreparedText> {
  const bytes = Buffer.from(text)
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(bytes, bytes.length > LARGE_BYTES ? LARGE : {}),
    promisify(gzip)(bytes, { level: 9 }),
  ])
  const tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)

  return (request, reply) => {
    const accepted = new Negotiator(request).encodings(CODINGS)
    const coding = CODINGS.find((name) => accepted.includes(name))
    const etag = coding ? `"${tag}-${coding}"` : `"${tag}"`
    reply.headers({ ...headers, etag, vary: 'accept-encoding' })
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
    if (coding) reply.header('content-encoding', coding)
    return reply.send(coding === 'br' ? br : coding === 'gzip' ? gzipped : bytes)
  }
}

/** The same at the first request: most processes, such as those of tests, never serve the text. */
export function prepareLater(read: () => Text | Promise<Text>, headers: Record<string, string>) {
  let prepared: Promise<PreparedText> | undefined
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    prepared ??= Promise.resolve()
      .then(read)
      .then((text) => prepareText(text, headers))
      .catch((error) => {
        prepared = undefined // the next request tries again
        throw error
      })
    return (await prepared)(request, reply)
  }
}

function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag)
}
