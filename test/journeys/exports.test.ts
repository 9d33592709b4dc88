import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { newId, uuidOf } from '../../src/kernel/ids.ts'
import { openCases } from '../support/cases.ts'
import { addMember, signedInBrowser } from '../support/dashboard.ts'
import { eventually } from '../support/paying.ts'
import { addMerchant, call, checkout, startOn, startService, type TestMerchant } from '../support/service.ts'

const { app, database } = await startService()
// The buffers of a Unix socket are small. Those of TCP grow to what the machine allows, and could hold a whole export.
const folder = await mkdtemp(join(tmpdir(), 'manilla-exports-'))
after(() => rm(folder, { recursive: true }))
const socketPath = join(folder, 'socket')
await app.listen({ path: socketPath })

/** The rows of a file, by column. */
function parse(text: string): Record<string, string>[] {
  const [head = [], ...rows] = text
    .split('\r\n')
    .slice(0, -1)
    .map((line) =>
      [...`${line},`.matchAll(/(?:"((?:[^"]|"")*)"|([^",]*)),/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    )
  return rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column] ?? ''])))
}

const exported = (merchant: TestMerchant, list: string) =>
  call(app, 'GET', `/payments/v1/exports/${list}`, { headers: merchant.headers })

/** A paid payment with a refund, unmatched money and a delivery. */
async function addMoney({ place, merchantId }: TestMerchant, paymentId: string) {
  const [merchant, now] = [uuidOf(merchantId), new Date()]
  const payment = uuidOf(paymentId as Parameters<typeof uuidOf>[0])
  const [attempt, refund, event, delivery] = [
    newId('attempt', now, place),
    newId('refund', now, place),
    newId('event', now, place),
    newId('delivery', now, place),
  ]
  await database.rows(sql`
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee,
                          amount_received, order_reference, provider_reference)
    values (${place}, ${uuidOf(attempt)}, ${payment}, ${merchant}, 'sandbox', 1, ${attempt}, 'gateway', 'card', 'successful', 'NGN', 5000, 75, 5000,
            ${attempt}, ${attempt})`)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted, reason)
    values (${place}, ${uuidOf(refund)}, ${payment}, ${uuidOf(attempt)}, ${merchant}, 'sandbox', 120, 'NGN', 'merchant', 'successful', true, '=1+1')`)
  await database.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, account, transaction_id, amount, currency, counted, taken_at)
    values (${place}, ${merchant}, 'sandbox', 'gateway', 0, 'T-1', 700, 'NGN', false, now())`)
  await database.rows(sql`
    insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, body)
    values (${place}, ${uuidOf(event)}, ${merchant}, 'sandbox', ${payment}, 'payment.successful', 1, '{}', '{}')`)
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, state, due_at)
    values (${place}, ${uuidOf(delivery)}, ${uuidOf(event)}, ${merchant}, 'sandbox', 'https://shop.example/hook?token=s3cret#x', 'shop.example',
            'exhausted', now())`)
  return { attempt, refund, delivery }
}

test('payments: every column of every row of the merchant and mode, amounts in the lowest denomination', async () => {
  const [merchant, other] = [await addMerchant(database), await addMerchant(database)]
  const user = { email: 'ada@example.com', name: 'Obi, "Ada"', phoneNumber: '+2348012345678' }
  const { body } = await checkout(app, merchant, { reference: 'ORDER-1', user, metadata: { note: 'a,b' } })
  await addMoney(merchant, body.data.id)
  await checkout(app, merchant, { reference: 'ORDER-2', amount: 900 })
  await checkout(app, other, { reference: 'ORDER-3' })
  const answer = await exported(merchant, 'payments')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  const today = new Date().toISOString().slice(0, 10)
  assert.equal(answer.headers['content-disposition'], `attachment; filename="payments-sandbox-${today}.csv"`)
  assert.equal(answer.headers['export-rows'], '2')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const [second, first, ...none] = parse(answer.body)
  assert.deepEqual(none, [])
  assert.deepEqual([second?.reference, second?.amount, second?.attempts], ['ORDER-2', '900', '0'])
  const { id, createdAt, expiresAt, ...rest } = first ?? {}
  assert.equal(id, body.data.id)
  assert.ok([createdAt, expiresAt].every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time ?? '')))
  assert.deepEqual(rest, {
    ...{ reference: 'ORDER-1', status: 'pending', late: 'false', needsReview: 'false', amount: '1250000' },
    ...{
      amountPaid: '0',
      amountRefunded: '0',
      fee: '75',
      feeCharged: '',
      currency: 'NGN',
      country: 'NG',
      email: 'ada@example.com',
    },
    ...{ name: 'Obi, "Ada"', phoneNumber: "'+2348012345678", userId: '', attempts: '1', lastStatus: 'successful' },
    ...{ lastProvider: 'gateway', lastChannel: 'card', lastFailure: '', metadata: '{"note":"a,b"}', completedAt: '' },
  })

  const rows = async (query: string) => parse((await exported(merchant, `payments?${query}`)).body)
  const references = async (query: string) => (await rows(query)).map(({ reference }) => reference)
  assert.deepEqual(await references('provider=gateway'), ['ORDER-1'])
  assert.deepEqual(await references('amountTo=900'), ['ORDER-2'])
  assert.deepEqual(await references('q=ORDER-2'), ['ORDER-2'])
  assert.deepEqual(await references('q=ada@example.com'), ['ORDER-2', 'ORDER-1'])
  assert.deepEqual(await rows('columns=currency,reference&amountTo=900'), [{ currency: 'NGN', reference: 'ORDER-2' }])
  const counted = async (query: string) => (await exported(merchant, `payments?${query}`)).headers['export-rows']
  assert.deepEqual([await counted('amountTo=900'), await counted('q=ORDER-2')], ['1', undefined])
  const { body: nothing } = await exported(merchant, 'payments?status=expired&columns=id')
  assert.equal(nothing, 'id\r\n')
  const { body: marked } = await exported(merchant, 'payments?columns=id&status=expired&bom=true')
  assert.equal(marked, '\uFEFFid\r\n')
})

test('payments: a summary of the attempts by number, and the metadata as JSON', async () => {
  const merchant = await addMerchant(database)
  const metadata = { a: 'two\nlines', b: 'naïve "é"', 10: 'ten', 9: 'nine' }
  const paymentOf = async (reference: string) => (await checkout(app, merchant, { reference, metadata })).body.data.id
  const { place, merchantId } = merchant
  const addAttempt = async (paymentId: string, number: number, status: string, failure: string | null) => {
    const id = newId('attempt', new Date(), place)
    const payment = uuidOf(paymentId as Parameters<typeof uuidOf>[0])
    await database.rows(sql`
      insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee,
                            amount_received, order_reference, provider_reference, failure)
      values (${place}, ${uuidOf(id)}, ${payment}, ${uuidOf(merchantId)}, 'sandbox', ${number}, ${id}, ${`provider-${number}`},
              ${number % 2 ? 'card' : 'virtual-bank-account'}, ${status}, 'NGN', 5000, ${number}, 0, ${id}, ${id}, ${failure}::jsonb)`)
  }
  const paid = await paymentOf('PAID')
  await addAttempt(paid, 3, 'surplus', null)
  await addAttempt(paid, 1, 'failed', '{"code":"card_declined"}')
  await addAttempt(paid, 2, 'successful', null)
  const declined = await paymentOf('DECLINED')
  await addAttempt(declined, 10, 'failed', '{"code":"insufficient_funds","providerCode":"51"}')
  await addAttempt(declined, 9, 'failed', '{"message":"without a code"}')
  await paymentOf('NONE')
  await openCases(database, ['PAID'], 'a person must look')
  const summary = 'reference,needsReview,fee,attempts,lastStatus,lastProvider,lastChannel,lastFailure'
  const { body } = await exported(merchant, `payments?columns=${summary}`)
  assert.deepEqual(body.split('\r\n'), [
    summary,
    'NONE,false,,0,,,,',
    'DECLINED,false,,2,failed,provider-10,virtual-bank-account,insufficient_funds',
    'PAID,true,2,3,surplus,provider-3,card,',
    '',
  ])
  const { body: texts } = await exported(merchant, 'payments?columns=metadata&q=PAID')
  assert.equal(texts, `metadata\r\n"${JSON.stringify(metadata).replaceAll('"', '""')}"\r\n`)
  const { id } = await addMember(database, { role: 'viewer', merchantId })
  const browser = await signedInBrowser(app, database, id)
  const { body: list } = await browser.call('GET', `/merchants/${merchantId}/sandbox/payments?q=DECLINED`)
  const [{ attempts, needsReview, lastStatus, lastProvider, lastChannel, lastFailure }] = list.data
  assert.deepEqual(
    [attempts, needsReview, lastStatus, lastProvider, lastChannel, lastFailure],
    [2, false, 'failed', 'provider-10', 'virtual-bank-account', 'insufficient_funds'],
  )
})

