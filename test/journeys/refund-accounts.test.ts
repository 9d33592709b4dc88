import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { newId } from '../../src/kernel/ids.ts'
import { fakeMonnify, startFakeMonnify } from '../fakes/monnify/fake.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { browserAs } from '../support/dashboard.ts'
import { eventually } from '../support/paying.ts'
import { letPass } from '../support/payment-records.ts'
import { becomes, openTheirs, payByCard } from '../support/provider-journey.ts'
import { type At, startProviderWorld } from '../support/provider-world.ts'

const world = await startProviderWorld()
const { database } = world
const monnify = await world.addProvider(startFakeMonnify)
const paystack = await world.addProvider(startFakePaystack)

const ACCOUNT = { destinationAccountNumber: '0690000031', destinationAccountBankCode: '058' }

/** A payment by transfer to an account of the provider. */
async function payByTransfer(place: At): Promise<string> {
  const { reference } = await place.checkout()
  const provider = `${place.name}-virtual-bank-account`
  assert.equal((await place.initialize({ provider, reference })).status, 200)
  const { amountToTransfer } = (await place.payment(reference)).attempts[0].instructions
  await place.fake.customer.transfer?.(await place.orderOf(reference), amountToTransfer)
  await place.pump()
  await becomes(place, reference, 'successful')
  return reference
}

const refund = (place: At, reference: string, body: object) =>
  place.shop.call('POST', `/payments/v1/payments/${reference}/refunds`, body)

/** Who sent a refund, and where to. */
const actsOf = (refundId: string) =>
  database.rows<{ act: string; subject: string }>(sql`
    select act, subject from audit_log where place >= 0 and subject like ${`${refundId}%`} order by id`)

/**
 * The account number is in no row as text, in no event and in no webhook; sealed only while the provider may need it.
 */
async function assertForgotten(): Promise<void> {
  const kept = await database.rows(sql`select id from refunds where place >= 0 and sealed_account is not null`)
  assert.deepEqual(kept, [])
  const told = await database.rows(
    sql`select id from events where place >= 0 and (data::text like '%0690000031%' or body like '%0690000031%')`,
  )
  assert.deepEqual(told, [])
  assert.ok(!world.listener.heard.some(({ body }) => body.includes(ACCOUNT.destinationAccountNumber)))
}

test('a refund of a transfer asks for the customer’s account before the provider is called, and sends it', async () => {
  assert.ok(fakeMonnify.provider.capabilities.refundNeedsAccount?.includes('virtual-bank-account'))
  const reference = await payByTransfer(monnify)
  const before = monnify.fake.asked.length
  const missing = await refund(monnify, reference, {})
  assert.deepEqual([missing.status, missing.body.code], [422, 'refund_account_required'])
  assert.match(missing.body.detail, /destinationAccountNumber and destinationAccountBankCode/)
  const half = await refund(monnify, reference, { destinationAccountNumber: '0690000031' })
  assert.deepEqual([half.status, half.body.code], [400, 'invalid_request'])
  const spaced = await refund(monnify, reference, { ...ACCOUNT, destinationAccountNumber: '069 000 0031' })
  assert.match(spaced.body.errors[0].message, /destinationAccountNumber must be 4 to 34 letters and digits/)
  assert.equal(monnify.fake.asked.length, before)
  assert.deepEqual((await monnify.payment(reference)).refunds, [])

  const asked = await monnify.shop.call('GET', `/payments/v1/payments/${reference}/refund-account`)
  assert.deepEqual(asked.body.data, {
    needed: true,
    provider: 'monnify',
    banks: [
      { code: '044', name: 'Access bank' },
      { code: '058', name: 'GTBank' },
      { code: '076', name: 'Polaris bank' },
    ],
  })
  const made = await refund(monnify, reference, ACCOUNT)
  assert.deepEqual([made.status, made.body.data.status], [201, 'successful'])
  const sent = JSON.parse(monnify.fake.asked.findLast(({ path }) => path.endsWith('initiate-refund'))?.body ?? '')
  assert.deepEqual({ ...sent, ...ACCOUNT }, sent)
  const subject = `${made.body.data.id} to bank 058, account …0031`
  assert.deepEqual(await actsOf(made.body.data.id), [{ act: 'refund.asked_for', subject }])
  await assertForgotten()
})

test('a refund of a card needs no account, and refuses one that the provider would not use', async () => {
  const reference = await payByCard(monnify)
  const answer = await refund(monnify, reference, ACCOUNT)
  assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'])
  const asked = await monnify.shop.call('GET', `/payments/v1/payments/${reference}/refund-account`)
  assert.deepEqual(asked.body.data, { needed: false, provider: 'monnify', banks: [] })
  assert.equal((await refund(monnify, reference, {})).status, 201)
})

