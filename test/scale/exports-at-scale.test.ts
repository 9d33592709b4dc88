import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { uuidOf } from '../../src/kernel/ids.ts'
import { addMerchant, startService, type TestMerchant } from '../support/service.ts'

const ROWS = 100_000
const MAX_BYTES = 50 * 2 ** 20

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const { app, database, databaseUrl } = await startService()
await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = app.server.address() as AddressInfo

async function addPayments({ place, merchantId }: TestMerchant, rows: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('set session_replication_role = replica')
  const uuid = (kind: string) => `('0190${kind}00-0000-7000-8000-' || lpad(to_hex(n + ${rows}), 12, '0'))::uuid`
  await client.query(
    `insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email,
                           metadata, expires_at)
     select $1, ${uuid('00')}, $2::uuid, 'sandbox', 'ORDER-' || n, $2::uuid::text || n, n, 'NGN', 'NG', false, 'user' || n || '@example.com',
            '{"order":"1042","channel":"instagram"}', now() from generate_series(1, $3) n`,
    [place, uuidOf(merchantId), rows],
  )
  await client.query(
    `insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged,
                           fee, amount_received, order_reference, provider_reference)
     select $1, ${uuid('01')}, ${uuid('00')}, $2::uuid, 'sandbox', 1, $2::uuid::text || n, 'gateway', 'card', 'successful', 'NGN', n, 1, n, $2::uuid::text || n,
            $2::uuid::text || n from generate_series(1, $3) n`,
    [place, uuidOf(merchantId), rows],
  )
  await client.query('analyze payments, attempts')
  await client.end()
}

async function countLines(merchant: TestMerchant): Promise<number> {
  const path = '/payments/v1/exports/payments'
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, path, headers: merchant.headers }, resolve).on('error', reject)
  })
  assert.equal(response.statusCode, 200)
  let lines = 0
  for await (const chunk of response) for (const byte of chunk as Buffer) if (byte === 10) lines++
  return lines
}

/** Without garbage: V8 lets the heap of a busy process grow long before it collects. */
function liveBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test('an export of 100 000 rows holds at most 50 MiB of memory', { timeout: 300_000 }, async () => {
  const [small, large] = [await addMerchant(database), await addMerchant(database)]
  await addPayments(small, 2_000)
  await addPayments(large, ROWS)
  assert.equal(await countLines(small), 2_001) // compiled code and buffers are there afterwards
  const before = liveBytes()
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, liveBytes())
  }, 500)
  const started = performance.now()
  assert.equal(await countLines(large), ROWS + 1)
  clearInterval(watch)
  console.log(`${Math.round(performance.now() - started)} ms, ${((most - before) / 2 ** 20).toFixed(1)} MiB at most`)
  assert.ok(most - before <= MAX_BYTES, `${most - before} bytes`)
})
