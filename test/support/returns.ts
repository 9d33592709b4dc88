import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { recordsAfter } from '../../src/payments/store/audit-records.ts'
import { eventually, type Shop } from './paying.ts'
import { CARD } from './simulator.ts'

export const AMOUNT = 1_250_000
export const DAY = 86_400

export interface Paid {
  id: string
  reference: string
  /** Our reference at the provider. */
  order: string
}

/** Creates a card payment and waits until it is successful. */
export async function paid(shop: Shop, changes: Record<string, unknown> = {}): Promise<Paid> {
  const { data } = (await shop.initialize({ amount: AMOUNT, ...changes })).body
  const order = String(data.data.reference)
  await shop.call('POST', `/sandbox/gateway/charges/${order}`, { card: CARD.pays })
  const payment = await eventually(
    () => shop.payment(data.reference),
    ({ status }) => status === 'successful',
  )
  return { id: payment.id, reference: payment.reference, order }
}

/** Drops the provider's notices from now on. */
export async function loseNotices(shop: Shop): Promise<void> {
  await shop.call('PUT', '/sandbox/gateway/faults', { seed: 1, lost: 1 })
}

export async function atProvider(shop: Shop, path: string, body: object, status = 201) {
  const answer = await shop.call('POST', `/sandbox/gateway${path}`, body)
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  return answer.body.data
}

/** The returned amount in the provider's record. */
export async function givenBack(shop: Shop, { order }: Paid): Promise<number> {
  return (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data.refunded
}

export interface Told {
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: an event is read as the test wants it
  data: any
}

/** The events about refunds and disputes, in their order. */
export function toldOf(database: Database, { id }: Pick<Paid, 'id'>): Promise<Told[]> {
  return database.rows(sql`
    select type, coalesce(body::jsonb->'data', data) as data from events
     where payment_id = ${uuidOf(id as PaymentId)} and (type like 'refund.%' or type like 'dispute.%') order by sequence`)
}

/** Resolves when every notice about the order is processed or scheduled for a retry. */
export async function heard(database: Database, { order }: Paid, count: number): Promise<void> {
  await eventually(
    () => database.rows<{ state: string }>(sql`select state from notices where reference = ${order}`),
    (notices) => notices.length >= count && notices.every(({ state }) => state !== 'waiting'),
  )
}

/** Asserts that the audit finds no difference in any payment. */
export async function assertAudited(database: Database): Promise<void> {
  const records = await database.transaction((tx) => recordsAfter(tx, undefined, 10_000))
  assert.deepEqual(
    records.flatMap((each) => audit(each)),
    [],
  )
}
