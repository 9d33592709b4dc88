import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { matchTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import { KEYS, startFakeMpesa } from '../fakes/mpesa/fake.ts'
import { callbackOf, confirmationOf } from '../fakes/mpesa/wire.ts'
import { eventually, request } from '../support/paying.ts'
import { assertAudited, type Json, letPass } from '../support/payment-records.ts'
import { becomes } from '../support/provider-journey.ts'
import { startProviderWorld } from '../support/provider-world.ts'
import { newVisitor } from '../support/visitor.ts'

// A confirmation is not signed. Its receipt number is asked for, and the answer to that is another callback.

const world = await startProviderWorld()
const { database, parts } = world
const place = await world.addProvider(startFakeMpesa)
const { fake, shop } = place
const SHILLINGS = place.amount / 100
const WEEK = 7 * 86_400

interface Sale {
  reference: string
  payment: Json
  account: string
  order: string
}

async function sold(network: 'mpesa' | 'mpesa-paybill' = 'mpesa-paybill'): Promise<Sale> {
  const phoneNumber = network === 'mpesa' ? { phoneNumber: '0712345678' } : {}
  const { reference } = await place.checkout()
  const body = { provider: 'mpesa-mobile-money', network, reference, ...phoneNumber }
  const { status, body: answer } = await place.initialize(body)
  assert.equal(status, 200, JSON.stringify(answer))
  const payment = await place.payment(reference)
  return { reference, payment, account: payment.attempts[0].providerReference, order: await place.orderOf(reference) }
}

/** M-PESA tells what it has to tell, until the payment is so. */
const settles = (reference: string, isSo: (payment: Json) => boolean): Promise<Json> =>
  eventually(async () => {
    await place.pump()
    return place.payment(reference)
  }, isSo)
const isPaid = ({ status }: Json) => status === 'successful'
const openCasesOf = async ({ id }: Json): Promise<Json[]> =>
  (await shop.call('GET', `/payments/v1/cases?payment=${id}`)).body.data.filter(({ status }: Json) => status === 'open')
const asked = (receipt: string) =>
  fake.asked.filter(({ path, body }) => path.includes('transactionstatus') && body.includes(receipt)).length

/** The notices of a payment that wait for money are due now, and came so much earlier. */
async function noticesAge(account: string, seconds: number): Promise<void> {
  await database.rows(sql`
    update notices set due_at = now(), received_at = received_at - make_interval(secs => ${seconds})
     where reference = ${account} and state = 'waiting'`)
}

test('the page shows the number, the account and the amount, and what is paid in two parts adds up', async () => {
  const { url, reference } = await place.checkout()
  const customer = newVisitor()
  await customer.go(url)
  await customer.send({ action: 'pay', method: 'mobile' }, { network: 'mpesa-paybill' })
  const payment = await place.payment(reference)
  const { providerReference: account, instructions } = payment.attempts[0]
  assert.deepEqual([instructions.number, instructions.account], [KEYS.shortCode, account])
  for (const shown of [KEYS.shortCode, account, '1,200']) assert.ok(customer.text.includes(shown), shown)
  await fake.payPaybill(account, SHILLINGS - 200)
  const part = await settles(reference, ({ amountPaid }) => amountPaid > 0)
  assert.deepEqual([part.status, part.amountPaid], ['pending', place.amount - 20_000])
  await fake.payPaybill(` ${account.toLowerCase().slice(0, 6)} ${account.toLowerCase().slice(6)}`, 200)
  await settles(reference, isPaid)
  await place.hears(reference, ['payment.underpaid', 'payment.successful'])
  await assertAudited(database, payment)
})

test('a confirmation alone books nothing, and is a case after a week; the answer three weeks later is booked', async () => {
  const { reference, payment, account } = await sold()
  fake.behaviour.answersStatus = false
  const paid = (await fake.payPaybill(account, SHILLINGS)) ?? assert.fail()
  await place.pump(2)
  const waiting = await settles(reference, ({ attempts }) => attempts[0].status === 'processing')
  assert.deepEqual([waiting.status, waiting.amountPaid, asked(paid.receipt) > 0], ['pending', 0, true])
  fake.behaviour.answersStatus = true
  await noticesAge(account, WEEK)
  await letPass(database, payment, 60)
  await processWaitingNotices(parts, 100)
  const [open] = await eventually(
    () => openCasesOf(payment),
    ({ length }) => length === 1,
  )
  assert.match(open.summary, /1,200.00, and the provider has not confirmed it/)
  assert.equal((await place.payment(reference)).amountPaid, 0)
  // It was asked for once more.
  await settles(reference, isPaid)
  assert.deepEqual(await openCasesOf(payment), [])
  await assertAudited(database, payment)
})

test('a receipt number that M-PESA does not know is never money', async () => {
  const { reference, payment, account } = await sold()
  const body = confirmationOf({ receipt: 'TAH5J2K991', account, shillings: SHILLINGS, at: new Date() }, KEYS.shortCode)
  const { url = '' } = await confirmationAddress()
  assert.deepEqual((await request(url, 'POST', {}, body.toString())).body, { ResultCode: 0, ResultDesc: 'Accepted' })
  await eventually(async () => asked('TAH5J2K991'), Boolean)
  await place.pump()
  await noticesAge(account, WEEK)
  await processWaitingNotices(parts, 100)
  await eventually(
    () => openCasesOf(payment),
    ({ length }) => length === 1,
  )
  assert.equal((await place.payment(reference)).amountPaid, 0)
})

/** A confirmation that is not delivered. */
async function confirmationAddress() {
  await fake.payPaybill('NONE', 1)
  return fake.takeNotices().at(-1) ?? assert.fail()
}

test('a prompt is confirmed at the paybill, too: it is one payment, also when its own callback is lost', async () => {
  for (const isLost of [false, true]) {
    const { reference, payment, account, order } = await sold('mpesa')
    fake.takeNotices()
    await fake.customer.approve?.(order)
    const notices = fake.takeNotices()
    assert.equal(notices.length, 2)
    for (const { url = '', body } of isLost ? notices.slice(1) : notices.toReversed())
      await request(url, 'POST', {}, body.toString())
    await becomes(place, reference, 'successful')
    const { receipt, merchantId } = fake.find(order)
    await eventually(
      async () =>
        database.rows(sql`select id from notices where reference = ${account} and state in ('done', 'ignored')`),
      ({ length }) => length === 1,
    )
    const rows = await database.rows<{ transaction_id: string }>(
      sql`select transaction_id from receipts where payment_id = ${uuidOf(payment.id as PaymentId)}`,
    )
    assert.deepEqual(rows, [{ transaction_id: merchantId }])
    assert.deepEqual([(await openCasesOf(payment)).length, asked(receipt)], [0, 0])
    const story = (await shop.call('GET', `/payments/v1/payments/${reference}/timeline`)).body.data
    assert.equal(
      story.find(({ kind }: Json) => kind === 'money').detail.receiptNumber,
      receipt,
      'as the customer was told',
    )
    // The confirmation is enough to reverse it.
    assert.equal((await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, {})).status, 201)
    assert.equal(fake.reversals.at(-1)?.push?.receipt, receipt)
    fake.takeNotices()
  }
})