test('refunds, transfers and deliveries, without secrets and without formulas', async () => {
  const [merchant, other] = [await addMerchant(database), await addMerchant(database)]
  const { body } = await checkout(app, merchant, { reference: '=HYPERLINK("https://evil.example")' })
  const { refund, delivery } = await addMoney(merchant, body.data.id)
  const [refunded] = parse((await exported(merchant, 'refunds')).body)
  assert.deepEqual([refunded?.id, refunded?.amount, refunded?.currency], [refund, '120', 'NGN'])
  assert.deepEqual([refunded?.paymentReference, refunded?.reason], [`'=HYPERLINK("https://evil.example")`, "'=1+1"])
  const [transfer] = parse((await exported(merchant, 'transfers')).body)
  assert.deepEqual([transfer?.kind, transfer?.transactionId, transfer?.amount], ['unmatched', 'T-1', '700'])
  for (const query of ['', '?state=given-up']) {
    const answer = await exported(merchant, `deliveries${query}`)
    assert.deepEqual(
      parse(answer.body).map((row) => [row.id, row.url]),
      [[delivery, 'https://shop.example/hook']],
    )
    assert.equal(answer.headers['export-rows'], '1')
  }
  assert.deepEqual(parse((await exported(merchant, 'deliveries?state=retrying')).body), [])
  assert.deepEqual(parse((await exported(merchant, 'refunds?status=failed')).body), [])
  for (const list of ['refunds', 'transfers', 'deliveries'])
    assert.deepEqual(parse((await exported(other, list)).body), [], list)
})

