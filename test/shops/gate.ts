import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

/** The public address of a shop. Webhooks pass or are lost. */
export interface Gate {
  url: string
  /** Where the shop itself must listen. */
  port: number
  losesWebhooks: boolean
  /** Answers of the shop to webhooks. */
  answers: number[]
}

export async function openGate(port: number, isWebhook: (path: string) => boolean): Promise<Gate> {
  const gate: Gate = { url: '', port, losesWebhooks: false, answers: [] }
  const server = createServer((incoming, outgoing) => {
    const isHook = isWebhook(incoming.url ?? '')
    if (isHook && gate.losesWebhooks) {
      outgoing.writeHead(503).end()
      return
    }
    const { method, url: path, headers } = incoming
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      if (isHook) gate.answers.push(answer.statusCode ?? 0)
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.writeHead(502).end())
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  gate.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return gate
}
