import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { ProviderClient } from '../../src/providers/provider.ts'
import { planAccounts } from '../../src/reconciliation/reconcile-accounts.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { Adversary } from '../support/adversary.ts'
import { adversaryShop } from '../support/adversary-shop.ts'
import { startById } from '../support/by-id.ts'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/paying.ts'

const { database } = await createDatabase()
const adversary = new Adversary(() => new Date())
const [silent, healthy] = [await adversaryShop(database, adversary), await adversaryShop(database, adversary)]

async function start({ newPayment, parts }: typeof silent) {
  const id = await newPayment(1_000)
  const { attempt } = await startById(parts(), id, { capabilities: adversary.capabilities, channel: 'card' })
  return { id, attempt }
}

/** More than the old worker had in hand at once: four batches of 25. */
const SILENT = 120
const PLACES = { check: 8, refund: 5, 'page of a list': 3 }
const QUESTION = ['check', 'refund', 'page of a list'] as const

for (const question of QUESTION) {
  test(`a provider that never answers a ${question} does not hold up those of another account`, async () => {
    const never = Promise.withResolvers<void>()
    let inFlight = 0
    let most = 0
    const hang = async () => {
      most = Math.max(most, ++inFlight)
      await never.promise
      inFlight--
      return { kind: 'unknown' as const, because: 'no answer' }
    }
    const lists = { transactions: hang, refunds: hang, disputes: hang }
    const first = await start(silent)
    const paid = await start(healthy)
    adversary.charge(paid.attempt.orderReference, 'pays')
    const parts = healthy.parts()
    const { merchantId } = silent.caller
    const connect = async (owner: { merchantId: string }): Promise<ProviderClient> => {
      const connection = adversary.connection('honest')
      return owner.merchantId === merchantId
        ? { ...connection, ...(question === 'page of a list' ? { lists } : { check: hang, refund: hang }) }
        : { ...connection, lists: { transactions: async () => ({ kind: 'page', entries: [], nextCursor: null }) } }
    }
    await database.rows(sql`update refunds set due_at = null`)
    await database.rows(sql`update attempts set next_check_at = null`) // what other tests have left to do
    if (question !== 'page of a list') await copyPayment(first, question)
    if (question === 'check') {
      await database.rows(sql`update attempts set next_check_at = now() where id = ${uuidOf(paid.attempt.id)}`)
    } else if (question === 'page of a list') {
      await planAccounts({ database })
      await database.rows(sql`
        update reconciliation_runs set due_at = case when merchant_id = ${uuidOf(merchantId)} then now() - interval '1 minute' else now() end`)
    } else {
      await database.rows(sql`
        insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted, due_at)
        select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 1, currency, 'surplus', 'pending', false, now()
          from attempts where id = ${uuidOf(paid.attempt.id)}`)
    }
    const worker = startWorker({ ...parts, providers: { ...parts.providers, connect } })
    try {
      const isDone = async () =>
        question === 'check'
          ? database.row(sql`select from payments where id = ${uuidOf(paid.id)} and status = 'successful'`)
          : question === 'refund'
            ? database.row(sql`select from refunds where payment_id = ${uuidOf(paid.id)} and status <> 'pending'`)
            : database.row(sql`
                select from reconciliation_runs
                 where merchant_id = ${uuidOf(healthy.caller.merchantId)} and kind = 'transactions' and finished_at is not null`)
      await eventually(isDone, (row) => row !== undefined)
      await eventually(
        async () => most,
        (places) => places >= PLACES[question],
      )
      assert.equal(most, PLACES[question], 'the silent account has its few places, and no more')
    } finally {
      never.resolve()
      await worker.stop()
    }
  })
}

test('an unknown outcome is checked at once, although many unused links of the same account are due', async () => {
  const never = Promise.withResolvers<void>()
  const unused = await start(silent)
  const unknown = await start(silent)
  adversary.charge(unknown.attempt.orderReference, 'pays')
  await database.rows(sql`update attempts set next_check_at = null`)
  await copyPayment(unused, 'check')
  await database.rows(sql`
    update attempts set status = 'processing', next_check_at = now() where id = ${uuidOf(unknown.attempt.id)}`)
  const parts = silent.parts()
  const honest = adversary.connection('honest')
  const connect = async (): Promise<ProviderClient> => ({
    ...honest,
    async check(order, ...rest) {
      if (order.reference !== unknown.attempt.orderReference) await never.promise
      return honest.check(order, ...rest)
    },
  })
  const worker = startWorker({ ...parts, providers: { ...parts.providers, connect } })
  try {
    await eventually(
      () => database.row(sql`select from payments where id = ${uuidOf(unknown.id)} and status = 'successful'`),
      (row) => row !== undefined,
    )
  } finally {
    never.resolve()
    await worker.stop()
  }
})

/**
 * The silent shop's payment many times over, each with a check or a refund that has been due for longer than the
 * healthy one.
 */
async function copyPayment({ id, attempt }: Awaited<ReturnType<typeof start>>, question: 'check' | 'refund') {
  await database.rows(sql`
    with copies as materialized (select gen_random_uuid() as id, gen_random_uuid() as attempt, n from generate_series(1, ${SILENT}::int) as n),
    made as (
      insert into payments select (jsonb_populate_record(p, jsonb_build_object('id', c.id, 'reference', p.reference || '-' || c.n,
             'short_code', p.short_code || c.n))).* from payments p, copies c where p.id = ${uuidOf(id)} returning id
    )
    insert into attempts select (jsonb_populate_record(a, jsonb_build_object('id', c.attempt, 'payment_id', c.id,
           'reference', a.reference || '-' || c.n, 'order_reference', a.order_reference || '-' || c.n,
           'next_check_at', case when ${question} = 'check' then now() - interval '1 minute' end))).* from attempts a, copies c where a.id = ${uuidOf(attempt.id)}`)
  if (question === 'check') return
  await database.rows(sql`
    update attempts set amount_received = 1000, amount_returned = 1 where merchant_id = ${uuidOf(silent.caller.merchantId)}`)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted, due_at)
    select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 1, currency, 'surplus', 'pending', false, now() - interval '1 minute'
      from attempts where merchant_id = ${uuidOf(silent.caller.merchantId)}`)
}
