import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { openAccountCase } from '../../src/payments/store/other-cases.ts'
import { openCases } from '../support/cases.ts'
import { browserAs } from '../support/dashboard.ts'
import { atTransfers } from '../support/dashboard-transfers.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { assertAudited, type Json, recordsOf } from '../support/payment-records.ts'
import { refund } from '../support/returns.ts'
import { AMOUNT, becomes, isPaid, paid, start, TRANSFER, transfer } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database } = service
const shop = await service.addShop()
const { owner, base, act, unmatchedMoney } = await atTransfers(service, shop)

const CASES = '/payments/v1/cases'
const list = async (query: string): Promise<Json[]> => (await shop.call('GET', `${CASES}?${query}`)).body.data
const close = (id: string, body: object) => shop.call('POST', `${CASES}/${id}/close`, body)
const eventTypes = async (payment: { id: string }) =>
  (await recordsOf(database, payment)).caseEvents.map(({ type, data }) => `${type} ${data.case.reason}`)

async function overpaid(): Promise<Json> {
  const { payment, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT + 500)
  return becomes(shop, payment, isPaid)
}

async function underpaid(): Promise<Json> {
  const { payment, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, 1_000)
  await becomes(shop, payment, ({ amountPaid }) => amountPaid === 1_000)
  await shop.call('POST', `/payments/v1/payments/${payment.id}/cancel`)
  return shop.payment(payment.id)
}

test('money beyond the charge is a case, which closes when it is refunded', async () => {
  const payment = await overpaid()
  const [found, ...others] = await list(`payment=${payment.id}`)
  assert.equal(others.length, 0)
  const { id, openedAt, ...rest } = found
  assert.match(id, /^cas_/)
  assert.ok(Date.parse(openedAt))
  const [attempt] = payment.attempts
  assert.deepEqual(rest, {
    mode: 'sandbox',
    reason: 'surplus',
    subject: { kind: 'attempt', id: attempt.id, reference: attempt.reference },
    payment: payment.reference,
    provider: 'gateway',
    amount: 500,
    currency: 'NGN',
    summary: '₦5.00 more came in than was due.',
    suggestions: ['refund', 'close'],
    status: 'open',
    note: null,
    closedAt: null,
    closedBy: null,
  })
  assert.equal(attempt.needsReview, null, 'money on the list of transfers is no review of the attempt')
  assert.deepEqual((await shop.call('GET', `${CASES}/${id}`)).body.data, found)
  assert.equal((await refund(shop, payment.id, { amount: 500 })).status, 201)
  const closed = (await shop.call('GET', `${CASES}/${id}`)).body.data
  assert.deepEqual([closed.status, closed.closedBy, closed.note, closed.suggestions], ['closed', 'books', null, []])
  assert.deepEqual(await eventTypes(payment), ['case.opened surplus', 'case.closed surplus'])
  await assertAudited(database, payment)
})

test('a payment that ended unpaid and holds money is a case; a note closes it and its line among the transfers', async () => {
  const payment = await underpaid()
  const [open] = await list(`payment=${payment.id}&status=open`)
  assert.deepEqual([open.reason, open.amount], ['underpaid', 1_000])
  assert.equal(open.summary, '₦10.00 of ₦12,500.00 came in, and the payment is cancelled.')
  for (const body of [{}, { note: '' }, { note: 'x'.repeat(501) }, { nota: 'x' }])
    assert.equal((await close(open.id, body)).status, 400, JSON.stringify(body))
  const { status, body } = await close(open.id, { note: 'The customer lets us keep it.' })
  assert.deepEqual([status, body.data.status, body.data.note], [200, 'closed', 'The customer lets us keep it.'])
  assert.match(body.data.closedBy, /^credential:/)
  assert.equal((await close(open.id, { note: 'again' })).status, 409)
  const transfers = (await owner.call('GET', `${base}/transfers`)).body.data
  assert.ok(!transfers.some(({ payment: id }: Json) => id === payment.id))
  const [audited] = await database.rows(sql`
    select act, subject from audit_log where merchant_id = ${shop.merchantUuid} order by id desc limit 1`)
  assert.deepEqual(audited, { act: 'case.closed', subject: open.id })
  assert.deepEqual(await list(`payment=${payment.id}&status=open`), [], 'it is not opened again')
  await assertAudited(database, payment)
})

test('a note among the transfers closes the case of that money', async () => {
  const payment = await underpaid()
  const transfers = (await owner.call('GET', `${base}/transfers`)).body.data
  const money = transfers.find(({ payment: id }: Json) => id === payment.id)
  assert.equal((await act(owner, money, 'note', { note: 'Kept.' })).status, 200)
  const [found] = await list(`payment=${payment.id}`)
  assert.deepEqual([found.status, found.note], ['closed', 'Kept.'])
  assert.match(found.closedBy, /^member:/)
})

test('unmatched money is a case without a payment: matched, noted, or closed with a note', async () => {
  const matched = await unmatchedMoney(2_000)
  const { payment } = await start(shop, { ...TRANSFER, amount: 2_000 })
  const of = async (id: string): Promise<Json> =>
    (await list('reason=unmatched_money')).find(({ subject }) => subject.id === id)
  const open = await of(matched.id)
  assert.deepEqual([open.payment, open.amount, open.subject.reference], [null, 2_000, matched.transactionId])
  assert.deepEqual(open.suggestions, ['match', 'close'])
  assert.equal((await act(owner, matched, 'match', { payment: payment.id })).status, 200)
  const after = await of(matched.id)
  assert.deepEqual([after.status, after.closedBy, after.payment], ['closed', 'books', payment.reference])

  const noted = await unmatchedMoney(3_000)
  assert.equal((await act(owner, noted, 'note', { note: 'Of our other shop.' })).status, 200)
  assert.deepEqual([(await of(noted.id)).status, (await of(noted.id)).note], ['closed', 'Of our other shop.'])

  const byCase = await unmatchedMoney(4_000)
  assert.equal((await close((await of(byCase.id)).id, { note: 'A donation.' })).status, 200)
  const transfers = (await owner.call('GET', `${base}/transfers`)).body.data
  assert.ok(!transfers.some(({ id }: Json) => id === byCase.id))
  const events = (await shop.call('GET', '/payments/v1/events?type=case.opened')).body.data
  const event = events.find(({ data }: Json) => data.case.id === open.id)
  assert.deepEqual([event.sequence, event.data.payment, event.data.case.status], [null, null, 'open'])
})

