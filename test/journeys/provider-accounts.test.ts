import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { expireRetiredKeys } from '../../src/payments/upkeep/expire-retired-keys.ts'
import type { Providers } from '../../src/providers/provider.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { type FakePaystack, startFakePaystack } from '../fakes/paystack/fake.ts'
import { startById } from '../support/by-id.ts'
import { openCases } from '../support/cases.ts'
import { eventually, request, type Shop } from '../support/paying.ts'
import { becomes } from '../support/provider-journey.ts'
import { type At, at, newEmail, noticeUrl, startProviderWorld } from '../support/provider-world.ts'

const world = await startProviderWorld()
const { database, parts } = world
const PAYSTACK = '/payments/v1/integrations/paystack'
const newSecretKey = () => `sk_test_${randomBytes(20).toString('hex')}`

/** Two accounts of one merchant at one provider: the first is set up, the second is what the merchant changes to. */
async function twoAccounts(): Promise<{ shop: Shop; first: At<FakePaystack>; second: At<FakePaystack> }> {
  const shop = await world.addShop('Adaeze Kitchen', { bare: true })
  const [first, second] = await Promise.all([
    startFakePaystack({ after }, { secretKey: newSecretKey() }),
    startFakePaystack({ after }, { secretKey: newSecretKey() }),
  ])
  await setKeys(shop, first)
  return { shop, first: at(world, shop, first), second: at(world, shop, second) }
}

async function setKeys(shop: Shop, { settings, upstream, keys }: FakePaystack): Promise<void> {
  const body = { settings: { ...settings, secretKey: keys.secretKey }, baseURL: upstream.url }
  const { status, body: answer } = await shop.call('PUT', PAYSTACK, body)
  assert.equal(status, 200, JSON.stringify(answer))
}

/** A payment with a link at the provider that is set up now. */
async function start({ initialize, payment, orderOf }: At<FakePaystack>, changes: Record<string, unknown> = {}) {
  const { status, body } = await initialize(changes)
  assert.equal(status, 200, JSON.stringify(body))
  const { id, reference } = await payment(body.data.reference)
  return { id: id as PaymentId, reference: reference as string, order: await orderOf(reference) }
}

/** The worker's check of the payment's only attempt. */
async function check(id: PaymentId): Promise<void> {
  const [attempt] = (await findPaymentStateById(database, id))?.attempts ?? []
  assert.ok(attempt)
  await checkAttempt(parts, attempt, { source: 'check' })
}

const accountsOf = (shop: Shop) =>
  database.rows<{ version: number; retired: boolean; kept: boolean }>(sql`
    select version, retired_at is not null as retired, sealed_settings is not null as kept from provider_accounts
     where merchant_id = ${uuidOf(shop.merchantId)} order by version`)

const asksAbout = ({ fake }: At<FakePaystack>, order: string) =>
  fake.asked.filter(({ path, body }) => path.includes(order) || body.includes(order)).length

test('after the keys changed, a check of an open payment asks the old account and finds the money', async () => {
  const { shop, first, second } = await twoAccounts()
  const open = await start(first)
  await setKeys(shop, second.fake)
  await check(open.id)
  const [unpaid] = (await first.payment(open.reference)).attempts
  assert.deepEqual([unpaid.status, unpaid.failure], ['pending', null])

  await first.fake.customer.payByCard(open.order, { save: false })
  await check(open.id)
  const paid = await first.payment(open.reference)
  assert.deepEqual([paid.status, paid.amountPaid], ['successful', first.amount])
  assert.equal(asksAbout(second, open.order), 0)
})

test('after the keys changed, new payments use the new account, and equal transaction ids of both accounts count', async () => {
  const { shop, first, second } = await twoAccounts()
  const old = await start(first)
  await setKeys(shop, second.fake)
  const fresh = await start(second)
  assert.deepEqual([first.fake.ordersMade(), second.fake.ordersMade()], [1, 1])
  await first.fake.customer.payByCard(old.order, { save: false })
  await second.fake.customer.payByCard(fresh.order, { save: false })
  await first.pump()
  await second.pump()
  await becomes(first, old.reference, 'successful')
  await becomes(second, fresh.reference, 'successful')
  const ids = [first, second].map(({ fake }) => fake.ledger().taken.map(({ id }) => id))
  assert.deepEqual(ids[0], ids[1], 'the fakes number their transactions alike')
})

