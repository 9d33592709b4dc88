import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Queries, STATEMENT_SENT, type Transaction } from '../../src/database/database.ts'
import type { Statement } from '../../src/database/sql.ts'
import { claimDueOffers } from '../../src/integrations/integration-store.ts'
import { idOf } from '../../src/kernel/ids.ts'
import { claimDueChecks, postponeChecks } from '../../src/payments/store/attempts.ts'
import { claimWaitingNotices, postponeNotices } from '../../src/payments/store/notices.ts'
import { claimDueRefunds, postponeRefunds } from '../../src/payments/store/refunds.ts'
import { claimDueNotices } from '../../src/providers/gateway/simulator/notice-store.ts'
import type { DueDelivery } from '../../src/webhooks/claim-store.ts'
import { writeTries } from '../../src/webhooks/delivery-store.ts'
import { createDatabase } from '../support/database.ts'

const { database } = await createDatabase()
const PLACE = 9
const ROWS = 6_000
const merchant = '01900000-0000-7000-8000-000000000009'
const uuid = '01900000-0000-7000-8000-000000000001'
const attemptId = idOf('attempt', uuid, PLACE)

interface Case {
  name: string
  table: string
  /** Columns and values of rows that wait for nothing. */
  idle: [columns: string, values: string]
  /** What an outage makes of all of them. */
  backlog: string
  run(db: Queries): Promise<unknown>
}

const NOTICES: Pick<Case, 'table' | 'idle' | 'backlog'> = {
  table: 'notices',
  idle: [
    'merchant_id, mode, provider, digest, body, reading, says, state',
    `'${merchant}', 'sandbox', 'gateway', n::text::bytea, '', '{}', 'success', 'done'`,
  ],
  backlog: `state = 'waiting', due_at = now() - interval '1 minute'`,
}
const GATEWAY_NOTICES: Pick<Case, 'table' | 'idle' | 'backlog'> = {
  table: 'gateway_notices',
  idle: ['merchant_id, body, state, due_at', `'${merchant}', '{}', 'sent', now()`],
  backlog: `state = 'waiting', due_at = now() - interval '1 minute'`,
}
const ATTEMPTS: Pick<Case, 'table' | 'idle'> = {
  table: 'attempts',
  idle: [
    `id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee, order_reference,
     provider_reference`,
    `gen_random_uuid(), gen_random_uuid(), '${merchant}', 'sandbox', 1, 'r' || n, 'gateway', 'card', 'failed', 'NGN', 100, 0, 'o' || n, 'p' || n`,
  ],
}
const CHECKS = { ...ATTEMPTS, backlog: `next_check_at = now() - interval '1 minute'` }
const REFUNDS: Pick<Case, 'table' | 'idle' | 'backlog'> = {
  table: 'refunds',
  idle: [
    'id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted',
    `gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '${merchant}', 'sandbox', 100, 'NGN', 'merchant', 'successful', true`,
  ],
  backlog: `status = 'pending', due_at = now() - interval '1 minute'`,
}
const CASES: Case[] = [
  {
    name: 'results of deliveries',
    table: 'deliveries',
    idle: [
      'id, event_id, merchant_id, mode, url, destination, state, done_at',
      `gen_random_uuid(), gen_random_uuid(), '${merchant}', 'sandbox', 'http://shop.example/', 'shop', 'delivered', now()`,
    ],
    backlog: `state = 'waiting', done_at = null`,
    run: (db) => {
      const delivery = { uuid, tries: 0, url: 'http://shop.example/', dueAt: new Date().toISOString() } as DueDelivery
      const result = {
        delivery,
        at: new Date(),
        state: 'delivered',
        waitSeconds: 0,
        status: 200,
        error: null,
        answer: '',
        tookMs: 1,
      } as const
      return writeTries(db, PLACE, Array(100).fill(result))
    },
  },
  { name: 'a claim of notices', ...NOTICES, run: (db) => claimWaitingNotices(db, 50) },
  {
    name: 'notices that are postponed',
    ...NOTICES,
    run: (db) => postponeNotices(db, [{ item: { place: PLACE, id: 1 }, waitMs: 5 } as never], new Date()),
  },
  { name: "a claim of the sandbox provider's notices", ...GATEWAY_NOTICES, run: (db) => claimDueNotices(db, 50, 10) },
  { name: 'a claim of refunds', ...REFUNDS, run: (db) => claimDueRefunds(db, 50) },
  {
    name: 'refunds that are postponed',
    ...REFUNDS,
    run: (db) =>
      postponeRefunds(
        db,
        [{ item: { refund: { id: idOf('refund', uuid, PLACE) }, lease: { token: uuid } }, waitMs: 5 } as never],
        new Date(),
      ),
  },
  { name: 'a claim of checks', ...CHECKS, run: (db) => claimDueChecks(db, 50) },
  {
    name: 'checks that are postponed',
    ...CHECKS,
    run: (db) => postponeChecks(db, [{ item: { place: PLACE, id: attemptId }, waitMs: 5 } as never], new Date()),
  },
]

