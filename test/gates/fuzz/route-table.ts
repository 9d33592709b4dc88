// Loaded into the service with `node --import`: writes every route that is registered to the file ROUTE_TABLE, when the
// process listens.
import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'

/** The schema of one parameter of a query. */
export interface ParameterSchema {
  type?: string | string[]
  enum?: string[]
  format?: string
  pattern?: string
}

export interface Route {
  method: string
  url: string
  query: Record<string, ParameterSchema>
  required: string[]
}

const file = process.env.ROUTE_TABLE

if (file)
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance }
    const routes: Route[] = []
    fastify.addHook('onRoute', ({ method, url, schema }) => {
      // Lists of methods are those that a path refuses.
      if (typeof method !== 'string' || method === 'HEAD') return
      const { properties = {}, required = [] } = (schema?.querystring ?? {}) as {
        properties?: Record<string, ParameterSchema>
        required?: string[]
      }
      routes.push({ method, url, query: properties, required })
    })
    fastify.addHook('onListen', async () => writeFileSync(file, JSON.stringify(routes)))
  })
