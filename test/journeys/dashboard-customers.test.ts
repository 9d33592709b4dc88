import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql, statementOf } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { recordsAfter } from '../../src/payments/store/audit-records.ts'
import { deleteClosedPayments } from '../../src/payments/store/delete-old.ts'
import { openCases } from '../support/cases.ts'
import { addMember, browserAs, signedInBrowser } from '../support/dashboard.ts'
import { startListener } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { placedTables } from '../support/place-rule.ts'
import { isPaid } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying({ deliver: true })
const { app, database, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const base = `/merchants/${merchantId}/sandbox`

const owner = await browserAs(service, 'owner', merchantId)

const NAME = 'Zéphyrine "Zee" Quill'
const PHONE = '+234 801 555 0199'
const EMAIL = 'Zephyrine.Quill@Example.com'
const USER = { email: EMAIL, name: NAME, phoneNumber: PHONE, id: 'quill-77' }
const TRACES = [/zephyrine\.quill(@|%40)/i, /Quill/i, /801\D{0,3}555\D{0,3}0199/, /quill-77/i, /Slessor/]

// The merchant's server repeats what it gets, and its answers are kept.
const hook = await startListener((_request, response) => response.writeHead(200).end(`Thank you, ${NAME} (${EMAIL})`))

async function pay(reference: string, changes: Record<string, unknown> = {}) {
  const { status, body } = await shop.initialize({
    ...{ reference, user: USER, amount: 5_000, webhook: `${hook.url}?for=${encodeURIComponent(EMAIL)}` },
    redirectURL: `https://shop.example/thanks?email=${encodeURIComponent(EMAIL)}&name=${new URLSearchParams([['', NAME]]).toString().slice(1)}`,
    metadata: { order: '1042', note: `For ${NAME}, call ${PHONE}`, data: 'kept', [`of ${EMAIL}`]: 'yes' },
    saveCard: true,
    ...changes,
  })
  assert.equal(status, 200, JSON.stringify(body))
  const card = changes.card ?? CARD.pays
  await shop.call('POST', `/sandbox/gateway/charges/${body.data.data.reference}`, { card, save: true })
  return eventually(
    () => shop.payment(reference),
    ({ attempts }) => attempts[0].status !== 'pending',
  )
}

/** Every text of every table, with the name of its column. */
async function everyText(): Promise<[column: string, text: string][]> {
  const columns = await database.rows<{ table: string; name: string; type: string }>(sql`
    select c.relname as table, a.attname as name, format_type(a.atttypid, null) as type
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped`)
  const texts: [string, string][] = []
  for (const { table, name, type } of columns.filter((each) => /^(text|jsonb?|text\[\]|bytea)$/.test(each.type))) {
    const value = type === 'bytea' ? `encode("${name}", 'escape')` : `"${name}"::text`
    const where = table === 'merchants' ? '' : 'where place >= 0 or true'
    const has = columns.some((each) => each.table === table && each.name === 'place')
    const text = `select ${value} as text from "${table}" ${has ? where : ''}`
    for (const row of await database.rows<{ text: string | null }>(statementOf(text, [])))
      texts.push([`${table}.${name}`, row.text ?? ''])
  }
  return texts
}

/**
 * Columns of the tables that grow which may hold personal data of a customer: an erasure rewrites them or deletes their
 * rows.
 */
const PERSONAL = columnsOf({
  payments: 'user_id user_email user_phone_number user_name redirect_url webhook_url metadata idempotency_key',
  events: 'data body',
  idempotent_calls: 'key answer',
  attempts: 'failure input instructions',
  cases: 'summary note',
  provider_calls: 'detail',
  notices: 'body note',
  saved_cards: 'user_id email customer',
  refunds: 'reason failure account_needed',
  disputes: 'reason',
  reviews: 'note',
  deliveries: 'url',
  customer_receipts: 'address',
  delivery_tries: 'error answer',
})
/** The others: codes, ids, references, what a merchant wrote about itself and its links. */
const NOT_PERSONAL = columnsOf({
  payments: 'mode reference short_code status currency country request_digest trace',
  events: 'mode type cause',
  idempotent_calls: 'mode endpoint digest reference began',
  attempts:
    'mode reference provider channel status currency order_reference provider_reference page_key failed_try_id language',
  provider_calls: 'call outcome',
  receipts: 'mode provider transaction_id currency receipt_number',
  // The receipts that customers get. A note says why none was sent, in our words.
  customer_receipts: 'kind mode code language state note',
  mail_counts: 'key',
  alerts: 'mode kind subject',
  alert_copies: 'recipient mode kind',
  // What a provider says of a payout, which is of many customers.
  settlements:
    'mode provider provider_id currency status because bank_reference difference changed lines_state lines_cursor',
  settlement_lines: 'mode line_key kind transaction_id order_reference',
  bank_credits: 'mode currency',
  reconciliation_listed: 'mode provider time_window',
  cases: 'mode provider reason subject_kind subject subject_reference currency closed_by',
  notices: 'mode provider digest reading reference says state',
  saved_cards: 'mode provider brand last4 sealed_token',
  // The account is sealed until the provider has it or the refund ends: without it the money cannot go back.
  refunds: 'mode currency kind status call_reference provider_refund_id transaction_ids sealed_account',
  disputes: 'mode provider_dispute_id currency status settled_by',
  reviews: 'mode kind act currency actor',
  links: 'mode code title description currency country custom_field redirect_url metadata',
  deliveries: 'mode destination state',
  delivery_retries: 'destination mode',
  delivery_leases: 'destination',
  rollups: 'mode currency fact provider channel detail',
  daily_rollups: 'mode currency fact provider channel detail',
  audit_log: 'actor act subject address',
  gateway_cards: 'token behaviour brand last4',
  // The sandbox provider leaves the customer's address and name empty.
  gateway_payments:
    'reference request_digest channel currency email name merchant_name return_url page_token account_number offered_card awaiting_code kept_card prompt',
  gateway_transactions: 'kind status currency failure_code refund_reference',
  gateway_disputes: 'currency status reason',
  gateway_settlements: 'currency',
  gateway_notices: 'body state',
})

function columnsOf(tables: Record<string, string>): string[] {
  return Object.entries(tables).flatMap(([table, names]) => names.split(' ').map((name) => `${table}.${name}`))
}

test('every text, JSON and binary column of a table that grows is listed as personal or not', async () => {
  const growing = await placedTables(database)
  const columns = await database.rows<{ table: string; name: string }>(sql`
    select c.relname as table, a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
       and format_type(a.atttypid, null) in ('text', 'text[]', 'json', 'jsonb', 'bytea')`)
  const found = columns.filter(({ table }) => growing.has(table)).map(({ table, name }) => `${table}.${name}`)
  assert.deepEqual(found.sort(), [...PERSONAL, ...NOT_PERSONAL].sort())
})

const traces = async () =>
  [
    ...new Set(
      (await everyText()).filter(([, text]) => TRACES.some((each) => each.test(text))).map(([column]) => column),
    ),
  ].sort()

test('customers by their newest payment, each once, page by page', async () => {
  for (const [reference, email] of [
    ['list-1', 'bola@example.com'],
    ['list-2', 'chidi@example.com'],
    ['list-3', 'BOLA@example.com'],
  ])
    await shop.initialize({ reference, user: { email } })
  const emails: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await owner.call('GET', `${base}/customers?limit=1${cursor && `&cursor=${cursor}`}`)
    emails.push(...body.data.map(({ email }: { email: string }) => email))
    cursor = body.nextCursor
  }
  assert.deepEqual(emails, ['BOLA@example.com', 'chidi@example.com'])
})

