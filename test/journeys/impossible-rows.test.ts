import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statementOf } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { startPaying } from '../support/paying.ts'

// Whatever the code does, PostgreSQL keeps no payment and no attempt with these values (migrations/0017_checks.sql).

const service = await startPaying()

const IMPOSSIBLE = {
  payments: [
    `mode = 'test'`,
    `status = 'paid'`,
    'amount = 0',
    'amount = 1000000000000',
    'amount_paid = -1',
    'amount_paid = 9007199254740992',
    'amount_refunded = -1',
    'amount_refunded = amount_paid + 1',
    `user_id = 'a b'`,
    `user_id = ''`,
    `idempotency_key = 'key', request_digest = null`,
    `idempotency_key = null, request_digest = '\\x00'`,
  ],
  attempts: [
    `mode = 'test'`,
    'number = 0',
    'number = 21',
    `channel = 'cash'`,
    `status = 'paid'`,
    'amount_charged = 0',
    'amount_charged = 9007199254740992',
    'fee = -1',
    'amount_received = -1',
    'amount_received = 9007199254740992',
    'amount_returned = -1',
    'amount_returned = amount_received + 1',
    'amount_refunded = -1',
    'amount_refunded = amount_received + 1',
    'amount_reversed = -1',
  ],
}

test('PostgreSQL refuses impossible payments and attempts', async () => {
  const shop = await service.addShop()
  const payment = await shop.payment((await shop.initialize()).body.data.reference)
  for (const [table, changes] of Object.entries(IMPOSSIBLE)) {
    const key = table === 'payments' ? 'id' : 'payment_id'
    for (const change of changes) {
      const text = `update ${table} set ${change} where place = $1 and ${key} = $2`
      const writing = service.database.rows(statementOf(text, [shop.place, uuidOf(payment.id)]))
      await assert.rejects(writing, { code: '23514', constraint: `${table}_valid` }, `${table}: ${change}`)
    }
  }
  assert.equal((await shop.payment(payment.id)).status, 'pending')
})
