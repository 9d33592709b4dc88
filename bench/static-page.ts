import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import type { StaticPages } from './pages.ts'

/** The floor of pages: the same framework sends the same bytes and headers as one of our pages, without any work. */
const pages = JSON.parse(process.env.PAGES ?? '{}') as StaticPages
const bodies = new Map(Object.entries(pages).map(([coding, { base64 }]) => [coding, Buffer.from(base64, 'base64')]))

const app = Fastify()
app.get('/pay/:id', (request, reply) => {
  const coding = request.headers['accept-encoding'] ?? 'identity'
  reply.headers(pages[coding]?.headers ?? {}).send(bodies.get(coding))
})
await app.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 })
process.send?.({ port: (app.server.address() as AddressInfo).port })
process.on('disconnect', () => process.exit())