test('an erased customer leaves no trace in any column; amounts, references and other customers stay', async () => {
  const paid = await pay('erase-1')
  const again = await pay('erase-2', {
    user: { ...USER, name: 'Zee', email: EMAIL.toLowerCase() },
    card: CARD.insufficientFunds,
  })
  await pay('other-1', { user: { email: 'quinn@example.com' }, metadata: {}, redirectURL: null, webhook: null })
  const refund = { amount: 1_000, reason: `${NAME} did not want it` }
  const refunded = () =>
    shop.call('POST', '/payments/v1/payments/erase-1/refunds', refund, { 'idempotency-key': `refund ${EMAIL}` })
  const { status, body: answer } = await refunded()
  assert.equal(status, 201)
  await hook.hears(3)
  const merchant = uuidOf(merchantId)
  await eventually(
    () => database.rows(sql`select from delivery_tries where answer like '%Quill%'`),
    (rows) => rows.length === 3,
  )
  // A later notice would write the attempts again. One that was answered is processed afterwards.
  await eventually(
    async () => {
      await processWaitingNotices(service.parts, 100) // as a worker repeats those that failed
      return database.rows(
        sql`select from gateway_notices where state = 'waiting' union all select from notices where state = 'waiting'`,
      )
    },
    (rows) => rows.length === 0,
  )
  // What providers may say of a customer. With a new version, so that a decision that is being made now is made again.
  await database.rows(sql`
    with changed as (update payments set version = version + 1 where merchant_id = ${merchant} and reference like 'erase-%')
    update attempts set instructions = ${JSON.stringify({ kind: 'account', accountName: NAME })}::jsonb,
                        input = ${JSON.stringify({ phoneNumber: PHONE })}::jsonb
     where merchant_id = ${merchant} and reference like 'erase-1-%'`)
  await openCases(database, ['erase-1'], `${NAME} paid twice`)
  await database.rows(sql`
    update attempts set failure = ${JSON.stringify({ code: 'card_declined', message: `Declined for ${EMAIL}` })}::jsonb
     where merchant_id = ${merchant} and reference like 'erase-2-%'`)
  await database.rows(sql`
    update provider_calls c set detail = ${`customer ${PHONE}`} from attempts a where a.id = c.attempt_id and a.reference like 'erase-%'`)
  // The customer has typed an address for the receipt.
  await database.rows(sql`
    insert into customer_receipts (place, payment_id, kind, merchant_id, mode, code, address, state, due_at, created_at)
    select place, id, 'success', merchant_id, mode, 'erased', ${EMAIL}, 'sent', now(), now() from payments where reference = 'erase-1'`)
  // An answer on the page of a link.
  const own = { order: '', note: '', data: '' }
  const link = await shop.call('POST', '/payments/v1/links', { title: 'Class', country: 'NG', metadata: own })
  await database.rows(sql`
    update payments set link_id = ${uuidOf(link.body.data.id)}, metadata = metadata || '{"Pupil": "Mary Slessor"}' where reference = 'erase-1'`)
  const review = { note: `Called ${NAME}. ${'Zee '.repeat(120)}`.slice(0, 500) } // longer when it is erased
  assert.equal((await owner.call('POST', `${base}/payments/erase-1/review`, review)).status, 204)
  const before = (await owner.call('GET', `${base}/customers/${encodeURIComponent(EMAIL)}`)).body.data
  assert.equal(before.cards.length, 1)
  // What else may be written about a customer.
  await openCases(database, ['erase-2'], `ask ${NAME}`)
  await database.rows(
    sql`update payments set idempotency_key = ${EMAIL}, request_digest = '' where reference = 'erase-2'`,
  )
  await database.rows(
    sql`update notices set note = ${`about ${NAME}`} where attempt_id in (select id from attempts where merchant_id = ${merchant} and reference like 'erase-%')`,
  )
  await database.rows(
    sql`update refunds set failure = ${`no card of ${NAME}`}, account_needed = ${`call ${PHONE}`} where merchant_id = ${merchant}`,
  )
  await database.rows(sql`update delivery_tries set error = ${`refused by ${EMAIL}`} where answer like '%Quill%'`)
  await database.rows(sql`
    insert into disputes (place, id, payment_id, attempt_id, merchant_id, mode, provider_dispute_id, amount, currency, status, reason, opened_at)
    select place, id, payment_id, id, merchant_id, mode, 'dispute-1', 100, currency, 'open', ${`${NAME} denies it`}, now() from attempts
     where merchant_id = ${merchant} and reference like 'erase-1-%'`)
  // Notices that wait for a provider, or that were not matched, name an order and no attempt.
  await database.rows(sql`
    insert into notices (place, merchant_id, mode, provider, digest, body, reading, reference, says, state, due_at)
    select a.place, a.merchant_id, a.mode, a.provider, s.state::bytea, 'sealed', '{}', a.order_reference, 'paid', s.state, now() + interval '1 day'
      from attempts a cross join (values ('waiting'), ('unmatched')) as s (state)
     where a.merchant_id = ${merchant} and a.reference like 'erase-1-%'`)
  // Notices are sealed, and checked below.
  assert.deepEqual(await traces(), PERSONAL.filter((column) => column !== 'notices.body').sort())
  const payload = (await everyText()).filter(([, text]) => text.includes('"type":"payment.successful"'))
  assert.deepEqual([...new Set(payload.map(([column]) => column))], ['events.body'], 'a payload is stored once')
  const [{ sealed } = { sealed: 0 }] = await database.rows<{ sealed: number }>(
    sql`select count(*) as sealed from notices where length(body) > 0`,
  )
  assert.ok(sealed >= 3)

  const path = `${base}/customers/${encodeURIComponent(EMAIL)}/erase`
  for (const role of ['developer', 'support', 'viewer'] as const)
    assert.equal((await (await browserAs(service, role, merchantId)).call('POST', path)).status, 403, role)
  assert.deepEqual((await owner.call('POST', path)).body.data, { payments: 2, isComplete: true })
  assert.deepEqual(await traces(), [])
  const sealedLater = await database.rows(sql`
    select from notices n join attempts a on a.id = n.attempt_id or a.order_reference = n.reference join payments p on p.id = a.payment_id
     where p.reference like 'erase-%' and length(n.body) > 0`)
  assert.deepEqual(sealedLater, [], 'sealed notices name the customer, too')

  const erased = await shop.payment('erase-1')
  assert.match(erased.user.email, /^erased-[0-9a-f]{16}@customer\.invalid$/)
  assert.deepEqual({ ...erased.user, email: '' }, { id: null, email: '', name: null, phoneNumber: null })
  assert.deepEqual(
    [erased.id, erased.status, erased.amount, erased.amountPaid, erased.amountRefunded],
    [paid.id, 'successful', 5_000, 5_000, 1_000],
  )
  const metadata = {
    order: '1042',
    note: 'For erased, call erased',
    data: 'kept',
    'of erased': 'erased',
    Pupil: 'erased',
  }
  assert.deepEqual(erased.metadata, metadata)
  const repeated = await refunded()
  assert.deepEqual([repeated.status, repeated.body.data.id], [201, answer.data.id], 'a repeat does not refund again')
  assert.equal((await shop.payment('erase-2')).id, again.id)
  assert.equal((await shop.payment('other-1')).user.email, 'quinn@example.com')
  const { body } = await owner.call('GET', `${base}/customers/${encodeURIComponent(erased.user.email)}`)
  assert.deepEqual([body.data.totals, body.data.cards], [before.totals, []])
  assert.equal((await owner.call('GET', `${base}/customers/${encodeURIComponent(EMAIL)}`)).status, 404)
  assert.equal((await owner.call('POST', path)).status, 404)
  const [act] = await database.rows(sql`select act, subject from audit_log where act = 'customer.erased'`)
  assert.deepEqual(act, { act: 'customer.erased', subject: erased.user.email })

  await database.rows(sql`delete from disputes where provider_dispute_id = 'dispute-1'`) // it has no event
  const findings = (await database.transaction((tx) => recordsAfter(tx, undefined, 100))).flatMap((each) => audit(each))
  assert.deepEqual(findings, [])
})