test('a notice that is signed with the old key is accepted, and a forged one is not', async () => {
  const { shop, first, second } = await twoAccounts()
  const open = await start(first)
  await setKeys(shop, second.fake)
  await first.fake.customer.payByCard(open.order, { save: false })
  const [notice] = first.fake.takeNotices()
  assert.ok(notice)
  const url = noticeUrl(world, shop, 'paystack')
  const forged = { 'x-paystack-signature': '0'.repeat(128) }
  assert.equal((await request(url, 'POST', forged, notice.body.toString())).status, 401)
  assert.equal((await request(url, 'POST', notice.headers, notice.body.toString())).status, 200)
  await becomes(first, open.reference, 'successful')
  assert.equal(asksAbout(second, open.order), 0)
  const [kept] = await database.rows(sql`
    select account, says from notices where merchant_id = ${uuidOf(shop.merchantId)}`)
  assert.deepEqual(kept, { account: 1, says: 'paid' })
})

test('a refund after the keys changed goes to the account that took the money', async () => {
  const { shop, first, second } = await twoAccounts()
  const { reference, order } = await start(first)
  await first.fake.customer.payByCard(order, { save: false })
  await first.pump()
  await becomes(first, reference, 'successful')
  await setKeys(shop, second.fake)
  const { status } = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { amount: 1_000 })
  assert.equal(status, 201)
  assert.deepEqual([first.fake.refundsMade(), second.fake.refundsMade()], [1, 0])
})

test('an integration that was removed and set up with other keys finishes what the first keys began', async () => {
  const { shop, first, second } = await twoAccounts()
  const { reference, order } = await start(first)
  assert.equal((await shop.call('DELETE', PAYSTACK)).status, 200)
  await first.fake.customer.payByCard(order, { save: false })
  await setKeys(shop, second.fake)
  await first.pump()
  await becomes(first, reference, 'successful')
  await start(second)
  assert.equal(second.fake.ordersMade(), 1)
})

test('a provider that rotated the keys of the same account is asked with the new ones', async () => {
  const { shop, first } = await twoAccounts()
  const { fake } = first
  const open = await start(first)
  const lost = await start(first)
  fake.keys.secretKey = newSecretKey()
  await setKeys(shop, fake)
  // Signed with the new key, about an order of the old one.
  await fake.customer.payByCard(open.order, { save: false })
  await first.pump()
  await becomes(first, open.reference, 'successful')
  // No notice at all.
  await fake.customer.payByCard(lost.order, { save: false })
  fake.takeNotices()
  await check(lost.id)
  assert.equal((await first.payment(lost.reference)).status, 'successful')
  const refund = await shop.call('POST', `/payments/v1/payments/${open.reference}/refunds`, { amount: 1_000 })
  assert.deepEqual([refund.status, fake.refundsMade()], [201, 1])
  assert.notEqual(refund.body.data.status, 'failed')
})

test('keys that the provider refuses say nothing about their orders when the new keys do not know them', async () => {
  const { shop, first, second } = await twoAccounts()
  const open = await start(first)
  await setKeys(shop, second.fake)
  first.fake.keys.secretKey = newSecretKey()
  await check(open.id)
  assert.equal(asksAbout(second, open.order), 1)
  const { status, attempts } = await first.payment(open.reference)
  assert.deepEqual([status, attempts[0].status, attempts[0].failure], ['pending', 'pending', null])
})

test('other keys or another address are another account; a new priority is not, and earlier keys are the earlier one', async () => {
  const { shop, first, second } = await twoAccounts()
  await shop.call('PUT', PAYSTACK, { priority: 3, channels: ['card'] })
  await setKeys(shop, first.fake)
  const one = { version: 1, retired: false, kept: true }
  assert.deepEqual(await accountsOf(shop), [one])
  await setKeys(shop, second.fake)
  assert.deepEqual(await accountsOf(shop), [
    { ...one, retired: true },
    { ...one, version: 2 },
  ])
  await setKeys(shop, first.fake)
  assert.deepEqual(await accountsOf(shop), [one, { version: 2, retired: true, kept: true }])
})

