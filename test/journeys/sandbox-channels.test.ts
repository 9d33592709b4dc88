import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { guessNetwork } from '../../src/kernel/mobile-networks.ts'
import { capabilities } from '../../src/providers/gateway/capabilities.ts'
import { startPaying } from '../support/paying.ts'
import { assertAudited, type Json } from '../support/payment-records.ts'
import { becomes, isPaid, ledger } from '../support/sandbox-payments.ts'

// Every outcome of the sandbox, as a shop sees it: docs/sandbox.md.

const service = await startPaying({ worker: true, inOneProcess: true })
const { database } = service
const shop = await service.addShop()

const GHANA = { provider: 'gateway-mobile-money', amount: 12_000, currency: 'GHS', country: 'GH' }
let orders = 0

async function start(changes: object): Promise<{ payment: Json; order: string; data: Json }> {
  const reference = `SANDBOX-${++orders}`
  const { status, body } = await shop.initialize({ ...GHANA, reference, ...changes })
  assert.equal(status, 200, JSON.stringify(body))
  const payment = await shop.payment(reference)
  return { payment, order: payment.attempts[0].providerReference, data: body.data.data }
}

const answer = (order: string, what: string) => shop.call('POST', `/sandbox/gateway/prompts/${order}`, { answer: what })

/** What the customer does by themselves at a time, they do now. */
function timeComes(order: string): Promise<unknown> {
  return database.rows(sql`
    update gateway_payments set expires_at = least(expires_at, clock_timestamp()), decides_at = clock_timestamp()
     where reference = ${order} and decides_at is not null`)
}

const hasFailed = ({ attempts }: Json) => attempts[0].status === 'failed'

async function assertAgrees(payment: Json, order: string): Promise<void> {
  const theirs = await ledger(shop, order)
  assert.equal(payment.attempts[0].amountReceived, theirs.amount)
  await assertAudited(database, payment)
}

for (const ends of ['789', '139', '149']) {
  test(`a number that ends in ${ends} pays, once`, async () => {
    const { payment, order } = await start({ phoneNumber: `0551234${ends}` })
    await timeComes(order)
    const paid = await becomes(shop, payment, isPaid)
    assert.deepEqual([paid.amountPaid, paid.attempts.length], [12_000, 1])
    await assertAgrees(paid, order)
  })
}

for (const [ends, code] of [
  ['049', 'insufficient_funds'],
  ['039', 'customer_cancelled'],
  ['069', 'prompt_expired'],
  ['000', 'prompt_expired'],
]) {
  test(`a number that ends in ${ends} fails with ${code}`, async () => {
    const { payment, order } = await start({ phoneNumber: `0551234${ends}` })
    await timeComes(order)
    const failed = await becomes(shop, payment, hasFailed)
    assert.deepEqual([failed.status, failed.attempts[0].failure.code], ['pending', code])
    await assertAgrees(failed, order)
  })
}

test('a number that ends in 029 is unknown at once', async () => {
  const { status, body } = await shop.initialize({ ...GHANA, phoneNumber: '0551234029', reference: 'UNKNOWN' })
  assert.notEqual(status, 200, JSON.stringify(body))
  const { attempts } = await shop.payment('UNKNOWN')
  assert.equal(attempts[0].failure.code, 'subscriber_unknown')
})

test('a number that ends in 129 is open until somebody approves, long after its time', async () => {
  const { payment, order } = await start({ phoneNumber: '0551234129' })
  assert.equal((await answer(order, 'expire')).body.data.status, 'pending')
  await answer(order, 'approve')
  await assertAgrees(await becomes(shop, payment, isPaid), order)
})

test('a number that ends in 059 wants a code: an OTP, a voucher with Telecel; the third wrong one fails', async () => {
  const give = (payment: Json, code: object) =>
    shop.call('POST', `/payments/v1/payments/${payment.reference}/input`, code)
  const { payment, data, order } = await start({ phoneNumber: '0551234059' })
  assert.equal(data.input.kind, 'otp')
  assert.deepEqual((await give(payment, { otp: '000000' })).body.code, 'input_refused')
  assert.equal((await give(payment, { otp: '123456' })).status, 200)
  await assertAgrees(await becomes(shop, payment, isPaid), order)

  const other = await start({ phoneNumber: '0201234059' })
  assert.equal(other.data.input.kind, 'voucher')
  for (let tries = 0; tries < 3; tries++) await give(other.payment, { voucher: '000000' })
  const failed = await becomes(shop, other.payment, hasFailed)
  assert.equal(failed.attempts[0].failure.code, 'incorrect_otp')
})

test('a prompt that was approved after it had failed is paid', async () => {
  const { payment, order } = await start({ phoneNumber: '0551234000' })
  await answer(order, 'expire')
  await becomes(shop, payment, hasFailed)
  await answer(order, 'approve')
  await assertAgrees(await becomes(shop, payment, isPaid), order)
})

test('two prompts that are both approved: one pays, and the other is due to go back', async () => {
  const first = await start({ phoneNumber: '0551234129' })
  const { body } = await shop.initialize({ ...GHANA, reference: first.payment.reference, phoneNumber: '0551230129' })
  assert.notEqual(body.data.reference, first.payment.attempts[0].reference)
  const { attempts } = await shop.payment(first.payment.reference)
  for (const { providerReference } of attempts) assert.equal((await answer(providerReference, 'approve')).status, 200)
  const settled = await becomes(shop, first.payment, ({ attempts }) =>
    attempts.every(({ status }: Json) => status === 'successful' || status === 'surplus'),
  )
  assert.deepEqual(settled.attempts.map(({ status }: Json) => status).sort(), ['successful', 'surplus'])
  assert.deepEqual(
    settled.refunds.map(({ kind, amount }: Json) => [kind, amount]),
    [['surplus', 12_000]],
  )
  await assertAudited(database, settled)
})

test('USSD, bank and QR wait for the customer, in naira as elsewhere', async () => {
  const naira = { currency: 'NGN', country: 'NG' }
  for (const [channel, input, what] of [
    ['ussd', { bank: '058' }, 'code'],
    ['bank', { bank: '058' }, 'link'],
    ['qr', {}, 'qr'],
  ] as const) {
    const { payment, order, data } = await start({ provider: `gateway-${channel}`, ...naira, ...input })
    assert.ok(data[what], channel)
    await answer(order, 'approve')
    await assertAgrees(await becomes(shop, payment, isPaid), order)
    const other = await start({ provider: `gateway-${channel}`, ...naira, ...input })
    await answer(other.order, 'refuse')
    const refused = await becomes(shop, other.payment, hasFailed)
    assert.equal(refused.attempts[0].failure.code, 'customer_cancelled', channel)
  }
})

const NUMBERS: Record<string, string> = {
  GH: '0551234000',
  KE: '0712345000',
  UG: '0771234000',
  RW: '0781234000',
  ZM: '0961234000',
  TZ: '0741234000',
  CI: '0701234000',
  SN: '771234000',
}

test('mobile money is offered in each of its countries, with a number and each network of the country', async () => {
  for (const [currency, { networks = {} }] of Object.entries(capabilities.offers['mobile-money'])) {
    for (const [country, names] of Object.entries(networks)) {
      const phoneNumber = NUMBERS[country] ?? assert.fail(`a number in ${country}`)
      assert.ok(guessNetwork(country, phoneNumber.replace(/^0(?!7012)/, '')), country)
      for (const network of names) {
        const { payment, order } = await start({ currency, country, network, phoneNumber })
        await answer(order, 'approve')
        assert.equal((await becomes(shop, payment, isPaid)).attempts[0].paidFrom.network, network)
      }
    }
  }
})
