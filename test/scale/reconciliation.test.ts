import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, idOf } from '../../src/kernel/ids.ts'
import type { Owner } from '../../src/kernel/scope.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { reconcileAttempt } from '../../src/payments/refunds/reconcile-attempt.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import type { Providers } from '../../src/providers/provider.ts'
import { planAccounts, reconcileDueRuns } from '../../src/reconciliation/reconcile-accounts.ts'
import { createDatabase } from '../support/database.ts'
import { BUSY, type ListServer, listServer, PROVIDERS, salesFrom } from '../support/list-servers.ts'

// A day of reconciliation of 50 accounts, 20 of them idle, with a million payments of which ten thousand are of the
// last day. Each provider answers with pages of its own size, in which three of thirteen entries were never paid.

const ACCOUNTS = 50
const DAY_MS = 86_400_000
const STEP_MS = 10 * 60_000
/** What a listing by payment costs, which was made daily in the week after each payment. */
const CALLS_BY_PAYMENT: Record<string, number> = { paystack: 3, flutterwave: 3, monnify: 1, stripe: 2 }
const PAID_IN_A_WEEK = (7 * 10_000) / PROVIDERS.length
const LISTED_BY_PAYMENT = 25

const { database, url } = await createDatabase()
const startsAt = Date.now()
const sales = salesFrom(startsAt)

const merchantOf = (account: number) => `00000000-0000-7000-8000-${account.toString(16).padStart(12, '0')}`
const accountOf = ({ merchantId }: Owner) => Number.parseInt(idNumber(merchantId), 16)
const idNumber = (id: string) => numbers.get(id) ?? assert.fail(id)
const numbers = new Map<string, string>(
  Array.from({ length: ACCOUNTS }, (_, account) => [idOf('merchant', merchantOf(account)), account.toString(16)]),
)

const servers = new Map<string, ListServer>()
const now = { at: startsAt }
const providers: Providers = {
  find: (name) => PROVIDERS.find(({ capabilities }) => capabilities.name === name),
  isHealthy: () => true,
  recordResult: () => {},
  connect: async (owner, name) => serverOf(accountOf(owner), name).client,
  keysVersions: async () => [1],
  breakers: () => [],
}
const deps: PaymentDeps = {
  ...{ database, providers, log: pino({ level: 'silent' }), clock: { now: () => new Date(now.at) } },
  ...({} as Pick<PaymentDeps, 'links' | 'secrets'>),
}

function serverOf(account: number, name: string): ListServer {
  const found =
    servers.get(`${name} ${account}`) ?? listServer(name, account < BUSY ? sales.of(account) : undefined, now)
  servers.set(`${name} ${account}`, found)
  return found
}
const callsOf = (name: string) =>
  [...servers].reduce((sum, [key, { calls }]) => sum + (key.startsWith(`${name} `) ? calls : 0), 0)
const nameOf = (account: number) => PROVIDERS[account % PROVIDERS.length]?.capabilities.name as string

after(() => servers.clear())