test('a refund that needs attention says so, and goes on with the customer’s account', async () => {
  const { fake, shop } = paystack
  fake.behaviour.refundsNeedAttention = true
  const reference = await payByTransfer(paystack)
  const made = await refund(paystack, reference, {})
  assert.deepEqual([made.status, made.body.data.status], [201, 'pending'])
  assert.match(made.body.data.needsReview, /^refund_needs_account: /)
  await paystack.hears(reference, ['payment.successful', 'refund.needs_review'])
  const asked = await shop.call('GET', `/payments/v1/payments/${reference}/refund-account`)
  assert.deepEqual(asked.body.data.banks.length, 3)

  const { id } = made.body.data
  const retry = (body: object, by = shop) => by.call('POST', `/payments/v1/refunds/${id}/retry`, body)
  assert.equal((await retry(ACCOUNT, monnify.shop)).status, 404, 'another merchant')
  assert.equal((await retry({ destinationAccountNumber: '0690000031' })).status, 400)
  for (const [wrong, because] of [
    [{ ...ACCOUNT, destinationAccountBankCode: '999' }, /no bank with the code/],
    [{ ...ACCOUNT, destinationAccountNumber: '0000000009' }, /refused the bank account/],
  ] as const) {
    const { status, body } = await retry(wrong)
    assert.deepEqual([status, body.data.status], [200, 'pending'])
    assert.match(body.data.needsReview, because)
  }
  const taken = await retry(ACCOUNT)
  assert.deepEqual([taken.status, taken.body.data.needsReview], [200, null])
  assert.equal(fake.refunds.length, 1, 'the same refund')
  assert.deepEqual(await actsOf(id), [
    { act: 'refund.asked_for', subject: id },
    { act: 'refund.retried', subject: `${id} to bank 999, account …0031` },
    { act: 'refund.retried', subject: `${id} to bank 058, account …0009` },
    { act: 'refund.retried', subject: `${id} to bank 058, account …0031` },
  ])
  await assertForgotten()
  const again = await retry(ACCOUNT)
  assert.deepEqual([again.status, again.body.code], [409, 'refund_needs_no_account'])
  await paystack.pump()
  await eventually(
    () => paystack.payment(reference),
    ({ refunds }) => refunds[0].status === 'successful',
  )
  fake.behaviour.refundsNeedAttention = false
})

test('an account that was given is sent by the worker if the process dies before the provider is called', async () => {
  const { fake, shop } = paystack
  fake.behaviour.refundsNeedAttention = true
  const reference = await payByTransfer(paystack)
  const { id } = (await refund(paystack, reference, {})).body.data
  fake.upstream.trouble = 'reset before the work'
  const { status, body } = await shop.call('POST', `/payments/v1/refunds/${id}/retry`, ACCOUNT)
  assert.deepEqual([status, body.data.status], [200, 'pending'])
  assert.match(body.data.needsReview, /^refund_needs_account: /)
  fake.upstream.trouble = undefined
  await database.rows(sql`update refunds set due_at = now() where place = ${shop.place} and status = 'pending'`)
  await eventually(
    async () => fake.refunds.at(-1)?.status,
    (now) => now === 'processing' || now === 'processed',
  )
  await eventually(
    () => paystack.payment(reference),
    ({ refunds }) => refunds[0].needsReview === null,
  )
  await assertForgotten()
})

test('an account that comes while another one is refused is sent next, and why one was refused stays', async () => {
  const { fake, shop } = paystack
  const reference = await payByTransfer(paystack)
  const { id } = (await refund(paystack, reference, {})).body.data
  const retry = (body: object) => shop.call('POST', `/payments/v1/refunds/${id}/retry`, body)
  const wrong = { ...ACCOUNT, destinationAccountNumber: '0000000009' }
  const due = () =>
    database.rows(sql`update refunds set due_at = now() where place = ${shop.place} and status = 'pending'`)
  const triesOf = async () => {
    const rows = await database.rows<{ tries: number }>(
      sql`select tries from refunds where place = ${shop.place} order by id desc limit 1`,
    )
    return rows[0]?.tries ?? 0
  }

  assert.match((await retry(wrong)).body.data.needsReview, /refused the bank account/)
  const before = await triesOf()
  await due()
  await eventually(triesOf, (tries) => tries > before)
  const [polled] = (await paystack.payment(reference)).refunds
  assert.match(polled.needsReview, /refused the bank account/)
  await paystack.hears(reference, ['payment.successful', 'refund.needs_review', 'refund.needs_review'])

  let second: ReturnType<typeof retry> | undefined
  fake.upstream.trouble = ({ path }) => {
    if (path.startsWith('/refund?')) second ??= retry(ACCOUNT)
    return undefined
  }
  await retry(wrong)
  fake.upstream.trouble = undefined
  assert.equal((await second)?.status, 200)
  await eventually(
    () => paystack.payment(reference),
    ({ refunds }) => refunds[0].needsReview === null,
  )
  await assertForgotten()
})

