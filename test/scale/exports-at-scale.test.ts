import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { uuidOf } from '../../src/kernel/ids.ts'
import { createDatabase } from '../support/database.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'
import { addMerchant } from '../support/service.ts'

const ROWS = 100_000
const MIB = 2 ** 20
const MAX_GROWTH = 50 * MIB

const { url, database } = await createDatabase()
const folder = await mkdtemp(join(tmpdir(), 'manilla-exports-'))
after(() => rm(folder, { recursive: true, force: true }))
const merchant = await addMerchant(database)

/** Paid payments, each overpaid, refunded and delivered, and declined first if its number is even. */
async function addRows(): Promise<void> {
  const { place, merchantId } = merchant
  const uuid = (kind: number) => `('0190000${kind}-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`
  const of = `${place}, ${uuid(0)}, '${uuidOf(merchantId)}', 'sandbox'`
  const at = `now() - n * interval '1.000001 seconds'`
  const rows = `generate_series(1, ${ROWS}) n`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of [
    'set session_replication_role = replica',
    `insert into payments (place, id, merchant_id, mode, reference, short_code, status, amount, amount_paid, currency, country, customer_bears_charge,
                           user_email, user_name, user_phone_number, metadata, created_at, expires_at, completed_at)
     select ${of}, 'ORDER-' || n, 'code-' || n, 'successful', n, n, 'NGN', 'NG', false, 'user' || n || '@example.com', 'Ada Obi ' || n,
            '+23480' || n, jsonb_build_object('order', n::text, 'channel', 'instagram'), ${at}, now(), ${at} from ${rows}`,
    `insert into attempts (place, payment_id, merchant_id, mode, id, number, reference, provider, channel, status, currency, amount_charged, fee,
                           amount_received, order_reference, provider_reference, failure, created_at)
     select ${of}, ${uuid(1)}, 1, 'declined-' || n, 'gateway', 'card', 'failed', 'NGN', n, 1, 0, 'declined-' || n, 'declined-' || n,
            '{"code":"insufficient_funds","message":"The card has insufficient funds."}', ${at} from ${rows} where n % 2 = 0`,
    `insert into attempts (place, payment_id, merchant_id, mode, id, number, reference, provider, channel, status, currency, amount_charged, fee,
                           amount_received, order_reference, provider_reference, instructions, created_at, asked_at, resolved_at)
     select ${of}, ${uuid(2)}, 2, 'paid-' || n, 'gateway', 'card', 'successful', 'NGN', n, 1, n + 1, 'paid-' || n, 'paid-' || n,
            jsonb_build_object('kind', 'link', 'url', 'https://gateway.example/pay/' || n), ${at}, ${at}, ${at} from ${rows}`,
    `insert into refunds (place, payment_id, merchant_id, mode, id, attempt_id, amount, currency, kind, status, counted, reason, created_at,
                          resolved_at)
     select ${of}, ${uuid(3)}, ${uuid(2)}, n, 'NGN', 'merchant', 'successful', true, 'returned goods', ${at}, ${at} from ${rows}`,
    `insert into events (place, payment_id, merchant_id, mode, id, type, sequence, data, body)
     select ${of}, ${uuid(4)}, 'payment.successful', 1, '{}', '{}' from ${rows}`,
    `insert into deliveries (place, event_id, merchant_id, mode, id, url, destination, state, tries, done_at)
     select ${place}, ${uuid(4)}, '${uuidOf(merchantId)}', 'sandbox', ${uuid(5)}, 'https://shop.example/hook?n=' || n, 'shop.example', 'delivered', 1,
            now() from ${rows}`,
    `insert into delivery_tries (place, delivery_id, number, status, took_ms) select ${place}, ${uuid(5)}, 1, 200, 12 from ${rows}`,
    'vacuum analyze',
  ])
    await client.query(statement)
  await client.end()
}

/** A process that has answered nothing yet. Without a worker, which would look after the rows meanwhile. */
async function startCold(): Promise<ServiceProcess> {
  const service = await startProcess({
    ...{ DATABASE_URL: url, DATA_DIR: folder, SECRET_KEY: Buffer.alloc(32, 1).toString('base64') },
    ...{ ROLE: 'api', DEMO: 'off' },
  })
  await pause(1_000)
  return service
}

const memoryOf = ({ pid }: ServiceProcess) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

/** Reads an export to its end. Returns its lines, and by how many bytes the process had grown at most. */
async function measureExport(
  service: ServiceProcess,
  list: string,
  { pauseMs = 0 } = {},
): Promise<{ lines: number; growth: number; ms: number }> {
  const atStart = memoryOf(service)
  let most = atStart
  const watch = setInterval(() => {
    most = Math.max(most, memoryOf(service))
  }, 50)
  const started = performance.now()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const { headers } = merchant
    get(`${service.baseUrl}/payments/v1/exports/${list}`, { headers }, resolve).on('error', reject)
  })
  assert.equal(response.statusCode, 200)
  let [lines, bytes] = [0, 0]
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (const byte of chunk) if (byte === 10) lines++
    bytes += chunk.length
    if (bytes < MIB) continue
    bytes = 0
    await pause(pauseMs)
  }
  clearInterval(watch)
  most = Math.max(most, memoryOf(service))
  return { lines, growth: most - atStart, ms: performance.now() - started }
}

before(addRows, { timeout: 300_000 })

for (const [who, list, pauseMs] of [
  ['a client', 'payments', 0],
  ['a client that pauses', 'payments', 500],
  ['a client', 'refunds', 0],
  ['a client', 'transfers', 0],
  ['a client', 'deliveries', 0],
] as const) {
  test(`${list}: a process grows by at most 50 MiB while ${who} reads 100 000 rows`, { timeout: 120_000 }, async () => {
    const service = await startCold()
    try {
      const { lines, growth, ms } = await measureExport(service, list, { pauseMs })
      console.log(`${list}: ${Math.round(ms)} ms, ${(growth / MIB).toFixed(1)} MiB`)
      assert.equal(lines, ROWS + 1)
      assert.ok(growth <= MAX_GROWTH, `${(growth / MIB).toFixed(1)} MiB`)
    } finally {
      service.child.kill('SIGKILL')
    }
  })
}
