import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { Page } from './document.ts'

const compress = promisify(gzip)

/** The last step of the page pipeline: read, screen, view, gzip. */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { html, headers }: Page,
): Promise<FastifyReply> {
  reply.code(status).headers(headers)
  if (new Negotiator(request).encodings(['gzip']).length === 0) return reply.send(html)
  return reply.header('content-encoding', 'gzip').send(await compress(html))
}
