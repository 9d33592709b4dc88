import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

/**
 * A minimal page script in the widget's frame. A test can send messages (`say`), read the
 * received ones (`heard`), and decide whether the customer can close at once (`isBusy`).
 */
const FRAMED_PAGE = `<!doctype html><html lang="en"><title>Stand-in</title><h1 tabindex="-1">Payment page</h1><button>Pay</button>
<script>
  const shop = new URLSearchParams(location.search).get('origin')
  window.heard = []
  window.isBusy = false
  window.say = (type, more) => shop && parent.postMessage({ pay: 1, type, ...more }, shop)
  addEventListener('message', ({ origin, source, data }) => {
    if (origin !== shop || source !== parent || data?.pay !== 1) return
    heard.push(data)
    if (data.type === 'ask-close') say(isBusy ? 'status' : 'close', { status: 'pending' })
  })
  if (!new URLSearchParams(location.search).has('lang')) say('ready')
</script>`

export interface Rig {
  /** The origin of the widget: the service's routes and a replacement of the payment page. */
  pay: string
  /** A shop on another origin, which allows its pages nothing but the widget. */
  shop: string
  /** Adds a page to the shop. */
  stock(path: string, html: string, headers?: Record<string, string>): string
}

/** The widget in a shop's page. A payment page with a `lang` never reports that it is ready. */
export async function openWidgetShop(service: string): Promise<Rig> {
  const pages = new Map<string, { html: string; headers: Record<string, string> }>()
  const shop = await serve('localhost', (request, response) => {
    const page = pages.get(request.url ?? '')
    if (!page) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers }).end(page.html)
  })
  const pay = await serve('127.0.0.1', (request, response) => {
    if (request.url?.startsWith('/widget/')) return void passOn(service, request, response)
    const headers = { 'content-type': 'text/html', 'content-security-policy': `frame-ancestors ${shop}` }
    response.writeHead(200, headers).end(FRAMED_PAGE)
  })
  const policy = `default-src 'none'; script-src ${pay}; frame-src ${pay}; style-src 'none'`
  return {
    pay,
    shop,
    stock(path, html, headers = { 'content-security-policy': policy }) {
      pages.set(path, { html, headers })
      return shop + path
    },
  }
}

async function passOn(service: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = await fetch(service + request.url, { redirect: 'manual' })
  const headers = Object.fromEntries(answer.headers)
  delete headers['content-encoding']
  delete headers['content-length']
  delete headers['transfer-encoding']
  response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()))
}

async function serve(host: string, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://${host}:${(server.address() as AddressInfo).port}`
}
