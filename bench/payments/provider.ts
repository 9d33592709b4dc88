import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { eventOf, type Sale, toJSON, transactionOf } from '../../test/fakes/paystack/state.ts'
import { settingsOf } from './merchant.ts'
import { readBody } from './read-body.ts'

/**
 * A provider that speaks Paystack's protocol, in memory and in a process of its own. It is leaner than the fake of the
 * tests: it trusts its requests, so that it is never what a benchmark waits for. The first part of a path is the
 * account, one for each merchant.
 */
interface Account {
  name: string
  secretKey: string
  noticeURL: string
  sales: Map<string, Sale>
}

interface Answer {
  status: number
  text: string
  headers?: Record<string, string>
}

const accounts = new Map<string, Account>()
const agent = new Agent({ connections: 256 })
let ids = 1_000_000_000n

const AUTHORIZATION = {
  ...{ authorization_code: 'AUTH_x', channel: 'card', reusable: true, signature: 'SIG_x', last4: '4081' },
  ...{ exp_month: '09', exp_year: '2030', card_type: 'visa ', brand: 'visa', bank: 'TEST BANK' },
}

const server = createServer((message, response) => {
  readBody(message)
    .then((body) => answer(message, body))
    .then(({ status, text, headers }) => {
      const length = Buffer.byteLength(text)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers }).end(text)
    })
    .catch((error: Error) => response.writeHead(500).end(error.message))
})
server.keepAliveTimeout = 60_000

function answer({ method, url = '' }: IncomingMessage, body: string): Answer {
  const [, name = '', resource, verb = '', order = ''] = url.split('?', 1)[0]?.split('/') ?? []
  const account = accountNamed(name)
  switch (`${method} ${resource}`) {
    case 'POST transaction':
      return start(account, JSON.parse(body))
    case 'GET transaction':
      return ok(transactionOf(find(account, order), ''))
    case 'GET balance':
      return ok([{ currency: 'NGN', balance: 0 }])
    // The customer's side.
    case 'POST checkout':
      return pay(account, verb)
    // The benchmark's side.
    case 'PUT notices':
      account.noticeURL = JSON.parse(body).url
      return ok(null)
    default:
      return { status: 404, text: '{"status":false,"message":"Route not found"}' }
  }
}

const ok = (data: unknown): Answer => ({ status: 200, text: toJSON({ status: true, message: 'OK', data }) })

function accountNamed(name: string): Account {
  const { secretKey } = settingsOf(name)
  const account = accounts.get(name) ?? { name, secretKey, noticeURL: '', sales: new Map() }
  accounts.set(name, account)
  return account
}

interface StartBody {
  reference: string
  email: string
  amount: number
  currency: string
  callback_url?: string
}

function start({ name, sales }: Account, body: StartBody): Answer {
  const { reference, email, amount, currency } = body
  sales.set(reference, {
    ...{ id: ++ids, reference, email, currency, amount, requested: amount, channel: 'card', status: 'abandoned' },
    ...{ code: reference, callbackURL: body.callback_url, cancelURL: undefined, tries: 0, response: 'Not completed' },
    ...{ createdAt: new Date().toISOString(), paidAt: null, authorization: {}, account: undefined },
  })
  return ok({ authorization_url: `${baseUrl}/${name}/checkout/${reference}`, access_code: reference, reference })
}

/** As the button on the provider's page, which sends the customer back. */
function pay(account: Account, order: string): Answer {
  const sale = find(account, order)
  const paidAt = new Date().toISOString()
  Object.assign(sale, { status: 'success', response: 'Successful', paidAt, tries: 1, authorization: AUTHORIZATION })
  tell(account, sale).catch((error) => {
    throw error // ends this process, and so the run: a lost notice would look like a slow server
  })
  return { status: 302, text: '', headers: { location: `${sale.callbackURL}` } }
}

async function tell(account: Account, sale: Sale): Promise<void> {
  const { secretKey, noticeURL } = account
  const body = eventOf('charge.success', transactionOf(sale, ''))
  const signature = createHmac('sha512', secretKey).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-paystack-signature': signature }
  const answer = await request(noticeURL, { method: 'POST', headers, body, dispatcher: agent })
  const text = await answer.body.text()
  if (answer.statusCode === 503) return tell(account, sale) // refused under overload: sent again
  if (answer.statusCode !== 200) throw new Error(`a notice was answered with ${answer.statusCode}: ${text}`)
}

function find({ sales }: Account, order: string): Sale {
  const found = sales.get(order)
  if (!found) throw new Error(`there is no order ${order}`)
  return found
}

let baseUrl = ''
server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  baseUrl = `http://127.0.0.1:${port}`
  process.send?.({ port })
})
process.on('disconnect', () => process.exit())
