import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import type { CheckoutRequest } from '../src/http/contract/checkout.ts'
import { SANDBOX_MERCHANT_ID } from '../src/integrations/create-merchant.ts'
import { newId, newReference, newShortCode, uuidOf } from '../src/kernel/ids.ts'

/**
 * The floor: a bare `node:http` server and one committed INSERT per request, of the row
 * that the service writes. No framework, no credentials, no validation, no log.
 */
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.FLOOR_CONNECTIONS),
})
const merchantId = uuidOf(SANDBOX_MERCHANT_ID)
const PLACE = 1
let baseUrl = ''

const INSERT = `
  insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge,
                        user_email, user_phone_number, user_name, redirect_url, webhook_url, metadata,
                        idempotency_key, request_digest, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, now() + $19 * interval '1 second')`

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    create(Buffer.concat(parts).toString(), response).catch((error: Error) => {
      response.writeHead(500).end(error.message)
    })
  })
})

async function create(text: string, response: ServerResponse): Promise<void> {
  const body = JSON.parse(text) as CheckoutRequest
  const now = new Date()
  const id = newId('payment', now, PLACE)
  const reference = body.reference ?? newReference(now, PLACE)
  const shortCode = newShortCode(now, PLACE)
  await pool.query({
    name: 'insert',
    text: INSERT,
    values: [
      PLACE,
      uuidOf(id),
      merchantId,
      'sandbox',
      reference,
      shortCode,
      body.amount,
      body.currency ?? 'NGN',
      body.country,
      body.customerBearsCharge ?? false,
      body.user.email,
      body.user.phoneNumber ?? null,
      body.user.name ?? null,
      body.redirectURL ?? null,
      body.webhook ?? null,
      JSON.stringify(body.metadata ?? {}),
      null,
      null,
      body.expiresIn ?? 86_400,
    ],
  })
  const url = `${baseUrl}/pay/${id}`
  const checkout = { id, url, shortURL: `${baseUrl}/s/${shortCode}`, reference, amount: body.amount }
  const answer = JSON.stringify({ data: checkout })
  response
    .writeHead(201, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(answer),
      location: url,
    })
    .end(answer)
}

server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  baseUrl = `http://localhost:${port}`
  process.send?.({ port })
})
process.on('disconnect', () => process.exit())