test('a return of surplus asks for the account that its own attempt needs, not the one that paid', async () => {
  const { shop, fake, orderOf, payment, pump } = monnify
  const { reference, url } = await monnify.checkout()
  assert.equal((await monnify.initialize({ provider: 'monnify-virtual-bank-account', reference })).status, 200)
  const order = await orderOf(reference)
  const { amountToTransfer } = (await payment(reference)).attempts[0].instructions
  await openTheirs(monnify, `${url}?method=card`)
  await fake.customer.payByCard(await orderOf(reference), { save: false })
  await pump()
  await becomes(monnify, reference, 'successful')
  await fake.customer.transfer?.(order, amountToTransfer)
  await pump()
  await eventually(
    () => payment(reference),
    ({ attempts }) => attempts[0].amountReceived === amountToTransfer,
  )

  const [surplus, paid] = (await payment(reference)).attempts
  const ask = async (query: string) => {
    const path = `/payments/v1/payments/${reference}/refund-account${query}`
    const { status, body } = await shop.call('GET', path)
    return [status, body.data?.needed ?? body.code, body.data?.banks.length]
  }
  assert.deepEqual(await ask(''), [200, false, 0])
  assert.deepEqual(await ask(`?attempt=${paid.id}`), [200, false, 0])
  assert.deepEqual(await ask(`?attempt=${surplus.id}`), [200, true, 3])
  assert.deepEqual(await ask(`?attempt=${newId('attempt', new Date(), shop.place)}`), [404, 'not_found', undefined])
})

test('who names the account of automatic surplus is limited by its amount, and it adds up with other refunds', async () => {
  const { shop, fake, orderOf, payment, pump } = paystack
  fake.behaviour.refundsNeedAttention = true
  const { reference, url } = await paystack.checkout()
  assert.equal((await paystack.initialize({ provider: 'paystack-virtual-bank-account', reference })).status, 200)
  const order = await orderOf(reference)
  const { amountToTransfer } = (await payment(reference)).attempts[0].instructions
  await openTheirs(paystack, `${url}?method=card`)
  await fake.customer.payByCard(await orderOf(reference), { save: false })
  await pump()
  await becomes(paystack, reference, 'successful')
  await fake.customer.transfer?.(order, amountToTransfer)
  await pump()
  // Surplus is sent when the provider has named it again, a minute later.
  await eventually(
    () => payment(reference),
    (now) => now.refunds.length === 1,
  )
  await letPass(world.database, await payment(reference), 61)
  const { refunds } = await eventually(
    () => payment(reference),
    (now) => now.refunds[0]?.needsReview?.startsWith('refund_needs_account'),
  )
  const [{ id, kind, amount }] = refunds
  assert.deepEqual([kind, amount], ['surplus', amountToTransfer])

  const support = await browserAs(world, 'support', shop.merchantId)
  const base = `/merchants/${shop.merchantId}/sandbox`
  const retry = () => support.call('POST', `${base}/refunds/${id}/retry`, ACCOUNT)
  const refundOf = (more: number) => support.call('POST', `${base}/payments/${reference}/refunds`, { amount: more })
  const limit = (to: number) =>
    database.rows(sql`update merchants set refund_limit = ${to} where id = ${shop.merchantUuid}`)
  await limit(amount - 1)
  assert.equal((await retry()).status, 403)
  await limit(amount + 100)
  const { status, body } = await retry()
  assert.deepEqual([status, body.data.needsReview], [200, null])
  assert.equal((await refundOf(101)).status, 403)
  assert.equal((await refundOf(100)).status, 201)
  await limit(5_000_000)
  fake.behaviour.refundsNeedAttention = false
})

test('a list of banks that fails does not make the provider unhealthy', async () => {
  const { shop, fake } = monnify
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
  const reference = await payByTransfer(monnify)
  let asked = 0
  fake.upstream.trouble = ({ path }) => {
    if (!path.includes('/banks')) return undefined
    asked++
    return 'reset before the work'
  }
  for (let times = 0; times < 5; times++) {
    const { status, body } = await shop.call('GET', `/payments/v1/payments/${reference}/refund-account`)
    assert.deepEqual([status, body.data.banks], [200, []])
  }
  fake.upstream.trouble = undefined
  assert.ok(asked >= 3)
  assert.equal(world.parts.providers.isHealthy(owner, 'monnify'), true)
})