test('a customer whose payments were deleted is still found and erased, with every saved card', async () => {
  const email = 'Keeper@example.com'
  const path = `${base}/customers/${encodeURIComponent(email)}`
  for (const [reference, user] of [
    ['kept-1', { email, id: 'keeper-88' }],
    ['kept-2', { email: email.toLowerCase() }],
  ] as const) {
    const { id } = await pay(reference, { user, webhook: null, redirectURL: null, metadata: {} })
    await database.transaction(async (tx) => {
      await tx.rows(sql`select set_config('manilla.retention', 'on', true)`)
      await tx.rows(
        sql`update attempts set next_check_at = null where place = ${shop.place} and payment_id = ${uuidOf(id)}`,
      )
      const owner = { uuid: uuidOf(merchantId), place: shop.place }
      const previous = await tx.row<{ id: string }>(
        sql`select id from payments where place = ${shop.place} and id < ${uuidOf(id)} order by id desc limit 1`,
      )
      assert.ok(previous)
      const range = { mode: 'sandbox' as const, before: new Date(Date.now() + 60_000), after: previous.id }
      assert.equal((await deleteClosedPayments(tx, owner, range, 1)).times.length, 1)
    })
  }
  const { status, body } = await owner.call('GET', path)
  assert.deepEqual([status, body.data?.totals, body.data?.cards.length], [200, [], 2])
  assert.deepEqual((await owner.call('POST', `${path}/erase`)).body.data, { payments: 0, isComplete: true })
  assert.deepEqual(await database.rows(sql`select id from saved_cards where email ilike 'keeper@%'`), [])
  assert.equal((await owner.call('POST', `${path}/erase`)).status, 404)
})

