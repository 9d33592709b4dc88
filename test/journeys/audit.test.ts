import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshStatementOf, type Statement, sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { readMissingGuards, readPutOff, recordsAfter } from '../../src/payments/store/audit-records.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'
import { assertAudited } from '../support/payment-records.ts'
import { atProvider, refund } from '../support/returns.ts'
import { paid, start, TRANSFER } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database } = service

/** A payment with a refund, a chargeback and an attempt that the customer did not use. */
async function refundedAndDisputed(shop: Shop): Promise<string> {
  const { payment } = await start(shop, TRANSFER)
  await start(shop, { reference: payment.reference })
  const { id, reference, order } = await paid(shop, { reference: payment.reference })
  assert.equal((await refund(shop, reference, { amount: 250_000 })).status, 201)
  const dispute = await atProvider(shop, '/disputes', { reference: order, amount: 400_000 })
  await atProvider(shop, `/disputes/${dispute.id}/close`, { outcome: 'lost' }, 200)
  await eventually(
    () => shop.payment(reference),
    ({ amountRefunded }) => amountRefunded === 650_000,
  )
  return uuidOf(id as PaymentId)
}

class RolledBack extends Error {}

/** What the audit finds of the payment after the change, which is undone. */
async function findingsAfter(id: string, ...changes: Statement[]): Promise<string[]> {
  let found: string[] = []
  await database
    .transaction(async (tx) => {
      await tx.rows(sql`select set_config('manilla.retention', 'on', true)`)
      for (const change of changes) await tx.rows(change)
      const records = await recordsAfter(reading(tx), undefined, 1_000)
      found = records.filter(({ state }) => uuidOf(state.payment.id) === id).flatMap((each) => audit(each))
      throw new RolledBack()
    })
    .catch((error) => {
      if (!(error instanceof RolledBack)) throw error
    })
  return found
}

/** `recordsAfter` sets the isolation level, which a transaction that has written something cannot. */
function reading<Tx extends Parameters<typeof recordsAfter>[0]>(tx: Tx): Tx {
  const rows: Tx['rows'] = (statement) =>
    statement.text.includes('isolation level') ? Promise.resolve([]) : tx.rows(statement)
  return Object.assign(Object.create(tx), { rows })
}

const paidOnce = await service.addShop()
const refunded = await refundedAndDisputed(paidOnce)
const pending = uuidOf((await start(await service.addShop())).payment.id as PaymentId)
const told = uuidOf((await paid(await service.addShop())).id as PaymentId)
/** As versions before this one wrote them: no event names an amount or a transaction. */
await database.rows(sql`alter table events disable trigger events_are_append_only`)
await database.rows(sql`update events set data = data - 'price' - 'transactions' where payment_id = ${told}`)
await database.rows(sql`alter table events enable trigger events_are_append_only`)

const of = (id: string) => ({
  payment: (set: string) => unsafe(`update payments set ${set} where id = '${id}'`),
  attempts: (set: string, where = 'true') =>
    unsafe(`update attempts set ${set} where payment_id = '${id}' and ${where}`),
  receipts: (set: string) => unsafe(`update receipts set ${set} where payment_id = '${id}'`),
  refunds: (set: string, kind: string) =>
    unsafe(`update refunds set ${set} where payment_id = '${id}' and kind = '${kind}'`),
  disputes: (set: string) => unsafe(`update disputes set ${set} where payment_id = '${id}'`),
  run: (text: string) => unsafe(text.replaceAll('$id', `'${id}'`)),
})
/** What a person types at psql. */
const unsafe = (text: string): Statement => freshStatementOf(text, [])
const WINNER = `status = 'successful'`
const OPEN = `status = 'pending'`