test('an attempt that was written with the old keys is called with them, although they change before the call', async () => {
  const { shop, first, second } = await twoAccounts()
  const { id } = await first.checkout()
  const connect: Providers['connect'] = async (...of) => {
    await setKeys(shop, second.fake)
    return parts.providers.connect(...of)
  }
  const changing: PaymentDeps = { ...parts, providers: { ...parts.providers, connect } }
  const { capabilities } = first.fake.provider
  const { attempt } = await startById(changing, id, { capabilities, channel: 'card' })
  assert.equal(attempt.keysVersion, 1)
  assert.deepEqual([first.fake.ordersMade(), second.fake.ordersMade()], [1, 0])
})

test('a card that was saved with the old keys is neither offered nor charged with the new ones', async () => {
  const { shop, first, second } = await twoAccounts()
  const user = { email: newEmail() }
  await first.plantCard(user, 'AUTH_paying')
  const kindOf = async (reference: string) => {
    const [row] = await database.rows<{ kind: string }>(sql`
      select a.instructions->>'kind' as kind from attempts a join payments p on p.id = a.payment_id
       where p.merchant_id = ${uuidOf(shop.merchantId)} and p.reference = ${reference}`)
    return row?.kind
  }
  const before = await start(first, { user })
  assert.equal(await kindOf(before.reference), 'confirm', 'the saved card is offered')
  await setKeys(shop, second.fake)
  const after = await start(second, { user })
  assert.equal(await kindOf(after.reference), 'link', 'a new card is asked for')
  await setKeys(shop, first.fake)
  const again = await start(first, { user })
  assert.equal(await kindOf(again.reference), 'confirm', 'it works again with its own keys')
})

test('retired keys are deleted after 180 days, with an audit entry, unless something of theirs can still change', async () => {
  const { shop, first, second } = await twoAccounts()
  const open = await start(first)
  await setKeys(shop, second.fake)
  const daysAgo = (days: number) => sql`
    update provider_accounts set retired_at = now() - ${days} * interval '1 day'
     where merchant_id = ${uuidOf(shop.merchantId)} and version = 1`
  const resolved = (days: number) => sql`
    update attempts set status = 'failed', next_check_at = null, resolved_at = now() - ${days} * interval '1 day'
     where payment_id = ${uuidOf(open.id)}`
  const isKept = async () => {
    await expireRetiredKeys(parts, 100)
    return (await accountsOf(shop))[0]?.kept
  }
  await database.rows(daysAgo(181))
  assert.equal(await isKept(), true, 'an attempt is open')
  await database.rows(resolved(179))
  assert.equal(await isKept(), true, 'an attempt ended lately')
  await database.rows(resolved(181))
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, counted, status)
    select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 100, currency, 'merchant', false, 'pending'
      from attempts where payment_id = ${uuidOf(open.id)}`)
  assert.equal(await isKept(), true, 'a refund is pending')
  const refundResolved = (days: number) => sql`
    update refunds set status = 'successful', resolved_at = now() - ${days} * interval '1 day'
     where payment_id = ${uuidOf(open.id)}`
  await database.rows(refundResolved(179))
  assert.equal(await isKept(), true, 'a refund was done lately, and can still fail')
  await database.rows(refundResolved(181))
  await openCases(database, [open.reference], 'contradiction: the provider names less.')
  assert.equal(await isKept(), true, 'a case is open')
  await database.rows(sql`delete from cases where payment_id = ${uuidOf(open.id)}`)
  await database.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, account, transaction_id, amount, currency, counted, returned, taken_at)
    select place, merchant_id, mode, provider, account, 'unmatched', 100, currency, false, 0, now()
      from attempts where payment_id = ${uuidOf(open.id)}`)
  assert.equal(await isKept(), true, 'its money is unmatched')
  await database.rows(sql`
    update receipts set returned = amount where merchant_id = ${uuidOf(shop.merchantId)} and transaction_id = 'unmatched'`)
  await database.rows(sql`
    insert into disputes (place, id, payment_id, attempt_id, merchant_id, mode, provider_dispute_id, amount, currency, status, opened_at)
    select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 'd1', 100, currency, 'open', now()
      from attempts where payment_id = ${uuidOf(open.id)}`)
  assert.equal(await isKept(), true, 'a dispute is open')
  await database.rows(sql`delete from disputes where payment_id = ${uuidOf(open.id)}`)
  await database.rows(daysAgo(179))
  assert.equal(await isKept(), true, 'retired lately')
  await database.rows(daysAgo(181))
  assert.equal(await isKept(), false)
  const acts = await database.rows(sql`
    select actor, subject from audit_log
     where merchant_id = ${uuidOf(shop.merchantId)} and act = 'provider_account.purged'`)
  assert.deepEqual(acts, [{ actor: 'worker', subject: 'sandbox paystack account 1' }])
  await setKeys(shop, first.fake)
  assert.deepEqual(
    (await accountsOf(shop)).map(({ version, kept }) => [version, kept]),
    [
      [1, false],
      [2, true],
      [3, true],
    ],
    'a version is never used again',
  )
})

