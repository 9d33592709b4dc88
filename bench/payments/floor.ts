import { randomUUID } from 'node:crypto'
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { settingsOf } from './merchant.ts'
import { readBody } from './read-body.ts'

/**
 * The floor: what a careful engineer would write first, on a bare `node:http` server. A create is one committed insert.
 * A whole payment is two inserts and commit, provider call, one update, notice insert, provider check, one settling
 * transaction of seven statements, POST of the webhook, one update. No framework, no credentials, no validation, no
 * signatures, no retries, no log. It has tables of its own, so that the floor stays the same when the schema of the
 * service changes.
 */
const SCHEMA = `
  create table payments (id uuid primary key, reference text not null unique, amount bigint not null, currency text not null,
    email text not null, webhook_url text, status text not null default 'pending', created_at timestamptz not null default now(),
    completed_at timestamptz);
  create table attempts (id uuid primary key, payment_id uuid not null references payments, reference text not null unique,
    status text not null default 'pending', link text, created_at timestamptz not null default now());
  create index on attempts (payment_id);
  create table notices (id bigint generated always as identity primary key, reference text not null, body jsonb not null,
    state text not null default 'waiting', received_at timestamptz not null default now());
  create index on notices (received_at) where state = 'waiting';
  create table receipts (transaction_id text primary key, attempt_id uuid not null references attempts, amount bigint not null);
  create table events (id uuid primary key, payment_id uuid not null references payments, type text not null, body text not null,
    occurred_at timestamptz not null default now());
  create table deliveries (id uuid primary key, event_id uuid not null references events, url text not null,
    state text not null default 'waiting', created_at timestamptz not null default now(), done_at timestamptz);
  create index on deliveries (created_at) where state = 'waiting';`

const { DATABASE_URL, FLOOR_CONNECTIONS, PROVIDER_URL = '' } = process.env
// Connections stay open while other servers are measured, as those of the service do.
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: Number(FLOOR_CONNECTIONS), idleTimeoutMillis: 600_000 })
const { secretKey } = settingsOf('floor')
const agent = new Agent({ keepAlive: true })
let baseUrl = ''

const CREATE = '/payments/v1/checkouts'

const server = createServer((message, response) => {
  readBody(message)
    .then((body) => answer(message, JSON.parse(body || '{}')))
    .then((data) => {
      const text = JSON.stringify({ data })
      response
        .writeHead(message.url === CREATE ? 201 : 200, {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        })
        .end(text)
    })
    .catch((error: Error) => response.writeHead(500).end(error.message))
})

// biome-ignore lint/suspicious/noExplicitAny: it trusts what it is sent
type Json = any

async function answer({ url = '' }: IncomingMessage, body: Json): Promise<unknown> {
  if (url === CREATE) return create(body)
  return url === '/notices' ? receiveNotice(body) : initialize(body)
}

const INSERT_PAYMENT =
  'insert into payments (id, reference, amount, currency, email, webhook_url) values ($1, $2, $3, $4, $5, $6)'

async function create({ amount, user, webhook }: Json) {
  const [id, reference] = [randomUUID(), randomUUID()]
  await run(INSERT_PAYMENT, [id, reference, amount, 'NGN', user.email, webhook])
  return { reference, amount, payment: { id, url: `${baseUrl}/pay/${id}` } }
}

async function initialize({ reference, amount, user, webhook }: Json) {
  const paymentId = randomUUID()
  const attemptId = randomUUID()
  const order = `${reference}-1`
  await transaction(async (query) => {
    await query(INSERT_PAYMENT, [paymentId, reference, amount, 'NGN', user.email, webhook])
    await query('insert into attempts (id, payment_id, reference) values ($1, $2, $3)', [attemptId, paymentId, order])
  })
  const start = { email: user.email, amount, currency: 'NGN', reference: order, callback_url: `${baseUrl}/return` }
  const { data } = await callProvider('POST', '/transaction/initialize', start)
  await run('update attempts set link = $2 where id = $1', [attemptId, data.authorization_url])
  return { reference: order, amount, data: { link: data.authorization_url, reference: order } }
}

async function receiveNotice(body: Json) {
  const { reference } = body.data
  const { rows } = await run('insert into notices (reference, body) values ($1, $2) returning id', [reference, body])
  settle(rows[0].id, reference).catch((error) => {
    throw error // ends this process, and so the run
  })
  return { received: true }
}

async function settle(noticeId: string, order: string): Promise<void> {
  const { data } = await callProvider('GET', `/transaction/verify/${order}`)
  const delivery = await transaction(async (query) => {
    const { rows } = await query(
      `select p.id, p.reference, p.amount, p.email, p.webhook_url, a.id as attempt_id
         from attempts a join payments p on p.id = a.payment_id where a.reference = $1 for update`,
      [order],
    )
    const { id, reference, amount, email, webhook_url: url, attempt_id: attemptId } = rows[0]
    await query(`update attempts set status = 'successful' where id = $1`, [attemptId])
    const receipt = [String(data.id), attemptId, data.amount]
    await query('insert into receipts (transaction_id, attempt_id, amount) values ($1, $2, $3)', receipt)
    await query(`update payments set status = 'successful', completed_at = now() where id = $1`, [id])
    const eventId = randomUUID()
    const payment = { id, reference, amount, currency: 'NGN', status: 'successful', user: { email } }
    const body = JSON.stringify({ id: eventId, type: 'payment.successful', data: { payment } })
    const event = [eventId, id, 'payment.successful', body]
    await query('insert into events (id, payment_id, type, body) values ($1, $2, $3, $4)', event)
    const deliveryId = randomUUID()
    await query('insert into deliveries (id, event_id, url) values ($1, $2, $3)', [deliveryId, eventId, url])
    await query(`update notices set state = 'done' where id = $1`, [noticeId])
    return { id: deliveryId, url, body }
  })
  await send('POST', delivery.url, {}, delivery.body)
  await run(`update deliveries set state = 'delivered', done_at = now() where id = $1`, [delivery.id])
}

type Query = (text: string, values: unknown[]) => Promise<pg.QueryResult>

const names = new Map<string, string>()

/** Prepared once for each connection, as the service does it. */
function prepared(text: string, values: unknown[]) {
  const name = names.get(text) ?? `s${names.size}`
  names.set(text, name)
  return { name, text, values }
}

const run: Query = (text, values) => pool.query(prepared(text, values))

async function transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work((text, values) => client.query(prepared(text, values)))
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

async function callProvider(method: string, path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${secretKey}` }
  return JSON.parse(await send(method, PROVIDER_URL + path, headers, body && JSON.stringify(body)))
}

function send(method: string, url: string, headers: Record<string, string>, body = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const call = httpRequest(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
      readBody(response).then((text) => {
        if (response.statusCode === 200) resolve(text)
        else reject(new Error(`${url} was answered with ${response.statusCode}: ${text.slice(0, 300)}`))
      }, reject)
    })
    call.once('error', reject)
    call.end(body)
  })
}

server.keepAliveTimeout = 65_000

await pool.query(SCHEMA)
server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  baseUrl = `http://127.0.0.1:${port}`
  process.send?.({ port })
})
process.on('disconnect', () => process.exit())