test('an erasure of as many payments as one call erases is complete', async () => {
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email,
                          metadata, expires_at)
    select ${shop.place}, gen_random_uuid(), ${uuidOf(merchantId)}, 'sandbox', 'many-' || n, 'many-' || n, 100, 'NGN', 'NG', false,
           'many@example.com', '{}', now() + interval '1 hour'
      from generate_series(1, 1000) n`)
  const erased = await owner.call('POST', `${base}/customers/many@example.com/erase`)
  assert.deepEqual(erased.body.data, { payments: 1_000, isComplete: true })
})

test('notices that come after the erasure store neither a card nor what they say of the customer', async () => {
  const user = { email: 'late@example.com', id: 'late-99' }
  const { body } = await shop.initialize({ reference: 'late-1', user, amount: 5_000, saveCard: true })
  const erased = await owner.call('POST', `${base}/customers/${user.email}/erase`)
  assert.deepEqual(erased.body.data, { payments: 1, isComplete: true })
  const charge = `/sandbox/gateway/charges/${body.data.data.reference}`
  await shop.call('POST', charge, { card: CARD.pays, save: true })
  const { id, attempts } = await eventually(() => shop.payment('late-1'), isPaid)
  const refund = { reference: attempts[0].providerReference, amount: 1_000 }
  assert.equal((await shop.call('POST', '/sandbox/gateway/refunds', refund)).status, 201)
  await eventually(
    () => shop.payment('late-1'),
    ({ amountRefunded }) => amountRefunded === 1_000,
  )
  const notices = await eventually(
    () =>
      database.rows<{ says: string; bytes: number }>(sql`
        select n.says, length(n.body) as bytes from notices n join attempts a on a.id = n.attempt_id
         where a.payment_id = ${uuidOf(id)} and n.state <> 'waiting'`),
    // The body is emptied right after the notice has ended.
    (rows) => new Set(rows.map(({ says }) => says)).size === 2 && rows.every(({ bytes }) => bytes === 0),
  )
  assert.ok(notices.length >= 2)
  assert.deepEqual(await database.rows(sql`select id from saved_cards where email like '%.invalid'`), [])
})

test('erasing needs a fresh second factor', async () => {
  const { id } = await addMember(database, { role: 'admin', merchantId })
  const admin = await signedInBrowser(app, database, id, { origin: baseUrl })
  await database.rows(
    sql`update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(id)}`,
  )
  const { status, body } = await admin.call('POST', `${base}/customers/quinn%40example.com/erase`)
  assert.deepEqual([status, body.code], [403, 'step_up_required'])
})

test('events stay append-only, except for their content while a customer is erased', async () => {
  const rewritten = (statement: ReturnType<typeof sql>, isErasing: boolean) =>
    database.transaction(async (tx) => {
      if (isErasing) await tx.rows(sql`select set_config('manilla.erasing', 'on', true)`)
      await tx.rows(statement)
    })
  const [type, body] = [
    sql`update events set type = 'payment.cancelled' where place >= 0`,
    sql`update events set body = body where place >= 0`,
  ]
  await assert.rejects(rewritten(type, true), /append-only/)
  await assert.rejects(rewritten(body, false), /append-only/)
  await assert.rejects(rewritten(sql`delete from events where place >= 0`, true), /append-only/)
  await rewritten(body, true)
})
