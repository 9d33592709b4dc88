import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

const CODINGS = ['br', 'gzip']

/** Route handler for a text that is constant while the process runs. */
export type PreparedText = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Compresses the text once, at start, and answers conditional requests by ETag. */
export async function prepareText(text: string, headers: Record<string, string>): Promise<PreparedText> {
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(text), promisify(gzip)(text, { level: 9 })])
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22)

  return (request, reply) => {
    const accepted = new Negotiator(request).encodings(CODINGS)
    const coding = CODINGS.find((name) => accepted.includes(name))
    const etag = coding ? `"${tag}-${coding}"` : `"${tag}"`
    reply.headers({ ...headers, etag, vary: 'accept-encoding' })
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
    if (coding) reply.header('content-encoding', coding)
    return reply.send(coding === 'br' ? br : coding === 'gzip' ? gzipped : Buffer.from(text))
  }
}

function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag)
}
