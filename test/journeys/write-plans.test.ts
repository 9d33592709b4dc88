import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STATEMENT_SENT } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { PaymentState } from '../../src/payments/state/payment-state.ts'
import { findPaymentState } from '../../src/payments/store/payment-states.ts'
import { type PaymentWrite, writePayment } from '../../src/payments/store/write-payment.ts'
import { startPaying } from '../support/paying.ts'

const service = await startPaying()
const { database } = service

const shop = await service.addShop()
const { body: initialized } = await shop.initialize()
const state = await findPaymentState(database, { ...shop, mode: 'sandbox' }, initialized.data.reference)
const { payment, attempts } = state as PaymentState
const change = {
  before: payment,
  after: { ...payment, version: payment.version + 1 },
  ...{ newAttempts: [], changedAttempts: attempts, receipts: [], events: [], at: new Date() },
}

test('the write of one payment finds it by its primary key, also while the table is small', async () => {
  await database.rows(sql`
    with copies as (select n from generate_series(1, 300) n)
    insert into payments select (jsonb_populate_record(p, jsonb_build_object(
             'id', gen_random_uuid(), 'reference', p.reference || n, 'short_code', p.short_code || n))).*
      from payments p, copies where p.place = ${shop.place} and p.id = ${uuidOf(payment.id)}`)
  await database.rows(sql`analyze payments`)
  const plan = await planOf(change)
  assert.match(plan, /Index Scan using payments_pkey on payments p\n\s+Index Cond: \(\(place = .*\) AND \(id = /)
  assert.doesNotMatch(plan, /Bitmap/)
})

test('notices that came too early are found by their reference, also when many are unmatched that the statistics do not know', async () => {
  await database.rows(sql`
    insert into notices (place, merchant_id, mode, provider, digest, body, reading, says, state)
    select ${shop.place}, ${shop.merchantUuid}, 'sandbox', 'gateway', n::text::bytea, '', '{}', 'paid', 'done' from generate_series(1, 3000) n`)
  await database.rows(sql`analyze notices`)
  await database.rows(sql`update notices set state = 'unmatched' where place = ${shop.place}`)
  const plan = await planOf({ ...change, rematch: { provider: 'gateway', reference: 'theirs' } })
  assert.match(plan, /notices_unmatched_by_reference on notices\n\s+Index Cond: .*reference = /)
  assert.match(plan, /Index Scan using notices_pkey on notices o\n\s+Index Cond: \(\(place = .*\) AND \(id = /)
})

test('the record of a repeated call is changed by its key, also among thousands', async () => {
  const attemptId = attempts[0]?.id ?? assert.fail()
  await database.rows(sql`
    insert into provider_calls (place, attempt_id, call, outcome, took_ms)
    select ${shop.place}, ${uuidOf(attemptId)}, 'check', 'pending', n from generate_series(1, 3000) n`)
  await database.rows(sql`analyze provider_calls`)
  const call = { attemptId, call: 'check', outcome: 'pending', detail: null, tookMs: 1, at: new Date() }
  const plan = await planOf({ ...change, call })
  assert.match(
    plan,
    /Index Scan using provider_calls_pkey on provider_calls c\n\s+Index Cond: \(\(place = .*\) AND \(id = /,
  )
})

async function planOf(write: PaymentWrite): Promise<string> {
  const sent: Statement[] = []
  const onStatement = (statement: unknown) => void sent.push(statement as Statement)
  STATEMENT_SENT.subscribe(onStatement)
  await writePayment(database, write)
  STATEMENT_SENT.unsubscribe(onStatement)
  assert.equal(sent.length, 1)
  const lines = await database.rows<{ 'QUERY PLAN': string }>({
    name: undefined,
    text: `explain (generic_plan, costs off) ${sent[0]?.text}`,
    values: [],
  })
  return lines.map((line) => line['QUERY PLAN']).join('\n')
}
