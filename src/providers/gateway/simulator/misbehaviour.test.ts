import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/paying.ts'
import { CARD, paymentRequest, startSimulator } from '../../../../test/support/simulator.ts'
import { sql } from '../../../database/sql.ts'

const rig = await startSimulator()
/** Nothing is sent later, so that a stall of the machine changes nothing. */
const idle = await startSimulator({ worker: false })
type Shop = Awaited<ReturnType<typeof rig.addShop>>

async function shopWith(faults: Record<string, number>, { addShop } = rig): Promise<Shop> {
  const shop = await addShop()
  assert.equal((await shop.control('PUT', '/faults', faults)).status, 200)
  return shop
}

const NONE = {
  ...{ seed: 0, timeout: 0, serverError: 0, lost: 0, doubled: 0, reordered: 0, late: 0, wrongAmount: 0 },
  ...{ shortSettlement: 0, lateSettlement: 0 },
}

test('faults are kept for their merchant, absent ones are 0, and mistakes are refused', async () => {
  const shop = await rig.addShop()
  assert.deepEqual((await shop.control('GET', '/faults')).body, { data: NONE })
  const set = await shop.control('PUT', '/faults', { seed: 7, lost: 0.5, late: 1 })
  assert.deepEqual(set.body, { data: { ...NONE, seed: 7, lost: 0.5, late: 1 } })
  assert.deepEqual((await shop.control('GET', '/faults')).body, set.body)
  assert.deepEqual((await shop.control('PUT', '/faults', {})).body, { data: NONE })
  for (const wrong of [{ lost: 2 }, { lost: -0.1 }, { lost: '1' }, { seed: 0.5 }, { losst: 1 }, []]) {
    assert.equal((await shop.control('PUT', '/faults', wrong)).status, 422, JSON.stringify(wrong))
  }
  assert.deepEqual((await (await rig.addShop()).control('GET', '/faults')).body, { data: NONE })
})

test('a timeout is never answered; some of the work was done, some was not', async () => {
  const shop = await shopWith({ seed: 1, timeout: 1 })
  const calls = Array.from({ length: 12 }, () => shop.api('POST', '/payments', paymentRequest()))
  for (const call of calls) call.catch(() => {}) // the caller gives up, long after this test
  // Six of them, by the dice of this seed.
  const data = await eventually(
    async () => (await shop.control('GET', '/ledger')).body.data,
    ({ length }) => length === 6,
  )
  assert.equal(await Promise.race([...calls, 'no answer']), 'no answer')
  await assert.rejects(shop.api('GET', `/payments/${data[0].reference}`, undefined, 200), { name: 'TimeoutError' })
})

test('an error of the server is a 500 or a 503; some of the work was done, some was not', async () => {
  const shop = await shopWith({ seed: 1, serverError: 1 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => shop.api('POST', '/payments', paymentRequest())))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([500, 503]))
  assert.ok(answers.every(({ body }) => body.code === 'server_error'))
  const { data } = (await shop.control('GET', '/ledger')).body
  assert.ok(data.length > 0 && data.length < answers.length, `${data.length} of ${answers.length} were opened`)
})

test('faults of the API do not touch control calls and the page, nor anybody else', async () => {
  const shop = await rig.addShop()
  const { reference, link } = await shop.open()
  await shop.control('PUT', '/faults', { timeout: 1, serverError: 1 })
  assert.equal((await fetch(link)).status, 200)
  assert.equal((await shop.charge(reference, { card: CARD.pays })).status, 200)
  assert.equal((await (await rig.addShop()).api('POST', '/payments', paymentRequest())).status, 201)
})

test('a lost notice never comes, and a doubled one comes twice, the same both times', async () => {
  const shop = await shopWith({ lost: 1 })
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.declined })
  await shop.control('PUT', '/faults', { doubled: 1 })
  await shop.charge(reference, { card: CARD.pays })
  const [one, other] = await rig.sink.until(reference, 2)
  assert.equal(one?.body.type, 'payment.paid')
  assert.equal(one?.text, other?.text)
})

test('a notice that is held back is overtaken by a later one', async () => {
  const shop = await shopWith({ seed: 202, reordered: 1 }, idle) // for 2.985 s
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.declined })
  assert.ok((await heldBackSeconds(reference)) > 2.9)
  const makeDue = (when: string) =>
    idle.database.rows(sql`
      update gateway_notices set due_at = now() + ${when}::interval where body like ${`%${reference}%`} and tries = 0`)
  await makeDue('1 hour')
  await shop.control('PUT', '/faults', {})
  await shop.charge(reference, { card: CARD.pays })
  await idle.sink.until(reference, 1)
  await makeDue('0')
  await idle.simulator.sendDueNotices(100)
  const notices = await idle.sink.until(reference, 2)
  assert.deepEqual(
    notices.map(({ body }) => body.type),
    ['payment.paid', 'payment.failed'],
  )
  assert.ok(notices.every(({ body }) => Date.parse(body.createdAt) <= Date.now()))
})

test('a late notice comes 5 to 20 s later', async () => {
  const shop = await shopWith({ seed: 5, late: 1 }, idle)
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.pays })
  const seconds = await heldBackSeconds(reference)
  assert.ok(seconds >= 5 && seconds <= 20, `${seconds} s`)
})

/** For a notice of the simulator that sends nothing later. */
async function heldBackSeconds(reference: string): Promise<number> {
  const row = await idle.database.row<{ seconds: number }>(sql`
    select extract(epoch from due_at - created_at)::float8 as seconds from gateway_notices
     where body like ${`%${reference}%`} and tries = 0`)
  return row?.seconds ?? Number.NaN
}

test('a wrong amount is taken by control calls and saved cards, counts as paid, and never happens on the page', async () => {
  const shop = await rig.addShop()
  const first = await shop.open({ amount: 10_000 })
  await shop.charge(first.reference, { card: CARD.pays, save: true })
  const savedCard = (await shop.api('GET', `/payments/${first.reference}`)).body.data.savedCard.token
  await shop.control('PUT', '/faults', { seed: 2, wrongAmount: 1 })

  const { reference } = await shop.open({ amount: 10_000 })
  const byControl = (await shop.charge(reference, { card: CARD.pays })).body.data
  const byToken = (await shop.api('POST', '/charges', paymentRequest({ savedCard, amount: 10_000 }))).body.data
  for (const { status, requested, amount, transactions } of [byControl, byToken]) {
    assert.deepEqual([status, requested, transactions[0].amount], ['paid', 10_000, amount])
    assert.ok(amount !== 10_000 && amount >= 5_000 && amount <= 15_000, `${amount}`)
  }
  const page = await shop.open({ amount: 10_000 })
  const body = new URLSearchParams({ action: 'pay', number: CARD.pays, expiry: '12/39', cvv: '123' })
  assert.equal((await fetch(page.link, { method: 'POST', body, redirect: 'manual' })).status, 303)
  assert.equal((await shop.ledger(page.reference)).amount, 10_000)
})
