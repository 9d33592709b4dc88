import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paymentRequest, startSimulator } from '../../../../test/support/simulator.ts'
import { sql } from '../../../database/sql.ts'
import { TEST_NUMBERS } from './prompts.ts'

const rig = await startSimulator({ worker: false })
const shop = await rig.addShop()

const BY_PHONE = { channel: 'mobile-money', currency: 'GHS', network: 'mtn' }
const withNumber = (ends: string, changes: object = {}) =>
  shop.open({ ...BY_PHONE, phoneNumber: `+233551234${ends}`, ...changes })
const read = async (reference: string) => (await shop.api('GET', `/payments/${reference}`)).body.data
const answer = (reference: string, what: string) => shop.control('POST', `/prompts/${reference}`, { answer: what })
const give = (reference: string, code: string) => shop.api('POST', `/payments/${reference}/input`, { code })
const notices = (reference: string) => rig.sink.notices.filter(({ body }) => body.reference === reference)

/** The time that was set comes, without waiting for it. */
async function timeComes(reference: string): Promise<void> {
  await rig.database.rows(sql`
    update gateway_payments set expires_at = expires_at - (decides_at - clock_timestamp()), decides_at = clock_timestamp()
     where reference = ${reference} and decides_at is not null`)
}

async function work(): Promise<void> {
  await rig.simulator.sendDueNotices(100)
  await rig.simulator.sendDueNotices(100)
}

const decidesInMs = async (reference: string) =>
  (
    await rig.database.row<{ ms: number | null }>(sql`
      select extract(epoch from decides_at - created_at)::float8 * 1000 as ms from gateway_payments where reference = ${reference}`)
  )?.ms

test('a payment by phone is opened with a prompt, and the phone number is not kept', async () => {
  const { link, page, ...record } = await withNumber('000')
  assert.equal(link, undefined)
  assert.match(page, new RegExp(`^${rig.baseUrl}/sandbox/gateway/pay/[1-9A-Za-z]{32}$`))
  assert.deepEqual([record.status, record.channel, record.transactions], ['pending', 'mobile-money', []])
  assert.ok(record.prompt.message.includes(page))
  const row = await rig.database.row<{ all: string }>(
    sql`select row_to_json(p)::text as all from gateway_payments p where reference = ${record.reference}`,
  )
  assert.doesNotMatch(row?.all ?? '', /551234000|1234000/)
  assert.doesNotMatch(rig.lines.join(), /551234000/)
})

