import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type DeliveryId, uuidOf } from '../../src/kernel/ids.ts'
import { openCases } from '../support/cases.ts'
import { browserAs, type DashboardBrowser } from '../support/dashboard.ts'
import { closedPort, startListener, takes } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { payByCard, start, TRANSFER } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying({ deliver: true })
const { database } = service
const shop = await service.addShop()
const other = await service.addShop('Other shop')
const { merchantId } = shop

const owner = await browserAs(service, 'owner', merchantId)
const base = `/merchants/${merchantId}/sandbox`

const hook = await startListener(takes.well)
const ada = { email: 'Ada@Example.com', id: 'u1', name: 'Ada' }
const paid = await payByCard(shop, { reference: 'PAID-1', user: ada, saveCard: true, webhook: hook.url })
const failed = await payByCard(shop, { reference: 'FAILED-1', amount: 70_000 }, CARD.insufficientFunds, 'failed')
const transfer = await start(shop, { ...TRANSFER, reference: 'TRANSFER-1' })
const gone = await shop.call('POST', '/payments/v1/checkouts', {
  ...{ amount: 300, country: 'NG', reference: 'GONE-1', user: { email: 'bola@example.com' } },
  webhook: `${await closedPort()}/hook`,
})
await shop.call('POST', '/payments/v1/payments/GONE-1/cancel')
await other.initialize({ reference: 'PAID-1' })

