import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type MerchantId, uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { endAttempt } from '../../src/payments/settle/end-attempt.ts'
import { processNotice, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
import { eraseCustomer } from '../../src/payments/upkeep/erase-customer.ts'
import { mpesa } from '../../src/providers/mpesa/adapter.ts'
import type { Rig } from '../fakes/conformance-rig.ts'
import { KEYS, startFakeMpesa } from '../fakes/mpesa/fake.ts'
import { callbackOf, resultOf } from '../fakes/mpesa/wire.ts'
import { orderOf } from '../fakes/rig.ts'
import { httpTo } from '../fakes/upstream.ts'
import { eventually, request } from '../support/paying.ts'
import { assertAudited, type Json, letPass, lockAwaited, workedOff } from '../support/payment-records.ts'
import { becomes } from '../support/provider-journey.ts'
import { startProviderWorld } from '../support/provider-world.ts'
import { newVisitor } from '../support/visitor.ts'

// Callbacks are not signed, and only they tell what became of a reversal.

const world = await startProviderWorld()
const { database, parts } = world
const place = await world.addProvider(startFakeMpesa)
const { fake, shop } = place
const DAY = 86_400

async function prompted(): Promise<{ reference: string; order: string }> {
  const { reference, url } = await place.checkout()
  const customer = newVisitor()
  await customer.go(url)
  await customer.send({ action: 'pay', method: 'mobile' }, { phoneNumber: '0712345678', network: 'mpesa' })
  return { reference, order: await place.orderOf(reference) }
}

async function paid(): Promise<{ reference: string; order: string; payment: Json }> {
  const { reference, order } = await prompted()
  await fake.customer.approve?.(order)
  await place.pump()
  await becomes(place, reference, 'successful')
  return { reference, order, payment: await place.payment(reference) }
}

const send = (url: string, body: Buffer) => request(url, 'POST', {}, body.toString())
const ask = (reference: string) => shop.call('POST', `/payments/v1/payments/${reference}/refunds`, {})
const refundsOf = async (reference: string): Promise<Json[]> => (await place.payment(reference)).refunds
const openCasesOf = async ({ id }: Json): Promise<Json[]> =>
  (await shop.call('GET', `/payments/v1/cases?payment=${id}`)).body.data.filter(({ status }: Json) => status === 'open')

/** M-PESA was asked, and its result did not come for a day: a person ended the refund. The result may still come. */
async function ended({ reference, payment }: { reference: string; payment: Json }) {
  const answer = await ask(reference)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  const { id } = answer.body.data
  const [{ url, body } = assert.fail()] = fake.takeNotices()
  await letPass(database, payment, DAY + 60)
  await sendDueRefunds(parts, 100)
  const [{ needsReview }] = await refundsOf(reference)
  assert.match(needsReview, /^unanswered/)
  const end = await shop.call('POST', `/payments/v1/refunds/${id}/end`, { note: 'Not in the portal.' })
  assert.deepEqual([end.status, end.body.data?.status], [200, 'failed'], JSON.stringify(end.body))
  return { id, comeLate: () => send(url ?? '', body) }
}

test('a callback that names a prompt of another shop on the same short code moves no money', async () => {
  const { reference, order } = await paid()
  const http = httpTo(fake.upstream)
  const other = mpesa.connect({ mode: 'sandbox', settings: KEYS, baseURL: fake.upstream.url, http })
  const theirs = orderOf(fake as unknown as Rig)
  assert.equal((await other.start(theirs)).kind, 'prompt')
  const push = fake.find(theirs.reference)
  await fake.customer.approve?.(theirs.reference)
  fake.takeNotices()
  const asked = fake.asked.length
  await send(fake.find(order).callbackURL, callbackOf(push))
  await eventually(
    async () => fake.asked.slice(asked),
    (calls) => calls.some(({ path }) => path.includes('stkpushquery')),
  )
  assert.ok(fake.asked.slice(asked).every(({ body }) => !body.includes(push.checkoutId)))
  await sendDueRefunds(parts, 100)
  const { status, amountPaid, refunds } = await place.payment(reference)
  assert.deepEqual([status, amountPaid, refunds], ['successful', place.amount, []])
  assert.equal(fake.refundsMade(), 0)
})

test('a reversal that is told after a person ended its refund is booked, and the case is over', async () => {
  const one = await paid()
  const { comeLate } = await ended(one)
  assert.deepEqual(
    (await openCasesOf(one.payment)).map(({ reason }) => reason),
    ['refund_failed'],
  )
  await comeLate()
  const [refund] = await eventually(
    () => refundsOf(one.reference),
    ([{ status }]) => status === 'successful',
  )
  assert.equal(refund.failure, null)
  assert.deepEqual(await openCasesOf(one.payment), [])
  assert.equal((await place.payment(one.reference)).amountRefunded, place.amount)
  assert.deepEqual((await workedOff(database, one.order, 2)).at(-1), {
    ...{ says: 'refund', state: 'done', note: null, times: 1 },
  })
  await assertAudited(database, one.payment)
})

test('a reversal that is told late, when the money went back by another refund, is a case', async () => {
  const one = await paid()
  const { comeLate, id } = await ended(one)
  assert.equal((await ask(one.reference)).status, 201)
  await place.pump()
  const isReturned = (refunds: Json[]) => refunds.some(({ status }) => status === 'successful')
  await eventually(() => refundsOf(one.reference), isReturned)
  await comeLate()
  const cases = await eventually(
    () => openCasesOf(one.payment),
    (found) => found.some(({ reason }) => reason === 'refund_mismatch'),
  )
  assert.match(cases.find(({ reason }) => reason === 'refund_mismatch')?.summary, /more than is on record/)
  const failed = (await refundsOf(one.reference)).find((refund) => refund.id === id)
  assert.equal(failed?.status, 'failed')
  assert.equal((await place.payment(one.reference)).amountRefunded, place.amount)
  await assertAudited(database, one.payment)
})

test('a late result that names another payment is a case, and books nothing', async () => {
  const one = await paid()
  await ended(one)
  const reversal = fake.reversals.at(-1) ?? assert.fail()
  const push = { ...(reversal.push ?? assert.fail()), receipt: 'SKC00OTHER' }
  await send(reversal.url, resultOf({ ...reversal, push }))
  const cases = await eventually(
    () => openCasesOf(one.payment),
    (found) => found.some(({ reason }) => reason === 'refund_mismatch'),
  )
  assert.match(cases.find(({ reason }) => reason === 'refund_mismatch')?.summary, /another payment.*SKC00OTHER/)
  assert.equal((await refundsOf(one.reference))[0].status, 'failed')
  await assertAudited(database, one.payment)
})

test('a refund is due when what its notice said can be read, and not before', async () => {
  const one = await paid()
  assert.equal((await ask(one.reference)).status, 201)
  const [{ url = '', body } = assert.fail()] = fake.takeNotices()
  const owner = { merchantId: shop.merchantId as MerchantId, mode: 'sandbox' as const }
  const token = url.split('/').at(-1)
  const received = await receiveNotice(parts, owner, 'mpesa', { body, headers: {}, token })
  assert.ok(received.kind === 'kept')
  const { notice } = received
  const isDue = async () =>
    (
      await database.row<{ due: boolean }>(sql`
        select r.due_at <= now() as due from refunds r join payments p on p.id = r.payment_id
         where p.reference = ${one.reference}`)
    )?.due
  const processed = await database.transaction(async (tx) => {
    await tx.rows(sql`select id from notices where place = ${notice.place} and id = ${notice.id} for update`)
    const work = processNotice(parts, notice)
    await lockAwaited(database)
    assert.equal(await isDue(), false)
    return { work }
  })
  await processed.work
  await sendDueRefunds(parts, 100)
  const [{ status }] = await eventually(
    () => refundsOf(one.reference),
    ([refund]) => refund.status !== 'pending',
  )
  assert.equal(status, 'successful')
})

async function set(changes: object): Promise<void> {
  const body = { settings: { ...KEYS, ...changes }, baseURL: fake.upstream.url }
  assert.equal((await shop.call('PUT', '/payments/v1/integrations/mpesa', body)).status, 200)
}

test('a check of an earlier payment uses the new settings of the same short code, then the old ones', async () => {
  const { reference, order } = await prompted()
  const passkey = 'f'.repeat(64)
  await set({ passkey })
  await fake.customer.approve?.(order)
  const before = fake.asked.length
  await place.pump()
  await becomes(place, reference, 'successful')
  await set({})
  const passwords = fake.asked
    .slice(before)
    .filter(({ path }) => path.includes('stkpushquery'))
    .map(({ body }) => Buffer.from(JSON.parse(body).Password, 'base64').toString())
  const areNew = passwords.map((password) => password.includes(passkey))
  assert.deepEqual([areNew[0], areNew.includes(false)], [true, true])
})

test('a refund of an earlier payment uses the new settings of the same short code', async () => {
  const one = await paid()
  const credential = `${'N'.repeat(60)}==`
  await set({ securityCredential: credential })
  assert.equal((await ask(one.reference)).status, 201)
  const last = () => fake.asked.findLast(({ path }) => path.includes('reversal')) ?? assert.fail()
  assert.equal(JSON.parse(last().body).SecurityCredential, credential)
  await set({})
  // Another account is not asked about this one.
  const other = await paid()
  await set({ shortCode: '600610', securityCredential: credential })
  assert.equal((await ask(other.reference)).status, 201)
  const { SecurityCredential, ReceiverParty } = JSON.parse(last().body)
  assert.deepEqual([SecurityCredential, ReceiverParty], [KEYS.securityCredential, KEYS.shortCode])
  await set({})
})

test('a reversal that is taken back after it was booked is a case', async () => {
  const one = await paid()
  assert.equal((await ask(one.reference)).status, 201)
  await place.pump()
  await eventually(
    () => refundsOf(one.reference),
    ([{ status }]) => status === 'successful',
  )
  const reversal = fake.reversals.at(-1) ?? assert.fail()
  await send(reversal.url, resultOf({ ...reversal, code: '1', says: 'The balance is insufficient.' }))
  const [open] = await eventually(
    () => openCasesOf(one.payment),
    ({ length }) => length === 1,
  )
  assert.equal(open.reason, 'refund_mismatch')
  assert.match(open.summary, /on record as made.*not enough money/)
  const [{ status }] = await refundsOf(one.reference)
  assert.equal(status, 'successful')
  await assertAudited(database, one.payment)
})

test('a refund that a person ends while the worker books it is a case', async () => {
  const one = await paid()
  const { id } = (await ask(one.reference)).body.data
  const [{ url = '', body } = assert.fail()] = fake.takeNotices()
  await letPass(database, one.payment, DAY + 60)
  await sendDueRefunds(parts, 100)
  const owner = { merchantId: shop.merchantId as MerchantId, mode: 'sandbox' as const }
  const received = await receiveNotice(parts, owner, 'mpesa', { body, headers: {}, token: url.split('/').at(-1) })
  assert.ok(received.kind === 'kept')
  const attempt = uuidOf(one.payment.attempts[0].id)
  await database.rows(sql`update notices set state = 'done', attempt_id = ${attempt} where id = ${received.notice.id}`)
  const payment = uuidOf(one.payment.id)
  const work = await database.transaction(async (tx) => {
    await tx.rows(sql`select id from payments where id = ${payment} for update`)
    const end = shop.call('POST', `/payments/v1/refunds/${id}/end`, { note: 'Not in the portal.' })
    await lockAwaited(database)
    await database.rows(sql`update refunds set due_at = now() where payment_id = ${payment}`)
    const sent = sendDueRefunds(parts, 100)
    await eventually(
      () =>
        database.rows(
          sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        ),
      ({ length }) => length === 2,
    )
    return { end, sent }
  })
  assert.equal((await work.end).status, 200)
  await work.sent
  const [{ status }] = await refundsOf(one.reference)
  assert.equal(status, 'failed')
  const reasons = (await openCasesOf(one.payment)).map(({ reason }) => reason)
  assert.ok(reasons.includes('refund_mismatch'), reasons.join())
})

test('a start whose answer was lost, and that a person ended, does not come back as unanswered', async () => {
  const { reference } = await place.checkout()
  fake.upstream.trouble = ({ path }) => (path.includes('stkpush/') ? 'reset after the work' : undefined)
  await place.initialize({ provider: 'mpesa-mobile-money', reference, network: 'mpesa', phoneNumber: '0712345678' })
  fake.upstream.trouble = undefined
  const payment = await place.payment(reference)
  await letPass(database, payment, 3_700)
  await checkDueAttempts(parts, 100)
  const [open] = await openCasesOf(payment)
  assert.match(open.summary, /start was lost/)
  const { attempts } = await place.payment(reference)
  const [{ id }] = attempts
  await endAttempt(parts, { actor: 'test', note: 'Not in the portal.' }, { id, paymentId: payment.id })
  for (let week = 0; week < 3; week++) {
    await letPass(database, payment, 8 * DAY)
    await checkDueAttempts(parts, 100)
  }
  assert.deepEqual(await openCasesOf(payment), [])
})

test('no id of M-PESA keeps the number of a customer who is erased', async () => {
  const one = await paid()
  const lost = await prompted()
  const { id } = await place.payment(lost.reference)
  const digits = '712345678'
  const { checkoutId } = fake.find(one.order)
  assert.ok(checkoutId.includes(digits))
  const rows = async () => {
    const of = [one.payment.id, id].map((each) => uuidOf(each))
    return JSON.stringify([
      await database.rows(sql`select * from attempts where payment_id = any(${of}::uuid[])`),
      await database.rows(sql`select * from receipts where payment_id = any(${of}::uuid[])`),
      await database.rows(sql`select * from events where payment_id = any(${of}::uuid[])`),
      await database.rows(
        sql`select reading, note from notices where attempt_id in (select id from attempts where payment_id = any(${of}::uuid[]))`,
      ),
      await database.rows(
        sql`select detail from provider_calls where attempt_id in (select id from attempts where payment_id = any(${of}::uuid[]))`,
      ),
    ])
  }
  assert.ok((await rows()).includes(checkoutId))
  await eraseCustomer(
    { database },
    'test',
    { place: shop.place, merchantId: shop.merchantId as MerchantId, mode: 'sandbox' },
    'ada@example.com',
  )
  assert.ok(!(await rows()).includes(digits))
  await assertAudited(database, one.payment)
})
