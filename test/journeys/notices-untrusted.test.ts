import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { listUnmatched } from '../../src/payments/store/notices.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { signNotice } from '../../src/providers/gateway/simulator/notices.ts'
import { startBetween } from '../support/between.ts'
import { eventually, request, startPaying } from '../support/paying.ts'
import {
  type Json,
  letPass,
  madeUpRecord,
  noticeAbout,
  noticesAbout,
  notify,
  paidTransaction,
  recordAt,
  recordsOf,
  workedOff,
} from '../support/payment-records.ts'
import { AMOUNT, becomes, charge, isPaid, loseNotices, start } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const alerts: { msg: string; noticeId?: number; attemptId?: string }[] = []
const log = pino({ level: 'error' }, { write: (line) => void alerts.push(JSON.parse(line)) })
const service = await startPaying({ log })
const { database } = service

/** A shop that hears nothing by itself: each notice is a test's own. */
async function quietShop() {
  const shop = await service.addShop()
  await loseNotices(shop)
  return shop
}

async function forgedSoFar(baseUrl: string): Promise<number> {
  const { body } = await request(`${baseUrl}/metrics`, 'GET')
  return Number(/^manilla_forged_notices_total (\d+)$/m.exec(body)?.[1])
}

test('B7: a notice with a bad, missing or old signature, or of another account or mode, is 401; nothing is stored, and the provider is not called', async (t) => {
  const between = await startBetween(t, service)
  const { shop, asked } = between
  const other = await service.addShop()
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const notice = noticeAbout(await recordAt(service, shop, order), 'payment.paid')
  const text = JSON.stringify(notice)
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const otherKey = gatewayKeys(service.masterKey, other.merchantUuid).secretKey
  const right = signNotice(secretKey, text, new Date())
  const minutes = (count: number) => new Date(Date.now() + count * 60_000)
  const callsBefore = asked.length
  const countBefore = await forgedSoFar(between.baseUrl)
  const forgeries: [string, Json, Parameters<typeof notify>[3]][] = [
    ['missing', text, { signature: null }],
    ['empty', text, { signature: '' }],
    ['not of its form', text, { signature: 'v1=abc' }],
    ['of another key', text, { secretKey: otherKey }],
    ['of the public key', text, { secretKey: gatewayKeys(service.masterKey, shop.merchantUuid).publicKey }],
    ['of another body', `${text} `, { signature: right }],
    ['with another time in it', text, { signature: right.replace(/^t=\d+/, `t=${Math.floor(Date.now() / 1000) - 5}`) }],
    ['six minutes old', text, { at: minutes(-6) }],
    ['six minutes ahead', text, { at: minutes(6) }],
    ['sent to another account', text, { path: `/notices/gateway/sandbox/${other.merchantId}` }],
    ['sent to another mode', text, { path: `/notices/gateway/live/${shop.merchantId}` }],
  ]
  for (const [what, body, forged] of forgeries) {
    const { status, body: problem } = await notify(between, shop, body, forged)
    assert.deepEqual([status, problem.code], [401, 'invalid_credentials'], what)
  }
  const live = await notify(service, shop, text, { path: `/notices/gateway/live/${shop.merchantId}` })
  assert.equal(live.status, 401, 'with nothing between us and the provider, too')
  assert.equal(await forgedSoFar(between.baseUrl), countBefore + forgeries.length)
  assert.deepEqual(await noticesAbout(database, order), [])
  assert.equal(asked.length, callsBefore, 'no question to the provider for what a stranger made up')
  const after = await shop.payment(payment.id)
  assert.deepEqual([after.status, after.attempts[0].status], ['pending', 'pending'])

  assert.equal((await notify(between, shop, text, { at: minutes(-4) })).status, 200, 'a little late is not forged')
  await becomes(shop, payment, isPaid)
})