test('money to the account number of a prompt that was refused is booked when no prompt can be paid any more', async () => {
  const { reference, payment, account, order } = await sold('mpesa')
  await fake.customer.refuse?.(order)
  await settles(reference, ({ attempts }) => attempts[0].status === 'failed')
  await fake.payPaybill(account, SHILLINGS)
  await place.pump()
  await eventually(
    async () => (await place.payment(reference)).attempts[0].status,
    (status) => status === 'processing',
  )
  await letPass(database, payment, 3_700)
  await noticesAge(account, 0)
  await processWaitingNotices(parts, 100)
  await settles(reference, isPaid)
  await assertAudited(database, payment)
})

test('what comes after the payment is paid goes back by itself, and a receipt number counts once', async () => {
  const { reference, payment, account } = await sold()
  const first = (await fake.payPaybill(account, SHILLINGS)) ?? assert.fail()
  await settles(reference, isPaid)
  await fake.payPaybill(account, 300)
  await settles(reference, (now) => now.refunds.length === 1)
  // It is seen once more, a minute later.
  await letPass(database, payment, 120)
  await sendDueRefunds(parts, 100)
  const { refunds } = await settles(reference, (now) => now.refunds[0].status === 'successful')
  assert.deepEqual(
    refunds.map(({ amount }: Json) => amount),
    [30_000],
  )
  assert.equal(fake.reversals.at(-1)?.push?.shillings, 300)
  await request((await confirmationAddress()).url ?? '', 'POST', {}, confirmationOf(first, KEYS.shortCode).toString())
  assert.equal((await place.payment(reference)).amountPaid, place.amount)
  const whole = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { amount: 60_000 })
  assert.equal(whole.body.data.status, 'failed', 'only the whole of a transaction can be reversed')
  await assertAudited(database, payment)
})

test('money for a payment that was cancelled pays it late', async () => {
  const { reference, account } = await sold()
  assert.equal((await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)).status, 200)
  await fake.payPaybill(account, SHILLINGS)
  const { late } = await settles(reference, isPaid)
  assert.equal(late, true)
})