test('each channel is opened with what its customer pays with', async () => {
  const ussd = await shop.open({ channel: 'ussd', bank: '058' })
  assert.match(ussd.dial.code, /^\*402\*000\*\d+#$/)
  assert.equal(ussd.dial.bank, 'Guaranty Trust Bank')
  const bank = await shop.open({ channel: 'bank', bank: '058' })
  assert.match(await (await fetch(bank.link)).text(), /Guaranty Trust Bank/)
  const qr = await shop.open({ channel: 'qr' })
  assert.equal(qr.qr, qr.page)
  const paybill = await shop.open({ channel: 'mobile-money', currency: 'KES', network: 'mpesa-paybill' })
  assert.match(paybill.payTo.account, /^\d{10}$/)
  assert.deepEqual([paybill.prompt, paybill.account], [undefined, undefined])
})

test('what a channel needs and does not get is refused, with what it could be', async () => {
  const mistakes: [object, RegExp][] = [
    [{ ...BY_PHONE, network: 'mpesa', phoneNumber: '+233551234000' }, /mtn, telecel, at/],
    [BY_PHONE, /phoneNumber/],
    [{ ...BY_PHONE, phoneNumber: '0551234000' }, /\+233551234987/],
    [{ channel: 'mobile-money', network: 'mtn', phoneNumber: '+2348031234000' }, /network must be one of \./],
    [{ channel: 'ussd' }, /058/],
    [{ channel: 'bank', bank: '999' }, /058/],
    [{ channel: 'qr', savedCard: 'gct_x' }, /savedCard/],
  ]
  for (const [changes, says] of mistakes) {
    const { status, body } = await shop.api('POST', '/payments', paymentRequest({ ...changes }))
    assert.deepEqual([status, body.code], [422, 'invalid_request'])
    assert.match(body.detail, says)
  }
})

test('the last three digits of the number decide, at the time that was written down', async () => {
  for (const [ends, status, code, copies] of [
    ['789', 'paid', undefined, 1],
    ['149', 'paid', undefined, 2],
    ['049', 'failed', 'insufficient_funds', 1],
    ['039', 'failed', 'customer_cancelled', 1],
  ] as const) {
    const { reference } = await withNumber(ends)
    const ms = (await decidesInMs(reference)) ?? 0
    assert.ok(ms >= 3_000 && ms < 4_000, `${ends} after ${ms} ms`)
    assert.equal((await read(reference)).status, 'pending', ends)
    await timeComes(reference)
    await work()
    const record = await read(reference)
    assert.deepEqual([record.status, record.transactions.at(-1).failure?.code], [status, code], ends)
    await rig.sink.until(reference, copies)
    const bodies = notices(reference).map(({ text }) => text)
    assert.deepEqual([bodies.length, new Set(bodies).size], [copies, 1], ends)
    assert.equal(JSON.parse(bodies[0] ?? '').type, status === 'paid' ? 'payment.paid' : 'payment.failed')
  }
})

test('a number without an account is refused at once', async () => {
  const request = paymentRequest({ ...BY_PHONE, phoneNumber: '+233551234029' })
  const { status, body } = await shop.api('POST', '/payments', request)
  assert.deepEqual([status, body.code], [422, 'subscriber_unknown'])
  assert.equal((await shop.api('GET', `/payments/${request.reference}`)).status, 404)
})

test('a prompt that nobody answers expires, also at a check that comes before the worker', async () => {
  for (const ends of ['069', '123']) {
    const { reference } = await withNumber(ends)
    await timeComes(reference)
    const { status, transactions } = await read(reference)
    assert.deepEqual([status, transactions[0].failure.code], ['failed', 'prompt_expired'], ends)
    assert.equal((await read(reference)).transactions.length, 1)
  }
})

test('an approval after the time is taken: by itself, and by hand after the prompt has expired', async () => {
  const late = await withNumber('139')
  await answer(late.reference, 'expire')
  assert.equal((await read(late.reference)).status, 'pending', 'it does not know yet')
  await timeComes(late.reference)
  assert.equal((await read(late.reference)).status, 'paid')

  const { reference } = await withNumber('000')
  assert.equal((await answer(reference, 'expire')).body.data.status, 'failed')
  const { body } = await answer(reference, 'approve')
  assert.deepEqual([body.data.status, body.data.amount], ['paid', 1_250_000])
})

test('a number that never answers is pending for ever, until somebody approves', async () => {
  const { reference } = await withNumber('129')
  assert.equal(await decidesInMs(reference), null)
  assert.equal((await answer(reference, 'expire')).body.data.status, 'pending')
  assert.equal((await answer(reference, 'approve')).body.data.status, 'paid')
})

test('a code is wanted first: the right one pays, also when it is sent again; three wrong ones fail', async () => {
  const { reference, input } = await withNumber('059')
  assert.equal(input.kind, 'otp')
  assert.deepEqual((await answer(reference, 'approve')).body.code, 'code_wanted')
  assert.deepEqual((await give(reference, '000000')).body.code, 'incorrect_otp')
  assert.equal((await give(reference, ' 123 456')).body.data.status, 'paid')
  const again = await give(reference, '123456')
  assert.deepEqual([again.status, again.body.data.transactions.length], [200, 1])

  const other = await withNumber('059', { network: 'telecel' })
  assert.equal(other.input.kind, 'voucher')
  for (const expected of [422, 422, 200]) assert.equal((await give(other.reference, '1')).status, expected)
  const failed = await read(other.reference)
  assert.deepEqual([failed.status, failed.transactions[0].failure.code], ['failed', 'incorrect_otp'])
  assert.equal((await give(other.reference, '123456')).body.data.status, 'failed')

  const { reference: plain } = await withNumber('000')
  assert.deepEqual((await give(plain, '123456')).body.code, 'input_not_expected')
})

test('twenty approvals and refusals at once are one', async () => {
  for (const open of [() => withNumber('000'), () => shop.open({ channel: 'ussd', bank: '058' })]) {
    const { reference } = await open()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => answer(reference, n % 2 ? 'approve' : 'refuse')),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.equal((await read(reference)).transactions.length, 1)
  }
})