test('a notice that names a transaction alone finds its order, although another account with the same secret does not know it', async () => {
  const shop = await world.addShop('Adaeze Kitchen', { bare: true })
  const [old, current] = [await startFakeFlutterwave({ after }), await startFakeFlutterwave({ after })]
  const place = at(world, shop, old)
  await world.setUp(shop, old, 100)
  const { body } = await place.initialize()
  const { reference } = await place.payment(body.data.reference)
  const order = await place.orderOf(reference)
  await old.customer.payByCard(order, { save: false })
  await place.pump()
  await becomes(place, reference, 'successful')
  await world.setUp(shop, current, 100)

  old.sendOlderNotices?.()
  await old.refundAtProvider(order, 10_000)
  await place.pump()
  const paid = await eventually(
    () => place.payment(reference),
    ({ refunds }) => refunds.length > 0,
  )
  assert.deepEqual(
    paid.refunds.map(({ kind, amount }: { kind: string; amount: number }) => [kind, amount]),
    [['provider', 10_000]],
  )
})

test('money in a notice of other keys that names an order by the provider’s reference is listed, also if the attempt changed', async () => {
  const { shop, first, second } = await twoAccounts()
  const old = await start(first)
  await setKeys(shop, second.fake)
  const fresh = await start(second)
  await second.fake.customer.payByCard(fresh.order, { save: false })
  const [taken] = second.fake.takeNotices()
  assert.ok(taken)
  // The other account has an equal reference, for an order that is not ours.
  await database.rows(sql`
    update attempts set provider_reference = 'equal' where payment_id = ${uuidOf(old.id)}`)
  const body = taken.body
    .toString()
    .replaceAll(fresh.order, 'equal')
    .replaceAll(/"id":\d+/g, '"id":987654321')
  const signature = createHmac('sha512', second.fake.keys.secretKey).update(body).digest('hex')
  // Its own account does not answer, so the attempt becomes processing.
  first.fake.upstream.trouble = () => ({ status: 500, text: '{}' })
  const headers = { ...taken.headers, 'x-paystack-signature': signature }
  assert.equal((await request(noticeUrl(world, shop, 'paystack'), 'POST', headers, body)).status, 200)
  const notice = await eventually(
    () => database.row<{ state: string; note: string }>(sql`select state, note from notices where reference = 'equal'`),
    (found) => found !== undefined && found.state !== 'waiting',
  )
  assert.deepEqual(notice, { state: 'unmatched', note: 'names an order of another account' })
  assert.equal((await first.payment(old.reference)).attempts[0].status, 'processing')
  const unmatched = await database.rows(sql`
    select from receipts where merchant_id = ${uuidOf(shop.merchantId)} and attempt_id is null`)
  assert.equal(unmatched.length, 1)
})
