import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { SANDBOX_MERCHANT_ID } from '../../src/integrations/create-merchant.ts'
import { saveReceiptSends } from '../../src/payments/store/customer-receipts.ts'
import { createDatabase } from '../support/database.ts'
import { startMailServer } from '../support/mail-server.ts'
import { callingBy, eventually, request, type Shop } from '../support/paying.ts'
import { startForTest } from '../support/process.ts'
import { CARD } from '../support/simulator.ts'

const COUNT = 6

test('K1: kill -9 while mails are sent, with a second process beside it: each customer has the receipt, and none is lost', async () => {
  const server = await startMailServer()
  const { url, database } = await createDatabase()
  const env = {
    SANDBOX_CLIENT_ID: `cid_sandbox_${randomBytes(8).toString('hex')}`,
    SANDBOX_CLIENT_SECRET: `sec_sandbox_${randomBytes(32).toString('hex')}`,
    DATABASE_URL: url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'silent',
    SMTP_URL: server.url,
  }
  const headers = { 'client-id': env.SANDBOX_CLIENT_ID, 'client-secret': env.SANDBOX_CLIENT_SECRET }
  const first = await startForTest(env)
  await database.transaction((tx) =>
    saveReceiptSends(tx, { merchantId: SANDBOX_MERCHANT_ID, mode: 'sandbox' }, 'always'),
  )
  const call: Shop['call'] = (method, path, body) => request(first.baseUrl + path, method, headers, body)
  const shop = callingBy(call)

  // The mails arrive, and their process is killed before it hears of it.
  const killed = new Promise<void>((resolve) => {
    server.beforeAcknowledging = async () => {
      first.child.kill('SIGKILL')
      await first.exited
      resolve()
    }
  })
  const orders = Array.from({ length: COUNT }, (_, index) => index)
  const started = await Promise.all(
    orders.map(async (index) => {
      const { body } = await shop.initialize({ user: { email: `customer${index}@example.com` } })
      return (await shop.payment(body.data.reference)).attempts[0].providerReference as string
    }),
  )
  await Promise.allSettled(
    started.map((order) => call('POST', `/sandbox/gateway/charges/${order}`, { card: CARD.pays })),
  )
  await killed
  server.beforeAcknowledging = undefined
  const early = server.mails.splice(0)
  assert.ok(early.length > 0)

  // The leases of the killed process end in five minutes. What was charged and not yet noticed is found by a check.
  await database.rows(sql`update customer_receipts set due_at = now() - interval '1 second' where state = 'waiting'`)
  await database.rows(
    sql`update attempts set next_check_at = now(), check_leased_until = '-infinity' where next_check_at is not null`,
  )
  await Promise.all([startForTest(env), startForTest(env)])
  await eventually(
    () => database.rows(sql`select from customer_receipts where state = 'sent'`),
    ({ length }) => length === COUNT,
    60_000,
  )
  const late = server.mails
  assert.deepEqual(late.map(({ recipients }) => recipients.join()).sort(), [
    ...new Set(orders.map((index) => `customer${index}@example.com`)),
  ])
  const idOf = (mails: typeof late, to: string) => mails.find(({ recipients }) => recipients[0] === to)?.mail.messageId
  for (const { recipients, mail } of early)
    assert.equal(idOf(late, recipients[0] ?? ''), mail.messageId, 'a mail that comes twice has one Message-ID')
})
