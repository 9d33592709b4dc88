import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import type { MerchantId } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { processNotice, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
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
  assert.deepEqual(
    passwords.slice(0, 2).map((password) => password.includes(passkey)),
    [true, false],
  )
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
