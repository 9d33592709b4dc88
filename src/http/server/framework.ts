import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A request without a body is one with an empty object. */
    hasOptionalBody?: boolean
  }
}

/** Fastify with TypeBox: the types of a handler come from its schema. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
