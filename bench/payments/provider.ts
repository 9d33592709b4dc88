import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { eventOf, type Sale, toJSON, transactionOf } from '../../test/fakes/paystack/state.ts'
import { nowMs } from './clock.ts'
import { PROVIDER_SETTINGS, type Timeline } from './provider-account.ts'
import { readBody } from './read-body.ts'

/**
 * A provider that speaks Paystack's protocol, in memory and in a process of its own. It is leaner than the fake of the tests: it trusts
 * its requests, so that it is never what a benchmark waits for. The first part of a path is the account, one for each server under test.
 */
interface Account {
  noticeURL: string
  sales: Map<string, { sale: Sale; timeline: Timeline }>
  byAccountNumber: Map<string, string>
  /** Of the orders since they were last taken. */
  timelines: Timeline[]
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
  card: {
    ...{ authorization_code: 'AUTH_x', channel: 'card', reusable: true, signature: 'SIG_x', last4: '4081' },
    ...{ exp_month: '09', exp_year: '2030', card_type: 'visa ', brand: 'visa', bank: 'TEST BANK' },
  },
  bank_transfer: { channel: 'bank_transfer', reusable: false, sender_name: 'Ada' },
}

const server = createServer((message, response) => {
  const askedAt = nowMs()
  readBody(message)
    .then((body) => answer(message, body, askedAt))
    .then(({ status, text, headers }) => {
      const length = Buffer.byteLength(text)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers }).end(text)
    })
    .catch((error: Error) => response.writeHead(500).end(error.message))
})
server.keepAliveTimeout = 60_000

function answer({ method, url = '' }: IncomingMessage, body: string, askedAt: number): Answer {
  const [, name = '', ...rest] = url.split('?', 1)[0]?.split('/') ?? []
  const account = accountNamed(name)
  const [resource, verb, order = ''] = rest
  switch (`${method} ${resource}`) {
    case 'POST transaction':
      return startCard(account, name, JSON.parse(body), askedAt)
    case 'POST charge':
      return openAccount(account, JSON.parse(body), askedAt)
    case 'GET transaction':
      return verify(account, order, askedAt)
    case 'GET balance':
      return ok([{ currency: 'NGN', balance: 0 }])
    // The customer's side.
    case 'POST checkout':
      return payByCard(account, verb ?? '')
    case 'POST transfers':
      return transfer(account, JSON.parse(body).accountNumber)
    // The benchmark's side.
    case 'PUT notices':
      account.noticeURL = JSON.parse(body).url
      return ok(null)
    case 'DELETE timelines':
      return { status: 200, text: JSON.stringify(account.timelines.splice(0)) }
    default:
      return { status: 404, text: '{"status":false,"message":"Route not found"}' }
  }
}

const ok = (data: unknown): Answer => ({ status: 200, text: toJSON({ status: true, message: 'OK', data }) })

function accountNamed(name: string): Account {
  const account = accounts.get(name) ?? { noticeURL: '', sales: new Map(), byAccountNumber: new Map(), timelines: [] }
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

function open(account: Account, body: StartBody, more: Partial<Sale>, askedAt: number): Sale {
  const { reference, email, amount, currency } = body
  const sale: Sale = {
    ...{ id: ++ids, reference, email, currency, amount, requested: amount, channel: 'card', status: 'abandoned' },
    ...{ code: reference, callbackURL: body.callback_url, cancelURL: undefined, tries: 0, response: 'Not completed' },
    ...{ createdAt: new Date().toISOString(), paidAt: null, authorization: {}, account: undefined },
    ...more,
  }
  const timeline = {
    ...{ order: reference, calls: 1, startAsked: askedAt },
    ...{ noticeSent: Number.NaN, noticeAnswered: Number.NaN, checkAsked: Number.NaN },
  }
  account.sales.set(reference, { sale, timeline })
  account.timelines.push(timeline)
  return sale
}

function startCard(account: Account, name: string, body: StartBody, askedAt: number): Answer {
  const { reference } = open(account, body, {}, askedAt)
  const authorization_url = `${baseUrl}/${name}/checkout/${reference}`
  return ok({ authorization_url, access_code: reference, reference })
}

function openAccount(account: Account, body: StartBody, askedAt: number): Answer {
  const number = String(ids + 1n)
  const expiresAt = new Date(Date.now() + 1_800_000).toISOString()
  const { reference } = open(
    account,
    body,
    { channel: 'bank_transfer', status: 'ongoing', account: { number, expiresAt } },
    askedAt,
  )
  account.byAccountNumber.set(number, reference)
  return ok({
    ...{ reference, status: 'pending_bank_transfer', display_text: 'Please make a transfer' },
    ...{ account_name: 'PAYSTACK CHECKOUT', account_number: number, account_expires_at: expiresAt },
    bank: { slug: 'test-bank', name: 'Test Bank', id: 24 },
  })
}

function verify({ sales }: Account, order: string, askedAt: number): Answer {
  const { sale, timeline } = find(sales, order)
  timeline.calls++
  if (Number.isNaN(timeline.checkAsked)) timeline.checkAsked = askedAt
  return ok(transactionOf(sale, ''))
}

/** As the button on the provider's page: the customer goes back to the server under test. */
function payByCard(account: Account, order: string): Answer {
  const { callbackURL } = pay(account, order)
  const back = new URL(callbackURL ?? 'http://nowhere')
  for (const name of ['trxref', 'reference']) back.searchParams.append(name, order)
  return { status: 302, text: '', headers: { location: back.href } }
}

function transfer(account: Account, number: string): Answer {
  const { reference } = pay(account, account.byAccountNumber.get(number) ?? '')
  return ok({ reference })
}

function pay(account: Account, order: string): Sale {
  const { sale, timeline } = find(account.sales, order)
  const paidAt = new Date().toISOString()
  Object.assign(sale, { status: 'success', response: 'Successful', paidAt, tries: 1 })
  sale.authorization = AUTHORIZATION[sale.channel]
  tell(account.noticeURL, sale, timeline).catch((error) => {
    throw error // ends this process, and so the run: a lost notice would look like a slow server
  })
  return sale
}

async function tell(noticeURL: string, sale: Sale, timeline: Timeline): Promise<void> {
  const body = eventOf('charge.success', transactionOf(sale, ''))
  const signature = createHmac('sha512', PROVIDER_SETTINGS.secretKey).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-paystack-signature': signature }
  if (Number.isNaN(timeline.noticeSent)) timeline.noticeSent = nowMs()
  const answer = await request(noticeURL, { method: 'POST', headers, body, dispatcher: agent })
  const text = await answer.body.text()
  if (answer.statusCode === 503) return tell(noticeURL, sale, timeline) // refused under overload: sent again
  timeline.noticeAnswered = nowMs()
  if (answer.statusCode !== 200) throw new Error(`a notice was answered with ${answer.statusCode}: ${text}`)
}

function find(sales: Account['sales'], order: string) {
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