test('a million payments are made', { timeout: 600_000 }, async () => {
  for (let account = 0; account < ACCOUNTS; account++) {
    const merchant = merchantOf(account)
    await database.rows(sql`
      insert into merchants (id, place, name, country) values (${merchant}, ${account}, 'Shop', 'NG')`)
    await database.rows(sql`
      insert into integrations (merchant_id, mode, provider, channels, countries, currencies, account, created_at)
      values (${merchant}, 'live', ${nameOf(account)}, '{card}', '{NG}', '{NGN}', 1, now() - interval '200 days')`)
    await database.rows(sql`
      insert into provider_accounts (merchant_id, mode, provider, version) values (${merchant}, 'live', ${nameOf(account)}, 1)`)
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set session_replication_role = replica; set synchronous_commit = off')
  for (let account = 0; account < BUSY; account++) await fill(client, account)
  await client.end()
  await database.rows(sql`analyze payments, attempts, receipts`)
  const row = await database.row<{ count: number }>(sql`select count(*) from payments`)
  assert.ok((row?.count ?? 0) >= 1_000_000, `${row?.count}`)
})

/** The same rows as the server of the account lists. */
async function fill(client: pg.Client, account: number): Promise<void> {
  const { firstAtMs, stepMs, entries } = sales.of(account)
  const of = `${account}::smallint as place, '${merchantOf(account)}'::uuid as merchant, '${nameOf(account)}' as provider`
  const madeMs = `(${firstAtMs} - i * ${stepMs})`
  const tail = `70008${account.toString(16).padStart(3, '0')}`
  const made = `
    (select i, ${of}, to_timestamp(${madeMs} / 1000.0) as at, (100000000 + i)::text as number,
            (lpad(to_hex(${madeMs}::bigint), 12, '0') || '${tail}' || lpad(to_hex(i), 12, '0'))::uuid as id
       from generate_series(0, ${entries - 1}) as i where i % 13 < 10) as made`
  await client.query(`
    insert into payments (place, id, merchant_id, mode, reference, short_code, status, amount, currency, country,
                          customer_bears_charge, amount_paid, user_email, metadata, created_at, expires_at, completed_at)
    select place, id, merchant, 'live', number, place || '-' || i, 'successful', 500000, 'NGN', 'NG', false,
           500000, 'ada@example.com', '{}', at, at, at from ${made}`)
  await client.query(`
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, account, channel, status,
                          currency, amount_charged, fee, amount_received, order_reference, provider_reference,
                          known_to_provider, created_at, resolved_at)
    select place, id, id, merchant, 'live', 1, number, provider, 1, 'card', 'successful', 'NGN', 500000, 0, 500000,
           'order' || number, 'theirs' || number, true, at, at from ${made}`)
  await client.query(`
    insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount,
                          currency, counted, taken_at)
    select place, merchant, 'live', provider, 1, case provider when 'monnify' then 'theirs' else '' end || number, id, id,
           500000, 'NGN', true, at from ${made}`)
}

test('a day of reconciliation makes less than a fifth of the calls of a listing by payment', {
  timeout: 1_200_000,
}, async (t) => {
  await planAccounts(deps)
  // As if they had been spread over their intervals: of the half year, a seventh of the accounts is due on this day.
  await database.rows(sql`
    update reconciliation_runs r set due_at = ${new Date(startsAt)}::timestamptz + make_interval(secs =>
      ((m.place * 7 + 3) % 50) / 50.0 * case time_window when '2 hours' then 600 when '48 hours' then 21600
        when '180 days' then 604800 else 86400 end)
      from merchants m where m.id = r.merchant_id`)
  const cpu = process.cpuUsage()
  const took = performance.now()
  for (; now.at < startsAt + DAY_MS; now.at += STEP_MS) {
    for (let done = 1; done > 0; ) {
      await database.rows(sql`
        update reconciliation_runs set due_at = now() where due_at > now() and due_at <= ${new Date(now.at)}`)
      done = await reconcileDueRuns(deps, 20)
    }
  }
  const { user, system } = process.cpuUsage(cpu)
  const found = await database.rows<{ listed: number; booked: number; asked: number; failure: string | null }>(sql`
    select sum(listed)::int as listed, sum(booked)::int as booked, sum(asked)::int as asked, max(failure) as failure
      from reconciliation_runs`)
  assert.deepEqual({ ...found[0], listed: 0 }, { listed: 0, booked: 0, asked: 0, failure: null })
  t.diagnostic(
    `a day of lists: CPU ${seconds(user + system)} s of this process in ${Math.round((performance.now() - took) / 1000)} s`,
  )
  const calls = new Map(PROVIDERS.map(({ capabilities: { name } }) => [name, callsOf(name)]))
  let cpuByPayment = 0
  for (const [name, made] of calls) {
    const { perPayment, cpuUs } = await listByPayment(name)
    assert.equal(perPayment, CALLS_BY_PAYMENT[name], name)
    cpuByPayment += cpuUs * PAID_IN_A_WEEK
    const before = perPayment * PAID_IN_A_WEEK
    t.diagnostic(`${name}: ${made} calls; by payment ${before}; ${(made / before).toFixed(3)}`)
    assert.ok(made < before / 5, `${name}: ${made} calls, by payment ${before}`)
  }
  t.diagnostic(`a day of listings by payment: CPU ${seconds(cpuByPayment)} s of this process`)
})

const seconds = (us: number) => Math.round(us / 1_000_000)

/** What is left of it: the listing that a notice of a refund or dispute sets off. */
async function listByPayment(name: string): Promise<{ perPayment: number; cpuUs: number }> {
  const account = PROVIDERS.findIndex(({ capabilities }) => capabilities.name === name)
  const rows = await database.rows<{ id: string }>(sql`
    select id from attempts where place = ${account} and merchant_id = ${merchantOf(account)}
     order by id desc limit ${LISTED_BY_PAYMENT}`)
  const attempts = rows.map(({ id }) => idOf('attempt', id, account))
  await reconcileById(attempts[0] ?? assert.fail())
  const [before, cpu] = [callsOf(name), process.cpuUsage()]
  for (const id of attempts) await reconcileById(id)
  const { user, system } = process.cpuUsage(cpu)
  return { perPayment: (callsOf(name) - before) / attempts.length, cpuUs: (user + system) / attempts.length }
}

async function reconcileById(id: AttemptId): Promise<void> {
  const done = await reconcileAttempt(deps, (await findAttempt(database, id)) ?? assert.fail())
  assert.equal(done.kind, 'reconciled', JSON.stringify(done))
}