async function references(query: string): Promise<string[]> {
  const { status, body } = await owner.call('GET', `${base}/payments?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data.map(({ reference }: { reference: string }) => reference)
}

async function listedByApi(query: string): Promise<string[]> {
  const { status, body } = await shop.call('GET', `/payments/v1/payments?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data.map(({ reference }: { reference: string }) => reference)
}

test('one search box finds a payment by everything that names it', async () => {
  const { id, attempts } = paid.payment
  const { shortURL } = (await owner.call('GET', `${base}/payments/PAID-1`)).body.data
  const [receipt] = await database.rows<{ transaction_id: string }>(sql`
    select transaction_id from receipts where merchant_id = ${uuidOf(merchantId)} limit 1`)
  const { body } = await owner.call('POST', `${base}/links`, { title: 'Dinner', amount: 1_000, country: 'NG' })
  await database.rows(sql`
    update payments set link_id = ${uuidOf(body.data.id)} where merchant_id = ${uuidOf(merchantId)} and reference = 'FAILED-1'`)
  const searches: [string, string[]][] = [
    [body.data.id, ['FAILED-1']],
    ['PAID-1', ['PAID-1']],
    ['  PAID-1 ', ['PAID-1']],
    [id, ['PAID-1']],
    [attempts[0].id, ['PAID-1']],
    [paid.attempt.reference, ['PAID-1']],
    [paid.order, ['PAID-1']],
    [attempts[0].providerReference, ['PAID-1']],
    [receipt?.transaction_id ?? '', ['PAID-1']],
    [shortURL.split('/').at(-1), ['PAID-1']],
    ['ADA@example.com', ['TRANSFER-1', 'FAILED-1', 'PAID-1']],
    ['4081', ['PAID-1']],
    ['insufficient_funds', ['FAILED-1']],
    [transfer.accountNumber, ['TRANSFER-1']],
    ['nothing', []],
    ['nobody@example.com', []],
  ]
  for (const [text, found] of searches) {
    const q = `q=${encodeURIComponent(text)}`
    assert.deepEqual(await references(q), found, text)
    assert.deepEqual(await listedByApi(q), found, `${text}, by the API`)
  }
})

test('q of the API finds what the search box finds, with its other filters, in pages, and as whole payments', async () => {
  assert.deepEqual(await listedByApi('q=ada@example.com&status=successful'), ['PAID-1'])
  assert.deepEqual(await listedByApi('q=PAID-1&email=ADA@example.com'), ['PAID-1'])
  assert.deepEqual(await listedByApi('q=PAID-1&email=nobody@example.com'), [])
  assert.deepEqual(await listedByApi('q=PAID-1&userId=nobody'), [])
  assert.deepEqual(await listedByApi('q=PAID-1&to=2020-01-01'), [])
  assert.deepEqual(await listedByApi('q=%20%20'), await listedByApi(''), 'only spaces')
  const first = (await shop.call('GET', '/payments/v1/payments?q=ada@example.com&limit=2')).body
  const second = await shop.call('GET', `/payments/v1/payments?q=ada@example.com&limit=2&cursor=${first.nextCursor}`)
  const seen = [...first.data, ...second.body.data].map(({ reference }) => reference)
  assert.deepEqual(seen, ['TRANSFER-1', 'FAILED-1', 'PAID-1'])
  const { body } = await shop.call('GET', '/payments/v1/payments?q=PAID-1')
  assert.deepEqual(body.data[0], await shop.payment('PAID-1'))
  assert.equal((await shop.call('GET', '/payments/v1/payments?q=a%0Ab')).status, 400)
})

test('filters by status, provider, channel, amount, currency, date, late and needs review, also with a search', async () => {
  const all = ['GONE-1', 'TRANSFER-1', 'FAILED-1', 'PAID-1']
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  const filters: [string, string[]][] = [
    ['', all],
    ['status=successful', ['PAID-1']],
    ['status=pending', ['TRANSFER-1', 'FAILED-1']],
    ['status=cancelled&currency=NGN', ['GONE-1']],
    ['provider=gateway', ['TRANSFER-1', 'FAILED-1', 'PAID-1']],
    ['provider=stripe', []],
    ['channel=virtual-bank-account', ['TRANSFER-1']],
    ['amountFrom=301&amountTo=70000', ['FAILED-1']],
    ['currency=GHS', []],
    ['from=2020-01-01', all],
    [`from=${tomorrow}`, []],
    ['to=2020-01-01', []],
    ['q=ada@example.com&status=successful', ['PAID-1']],
    ['q=insufficient_funds&amountTo=100', []],
    ['late=true', []],
    ['needsReview=true', []],
  ]
  for (const [query, found] of filters) assert.deepEqual(await references(query), found, query)
  const id = uuidOf(paid.payment.id)
  await database.rows(sql`update payments set late = true where id = ${id}`)
  await openCases(database, ['PAID-1'], 'a person must look')
  for (const query of ['late=true', 'needsReview=true', 'late=true&needsReview=true&provider=gateway'])
    assert.deepEqual(await references(query), ['PAID-1'], query)
  await database.rows(sql`update payments set late = false where id = ${id}`)
  await database.rows(sql`delete from cases where payment_id = ${id}`)
  assert.equal((await owner.call('GET', `${base}/payments?status=paid`)).status, 400)
})

test('pages by cursor show every payment once', async () => {
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await owner.call('GET', `${base}/payments?limit=1${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.data.map(({ reference }: { reference: string }) => reference))
    cursor = body.nextCursor
  }
  assert.deepEqual(seen, ['GONE-1', 'TRANSFER-1', 'FAILED-1', 'PAID-1'])
})

test('a rare criterion is looked for in steps: a short page with a cursor', async () => {
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email,
                          metadata, expires_at)
    select ${shop.place}, gen_random_uuid(), ${uuidOf(merchantId)}, 'live', 'r' || n, 'c' || n, case when n = 1 then 7 else 8 end, 'NGN', 'NG',
           false, 'a@b.co', '{}', now() + interval '1 hour' from generate_series(1, 2500) n`)
  const seen: number[] = []
  let pages = 0
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const path = `/merchants/${merchantId}/live/payments?amountTo=7${cursor && `&cursor=${cursor}`}`
    const { body } = await owner.call('GET', path)
    seen.push(...body.data.map(({ amount }: { amount: number }) => amount))
    cursor = body.nextCursor
  }
  assert.deepEqual([seen, pages], [[7], 5])
  // Two failed attempts of one payment are one result.
  await database.rows(sql`
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee,
                          order_reference, provider_reference, failure)
    select place, gen_random_uuid(), id, merchant_id, mode, n, reference || n, 'stripe', 'card', 'failed', currency, amount, 0, reference || n,
           reference || n, '{"code": "suspected_fraud"}'
      from (select * from payments where place = ${shop.place} and mode = 'live' limit 150) p, generate_series(1, 2) n`)
  const declined: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/merchants/${merchantId}/live/payments?q=suspected_fraud&limit=60${cursor && `&cursor=${cursor}`}`
    const { body } = await owner.call('GET', path)
    declined.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.nextCursor
  }
  assert.deepEqual([declined.length, new Set(declined).size], [150, 150])
  await database.rows(sql`delete from attempts where merchant_id = ${uuidOf(merchantId)} and mode = 'live'`)
  await database.rows(sql`delete from payments where merchant_id = ${uuidOf(merchantId)} and mode = 'live'`)
})

test('a row shows the last attempt and why it failed', async () => {
  const { body } = await owner.call('GET', `${base}/payments?q=FAILED-1`)
  const { id, createdAt, ...row } = body.data[0]
  assert.deepEqual(row, {
    ...{ reference: 'FAILED-1', status: 'pending', late: false, needsReview: false, amount: 70_000, currency: 'NGN' },
    ...{ amountPaid: 0, amountRefunded: 0, email: 'ada@example.com', name: null, attempts: 1, completedAt: null },
    ...{ lastStatus: 'failed', lastProvider: 'gateway', lastChannel: 'card', lastFailure: 'insufficient_funds' },
  })
  assert.equal(id, failed.payment.id)
})

test('one payment: as in the API, with timeline and deliveries, and actions that are written to the audit log', async () => {
  const path = `${base}/payments/${paid.payment.id}`
  assert.equal((await owner.call('GET', path)).body.data.attempts[0].status, 'successful')
  const timeline = await owner.call('GET', `${path}/timeline`)
  assert.equal(timeline.body.data[0].what, 'payment created')
  const [delivery] = await eventually(
    async () => (await owner.call('GET', `${path}/deliveries`)).body.data,
    ([last]) => last?.state === 'delivered',
  )
  assert.deepEqual([delivery.type, delivery.url, delivery.lastStatus], ['payment.successful', hook.url, 200])

  const created = await owner.call('POST', `${base}/checkouts`, {
    ...{ amount: 900, country: 'NG', user: { email: 'new@example.com' } },
  })
  assert.equal(created.status, 201)
  const { id } = created.body.data
  const cancelled = await owner.call('POST', `${base}/payments/${id}/cancel`)
  assert.equal(cancelled.body.data.status, 'cancelled')
  assert.equal((await owner.call('POST', `${path}/resync`)).body.data.checks, 1)
  const heard = hook.heard.length
  assert.deepEqual((await owner.call('POST', `${base}/events/${delivery.event}/redeliver`)).body.data, {
    deliveries: 1,
  })
  await hook.hears(heard + 1)
  const acts = await database.rows<{ act: string; subject: string }>(sql`
    select act, subject from audit_log where merchant_id = ${uuidOf(merchantId)} and actor like 'member:%'
       and act not like 'link.%' order by id`)
  assert.deepEqual(acts, [
    { act: 'payment.created', subject: id },
    { act: 'payment.cancelled', subject: id },
    { act: 'payment.resynced', subject: paid.payment.id },
    { act: 'event.redelivered', subject: delivery.event },
  ])
})

test('refunds: support up to the limit of one payment, others above it with a step-up in live mode', async () => {
  const limit = `/merchants/${merchantId}/refund-limit`
  assert.equal((await owner.call('PUT', limit, { refundLimit: 1_000 })).status, 200)
  const support = await browserAs(service, 'support', merchantId)
  assert.equal((await support.call('GET', limit)).body.data.refundLimit, 1_000)
  const path = `${base}/payments/PAID-1/refunds`
  const refund = (browser: DashboardBrowser, body: unknown, key: string) =>
    browser.call('POST', path, body, { 'idempotency-key': key })
  const atOnce = await Promise.all([600, 601, 602].map((amount) => refund(support, { amount }, `a${amount}`)))
  assert.deepEqual(atOnce.map(({ status }) => status).sort(), [201, 403, 403], 'the limit is for all of them together')
  const first = atOnce.find(({ status }) => status === 201)
  assert.equal(first?.body.data.status, 'successful')
  for (const body of [{ amount: 401 }, {}]) assert.equal((await refund(support, body, 'b')).status, 403)
  const rest = 1_000 - first?.body.data.amount
  const both = await Promise.all([support, owner].map((each, index) => refund(each, { amount: rest }, `c${index}`)))
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409], 'two members make one refund')
  assert.equal((await refund(await browserAs(service, 'developer', merchantId), { amount: 1 }, 'd')).status, 403)
  assert.equal((await refund(await browserAs(service, 'admin', merchantId), { amount: 5_000 }, 'e')).status, 201)

  assert.equal((await owner.call('PUT', limit, { refundLimit: 600_000 })).status, 200)
  await database.rows(sql`update payments set currency = 'XOF' where id = ${uuidOf(paid.payment.id)}`)
  assert.equal((await refund(support, { amount: 1 }, 'f')).status, 403, '6 001 of a currency without hundredths')
  await database.rows(sql`update payments set currency = 'NGN' where id = ${uuidOf(paid.payment.id)}`)
  assert.equal((await owner.call('PUT', limit, { refundLimit: 1_000 })).status, 200)

  await database.rows(sql`update payments set mode = 'live' where id = ${uuidOf(paid.payment.id)}`)
  const live = `/merchants/${merchantId}/live/payments/PAID-1/refunds`
  await database.rows(sql`update sessions set confirmed_at = now() - interval '11 minutes'`)
  const refused = await owner.call('POST', live, { amount: 5_001 })
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'])
  await database.rows(sql`update payments set mode = 'sandbox' where id = ${uuidOf(paid.payment.id)}`)

  const rows = (await owner.call('GET', `${base}/refunds?limit=2`)).body
  assert.deepEqual(
    rows.data.map(({ amount, paymentReference, provider }: Record<string, unknown>) => [
      amount,
      paymentReference,
      provider,
    ]),
    [
      [5_000, 'PAID-1', 'gateway'],
      [rest, 'PAID-1', 'gateway'],
    ],
  )
  const next = await owner.call('GET', `${base}/refunds?limit=2&status=successful&cursor=${rows.nextCursor}`)
  assert.deepEqual([next.body.data.length, next.body.data[0].id, next.body.nextCursor], [1, first?.body.data.id, null])
  assert.deepEqual((await owner.call('GET', `${base}/refunds?status=failed`)).body.data, [])
})

test('a customer: totals by currency and saved cards, which can be removed', async () => {
  const path = `${base}/customers/${encodeURIComponent('ada@example.com')}`
  const { totals, name, userIds, cards } = (await owner.call('GET', path)).body.data
  assert.deepEqual(totals, [
    { currency: 'NGN', payments: 3, successful: 1, amountPaid: 1_250_000, amountRefunded: 6_000 },
  ])
  assert.deepEqual([name, userIds, cards.length, cards[0].last4], ['Ada', ['u1'], 1, '4081'])
  assert.equal((await owner.call('DELETE', `${base}/cards/${cards[0].id}`)).status, 200)
  assert.deepEqual((await owner.call('GET', path)).body.data.cards, [])
  assert.equal((await owner.call('GET', `${base}/customers/nobody@example.com`)).status, 404)
})

test('money and notices without a payment, newest first', async () => {
  const merchant = uuidOf(merchantId)
  await database.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, transaction_id, amount, currency, counted, taken_at)
    select ${shop.place}, ${merchant}, 'sandbox', 'gateway', 'lost-' || n, n, 'NGN', false, now() from generate_series(1, 3) n`)
  await database.rows(sql`
    insert into notices (place, merchant_id, mode, provider, digest, body, reading, reference, says, state)
    values (${shop.place}, ${merchant}, 'sandbox', 'gateway', '\\x01', '', '{}', 'unknown-1', 'paid', 'unmatched')`)
  const page = (await owner.call('GET', `${base}/transfers?limit=2`)).body
  assert.deepEqual(
    page.data.map(({ transactionId }: { transactionId: string }) => transactionId),
    ['lost-3', 'lost-2'],
  )
  const last = (await owner.call('GET', `${base}/transfers?limit=2&cursor=${page.nextCursor}`)).body
  assert.deepEqual([last.data.length, last.data[0].transactionId, last.nextCursor], [1, 'lost-1', null])
  const notices = (await owner.call('GET', `${base}/transfers/notices`)).body
  assert.deepEqual([notices.data.length, notices.data[0].reference], [1, 'unknown-1'])
})