test('B7: a notice for an unknown provider is 404; for an unknown merchant it is refused like a bad signature', async () => {
  const shop = await service.addShop()
  const notice = noticeAbout(madeUpRecord(), 'payment.paid')
  for (const path of [
    '/notices/gateway/sandbox/nobody',
    `/notices/nobody/sandbox/${shop.merchantId}`,
    `/notices/gateway/dreams/${shop.merchantId}`,
  ]) {
    assert.equal((await notify(service, shop, notice, { path })).status, 404, path)
  }
  const path = '/notices/gateway/sandbox/mer_1Ch41XiYF5uu1qJFodMjwf'
  assert.equal((await notify(service, shop, notice, { path })).status, 401)
})

const WEEK_SECONDS = 7 * 86_400

test('B8: a valid notice says paid, the provider itself says not: no success, asked again, and needsReview after the schedule', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order } = await start(shop)
  const record = await recordAt(service, shop, order)
  const lie = { ...record, status: 'paid', amount: AMOUNT, transactions: [paidTransaction({ amount: AMOUNT })] }
  await notify(between, shop, noticeAbout(lie, 'payment.paid'))
  const doubted = await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'processing')
  assert.deepEqual([doubted.status, doubted.amountPaid], ['pending', 0])
  assert.deepEqual((await recordsOf(database, payment)).receipts, [])
  assert.equal((await shop.initialize({ reference: payment.reference })).body.code, 'attempt_in_progress')
  assert.deepEqual(
    (await noticesAbout(database, order)).map(({ state }) => state),
    ['waiting'],
  )

  for (const seconds of [11, 30, 120, 600]) {
    await letPass(database, payment, seconds)
    await checkDueAttempts(between.parts, 100)
    const [attempt] = (await shop.payment(payment.id)).attempts
    assert.deepEqual([attempt.status, attempt.needsReview], ['processing', null])
  }
  await letPass(database, payment, WEEK_SECONDS)
  await checkDueAttempts(between.parts, 100)
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual([attempt.status, attempt.resolvedAt], ['processing', null], 'nobody guessed')
  assert.match(attempt.needsReview, /^unanswered: /)
  assert.deepEqual((await recordsOf(database, payment)).eventTypes.slice(2), [
    'attempt.processing',
    'attempt.needs_review',
  ])
  assert.ok(alerts.some(({ msg, attemptId }) => msg === 'attempt needs review' && attemptId === attempt.id))

  await charge(shop, order)
  await notify(between, shop, noticeAbout(await recordAt(service, shop, order), 'payment.paid'))
  const paid = await becomes(shop, payment, isPaid)
  assert.equal(paid.attempts[0].needsReview, null, 'once they agree, nobody has to look')
  await recordsOf(database, payment)
})

test('B8: a valid notice says failed, the provider says paid: neither is applied; the next answer decides', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const record = await recordAt(service, shop, order)
  const declined = { ...paidTransaction({ amount: AMOUNT }), status: 'failed', failure: { code: 'card_declined' } }
  await notify(between, shop, noticeAbout({ ...record, status: 'failed', transactions: [declined] }, 'payment.failed'))
  const doubted = await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'processing')
  assert.deepEqual([doubted.status, doubted.amountPaid, doubted.attempts[0].failure], ['pending', 0, null])
  await workedOff(database, order, 1)
  await letPass(database, payment, 11)
  await checkDueAttempts(between.parts, 100)
  assert.ok(isPaid(await shop.payment(payment.id)))
  assert.deepEqual((await recordsOf(database, payment)).eventTypes.slice(2), [
    'attempt.processing',
    'attempt.successful',
    'payment.successful',
  ])
})

test('B8: a notice says paid, the provider itself says declined: not failed either, until they agree', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order } = await start(shop)
  await charge(shop, order, CARD.declined)
  const record = await recordAt(service, shop, order)
  const lie = { ...record, status: 'paid', transactions: [paidTransaction({ amount: AMOUNT })] }
  await notify(between, shop, noticeAbout(lie, 'payment.paid'))
  await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'processing')
  await letPass(database, payment, 11)
  await checkDueAttempts(between.parts, 100)
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual([attempt.status, attempt.failure], ['processing', null])
  await recordsOf(database, payment)
})

