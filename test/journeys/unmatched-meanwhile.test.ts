import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Statement } from '../../src/database/sql.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { insertUnmatched } from '../../src/payments/store/receipts.ts'
import { startPaying } from '../support/paying.ts'
import { lockAwaited } from '../support/payment-records.ts'
import { startAttempt } from '../support/sandbox-payments.ts'

const { database, parts, addShop } = await startPaying()

test('money that is recorded as unmatched between the lock and the read of it counts once', async () => {
  const shop = await addShop()
  const [one, two] = [await startAttempt(database, shop), await startAttempt(database, shop)]
  const amount = money(1_250_000, 'NGN' as Currency)
  const receipts = [{ transactionId: 'in-between', idIsProviders: true as const, amount, at: new Date() }]
  const signal = { source: 'check' as const, outcome: { kind: 'paid' as const, receipts } }
  let other: Promise<unknown> | undefined
  const between: typeof database = {
    ...database,
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          ...tx,
          rows: async <Row>(statement: Statement) => {
            if (other || !statement.text.includes('r.transaction_id, r.account, r.attempt_id'))
              return tx.rows<Row>(statement)
            await database.transaction((another) => insertUnmatched(another, two.attempt, two.attempt, receipts))
            const rows = await tx.rows<Row>(statement)
            other = settleAttempt(parts, two.attempt, signal)
            await Promise.race([other, lockAwaited(database)])
            return rows
          },
        }),
      ),
  }
  await settleAttempt({ ...parts, database: between }, one.attempt, signal)
  await other
  const paid = await Promise.all([one, two].map(async ({ payment }) => (await shop.payment(payment.id)).status))
  assert.deepEqual(paid.toSorted(), ['pending', 'successful'])
})
