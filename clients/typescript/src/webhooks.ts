import type { WebhookEvent } from './api-types.ts'
import { WebhookVerificationError } from './errors.ts'
import {
  type EndpointTest,
  notRaw,
  type RawBody,
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
} from './verify-webhook.ts'

export { WebhookVerificationError } from './errors.ts'
export { verifyWebhook } from './verify-webhook.ts'

type Secret = string | readonly string[]
/** Store the event and return. When it throws, Manilla sends the event again. */
export type HandleEvent = (event: WebhookEvent | EndpointTest) => unknown

const MAX_BODY_BYTES = 1024 * 1024

/** For Next.js: `export const POST = nextWebhook(secret, handle)`. Also for Bun, Deno and Workers. */
export function nextWebhook(secret: Secret, handle: HandleEvent, options?: VerifyOptions) {
  return async (request: Request): Promise<Response> => {
    if (request.bodyUsed) throw notRaw('The body has been read before.')
    const { status, text } = await receive(await request.text(), request.headers, secret, handle, options)
    return new Response(text, { status })
  }
}

/** For Hono: `app.post('/webhooks', honoWebhook(secret, handle))`. */
export function honoWebhook(secret: Secret, handle: HandleEvent, options?: VerifyOptions) {
  return async ({ req }: { req: { raw: Request; text(): Promise<string> } }): Promise<Response> => {
    // Not of `raw`: Hono keeps the text that a middleware has read before.
    const { status, text } = await receive(await req.text(), req.raw.headers, secret, handle, options)
    return new Response(text, { status })
  }
}

interface ExpressRequest extends AsyncIterable<Uint8Array> {
  headers: Record<string, string | string[] | undefined>
  body?: unknown
}
interface ExpressResponse {
  writeHead(status: number, headers: Record<string, string>): { end(text: string): unknown }
}

/** For Express: `app.post('/webhooks', expressWebhook(secret, handle))`, before `app.use(express.json())`. */
export function expressWebhook(secret: Secret, handle: HandleEvent, options?: VerifyOptions) {
  return async (request: ExpressRequest, response: ExpressResponse, next: (error: unknown) => void): Promise<void> => {
    try {
      const body = request.body === undefined ? await bytesOf(request) : (request.body as RawBody)
      const { status, text } = await receive(body, request.headers, secret, handle, options)
      response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
    } catch (error) {
      next(error)
    }
  }
}

interface FastifyScope {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer' },
    parse: (request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void) => void,
  ): unknown
  post(
    path: string,
    handler: (
      request: { headers: Record<string, string | string[] | undefined>; body: unknown },
      reply: { code(status: number): { send(text: string): unknown } },
    ) => Promise<unknown>,
  ): unknown
}

/** For Fastify: `app.register(fastifyWebhook('/webhooks', secret, handle))`. Other routes keep their body parsers. */
export function fastifyWebhook(path: string, secret: Secret, handle: HandleEvent, options?: VerifyOptions) {
  return async (app: FastifyScope): Promise<void> => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.post(path, async ({ headers, body }, reply) => {
      const { status, text } = await receive((body ?? '') as RawBody, headers, secret, handle, options)
      return reply.code(status).send(text)
    })
  }
}

/** A body that was parsed is a mistake of this program, so it is thrown and not answered with 401. */
async function receive(
  body: RawBody,
  headers: WebhookHeaders,
  secret: Secret,
  handle: HandleEvent,
  options: VerifyOptions | undefined,
): Promise<{ status: number; text: string }> {
  let event: WebhookEvent | EndpointTest
  try {
    event = await verifyWebhook(body, headers, secret, options)
  } catch (error) {
    if (!(error instanceof WebhookVerificationError) || error.reason === 'body_not_raw') throw error
    return { status: 401, text: error.message }
  }
  await handle(event)
  return { status: 200, text: 'ok' }
}

async function bytesOf(request: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES)
      throw new WebhookVerificationError('body_not_raw', 'The body is larger than any webhook.')
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
