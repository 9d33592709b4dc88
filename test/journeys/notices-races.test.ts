import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { processNotice, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
import { settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import { endNotice, noticesWaitAgain, referenceLocked } from '../../src/payments/store/notices.ts'
import { failureOf } from '../../src/providers/failure.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { signNotice } from '../../src/providers/gateway/simulator/notices.ts'
import { hold, startBetween } from '../support/between.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { type Json, lockAwaited, noticeAbout, noticesAbout, recordAt } from '../support/payment-records.ts'
import { charge, loseNotices, startAttempt } from '../support/sandbox-payments.ts'

// A notice, and what is written about its payment at the same moment.

const service = await startPaying()
const { database, parts } = service

async function quietShop(): Promise<Shop> {
  const shop = await service.addShop()
  await loseNotices(shop)
  return shop
}

/** Stores a signed notice, and does not process it. */
async function keep(shop: Shop, content: Json) {
  const body = Buffer.from(JSON.stringify(content))
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const headers = { 'gateway-signature': signNotice(secretKey, body.toString(), new Date()) }
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' } as const
  const received = await receiveNotice(parts, owner, 'gateway', { body, headers })
  return received.kind === 'kept' ? received.notice : assert.fail(received.kind)
}

const statesOf = async (reference: string) => (await noticesAbout(database, reference)).map(({ state }) => state)

/** Runs `first` before the first transaction. */
function beforeTransaction(first: () => Promise<unknown>): Database {
  let hasRun = false
  const transaction: Database['transaction'] = async (work) => {
    if (!hasRun) {
      hasRun = true
      await first()
    }
    return database.transaction(work)
  }
  return { ...database, transaction }
}

/** A paid order, with a notice that names it by a reference of the provider's own, which the attempt does not know. */
async function namedByProvider(own: string) {
  const shop = await quietShop()
  const { payment, attempt } = await startAttempt(database, shop)
  await charge(shop, attempt.orderReference)
  const record = await recordAt(service, shop, attempt.orderReference)
  const notice = await keep(shop, noticeAbout({ ...record, reference: own }, 'payment.paid'))
  return { shop, payment, attempt, notice }
}

const ownReferenceSaved = ({ id, paymentId }: Attempt, own: string) => sql`
  with changed as (update payments set version = version + 1 where id = ${uuidOf(paymentId)})
  update attempts set provider_reference = ${own} where id = ${uuidOf(id)}`

const named = (reference: string) => ({ provider: 'gateway', reference })

test('a notice whose order becomes known after it was looked up is not unmatched', async () => {
  const { shop, payment, attempt, notice } = await namedByProvider('own-before')
  const between = beforeTransaction(() =>
    database.transaction(async (tx) => {
      await tx.rows(ownReferenceSaved(attempt, 'own-before'))
      await tx.rows(noticesWaitAgain(attempt, named('own-before'), new Date()))
    }),
  )
  await processNotice({ ...parts, database: between }, notice)
  assert.deepEqual(await statesOf('own-before'), ['waiting'], 'until its money is on record')
  assert.equal((await shop.payment(payment.id)).attempts[0].status, 'processing', 'the provider disagrees')
})

test('a notice whose order becomes known by a start that is being committed waits for it', async () => {
  const { shop, payment, attempt, notice } = await namedByProvider('own-meanwhile')
  let processing: Promise<void> | undefined
  await database.transaction(async (tx) => {
    await tx.rows(ownReferenceSaved(attempt, 'own-meanwhile'))
    await tx.rows(referenceLocked(attempt, named('own-meanwhile')))
    await tx.rows(noticesWaitAgain(attempt, named('own-meanwhile'), new Date()))
    processing = processNotice(parts, notice)
    await Promise.race([processing, lockAwaited(database)])
  })
  await processing
  assert.deepEqual(await statesOf('own-meanwhile'), ['waiting'], 'until its money is on record')
  assert.equal((await shop.payment(payment.id)).attempts[0].status, 'processing', 'the provider disagrees')
})

test('a notice "processing" does not reopen an attempt that was declined after the notice was looked up', async () => {
  const shop = await quietShop()
  const { payment, attempt } = await startAttempt(database, shop)
  const order = attempt.orderReference
  const record = { ...(await recordAt(service, shop, order)), status: 'processing' }
  const notice = await keep(shop, noticeAbout(record, 'payment.processing'))
  const outcome = { kind: 'declined', failure: failureOf('card_declined', 'No.'), tryId: null } as const
  const between = beforeTransaction(() => settleAttempt(parts, attempt, { source: 'check', outcome }))
  await processNotice({ ...parts, database: between }, notice)
  assert.equal((await shop.payment(payment.id)).attempts[0].status, 'failed')
  assert.deepEqual(await statesOf(order), ['ignored'])
})

test('one notice that two processes work on at once is done, and of two notices one is', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  for (const isOne of [true, false]) {
    const { attempt } = await startAttempt(database, shop)
    const order = attempt.orderReference
    await charge(shop, order)
    const record = await recordAt(service, shop, order)
    const first = await keep(shop, noticeAbout(record, 'payment.paid'))
    const second = isOne ? first : await keep(shop, noticeAbout(record, 'payment.paid'))
    const held = hold(between)
    const processing = [first, second].map((notice) => processNotice(between.parts, notice))
    await held.reached
    held.letGo()
    await Promise.all(processing)
    between.meanwhile = undefined
    assert.deepEqual((await statesOf(order)).toSorted(), isOne ? ['done'] : ['done', 'ignored'])
    assert.equal((await findAttempt(database, attempt.id))?.status, 'successful')
  }
})

test('a notice that is done stays done', async () => {
  const shop = await quietShop()
  const { attempt } = await startAttempt(database, shop)
  const order = attempt.orderReference
  const notice = await keep(shop, noticeAbout(await recordAt(service, shop, order), 'payment.processing'))
  assert.equal(await endNotice(database, notice, { state: 'done', note: null, attemptId: attempt.id }), true)
  assert.equal(await endNotice(database, notice, { state: 'unmatched', note: 'names no reference' }), false)
  assert.deepEqual(await statesOf(order), ['done'])
})