const row = of(refunded)
const open = of(pending)
const old = of(told)
// biome-ignore format: one way of tampering in each line
const TAMPERED: [what: string, finding: RegExp, id: string, changes: Statement[]][] = [
  ['another status', /^status is cancelled, its records say successful: find out/, refunded, [row.payment(`status = 'cancelled'`)]],
  ['late', /^late is true/, refunded, [row.payment('late = true')]],
  ['no time of completion', /^completedAt is set is false/, refunded, [row.payment('completed_at = null')]],
  ['the sequence', /^sequence is 99, its records say/, refunded, [row.payment('sequence = 99')]],
  ['a removed event', /^the events have a gap/, refunded, [
    row.run('delete from deliveries where event_id in (select id from events where payment_id = $id)'),
    row.run('delete from events where payment_id = $id and sequence = 2'),
  ]],
  ['a second success', /^it succeeded 2 times/, refunded, [
    row.run(`insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data)
             select place, gen_random_uuid(), merchant_id, mode, payment_id, type, 99, data from events
              where payment_id = $id and type = 'payment.successful'`),
  ]],
  ['another merchant', /^it is of mer_\S+ sandbox, its events are of mer_/, pending, [open.payment('merchant_id = gen_random_uuid()')]],
  ['the status of an attempt', /^the status of attempt \S+ is failed, its records say successful/, refunded, [row.attempts(`status = 'failed'`, WINNER)]],
  ['no time of an end', /^attempt \S+ is successful and has no resolved_at/, refunded, [row.attempts('resolved_at = null', WINNER)]],

  ['a lowered amount', /^the amount is 1 NGN, its records say 1250000 NGN/, refunded, [row.payment('amount = 1')]],
  ['a lowered amount of an older payment', /^the amount is 1 NGN, its records say 1250000 NGN/, told, [old.payment('amount = 1')]],
  ['another currency', /^the amount is 1250000 GHS, its records say 1250000 NGN/, refunded, [row.payment(`currency = 'GHS'`)]],
  ['another currency of all rows', /^the amount is 1250000 GHS/, told, [
    old.payment(`currency = 'GHS'`), old.attempts(`currency = 'GHS'`), old.receipts(`currency = 'GHS'`),
  ]],
  ['the currency of an attempt', /^the currency of attempt \S+ is GHS, its records say NGN/, refunded, [row.attempts(`currency = 'GHS'`, WINNER)]],
  ['a lowered charge', /^the charge of attempt \S+ is 1 with fee \d+, its records say 1250000 with fee/, refunded, [row.attempts('amount_charged = 1')]],
  ['a lowered charge of an older payment', /^the charge of attempt \S+ is 1 with fee/, told, [old.attempts('amount_charged = 1')]],
  ['a fee', /^the charge of attempt \S+ is 1250000 with fee 1, its/, refunded, [row.attempts('fee = 1', WINNER)]],

  ['a success without receipts', /^attempt \S+ is successful with 0 of 1250000 NGN received: compare it with the provider/, told, [
    old.run('delete from receipts where payment_id = $id'), old.attempts('amount_received = 0'), old.payment('amount_paid = 0'),
  ]],
  ['a success with less than was charged', /^attempt \S+ is successful with 1249999 of 1250000 NGN/, told, [
    old.receipts('amount = amount - 1'), old.attempts('amount_received = amount_received - 1'), old.payment('amount_paid = amount_paid - 1'),
  ]],
  ['what an attempt received', /^amountReceived of attempt \S+ is 1250001, its records say 1250000/, refunded, [row.attempts('amount_received = amount_received + 1', WINNER)]],
  ['what an attempt gave back', /^amountReturned of attempt \S+ is 650001, its records say 650000/, refunded, [row.attempts('amount_returned = amount_returned + 1', WINNER)]],
  ['what was refunded of an attempt', /^amountRefunded of attempt \S+ is 0, its records say 650000/, refunded, [row.attempts('amount_refunded = 0', WINNER)]],
  ['what was reversed', /^amountReversed of attempt \S+ is 5, its records say 0/, refunded, [row.attempts('amount_reversed = 5', WINNER)]],
  ['what was paid', /^amountPaid is 1250001, its records say 1250000/, refunded, [row.payment('amount_paid = amount_paid + 1')]],
  ['what was refunded', /^amountRefunded is 0, its records say 650000/, refunded, [row.payment('amount_refunded = 0')]],
  ['a receipt that does not count', /^amountPaid is 1250000, its records say 0/, refunded, [row.receipts('counted = false')]],
  ['the amount of a receipt, with all sums', /^transaction \S+ is on record with 1250001 NGN, event \d+ says 1250000 NGN/, refunded, [
    row.receipts('amount = amount + 1'), row.attempts('amount_received = amount_received + 1', WINNER), row.payment('amount_paid = amount_paid + 1'),
  ]],
  ['the currency of a receipt', /^transaction \S+ counts in GHS/, refunded, [row.receipts(`currency = 'GHS'`)]],
  ['a changed transaction id', /^transaction gtx_\S+ of event \d+ is on record no more/, refunded, [row.receipts(`transaction_id = 'mine'`)]],

  ['the status of a refund', /^refund rfd_\S+ is pending, 250000 NGN, its records say successful, 250000 NGN/, refunded, [row.refunds(`status = 'pending', due_at = now(), resolved_at = null`, 'merchant')]],
  ['a refund that was made successful', /^refund rfd_\S+ of 250000 NGN is successful, and no event says so/, told, [
    old.run(`insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted, resolved_at)
             select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 250000, currency, 'merchant', 'successful', true, now()
               from attempts where payment_id = $id`),
  ]],
  ['the amount of a refund, with all sums', /^refund rfd_\S+ is successful, 150000 NGN, its records say successful, 250000 NGN/, refunded, [
    row.refunds('amount = 150000', 'merchant'), row.payment('amount_refunded = 550000'),
    row.attempts('amount_refunded = 550000, amount_returned = 550000', WINNER),
  ]],
  ['the currency of a refund', /^refund rfd_\S+ is in GHS/, refunded, [row.refunds(`currency = 'GHS'`, 'merchant')]],
  ['a successful refund without a time', /^refund rfd_\S+ is successful and its resolved_at is empty/, refunded, [row.refunds('resolved_at = null', 'merchant')]],
  ['a pending refund with a time', /^refund rfd_\S+ is pending and its resolved_at is set/, refunded, [row.refunds(`status = 'pending', due_at = now()`, 'merchant')]],
  ['the transaction of a refund', /^refund rfd_\S+ is of transaction other, which is not on record/, refunded, [row.refunds(`transaction_ids = '{other}'`, 'merchant')]],
  ['a removed refund', /^refund rfd_\S+ is in the events and not on record/, refunded, [
    row.run(`delete from refunds where payment_id = $id and kind = 'merchant'`),
  ]],

  ['the status of a dispute', /^the status of dispute dsp_\S+ is open, its records say lost/, refunded, [row.disputes(`status = 'open', resolved_at = null`)]],
  ['the amount of a dispute', /^the amount of dispute dsp_\S+ is 1 NGN, its records say 400000 NGN/, refunded, [row.disputes('amount = 1')]],
  ['a lost dispute that no refund counts', /^the money of lost dispute dsp_\S+ is counted by no refund/, refunded, [row.disputes('refund_id = null')]],
  ['a removed dispute', /^dispute dsp_\S+ is in the events and not on record/, refunded, [row.run('delete from disputes where payment_id = $id')]],

  ['an open payment that never expires', /^it expires at the end of time, later than any payment/, pending, [open.payment(`expires_at = 'infinity'`)]],
  ['an open attempt that is not asked about', /^attempt \S+ is pending and is not asked about any more: run `manilla payment resync/, pending, [open.attempts('next_check_at = null', OPEN)]],
  ['an open attempt that is asked about in a year', /^attempt \S+ is not asked about before 20\d\d-/, pending, [open.attempts(`next_check_at = now() + interval '1 year'`)]],
  ['an open attempt that is asked about never', /^attempt \S+ is not asked about before the end of time/, pending, [open.attempts(`next_check_at = 'infinity'`)]],
  ['a pending refund that is never asked for', /^pending refund rfd_\S+ is never asked for/, refunded, [row.refunds(`status = 'pending', due_at = null`, 'merchant')]],
  ['a pending refund that is asked for in a year', /^pending refund rfd_\S+ is not asked for before/, refunded, [row.refunds(`status = 'pending', due_at = now() + interval '1 year'`, 'merchant')]],
  ['a pending refund with an endless lease', /^pending refund rfd_\S+ is leased until the end of time/, refunded, [row.refunds(`status = 'pending', due_at = now(), leased_until = 'infinity'`, 'merchant')]],
]

test('real payments have no findings', () => assertAudited(database))

for (const [what, finding, id, changes] of TAMPERED)
  test(`the audit finds ${what}`, async () => {
    const found = await findingsAfter(id, ...changes)
    assert.ok(
      found.some((text) => finding.test(text)),
      `${finding} in ${found.join('; ') || 'no finding'}`,
    )
    assert.ok(
      found.every((text) => / /.test(text) && text.includes(': ')),
      'each says what to do',
    )
  })

test('the audit finds work of other queues that was put off', async () => {
  assert.deepEqual(await readPutOff(database, 10), [])
  const url = 'https://shop.example/hook'
  await database.rows(sql`update attempts set check_leased_until = 'infinity' where payment_id = ${pending}`)
  await database.rows(
    sql`update notices set state = 'waiting', due_at = 'infinity' where id = (select max(id) from notices)`,
  )
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, due_at)
    select place, gen_random_uuid(), id, merchant_id, mode, ${url}, 'shop', now() + interval '1 year' from events where body is not null limit 1`)
  const found = (await readPutOff(database, 10)).map(({ what }) => what.split(' ')[0])
  assert.deepEqual(found, ['check', 'notice', 'delivery'])
  await database.rows(sql`update attempts set check_leased_until = '-infinity'`)
  await database.rows(sql`update notices set state = 'done' where state = 'waiting'`)
  await database.rows(sql`delete from deliveries where url = ${url}`)
})

test('the audit finds a guard of the schema that was switched off', async () => {
  assert.deepEqual(await readMissingGuards(database), [])
  await database.rows(sql`alter table events disable trigger events_are_kept`)
  await database.rows(sql`drop index one_success_per_payment`)
  assert.deepEqual(await readMissingGuards(database), ['events_are_kept', 'one_success_per_payment'])
  await database.rows(sql`alter table events enable trigger events_are_kept`)
  await database.rows(sql`
    create unique index one_success_per_payment on attempts (payment_id, place) where status = 'successful'`)
})