test('a filter or column that is not known is refused, and HEAD reads nothing', async () => {
  const merchant = await addMerchant(database)
  for (const [query, code] of [
    ['payments?columns=id,secret', 'invalid_request'],
    ['payments?columns=constructor', 'invalid_request'],
    ['payments?email=ada@example.com', 'unknown_field'],
    ['payments?status=paid', 'invalid_request'],
    ['refunds?from=2026-01-01', 'unknown_field'],
  ] as const) {
    const { status, body } = await exported(merchant, query)
    assert.deepEqual([status, body.code], [400, code], query)
  }
  const head = await app.inject({ method: 'HEAD', url: '/payments/v1/exports/payments', headers: merchant.headers })
  assert.equal(head.statusCode, 405)
  assert.equal((await call(app, 'GET', '/payments/v1/exports/payments')).status, 401)
})

test('an export by a member is in the audit log, without the text that was searched', async () => {
  const merchant = await addMerchant(database)
  const { merchantId } = merchant
  await checkout(app, merchant, { reference: 'ORDER-9' })
  const { id } = await addMember(database, { role: 'viewer', merchantId })
  const browser = await signedInBrowser(app, database, id)
  const path = `/merchants/${merchantId}/sandbox/exports/payments?q=ada@example.com&status=pending&columns=reference`
  const { status, body } = await browser.call('GET', path)
  assert.deepEqual([status, body], [200, 'reference\r\nORDER-9\r\n'])
  await browser.call('GET', `/merchants/${merchantId}/live/exports/payments?columns=nothing`)
  const acts = await database.rows(sql`
    select actor, act, subject from audit_log where merchant_id = ${uuidOf(merchantId)} and act like '%.exported'`)
  assert.deepEqual(acts, [{ actor: `member:${id}`, act: 'payments.exported', subject: 'sandbox status=pending q=…' }])
})