/** Signed by the provider, and hardly to be read. */
function oddNotices(record: Json): [string, string][] {
  const paid = noticeAbout(record, 'payment.paid')
  const text = JSON.stringify(paid)
  return [
    ['nothing', ''],
    ['no JSON', 'status=paid'],
    ['half of it', text.slice(0, -20)],
    ['null', 'null'],
    ['a list', `[${text}]`],
    ['a number', '1e400'],
    ['no type', JSON.stringify({ ...paid, type: undefined })],
    ['a type of another type', JSON.stringify({ ...paid, type: { is: 'payment.paid' } })],
    ['a type that is new', JSON.stringify({ ...paid, type: 'payment.levitated' })],
    ['no reference', JSON.stringify({ ...paid, reference: null })],
    ['a reference of another payment inside', JSON.stringify({ ...paid, reference: 'x'.repeat(32) })],
    ['a reference that PostgreSQL refuses', JSON.stringify({ ...paid, reference: 'a\0b' })],
    ['an amount in words', text.replaceAll(String(record.requested), '"1250000"')],
    ['an amount with a fraction', text.replaceAll(String(record.requested), '1250000.5')],
    ['an amount beyond all bounds', text.replaceAll(String(record.requested), '9007199254740993')],
    ['less than nothing', text.replaceAll(String(record.requested), '-1')],
    ['a currency that is none', JSON.stringify({ ...paid, data: { ...record, currency: 'COWRIES' } })],
    ['deep', `{"type":"payment.paid","data":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
    ['a trap', text.replace('"type"', '"__proto__":{"type":"payment.paid"},"constructor":{},"type"')],
    ['half a character', text.replace('"type"', '"\\ud800":"\\udfff","type"')],
    ['a zero in the text', text.replace('"type"', '"note":"a\\u0000b","type"')],
    ['something more', JSON.stringify({ ...paid, version: 2, data: { ...record, mood: 'good' } })],
  ]
}

test('B22: notices with unknown values, odd or huge JSON are answered 2xx and stored; what they say is not applied', async () => {
  const shop = await quietShop()
  const { payment, order } = await start(shop)
  const record = await recordAt(service, shop, order)
  for (const [what, text] of oddNotices(record)) {
    const { status } = await notify(service, shop, text)
    assert.equal(status, 200, what)
  }
  await eventually(
    () => database.rows(sql`select 1 from notices where merchant_id = ${shop.merchantUuid} and state = 'waiting'`),
    (waiting) => waiting.length === 0,
  )
  const kept = await database.row<{ count: number }>(
    sql`select count(*) as count from notices where merchant_id = ${shop.merchantUuid}`,
  )
  assert.equal(kept?.count, oddNotices(record).length)
  const after = await shop.payment(payment.id)
  assert.equal(after.status, 'pending')
  assert.equal((await recordsOf(database, payment)).receipts.length, 0)

  const huge = JSON.stringify({ ...noticeAbout(record, 'payment.paid'), filler: 'x'.repeat(256 * 1024) })
  assert.equal((await notify(service, shop, huge)).status, 413)
  await charge(shop, order)
  await notify(service, shop, noticeAbout(await recordAt(service, shop, order), 'payment.paid'))
  await becomes(shop, payment, isPaid)
})

test('B22: a notice that is not UTF-8 is stored too', async () => {
  const shop = await service.addShop()
  const body = Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3])
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const seconds = Math.floor(Date.now() / 1000)
  const mac = createHmac('sha256', secretKey).update(`${seconds}.`).update(body).digest('hex')
  const response = await fetch(`${service.baseUrl}/notices/gateway/sandbox/${shop.merchantId}`, {
    method: 'POST',
    headers: { 'gateway-signature': `t=${seconds},v1=${mac}`, 'content-type': 'application/octet-stream' },
    body,
  })
  assert.equal(response.status, 200)
  const unmatched = await eventually(
    () => listUnmatched(database, 100),
    (all) => all.some(({ merchantId }) => merchantId === shop.merchantId),
  )
  assert.match(String(unmatched.find(({ merchantId }) => merchantId === shop.merchantId)?.note), /^cannot be read/)
})
