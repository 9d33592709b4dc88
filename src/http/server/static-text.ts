import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Answers with a text that stays the same for as long as this process runs. */
export type PreparedText = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** Compressed once, as well as it can be, rather than for each who asks. */
export async function prepareText(text: string, headers: Record<string, string>): Promise<PreparedText> {
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(text), promisify(gzip)(text, { level: 9 })])
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22)

  return (request, reply) => {
    const coding = ['br', 'gzip'].find((name) => accepts(request.headers['accept-encoding'], name))
    const etag = coding ? `"${tag}-${coding}"` : `"${tag}"`
    reply.headers({ ...headers, etag, vary: 'accept-encoding' })
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
    if (coding) reply.header('content-encoding', coding)
    return reply.send(coding === 'br' ? br : coding === 'gzip' ? gzipped : Buffer.from(text))
  }
}

/** A weight of 0 refuses it. */
export function accepts(header: string | string[] | undefined, coding: string): boolean {
  return String(header ?? '')
    .split(',')
    .map((part) => part.replaceAll(/\s/g, '').toLowerCase())
    .some((part) => part.split(';', 1)[0] === coding && !/;q=0(\.0*)?$/.test(part))
}

function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag)
}
