import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Database, Queries } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { recordsAfter } from '../../src/payments/store/audit-records.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { signNotice } from '../../src/providers/gateway/simulator/notices.ts'
import { eventually, type PayingService, request, type Shop } from './paying.ts'
import type { Answer } from './service.ts'

export interface PaymentRecords {
  /** The types of its events, in the order of their sequence. Without those of cases. */
  eventTypes: string[]
  // biome-ignore lint/suspicious/noExplicitAny: an event is read as the test wants it
  events: { type: string; sequence: number; data: any; cause: string | null }[]
  // biome-ignore lint/suspicious/noExplicitAny: an event is read as the test wants it
  caseEvents: { type: string; sequence: number; data: any; cause: string | null }[]
  receipts: { attempt: number; amount: number; currency: string; counted: boolean }[]
  refunds: { amount: number; kind: string; status: string }[]
}

/** Reads the records of a payment in one snapshot and asserts the invariants that always hold. */
export function recordsOf(database: Database, payment: { id: string }): Promise<PaymentRecords> {
  return database.transaction(async (tx) => {
    await tx.rows(sql`set transaction isolation level repeatable read, read only`) // one snapshot
    return readRecords(tx, uuidOf(payment.id as PaymentId))
  })
}

async function readRecords(database: Queries, id: string): Promise<PaymentRecords> {
  const events = await database.rows<PaymentRecords['events'][number]>(
    sql`select type, sequence, coalesce(body::jsonb->'data', data) as data, cause from events where payment_id = ${id} order by sequence`,
  )
  const receipts = await database.rows<PaymentRecords['receipts'][number]>(sql`
    select a.number as attempt, r.amount, r.currency, r.counted from receipts r join attempts a on a.id = r.attempt_id
     where r.payment_id = ${id} order by r.id`)
  const refunds = await database.rows<PaymentRecords['refunds'][number]>(
    sql`select amount, kind, status from refunds where payment_id = ${id} order by created_at, id`,
  )
  const now = await database.row<{ sequence: number; status: string; amount_paid: number; currency: string }>(
    sql`select sequence, status, amount_paid, currency from payments where id = ${id}`,
  )
  const attempts = await database.rows<{ number: number; status: string; amount_received: number }>(
    sql`select number, status, amount_received from attempts where payment_id = ${id}`,
  )
  assert.ok(now)
  const isOfCase = ({ type }: { type: string }) => type.startsWith('case.')
  const others = events.filter((event) => !isOfCase(event))
  const eventTypes = others.map(({ type }) => type)
  const sequences = events.map(({ sequence }) => sequence)
  assert.deepEqual(
    sequences,
    events.map((_, index) => index + 1),
    'each change raises the sequence by one',
  )
  assert.equal(now.sequence, events.length, 'no state without its event')
  const successes = now.status === 'successful' ? 1 : 0
  assert.equal(eventTypes.filter((type) => type === 'payment.successful').length, successes, 'one success, one event')
  assert.equal(attempts.filter(({ status }) => status === 'successful').length, successes)
  const sum = (some: PaymentRecords['receipts']) => some.reduce((total, { amount }) => total + amount, 0)
  assert.equal(now.amount_paid, sum(receipts.filter(({ counted }) => counted)), 'amountPaid is what was counted')
  for (const { number, amount_received } of attempts) {
    const its: PaymentRecords['receipts'] = receipts.filter(
      ({ attempt, currency }) => attempt === number && currency === now.currency,
    )
    assert.equal(amount_received, sum(its), `attempt ${number} has received what its receipts say`)
  }
  return { eventTypes, events: others, caseEvents: events.filter(isOfCase), receipts, refunds }
}

/** Simulates passing time: moves every stored time of the payment into the past. */
export async function letPass(database: Database, payment: { id: string }, seconds: number): Promise<void> {
  const id = uuidOf(payment.id as PaymentId)
  await database.rows(sql`
    update attempts
       set created_at = created_at - past, asked_at = asked_at - past, watched_since = watched_since - past, answered_at = answered_at - past, next_check_at = next_check_at - past, active_at = active_at - past,
           instructions_expire_at = instructions_expire_at - past, check_leased_until = check_leased_until - past
      from make_interval(secs => ${seconds}) as past where payment_id = ${id}`)
  await database.rows(sql`
    update payments set created_at = created_at - past, expires_at = expires_at - past, provider_asked_at = provider_asked_at - past
      from make_interval(secs => ${seconds}) as past where id = ${id}`)
  await database.rows(sql`
    update refunds set due_at = due_at - past, leased_until = leased_until - past, created_at = created_at - past, asked_at = asked_at - past,
           account_taken_at = account_taken_at - past
      from make_interval(secs => ${seconds}) as past where payment_id = ${id}`)
}

/**
 * Expires the stored instructions of every attempt; they can still be paid at the provider. The next initialize starts
 * another attempt.
 */
export async function closeInstructions(database: Database, reference: string): Promise<void> {
  await database.rows(sql`
    update attempts a set instructions_expire_at = now() - interval '1 second'
      from payments p where p.id = a.payment_id and p.reference = ${reference}`)
}

// biome-ignore lint/suspicious/noExplicitAny: the provider's JSON, to be bent as the test wants it
export type Json = any

/** The provider's record of an order, read over its API. */
export async function recordAt({ baseUrl, masterKey }: PayingService, shop: Shop, reference: string): Promise<Json> {
  const { secretKey } = gatewayKeys(masterKey, shop.merchantUuid)
  const headers = { authorization: `Bearer ${secretKey}` }
  return (await request(`${baseUrl}/sandbox/gateway/v1/payments/${reference}`, 'GET', headers)).body.data
}