test('deliveries: all, those that wait for a retry, and those that were given up', async () => {
  const list = async (query: string) => (await owner.call('GET', `${base}/deliveries?${query}`)).body
  const types = ({ data }: { data: { type: string; payment: string }[] }) =>
    data.map(({ type, payment }) => `${type} ${payment === gone.body.data.id ? 'GONE-1' : 'PAID-1'}`)
  const retrying = await eventually(
    () => list('state=retrying'),
    ({ data }) => data.length === 1,
  )
  assert.deepEqual(types(retrying), ['payment.cancelled GONE-1'])
  assert.ok(retrying.data[0].lastError && retrying.data[0].nextTryAt)
  const checkPages = async (minimum: number) => {
    const inOrder = await database.rows<{ id: string }>(sql`
      select id from deliveries where merchant_id = ${uuidOf(merchantId)} and mode = 'sandbox' order by event_id desc, id desc`)
    assert.ok(inOrder.length >= minimum)
    for (const limit of [1, 2, 3]) {
      const all: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await list(`limit=${limit}${cursor && `&cursor=${cursor}`}`)
        all.push(...page.data.map(({ id }: { id: DeliveryId }) => uuidOf(id)))
        cursor = page.nextCursor
      }
      const expected = inOrder.map(({ id }) => id)
      assert.deepEqual(all, expected)
    }
  }
  await checkPages(2)
  // A second delivery of each event, as to a second endpoint.
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, state, done_at)
    select place, (left(id::text, 13) || right(gen_random_uuid()::text, 23))::uuid, event_id, merchant_id, mode, url, destination, 'delivered', now()
      from deliveries where merchant_id = ${uuidOf(merchantId)}`)
  await checkPages(4)
  assert.deepEqual((await list('state=given-up')).data, [])
  await database.rows(
    sql`update deliveries set state = 'exhausted', done_at = now() where id = ${uuidOf(retrying.data[0].id)}`,
  )
  assert.deepEqual(types(await list('state=given-up&limit=1')), ['payment.cancelled GONE-1'])
  const again = await owner.call('POST', `${base}/events/redeliver`, { from: '2020-01-01' })
  assert.deepEqual(again.body.data, { deliveries: 1 })
})
