import { randomBytes } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Problem, refuse } from '../../kernel/problem.ts'
import { refuseUnstorableUrl } from '../../kernel/storable-text.ts'
import { FORMATS } from '../contract/formats.ts'
import type { App } from './framework.ts'
import { takeJsonOnly } from './json-parser.ts'
import type { Metrics } from './metrics.ts'
import { handleInTurn } from './pipelining.ts'
import { pathOf, problemBody, sendProblem, toProblem } from './problems.ts'
import { answerLog } from './response-log.ts'
import { schemaCompilers } from './schema-compilers.ts'
import { mistakesOf } from './validation-errors.ts'

interface Deps {
  log: Logger
  metrics: Pick<Metrics, 'answered'>
  isStopping: () => boolean
  trustProxy: string[]
  /** How long a client may take to send a request. */
  requestTimeoutMs?: number | undefined
  /** Answers what Fastify refuses before it looks for a route. */
  refuse(request: FastifyRequest, reply: FastifyReply, problem: Problem): unknown
  /** A page for customers: it may be opened with parameters in any encoding. */
  isPage(request: FastifyRequest): boolean
}

const KIB = 1024
const HOST = /^[\w.:[\]-]+$/
const MAX_URL_LENGTH = 8 * KIB
const MAX_CONNECTIONS = 20_000 // twice the number of SSE streams, so that streams never use up all connections

/** Fastify with limits, request ids, JSON, the log of answers and their metrics. It knows no route. */
export function createServer({ log, metrics, isStopping, isPage, ...deps }: Deps): App {
  const requestIdPrefix = `req_${randomBytes(6).toString('hex')}`
  let requests = 0

  const app: App = Fastify({
    logger: false, // answerLog writes one line per response; Fastify's lines would contain headers
    genReqId: () => `${requestIdPrefix}${(requests++).toString(36).padStart(4, '0')}`,
    requestIdHeader: false,
    bodyLimit: 64 * KIB,
    routerOptions: { maxParamLength: 16 * KIB }, // never reached: the length of the URL is limited below
    serverFactory: (handle) =>
      createHttpServer(
        {
          maxHeaderSize: 16 * KIB,
          requireHostHeader: false, // the hook below answers with a problem document
          connectionsCheckingInterval: Math.min(5_000, deps.requestTimeoutMs ?? 5_000),
          requestTimeout: deps.requestTimeoutMs ?? 30_000,
          keepAliveTimeout: 65_000, // longer than the usual 60 s of a load balancer, which must close first
        },
        handleInTurn(handle),
      ),
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests in progress are still answered during shutdown
    trustProxy: deps.trustProxy.length > 0 ? deps.trustProxy : false,
    schemaController: { compilersFactory: schemaCompilers },
    ajv: {
      // Fastify's defaults would coerce "100" to 100 and silently drop unknown fields.
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        verbose: true, // an error names the schema, for the message about an unknown parameter
        formats: Object.fromEntries(Object.entries(FORMATS).map(([name, { test }]) => [name, test])),
      },
    },
    frameworkErrors: (error, request, reply) => {
      reply.header('request-id', request.id)
      const refused = toProblem(error, request, log)
      Promise.resolve(deps.refuse(request, reply, refused)).catch((err) => log.error({ err }, 'a refusal failed'))
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, socket, `${requestIdPrefix}${(requests++).toString(36)}`),
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.server.maxConnections = MAX_CONNECTIONS
  // Node's own answer to an unknown Expect header has no body; the header is ignored instead.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  takeJsonOnly(app)

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (isStopping()) reply.header('connection', 'close')
    done(whyRefused(request, isPage(request)))
  })
  const logAnswer = answerLog(log)
  // onSend rather than onResponse, which would add listeners to every response.
  app.addHook('onSend', ({ routeOptions, method }, reply, _payload, done) => {
    metrics.answered(method, routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime / 1000)
    logAnswer(reply)
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const { validation } = error as { validation?: Parameters<typeof mistakesOf>[0] }
    if (validation) return sendProblem(request, reply, refusalOf(validation, request.query))
    return sendProblem(request, reply, toProblem(error, request, log))
  })
  return app
}

function refusalOf(validation: Parameters<typeof mistakesOf>[0], value: unknown): Problem {
  try {
    return refuse(mistakesOf(validation, value))
  } catch (problem) {
    return problem as Problem
  }
}

/** A host or URL that no route takes. */
function whyRefused(request: FastifyRequest, isPage: boolean): Error | undefined {
  const { url = '', httpVersion } = request.raw
  const { host, protocol } = request
  if (host === '' && httpVersion === '1.1')
    return new Problem('invalid_request', 'The Host header is missing or empty.')
  if (host !== '' && !(HOST.test(host) && URL.canParse(`${protocol}://${host}`)))
    return new Problem('invalid_request', 'The Host header is not a host and port.')
  if (url.length > MAX_URL_LENGTH) return new Problem('invalid_request', 'The address is longer than 8 KiB.')
  const path = pathOf(request)
  try {
    // A provider may send a customer back with parameters in another encoding. Pages take theirs from lists of known
    // words.
    refuseUnstorableUrl(path, isPage ? '' : url.slice(path.length + 1))
  } catch (error) {
    return isPage ? new Problem('not_found', 'There is no such page.') : (error as Error)
  }
  return undefined
}

/** Answers bytes that are not HTTP. There is no request object, so the response is written by hand. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', 'The headers are larger than 16 KiB.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Problem('request_timeout', 'The request did not arrive within 30 s.')
        : new Problem('invalid_request', 'This is not a request that HTTP/1.1 allows.')
  const body = problemBody(problem, { path: '', requestId })
  const text = JSON.stringify(body)
  socket.end(
    `HTTP/1.1 ${body.status} ${problem.code}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nRequest-Id: ${requestId}\r\nConnection: close\r\n\r\n${text}`,
  )
}