test('M-PESA asks whether a payment may be made, while it may', async () => {
  fake.behaviour.validates = true
  const { reference, account } = await sold()
  assert.ok(await fake.payPaybill(account.toLowerCase(), 1))
  assert.equal(await fake.payPaybill('0F8CFCD2D687', SHILLINGS), undefined, 'an unknown account number')
  await fake.payPaybill(account, SHILLINGS - 1)
  await settles(reference, isPaid)
  assert.equal(await fake.payPaybill(account, SHILLINGS), undefined, 'paid already')
  const other = await sold()
  await shop.call('POST', `/payments/v1/payments/${other.reference}/cancel`)
  assert.equal(await fake.payPaybill(other.account, SHILLINGS), undefined, 'cancelled')
  const expired = await sold()
  await letPass(database, expired.payment, 30 * 86_400)
  assert.equal(await fake.payPaybill(expired.account, SHILLINGS), undefined, 'expired')
  fake.behaviour.validates = false
  const { reference: prompted, account: ofPrompt, order } = await sold('mpesa')
  assert.equal(ofPrompt, order.slice(-12).toUpperCase())
  await request(fake.find(order).callbackURL, 'POST', {}, callbackOf(fake.find(order)).toString())
  assert.equal((await place.payment(prompted)).amountPaid, 0)
})

test('money with a wrong account number is a case, and is matched when M-PESA has confirmed it', async () => {
  const { reference, payment } = await sold()
  const paid = (await fake.payPaybill('TABLE 7', SHILLINGS)) ?? assert.fail()
  await place.pump()
  const [receipt = assert.fail()] = await eventually(
    () => database.rows<{ id: number }>(sql`select id from receipts where transaction_id = ${paid.receipt}`),
    ({ length }) => length === 1,
  )
  const scope = { place: shop.place, merchantId: shop.merchantId as never, mode: 'sandbox' as const }
  const match = () =>
    matchTransfer(
      parts,
      { scope, actor: 'test', note: 'Table 7 is theirs.' },
      ...[{ kind: 'receipt' as const, id: receipt.id }, payment.id as PaymentId, place.amount],
    )
  await assert.rejects(match, /Try again/)
  assert.equal(asked(paid.receipt), 1)
  await place.pump()
  await eventually(
    () => database.rows(sql`select id from notices where reference = ${paid.receipt} and state = 'unmatched'`),
    ({ length }) => length === 1,
  )
  const { payment: matched } = await match()
  assert.equal(matched.status, 'successful')
  assert.equal((await place.payment(reference)).amountPaid, place.amount)
  await assertAudited(database, payment)
})

test('it is off until M-PESA can be asked for a receipt number, and a till has none', async () => {
  const networks = async () => {
    const { body } = await shop.call('GET', '/payments/v1/channels?country=KE&currency=KES')
    return body.data.flatMap((each: Json) => each.networks.map(({ code }: Json) => code))
  }
  const set = async (settings: object) => {
    const { body } = await shop.call('PUT', '/payments/v1/integrations/mpesa', {
      settings: { ...KEYS, ...settings },
      baseURL: fake.upstream.url,
    })
    return body
  }
  assert.deepEqual(await networks(), ['mpesa', 'mpesa-paybill'])
  await set({ securityCredential: '' })
  assert.deepEqual(await networks(), ['mpesa'])
  const { body } = await place.initialize({ provider: 'mpesa-mobile-money', network: 'mpesa-paybill' })
  assert.equal(body.code, 'unknown_network')
  assert.match((await set({ tillNumber: '6509715' })).warning.message, /a till has no account numbers/)
  assert.equal((await set({ tillNumber: '' })).warning, null)
  const registered = fake.asked.findLast(({ path }) => path.includes('registerurl')) ?? assert.fail()
  const { ConfirmationURL, ValidationURL, ResponseType } = JSON.parse(registered.body)
  assert.equal(ResponseType, 'Completed')
  for (const url of [ConfirmationURL, ValidationURL])
    assert.match(url, /\/notices\/daraja\/sandbox\/mer_\w+\/paybill(\.validation)?\.[0-9a-f]{32}$/)
})

test('an amount with cents is not offered, and refused before the call', async () => {
  const before = fake.asked.length
  const { reference, url } = await place.checkout({ amount: place.amount + 50 })
  const customer = newVisitor()
  await customer.go(url)
  assert.notEqual(customer.state, 'choose', 'there is nothing to choose')
  for (const network of ['mpesa', 'mpesa-paybill']) {
    const wish = { provider: 'mpesa-mobile-money', reference, network, phoneNumber: '0712345678' }
    const { status, body } = await place.initialize({ ...wish, amount: place.amount + 50 })
    assert.deepEqual([status, body.code, body.errors[0].pointer], [400, 'invalid_request', '/amount'])
    assert.match(body.errors[0].message, /whole amounts only/)
  }
  const price = { amount: place.amount + 50, currency: 'KES', country: 'KE' }
  const { body } = await shop.call('POST', '/payments/v1/fees/quote', price)
  assert.deepEqual(body.data, [])
  assert.equal(fake.asked.length, before)
})
