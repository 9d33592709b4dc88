import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, type Statement, sql } from '../../database/sql.ts'
import { NO_ACCOUNT } from '../../integrations/provider-account.ts'
import { type AttemptId, type PaymentId, parseId, placeOf, placeOfReference, uuidOf } from '../../kernel/ids.ts'
import { groupByPlace } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Attempt } from '../state/attempt.ts'
import type { Payment } from '../state/payment.ts'
import type { PaymentState } from '../state/payment-state.ts'
import { ATTEMPT_COLUMNS, type AttemptRow, attemptOf } from './attempts.ts'
import { findPaymentsByReference, PAYMENT_COLUMNS, type PaymentRow, paymentOf } from './payments.ts'

/** A payment with everything that a decision depends on, at one moment. */
export interface Snapshot extends PaymentState {
  /** The provider's transactions that are on record, by attempt. */
  transactionIds: Map<AttemptId, string[]>
  hasRefunds: boolean
  merchantName: string
}

const STATE = new Fixed(`${PAYMENT_COLUMNS.text}, ${ATTEMPT_COLUMNS.text},
  array(select transaction_id from receipts r where r.place = a.place and r.attempt_id = a.id) as transaction_ids,
  exists (select from refunds r where r.place = p.place and r.payment_id = p.id) as has_refunds,
  (select m.name from merchants m where m.id = p.merchant_id) as merchant_name
  from payments p left join attempts a on a.place = p.place and a.payment_id = p.id`)

/** One row for each attempt, or one without an attempt. */
type StateRow = PaymentRow &
  (AttemptRow | { a_id: null }) & {
    transaction_ids: string[]
    has_refunds: boolean
    merchant_name: string | null
  }

async function readState(db: Queries, statement: Statement): Promise<Snapshot | undefined> {
  const rows = await db.rows<StateRow>(statement)
  const [first] = rows
  if (!first) return undefined
  const attempts = rows.filter((row) => row.a_id !== null).map((row) => attemptOf(row as AttemptRow))
  return {
    payment: paymentOf(first),
    attempts,
    transactionIds: new Map(attempts.map(({ id }, index) => [id, rows[index]?.transaction_ids ?? []])),
    hasRefunds: first.has_refunds,
    merchantName: first.merchant_name ?? '',
  }
}

export function findPaymentStateById(db: Queries, id: PaymentId): Promise<Snapshot | undefined> {
  return readState(db, sql`select ${STATE} where p.place = ${placeOf(id)} and p.id = ${uuidOf(id)} order by a.number`)
}

export async function findStateByAttempt(
  db: Queries,
  id: AttemptId,
): Promise<{ state: Snapshot; attempt: Attempt } | undefined> {
  const place = placeOf(id)
  const state = await readState(
    db,
    sql`
      select ${STATE} where p.place = ${place} and p.id = (select payment_id from attempts where place = ${place} and id = ${uuidOf(id)})
       order by a.number`,
  )
  const attempt = state?.attempts.find((each) => each.id === id)
  return state && attempt && { state, attempt }
}

/** Finds by id, by reference, then by an attempt's reference, so that a reference in the format of an id cannot hide a payment. */
export async function findPaymentState(
  db: Queries,
  { place, merchantId, mode }: Scope,
  name: string,
): Promise<Snapshot | undefined> {
  const scope = uuidOf(merchantId)
  const id = parseId('payment', name)
  const byId = id && (await findPaymentStateById(db, id))
  if (byId?.payment.merchantId === merchantId && byId.payment.mode === mode) return byId
  return (
    (await readState(
      db,
      sql`
        select ${STATE} where p.place = ${place} and p.merchant_id = ${scope} and p.mode = ${mode} and p.reference = ${name}
         order by a.number`,
    )) ??
    (await readState(
      db,
      sql`
        select ${STATE}
         where p.place = ${place}
           and p.id = (select payment_id from attempts
                        where place = ${place} and reference = ${name} and merchant_id = ${scope} and mode = ${mode})
         order by a.number`,
    ))
  )
}

/**
 * Finds an attempt by our order reference or the provider's own, with its payment. Attempts of the given account come first; another
 * account matches only by our random reference, or after its keys were rotated.
 */
export async function findStateByOrder(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { provider, account = NO_ACCOUNT }: { provider: string; account?: number },
  reference: string,
): Promise<{ state: Snapshot; attempt: Attempt } | undefined> {
  const state = await readState(
    db,
    sql`
      select ${STATE}
       where p.place = ${place}
         and p.id = (
           -- Not with "or": while there are few payments, PostgreSQL would read all attempts of the place.
           select payment_id from (
             select payment_id, account, true as ours from attempts
              where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
                and order_reference = ${reference}
             union all
             select payment_id, account, false from attempts
              where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
                and provider_reference = ${reference}
           ) found order by account = ${account} desc, ours desc limit 1)
       order by a.number`,
  )
  const named = state?.attempts.filter(
    (attempt) =>
      attempt.provider === provider &&
      (attempt.orderReference === reference || attempt.providerReference === reference),
  )
  const attempt =
    named?.find((each) => each.account === account && each.orderReference === reference) ??
    named?.find((each) => each.account === account) ??
    named?.find((each) => each.orderReference === reference) ??
    named?.[0]
  return state && attempt && { state, attempt }
}

/**
 * Locks the payment's row, which serializes all changes of the payment and its attempts. The new version makes writes fail that were
 * decided without the lock before.
 */
export async function lockPaymentState(tx: Transaction, id: PaymentId): Promise<Snapshot> {
  await tx.rows(sql`update payments set version = version + 1 where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
  const state = await findPaymentStateById(tx, id)
  if (!state) throw new Error(`payment ${id} is gone`)
  return state
}

/** For the operator: finds by id, reference or attempt reference, over all merchants. */
export async function findPaymentStatesByName(db: Queries, name: string): Promise<PaymentState[]> {
  const id = parseId('payment', name)
  const one = id ? await findPaymentStateById(db, id) : await findByAttemptReference(db, name)
  return one ? [one] : withAttempts(db, await findPaymentsByReference(db, name))
}

async function findByAttemptReference(db: Queries, name: string): Promise<Snapshot | undefined> {
  const place = placeOfReference(name)
  if (place === undefined) return undefined
  return readState(
    db,
    sql`
      select ${STATE} where p.place = ${place} and p.id = (select payment_id from attempts where place = ${place} and reference = ${name})
       order by a.number`,
  )
}

export async function withAttempts(db: Queries, payments: Payment[]): Promise<PaymentState[]> {
  const attempts = await attemptsOf(
    db,
    payments.map(({ id }) => id),
  )
  const byPayment = Map.groupBy(attempts, ({ paymentId }) => paymentId)
  return payments.map((payment) => ({ payment, attempts: byPayment.get(payment.id) ?? [] }))
}

async function attemptsOf(db: Queries, paymentIds: PaymentId[]): Promise<Attempt[]> {
  const attempts: Attempt[] = []
  for (const [place, ids] of groupByPlace(paymentIds, placeOf)) {
    const rows = await db.rows<AttemptRow>(sql`
      select ${ATTEMPT_COLUMNS} from attempts a
       where place = ${place} and payment_id = any(${ids.map(uuidOf)}::uuid[]) order by payment_id, number`)
    attempts.push(...rows.map(attemptOf))
  }
  return attempts
}
