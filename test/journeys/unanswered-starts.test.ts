import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { gateway } from '../../src/providers/gateway/adapter.ts'
import type { Provider, ProviderClient, Providers } from '../../src/providers/provider.ts'
import { startById } from '../support/by-id.ts'
import { request, type Shop, startPaying } from '../support/paying.ts'
import { type Json, letPass, recordsOf } from '../support/payment-records.ts'
import { charge, loseNotices } from '../support/sandbox-payments.ts'

/** The sandbox provider, which does not begin to work on a start while it is silent. */
let isSilent = false
const provider: Provider = {
  ...gateway,
  connect(account) {
    const connection = gateway.connect(account)
    return {
      ...connection,
      async start(order) {
        if (isSilent) return { kind: 'unknown', because: 'no whole answer before the deadline' }
        return connection.start(order)
      },
    }
  },
}
const service = await startPaying({ providers: [provider] })
const { database, parts } = service

/** A customer presses Pay while the provider is silent; then the provider recovers. */
async function startUnanswered(shop: Shop, reference: string): Promise<Json> {
  await loseNotices(shop)
  isSilent = true
  const { body } = await shop.initialize({ reference })
  isSilent = false
  assert.equal(body.code, 'provider_timeout', JSON.stringify(body))
  return shop.payment(reference)
}

/** Time passes until so many seconds after the start, and what is due is checked. */
async function checkAt(payment: Json, seconds: number): Promise<Json> {
  const [attempt] = payment.attempts
  const row = await database.row<{ age: number; next: number }>(sql`
    select extract(epoch from now() - watched_since)::float8 as age,
           extract(epoch from next_check_at - watched_since)::float8 as next
      from attempts where id = ${uuidOf(attempt.id)}`)
  assert.equal(Math.round(row?.next ?? 0), seconds, 'when the next check is due')
  await letPass(database, payment, seconds - (row?.age ?? 0) + 0.05)
  await checkDueAttempts(parts, 100)
  const state = await recordsOf(database, payment)
  return state
}

async function pageOf(payment: Json): Promise<string> {
  return (await request(payment.url, 'GET')).body
}

test('a start that the provider never answered fails after 60 seconds of "missing", and the page offers Try again', async () => {
  const shop = await service.addShop()
  const payment = await startUnanswered(shop, 'hiccup')
  for (const seconds of [5, 15]) {
    await checkAt(payment, seconds)
    assert.equal((await shop.payment('hiccup')).attempts[0].status, 'processing')
    assert.match(await pageOf(payment), /data-state="processing"/)
  }
  const { eventTypes } = await checkAt(payment, 60)
  assert.deepEqual(eventTypes, ['attempt.started', 'attempt.failed'])
  const { attempts, status } = await shop.payment('hiccup')
  assert.deepEqual(
    [status, attempts[0].status, attempts[0].failure.code, attempts[0].failure.retryable],
    ['pending', 'failed', 'provider_unavailable', true],
  )
  const page = await pageOf(payment)
  assert.match(page, /data-state="failed"/)
  assert.match(page, /Try again/)

  const again = await shop.initialize({ reference: 'hiccup' })
  assert.equal(again.status, 200, 'the customer may try again at once')
  assert.equal((await shop.call('POST', '/payments/v1/payments/hiccup/cancel')).status, 200)
})

test('money of a failed start still counts', async () => {
  const shop = await service.addShop()
  const payment = await startUnanswered(shop, 'late-order')
  for (const seconds of [5, 15, 60]) await checkAt(payment, seconds)
  assert.equal((await shop.payment('late-order')).attempts[0].status, 'failed')

  // The provider worked on the request after all: it has the order, and somebody pays it.
  const order = payment.attempts[0].providerReference
  const other = await shop.initialize({ reference: 'other' })
  await database.rows(
    sql`update gateway_payments set reference = ${order} where reference = ${other.body.data.data.reference}`,
  )
  await charge(shop, order)
  await makeChecksDue(database, payment.id)
  await checkDueAttempts(parts, 100)
  const paid = await shop.payment('late-order')
  assert.deepEqual([paid.status, paid.attempts[0].status], ['successful', 'successful'])
})

test('a link that arrives after its start has failed is not handed out', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const connect: Providers['connect'] = async (...of) => {
    const connection = await parts.providers.connect(...of)
    return { ...connection, start: (order) => late(() => connection.start(order)) }
  }
  const late = async (start: () => ReturnType<ProviderClient['start']>) => {
    await database.rows(sql`
      with changed as (update payments set version = version + 1 where id = ${uuidOf(checkout.id)})
      update attempts set status = 'failed', resolved_at = now(), failure = '{"code":"provider_unavailable","message":"m","providerCode":null}'
       where payment_id = ${uuidOf(checkout.id)}`)
    return start()
  }
  const wanted = { amount: 1_000_00, country: 'NG', user: { email: 'ada@example.com' } }
  const checkout = (await shop.call('POST', '/payments/v1/checkouts', wanted)).body.data
  const capabilities = parts.providers.find('gateway')?.capabilities ?? assert.fail()
  const started = startById({ ...parts, providers: { ...parts.providers, connect } }, checkout.id, {
    capabilities,
    channel: 'card',
  })
  await assert.rejects(started, { code: 'provider_timeout' })
  assert.equal((await shop.payment(checkout.reference)).attempts[0].status, 'failed')
})