for (const { name, table, idle, backlog, run } of CASES)
  test(`${name}: a backlog that the statistics do not know is not read row by row`, async () => {
    await undone(async (tx) => {
      await ask(tx, 'set local session_replication_role = replica') // no foreign keys
      await ask(
        tx,
        `insert into ${table} (place, ${idle[0]}) select ${PLACE}, ${idle[1]} from generate_series(1, ${ROWS}) n`,
      )
      await ask(tx, `analyze ${table}`)
      await ask(tx, `update ${table} set ${backlog}`)
      const statement = await statementOf(() => run(tx))
      // For many ids in a small table a hash join is as good.
      const byKey = new RegExp(
        `Index Scan using ${table}_pkey on ${table} \\w+\\n +Index Cond: \\(\\(id = .*\\) AND \\(place = |Hash Cond: \\(\\(\\w+\\.place = `,
      )
      assert.match(await customPlan(tx, statement), byKey)
      assert.match(await genericPlan(tx, statement), byKey)
    })
  })

test('a claim of offers that are due reads the few integrations that have such offers', async () => {
  await undone(async (tx) => {
    await ask(tx, 'set local session_replication_role = replica')
    await ask(
      tx,
      `insert into integrations (merchant_id, mode, provider, channels, countries, currencies, offers_due_at)
       select gen_random_uuid(), 'live', 'gateway', '{}', '{}', '{}', case when n % 500 = 0 then now() end
         from generate_series(1, ${ROWS}) n`,
    )
    await ask(tx, 'analyze integrations')
    const statement = await statementOf(() => claimDueOffers(tx, 100))
    const byTime = /Scan (using|on) integrations_offers_due/
    assert.match(await customPlan(tx, statement), byTime)
    assert.match(await genericPlan(tx, statement), byTime)
  })
})

async function statementOf(run: () => Promise<unknown>): Promise<Statement> {
  const sent: Statement[] = []
  const onStatement = (statement: unknown) => void sent.push(statement as Statement)
  STATEMENT_SENT.subscribe(onStatement)
  await run()
  STATEMENT_SENT.unsubscribe(onStatement)
  return sent.at(-1) as Statement // a claim searches first
}

const ask = (db: Queries, text: string, values: unknown[] = []) =>
  db.rows<{ 'QUERY PLAN': string }>({ name: undefined, text, values })
const joined = (lines: { 'QUERY PLAN': string }[]) => lines.map((line) => line['QUERY PLAN']).join('\n')
const customPlan = async (db: Queries, { text, values }: Statement) =>
  joined(await ask(db, `explain (costs off) ${text}`, values))
const genericPlan = async (db: Queries, { text }: Statement) =>
  joined(await ask(db, `explain (generic_plan, costs off) ${text}`))

async function undone(work: (tx: Transaction) => Promise<void>): Promise<void> {
  const end = new Error('roll back')
  await assert.rejects(
    database.transaction(async (tx) => {
      await work(tx)
      throw end
    }),
    end,
  )
}