test('J8: a failed refund is a case, until the same money goes back by another refund', async () => {
  const { id, reference, order } = await paid(shop)
  await database.rows(sql`update gateway_payments set refunded = taken where reference = ${order}`)
  const failed = (await refund(shop, reference)).body.data
  const [open] = await list(`payment=${id}&status=open`)
  assert.deepEqual([open.reason, open.subject.kind, open.subject.id], ['refund_failed', 'refund', failed.id])
  assert.match(open.summary, /^₦12,500.00 could not be given back/)
  await database.rows(sql`update gateway_payments set refunded = 0 where reference = ${order}`)
  assert.equal((await refund(shop, reference)).body.data.status, 'successful')
  assert.deepEqual(await list(`payment=${id}&status=open`), [])
  assert.deepEqual(await eventTypes({ id }), ['case.opened refund_failed', 'case.closed refund_failed'])
  await assertAudited(database, { id })
})

test('a member reviews a payment: the cases of its attempts are closed with the note', async () => {
  const { id, reference } = await paid(shop)
  await openCases(database, [reference], 'outcome_unknown: the provider never gave a clear answer.')
  assert.match((await shop.payment(reference)).attempts[0].needsReview, /^outcome_unknown: /)
  assert.equal((await owner.call('POST', `${base}/payments/${id}/review`, { note: 'All is well.' })).status, 204)
  const [found] = await list(`payment=${id}`)
  assert.deepEqual(
    [found.reason, found.status, found.note, found.summary],
    ['unanswered', 'closed', 'All is well.', 'The provider never gave a clear answer.'],
  )
  assert.equal((await shop.payment(reference)).attempts[0].needsReview, null)
})

test('an account as a whole has one open case for each reason, and a person closes one of them', async () => {
  const summary = 'contradiction: 12 of 90 transactions are not in the list of the provider.'
  const openIt = (reason: 'missing_at_provider' | 'settlement_difference' = 'missing_at_provider') =>
    database.transaction((tx) =>
      openAccountCase(tx, { ...shop, mode: 'sandbox' }, { provider: 'gateway', reason, summary }, new Date()),
    )
  await openIt()
  await openIt()
  const of = async () => (await list('')).filter(({ subject }) => subject.kind === 'account')
  const [found, ...others] = await of()
  assert.equal(others.length, 0)
  assert.deepEqual(
    [found.subject.id, found.reason, found.payment, found.amount],
    ['gateway', 'missing_at_provider', null, null],
  )
  await openIt('settlement_difference')
  assert.equal((await close(found.id, { note: 'The keys were of another account.' })).status, 200)
  assert.deepEqual(
    (await of()).map(({ reason, status }) => `${reason} ${status}`),
    ['settlement_difference open', 'missing_at_provider closed'],
  )
})

test('cases are paged, filtered, and those of another merchant are not there', async () => {
  const all = await list('limit=100')
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await shop.call('GET', `${CASES}?limit=3${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.data.map(({ id }: Json) => id))
    cursor = body.nextCursor ?? ''
  } while (cursor)
  assert.deepEqual(
    seen,
    all.map(({ id }) => id),
  )
  const ids = async (query: string) => (await list(`limit=100&${query}`)).map(({ id }) => id)
  const those = (isSo: (each: Json) => boolean) => all.filter(isSo).map(({ id }) => id)
  assert.deepEqual(
    await ids('status=open'),
    those(({ status }) => status === 'open'),
  )
  assert.deepEqual(
    await ids('status=closed&reason=surplus'),
    those((each) => each.status === 'closed' && each.reason === 'surplus'),
  )
  assert.deepEqual(await ids('to=2026-01-01'), [])
  assert.equal((await ids('from=2026-01-01')).length, all.length)
  for (const query of ['status=x', 'reason=x', 'limit=0', 'cursor=x', 'unknown=1'])
    assert.equal((await shop.call('GET', `${CASES}?${query}`)).status, 400, query)
  const other = await service.addShop()
  assert.deepEqual((await other.call('GET', CASES)).body.data, [])
  assert.equal((await other.call('GET', `${CASES}/${all[0].id}`)).status, 404)
  assert.equal((await other.call('POST', `${CASES}/${all[0].id}/close`, { note: 'x' })).status, 404)
})

test('in the dashboard every member reads cases, and those who may refund close them', async () => {
  const payment = await overpaid()
  const path = `${base}/cases?payment=${payment.id}`
  const viewer = await browserAs(service, 'viewer', shop.merchantId)
  const [open] = (
    await eventually(
      () => viewer.call('GET', path),
      ({ body }) => body.data.length === 1,
    )
  ).body.data
  assert.equal((await viewer.call('POST', `${base}/cases/${open.id}/close`, { note: 'x' })).status, 403)
  assert.equal((await owner.call('POST', `${base}/cases/${open.id}/close`, { note: 'Kept.' })).status, 200)
  assert.match((await viewer.call('GET', path)).body.data[0].closedBy, /^member:/)
})