/** Pays an order that is not ours: another system uses the same account of the provider. */
export async function payElsewhere(
  service: PayingService,
  shop: Shop,
  amount: number,
): Promise<{ reference: string; transactionId: string }> {
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const reference = randomBytes(16).toString('hex')
  const order = {
    ...{ reference, channel: 'transfer', amount, currency: 'NGN', email: 'ada@example.com', merchantName: 'Elsewhere' },
    ...{ returnURL: 'https://elsewhere.example/', expiresAt: new Date(Date.now() + 3_600_000).toISOString() },
  }
  const url = `${service.baseUrl}/sandbox/gateway/v1/payments`
  const { status, body } = await request(url, 'POST', { authorization: `Bearer ${secretKey}` }, order)
  assert.equal(status, 201, JSON.stringify(body))
  await shop.call('POST', '/sandbox/gateway/transfers', { accountNumber: body.data.account.number, amount })
  return { reference, transactionId: (await recordAt(service, shop, reference)).transactions[0].id }
}

/** An invented record. */
export function madeUpRecord(changes: Record<string, unknown> = {}): Json {
  return {
    reference: randomBytes(16).toString('hex'),
    channel: 'card',
    status: 'paid',
    requested: 5_000,
    amount: 5_000,
    refunded: 0,
    currency: 'NGN',
    publicKey: 'gpk_x',
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    transactions: [paidTransaction({ amount: 5_000 })],
    ...changes,
  }
}

export function paidTransaction(changes: Record<string, unknown> = {}): Json {
  const id = `gtx_${randomBytes(6).toString('hex')}`
  return { id, kind: 'charge', status: 'paid', amount: 1, currency: 'NGN', at: new Date().toISOString(), ...changes }
}

export function noticeAbout(record: Json, type: string, more: Record<string, unknown> = {}): Json {
  const id = `ntc_${randomBytes(8).toString('hex')}`
  return { id, type, reference: record.reference, createdAt: new Date().toISOString(), data: record, ...more }
}

/** Sends a signed notice. Each field of `forged` replaces the valid value. */
export function notify(
  { baseUrl, masterKey }: Pick<PayingService, 'baseUrl' | 'masterKey'>,
  shop: Shop,
  notice: Json,
  forged: { secretKey?: string; at?: Date; signature?: string | null; path?: string } = {},
): Promise<Answer> {
  const body = typeof notice === 'string' ? notice : JSON.stringify(notice)
  const secretKey = forged.secretKey ?? gatewayKeys(masterKey, shop.merchantUuid).secretKey
  const signature =
    forged.signature === undefined ? signNotice(secretKey, body, forged.at ?? new Date()) : forged.signature
  const headers = { 'content-type': 'application/json', ...(signature !== null && { 'gateway-signature': signature }) }
  return request(`${baseUrl}${forged.path ?? `/notices/gateway/sandbox/${shop.merchantId}`}`, 'POST', headers, body)
}

export interface KeptNotice {
  says: string
  state: string
  note: string | null
  times: number
}

export function noticesAbout(database: Database, reference: string): Promise<KeptNotice[]> {
  return database.rows(sql`select says, state, note, times from notices where reference = ${reference} order by id`)
}

/** Resolves when a connection to this database waits for a lock. */
export function lockAwaited(database: Database): Promise<unknown> {
  return eventually(
    () =>
      database.row(sql`
        select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
    (found) => found !== undefined,
  )
}

/** Every notice about an order, once there are exactly so many and all of them have been worked off. */
export function workedOff(database: Database, order: string, count: number): Promise<KeptNotice[]> {
  return eventually(
    () => noticesAbout(database, order),
    (notices) => notices.length === count && notices.every(({ state }) => state !== 'waiting'),
  )
}

/** Asserts that the audit finds no difference: in the payment, or in any. */
export async function assertAudited(database: Database, payment?: { id: string }, now?: Date): Promise<void> {
  const all = await database.transaction((tx) => recordsAfter(tx, undefined, 10_000))
  const records = payment ? all.filter(({ state }) => state.payment.id === payment.id) : all
  if (payment) assert.equal(records.length, 1)
  assert.deepEqual(
    records.flatMap((each) => audit(each, now)),
    [],
  )
}

/** The record of the first attempt at the provider, as its API would answer it. */
export function recordOf(payment: Json, status: string): Json {
  return {
    reference: payment.attempts[0].providerReference,
    channel: 'card',
    status,
    requested: 1_250_000,
    amount: 0,
    refunded: 0,
    currency: 'NGN',
    publicKey: 'gpk_x',
    expiresAt: payment.expiresAt,
    transactions: [],
  }
}

/** In seconds since the attempt is watched: when it is asked for next, and what time it is. */
async function watchOf(database: Database, attempt: Json): Promise<{ next: number | null; now: number }> {
  const row = await database.row<{ next: number | null; now: number }>(sql`
    select extract(epoch from next_check_at - watched_since)::float8 as next,
           extract(epoch from now() - watched_since)::float8 as now
      from attempts where id = ${uuidOf(attempt.id as AttemptId)}`)
  return row ?? assert.fail()
}

/**
 * The next check of the first attempt is due: so much time passes, and the clock does its work. Returns the seconds
 * since it is watched.
 */
export async function nextCheck(through: PaymentDeps, payment: Json): Promise<number | null> {
  const { next, now } = await watchOf(through.database, payment.attempts[0])
  if (next === null) return null
  await letPass(through.database, payment, next - now + 0.05)
  await checkDueAttempts(through, 100)
  return Math.round(next)
}
