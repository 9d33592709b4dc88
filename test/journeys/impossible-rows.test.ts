import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statementOf } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { startPaying } from '../support/paying.ts'

// Whatever the code does, PostgreSQL keeps no payment and no attempt with these values (migrations/0001_schema.sql).

const service = await startPaying()

const IMPOSSIBLE: Record<'payments' | 'attempts', [constraint: string, ...changes: string[]][]> = {
  payments: [
    ['mode_is_known', `mode = 'test'`],
    ['status_is_known', `status = 'paid'`],
    ['amount_in_range', 'amount = 0', 'amount = 1000000000000'],
    ['amount_paid_in_range', 'amount_paid = -1', 'amount_paid = 9007199254740992'],
    ['refunded_up_to_paid', 'amount_refunded = -1', 'amount_refunded = amount_paid + 1'],
    ['user_id_is_simple', `user_id = 'a b'`, `user_id = ''`],
    ['key_has_digest', `idempotency_key = 'key', request_digest = null`],
    ['key_has_digest', `idempotency_key = null, request_digest = '\\x00'`],
  ],
  attempts: [
    ['mode_is_known', `mode = 'test'`],
    ['number_in_range', 'number = 0', 'number = 21'],
    ['channel_is_known', `channel = 'cash'`],
    ['status_is_known', `status = 'paid'`],
    ['amount_charged_in_range', 'amount_charged = 0', 'amount_charged = 9007199254740992'],
    ['fee_not_negative', 'fee = -1'],
    ['amount_received_in_range', 'amount_received = -1', 'amount_received = 9007199254740992'],
    ['returned_up_to_received', 'amount_returned = -1', 'amount_returned = amount_received + 1'],
    ['refunded_up_to_received', 'amount_refunded = -1', 'amount_refunded = amount_received + 1'],
    ['reversed_not_negative', 'amount_reversed = -1'],
  ],
}

test('PostgreSQL refuses impossible payments and attempts', async () => {
  const shop = await service.addShop()
  const payment = await shop.payment((await shop.initialize()).body.data.reference)
  for (const [table, constraints] of Object.entries(IMPOSSIBLE)) {
    const key = table === 'payments' ? 'id' : 'payment_id'
    for (const [constraint, change] of constraints.flatMap(([name, ...each]) => each.map((one) => [name, one]))) {
      const text = `update ${table} set ${change} where place = $1 and ${key} = $2`
      const writing = service.database.rows(statementOf(text, [shop.place, uuidOf(payment.id)]))
      await assert.rejects(writing, { code: '23514', constraint }, `${table}: ${change}`)
    }
  }
  assert.equal((await shop.payment(payment.id)).status, 'pending')
})
