import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/paying.ts'
import { CARD, newReference, startSimulator } from '../../../../test/support/simulator.ts'

const rig = await startSimulator()
/** It sends again when a test asks for it. */
const alone = await startSimulator({ worker: false })
const shop = await rig.addShop()

test('each change is told once, signed with the secret key over the time and the very bytes', async () => {
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.declined })
  await rig.sink.until(reference, 1)
  await shop.charge(reference, { card: CARD.pays })
  await rig.sink.until(reference, 2)
  const refund = { reference: newReference(), payment: reference, amount: 50 }
  const { id } = (await shop.api('POST', '/refunds', refund)).body.data
  await shop.api('POST', '/refunds', refund)
  const notices = await rig.sink.until(reference, 3)
  assert.deepEqual(
    notices.map(({ body }) => [body.type, body.data.status, body.data.amount, body.data.refunded]),
    [
      ['payment.failed', 'failed', 0, 0],
      ['payment.paid', 'paid', 1_250_000, 0],
      ['refund.successful', 'paid', 1_250_000, 50],
    ],
  )
  assert.deepEqual(notices[2]?.body.refund, { id, amount: 50, currency: 'NGN' })
  assert.deepEqual(notices[2]?.body.data, (await shop.api('GET', `/payments/${reference}`)).body.data)
  for (const { merchantUuid, headers, text, body } of notices) {
    assert.equal(merchantUuid, shop.merchantUuid)
    assert.match(body.id, /^ntc_/)
    assert.deepEqual(Object.keys(body).slice(0, 5), ['id', 'type', 'reference', 'createdAt', 'data'])
    const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['gateway-signature'])) ?? []
    assert.ok(Math.abs(Number(seconds) - Date.now() / 1000) < 60)
    assert.equal(signature, createHmac('sha256', shop.secretKey).update(`${seconds}.${text}`).digest('hex'))
  }
})

test('every transfer is told of, with what has come in so far', async () => {
  const { reference, account } = await shop.open({ channel: 'transfer', amount: 1_000 })
  for (const amount of [400, 600]) {
    await shop.control('POST', '/transfers', { accountNumber: account.number, amount })
    await rig.sink.until(reference, amount === 400 ? 1 : 2)
  }
  const notices = await rig.sink.until(reference, 2)
  assert.deepEqual(
    notices.map(({ body }) => [body.type, body.data.status, body.data.amount]),
    [
      ['transfer.received', 'pending', 400],
      ['transfer.received', 'paid', 1_000],
    ],
  )
})

test('a notice is sent right after the commit, without the scheduled job', async () => {
  const other = await alone.addShop()
  const { reference } = await other.open()
  await other.charge(reference, { card: CARD.pays })
  const [notice] = await alone.sink.until(reference, 1)
  assert.equal(notice?.body.type, 'payment.paid')
})

test('a notice that is refused comes again, the same body under a new signature, until it is taken', async () => {
  const { reference } = await shop.open()
  let refusals = 2
  rig.sink.answer = ({ body }) => (body.reference === reference && refusals-- > 0 ? (refusals ? 500 : 302) : 200)
  const startedMs = performance.now()
  await shop.charge(reference, { card: CARD.pays })
  const notices = await rig.sink.until(reference, 3)
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs >= 6_000, `after 1 s and then 5 s: ${tookMs} ms`)
  assert.equal(new Set(notices.map(({ text }) => text)).size, 1)
  assert.equal(new Set(notices.map(({ headers }) => headers['gateway-signature'])).size, 3)
})

test('after the seventh try a notice is given up', async () => {
  const other = await alone.addShop()
  const { reference } = await other.open()
  alone.sink.answer = ({ body }) => (body.reference === reference ? 500 : 200)
  const isAbout = `body like '%${reference}%'`
  const ask = (text: string) => alone.database.rows<Record<string, unknown>>({ name: '', text, values: [] })
  for (let tries = 1; tries <= 7; tries++) {
    const [before] = await ask('select clock_timestamp()::text as time')
    if (tries === 1) await other.charge(reference, { card: CARD.pays })
    else await ask(`update gateway_notices set due_at = now() where ${isAbout}`)
    if (tries > 1) assert.equal(await alone.simulator.sendDueNotices(10), 1)
    // While it is being sent, its lease is due in 30 s. The first try is made in the background.
    const [seen] = await eventually(
      () =>
        ask(`select state, extract(epoch from due_at - '${before?.time}'::timestamptz)::float8 as after_start,
                    extract(epoch from due_at - clock_timestamp())::float8 as from_now
               from gateway_notices where ${isAbout} and tries = ${tries}`),
      ([row]) => row !== undefined && (tries > 1 || Number(row.from_now) < 10),
    )
    assert.equal(seen?.state, tries < 7 ? 'waiting' : 'given_up')
    const wait = [1, 5, 15, 60, 300, 1_800][tries - 1] ?? 0
    const { after_start: most, from_now: least } = seen as Record<string, number>
    assert.ok(Number(least) <= wait && wait <= Number(most), `try ${tries}: next in ${least} to ${most} s`)
  }
  assert.equal((await alone.sink.until(reference, 7)).length, 7)
})

test('two processes send each notice once between them', async () => {
  const other = await rig.another()
  const before = rig.sink.notices.length
  await run(`insert into gateway_notices (place, merchant_id, body, due_at)
    select n % 2, '${shop.merchantUuid}', '{"reference":"shared","number":' || n || '}', now() from generate_series(1, 60) n`)
  const counts = await Promise.all([
    rig.simulator.sendDueNotices(30),
    other.simulator.sendDueNotices(30),
    rig.simulator.sendDueNotices(30),
  ])
  assert.ok(counts.every((count) => count <= 30))
  // A process that finds what another one is claiming gets less, and the rest with its next call.
  while ((await rig.simulator.sendDueNotices(30)) > 0);
  await rig.sink.until('shared', 60)
  const numbers = rig.sink.notices.slice(before).map(({ body }) => body.number)
  assert.deepEqual([numbers.length, new Set(numbers).size], [60, 60])
})

test('a simulator that was stopped sends nothing more', async () => {
  const other = await rig.another()
  await other.close()
  assert.equal(await other.simulator.sendDueNotices(10), 0)
})

async function run(text: string) {
  return rig.database.rows<Record<string, unknown>>({ name: '', text, values: [] })
}