/** 12 MB, of which a page of an export has 2 MB. */
async function addLargePayments({ place, merchantId }: TestMerchant): Promise<void> {
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email, metadata,
                          expires_at)
    select ${place}, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${uuidOf(merchantId)}, 'sandbox', 'LARGE-' || n,
           ${merchantId} || n, 100, 'NGN', 'NG', false, 'ada@example.com', jsonb_build_object('text', repeat('x', 20000)), now()
      from generate_series(1, 600) n`)
}

/** An export whose rows are not read yet. */
function startExport(
  merchant: TestMerchant,
  at = socketPath,
): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const path = '/payments/v1/exports/payments'
    const request = get({ socketPath: at, path, headers: merchant.headers }, (response) => {
      response.on('error', () => {})
      resolve({ request, response })
    })
    request.on('error', reject)
  })
}

const openSnapshots = async () =>
  (
    await database.rows(sql`
      select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`)
  ).length

test('one snapshot, at most two exports at a time, and none is left when a client goes', async () => {
  const [first, second, third] = [await addMerchant(database), await addMerchant(database), await addMerchant(database)]
  await addLargePayments(first)
  await addLargePayments(second)
  const one = await startExport(first)
  const two = await startExport(second)
  assert.deepEqual([one.response.statusCode, two.response.statusCode], [200, 200])
  for (const [merchant, why] of [
    [first, /Another export of this merchant/],
    [third, /Too many exports/],
  ] as const) {
    const { status, headers, body } = await exported(merchant, 'payments')
    assert.deepEqual([status, body.code, headers['retry-after']], [429, 'rate_limited', '10'])
    assert.match(body.detail, why)
  }
  // Backpressure: both wait for their clients, on connections that are not those of the payments.
  await eventually(openSnapshots, (count) => count === 2)
  await eventually(
    async () => database.connections(),
    ({ total, idle }) => total === idle,
  )
  assert.equal((await checkout(app, first, { reference: 'LATER' })).status, 201)
  await database.rows(sql`update payments set amount = 999 where merchant_id = ${uuidOf(first.merchantId)}`)

  two.request.destroy()
  await eventually(
    () => exported(third, 'payments'),
    ({ status }) => status === 200,
  )
  await eventually(openSnapshots, (count) => count === 1)

  let text = ''
  for await (const chunk of one.response.setEncoding('utf8')) text += chunk
  const rows = parse(text)
  assert.equal(one.response.headers['export-rows'], '600')
  assert.deepEqual([rows.length, new Set(rows.map(({ id }) => id)).size], [600, 600])
  assert.ok(rows.every(({ amount, reference }) => amount === '100' && reference !== 'LATER'))
  await eventually(openSnapshots, (count) => count === 0)
})

test('an export that fails midway ends without its last chunk, so that a client notices', async () => {
  const merchant = await addMerchant(database)
  await addLargePayments(merchant)
  const { response } = await startExport(merchant)
  // Not while it reads a page: then its state is "active".
  const terminate = () =>
    database.rows(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`)
  await eventually(terminate, (ended) => ended.length === 1)
  await assert.rejects(async () => {
    for await (const _ of response);
  }, /aborted/)
  await eventually(
    () => exported(merchant, 'payments?columns=id&status=expired'),
    ({ status }) => status === 200,
  )
})

test('two merchants who do not read their exports, but send bytes, do not keep the others from theirs', async (t) => {
  const [first, second, third] = [await addMerchant(database), await addMerchant(database), await addMerchant(database)]
  await addLargePayments(first)
  await addLargePayments(second)
  const impatient = await startOn(database, { maxUnreadExportMs: 500 })
  const at = join(folder, 'impatient')
  await impatient.listen({ path: at })
  const stalled = [await startExport(first, at), await startExport(second, at)]
  const sending = setInterval(() => {
    for (const { request } of stalled) request.socket?.write('\r\n') // an HTTP server ignores it before a request
  }, 50)
  t.after(() => clearInterval(sending))
  const ask = (merchant: TestMerchant) =>
    call(impatient, 'GET', '/payments/v1/exports/payments', { headers: merchant.headers })
  assert.deepEqual(
    stalled.map(({ response }) => response.statusCode),
    [200, 200],
  )
  await eventually(
    () => ask(third),
    ({ status }) => status === 200,
    10_000,
  )
  await eventually(openSnapshots, (count) => count === 0)
  clearInterval(sending)
  for (const { response } of stalled)
    await assert.rejects(async () => {
      for await (const _ of response);
    }, /aborted/)
})

test('after an export that did not end, its merchant waits as long as it ran, also when the client went away', async (t) => {
  const merchant = await addMerchant(database)
  await addLargePayments(merchant)
  let nowMs = Math.ceil(performance.now()) // whole, so that sums of it are exact
  t.mock.method(performance, 'now', () => nowMs)
  for (const [ranSeconds, waitsSeconds] of [
    [29, 29],
    [500, 300],
  ] as const) {
    const { request } = await startExport(merchant)
    nowMs += ranSeconds * 1_000
    request.destroy()
    const { status, headers, body } = await eventually(
      () => exported(merchant, 'payments'),
      ({ headers }) => headers['retry-after'] !== '10',
    )
    assert.deepEqual([status, body.code, headers['retry-after']], [429, 'rate_limited', `${waitsSeconds}`])
    assert.match(body.detail, /did not end/)
    nowMs += waitsSeconds * 1_000
  }
  assert.equal((await exported(merchant, 'payments?columns=id')).status, 200)
})
