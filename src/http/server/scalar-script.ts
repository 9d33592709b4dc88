/** A thread that posts Scalar's script, 3.5 MB. The package exports it only as an answer of its Fastify plugin. */
import { parentPort } from 'node:worker_threads'
import scalar from '@scalar/fastify-api-reference'
import Fastify from 'fastify'

const server = Fastify()
await server.register(scalar, { routePrefix: '/', configuration: { url: '/' } })
const { rawPayload } = await server.inject('/js/scalar.js')
parentPort?.postMessage(rawPayload)