test('a number to pay to takes any amount, and the record adds up', async () => {
  const { reference, payTo } = await shop.open({ channel: 'mobile-money', currency: 'KES', network: 'mpesa-paybill' })
  const pay = (amount: number) => shop.control('POST', '/transfers', { accountNumber: payTo.account, amount })
  assert.equal((await pay(1_000_000)).body.data.status, 'pending')
  assert.equal((await answer(reference, 'approve')).body.data.amount, 1_250_000)
  assert.deepEqual([(await read(reference)).status, (await pay(1)).body.data.amount], ['paid', 1_250_001])
})

test('a stop in between changes nothing: another process decides at the same time', async () => {
  const { reference } = await withNumber('789')
  const first = await rig.another()
  await first.close()
  await timeComes(reference)
  const second = await rig.another()
  await second.simulator.sendDueNotices(100)
  const [notice] = await rig.sink.until(reference, 1)
  assert.equal(notice?.body.data.status, 'paid')
})

test('the page acts for the customer: approve, refuse, let the time run out', async () => {
  const post = (page: string, action: string) =>
    fetch(page, { method: 'POST', body: new URLSearchParams({ action }), redirect: 'manual' })
  const { page, reference } = await withNumber('000')
  assert.match(await (await fetch(page)).text(), /MTN MoMo asks whether to pay/)
  assert.equal((await post(page, 'expire')).status, 303)
  assert.match(await (await fetch(page)).text(), /The time is over/)
  await post(page, 'approve')
  assert.match(await (await fetch(page)).text(), /Approved.*close this page/s)
  assert.equal((await read(reference)).status, 'paid')
  assert.equal((await post(page, 'refuse')).status, 303, 'too late, and the page says how it ended')
  assert.equal((await post(page, 'dance')).status, 422)

  const bank = await shop.open({ channel: 'bank', bank: '058' })
  const back = await post(bank.link, 'refuse')
  const done = await (await fetch(new URL(back.headers.get('location') ?? '', bank.link))).text()
  assert.match(done, /http-equiv="refresh" content="0;url=https:\/\/shop.example\/thanks\?order=7"/)
  assert.equal((await read(bank.reference)).transactions[0].failure.code, 'customer_cancelled')
})

test('what was paid by phone is refunded and listed like a card', async () => {
  const { reference } = await withNumber('000')
  const from = new Date(Date.now() - 60_000).toISOString()
  await answer(reference, 'approve')
  const refund = await shop.api('POST', '/refunds', {
    reference: `r-${reference}`,
    payment: reference,
    amount: 250_000,
  })
  assert.equal(refund.body.data.status, 'successful')
  const to = new Date(Date.now() + 60_000).toISOString()
  const { body } = await shop.api('GET', `/transactions?from=${from}&to=${to}&limit=1000`)
  const listed = body.data.transactions.find((one: { reference: string }) => one.reference === reference)
  assert.deepEqual([listed.amount, listed.refunded], [1_250_000, 250_000])
})

test('every behaviour of the table can be had by a number', () => {
  assert.equal(new Set(TEST_NUMBERS.map(({ ends }) => ends)).size, TEST_NUMBERS.length)
})
