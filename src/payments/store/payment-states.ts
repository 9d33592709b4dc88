import type { Queries } from '../../database/database.ts'
import { Fixed, type Statement, sql } from '../../database/sql.ts'
import { NO_KEYS } from '../../integrations/provider-keys.ts'
import { type AttemptId, type PaymentId, parseId, placeOf, placeOfReference, uuidOf } from '../../kernel/ids.ts'
import { groupByPlace } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Attempt } from '../state/attempt.ts'
import type { Payment } from '../state/payment.ts'
import type { PaymentState } from '../state/payment-state.ts'
import type { Refund } from '../state/refund.ts'
import { ATTEMPT_COLUMNS, type AttemptRow, attemptOf } from './attempts.ts'
import { CASES_OF_PAYMENT, casesIn, casesOfAll, type WithCases } from './cases.ts'
import { findPaymentsByReference, PAYMENT_COLUMNS, type PaymentRow, paymentOf } from './payments.ts'
import { type ReceiptOfPayment, receiptsOf } from './receipts.ts'
import { refundsOf } from './refunds.ts'

const COLUMNS = new Fixed(`${PAYMENT_COLUMNS.text}, ${ATTEMPT_COLUMNS.text}, ${CASES_OF_PAYMENT.text}`)

/** One row for each attempt, or one without an attempt. */
type StateRow = PaymentRow & WithCases & (AttemptRow | { a_id: null })

async function readState(db: Queries, statement: Statement): Promise<PaymentState | undefined> {
  const rows = await db.rows<StateRow>(statement)
  const [first] = rows
  if (!first) return undefined
  const attempts = rows.filter((row) => row.a_id !== null).map((row) => attemptOf(row as AttemptRow))
  return { payment: paymentOf(first), attempts, cases: casesIn(rows) }
}

export function findPaymentStateById(db: Queries, id: PaymentId): Promise<PaymentState | undefined> {
  const place = placeOf(id)
  return readState(
    db,
    sql`
      select ${COLUMNS} from payments p left join attempts a on a.place = ${place} and a.payment_id = p.id
       where p.place = ${place} and p.id = ${uuidOf(id)} order by a.number`,
  )
}

export async function findStateByAttempt(
  db: Queries,
  id: AttemptId,
): Promise<{ state: PaymentState; attempt: Attempt } | undefined> {
  const place = placeOf(id)
  const state = await readState(
    db,
    sql`
      select ${COLUMNS} from payments p left join attempts a on a.place = ${place} and a.payment_id = p.id
       where p.place = ${place} and p.id = (select payment_id from attempts where place = ${place} and id = ${uuidOf(id)})
       order by a.number`,
  )
  const attempt = state?.attempts.find((each) => each.id === id)
  return state && attempt && { state, attempt }
}

/**
 * Finds by id, by reference, then by an attempt's reference, so that a reference in the format of an id cannot hide a
 * payment.
 */
export async function findPaymentState(
  db: Queries,
  { place, merchantId, mode }: Scope,
  name: string,
): Promise<PaymentState | undefined> {
  const scope = uuidOf(merchantId)
  const id = parseId('payment', name)
  const byId = id && (await findPaymentStateById(db, id))
  if (byId?.payment.merchantId === merchantId && byId.payment.mode === mode) return byId
  return (
    (await readState(
      db,
      sql`
        select ${COLUMNS} from payments p left join attempts a on a.place = ${place} and a.payment_id = p.id
         where p.place = ${place} and p.merchant_id = ${scope} and p.mode = ${mode} and p.reference = ${name}
         order by a.number`,
    )) ??
    (await readState(
      db,
      sql`
        select ${COLUMNS} from payments p left join attempts a on a.place = ${place} and a.payment_id = p.id
         where p.place = ${place}
           and p.id = (select payment_id from attempts
                        where place = ${place} and reference = ${name} and merchant_id = ${scope} and mode = ${mode})
         order by a.number`,
    ))
  )
}

/**
 * Finds an attempt by our order reference or the provider's own, with its payment. Attempts with the given keys come
 * first; others match only by our random reference, or after their keys were rotated.
 */
export async function findStateByOrder(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { provider, keysVersion = NO_KEYS }: { provider: string; keysVersion?: number },
  reference: string,
): Promise<{ state: PaymentState; attempt: Attempt } | undefined> {
  const state = await readState(
    db,
    sql`
      select ${COLUMNS} from payments p left join attempts a on a.place = ${place} and a.payment_id = p.id
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
           ) found order by account = ${keysVersion} desc, ours desc limit 1)
       order by a.number`,
  )
  const named = state?.attempts.filter(
    (attempt) =>
      attempt.provider === provider &&
      (attempt.orderReference === reference || attempt.providerReference === reference),
  )
  const attempt =
    named?.find((each) => each.keysVersion === keysVersion && each.orderReference === reference) ??
    named?.find((each) => each.keysVersion === keysVersion) ??
    named?.find((each) => each.orderReference === reference) ??
    named?.[0]
  return state && attempt && { state, attempt }
}

/** A payment under its lock, with everything that a decision about it depends on. */
export interface LockedPayment extends PaymentState {
  receipts: ReceiptOfPayment[]
  refunds: Refund[]
  /** The payment's sequence when it was locked: a transaction may write several decisions. */
  lockedAt: number
}

/**
 * Locks the payment's row, and reads the rest behind it: each statement takes its snapshot when the lock is held. One
 * join with a lock would return the new payment with old attempts. `for update` would block inserts that refer to the
 * payment. Attempts and refunds are not locked, because leases on them are claimed without the payment.
 */
export async function lockPayment(tx: Queries, id: PaymentId): Promise<LockedPayment> {
  const [place, uuid] = [placeOf(id), uuidOf(id)]
  const [payment, attempts, receipts, refunds] = await Promise.all([
    tx.row<PaymentRow>(sql`
      select ${PAYMENT_COLUMNS} from payments p where p.place = ${place} and p.id = ${uuid} for no key update`),
    tx.rows<AttemptRow & WithCases>(sql`
      select ${ATTEMPT_COLUMNS}, ${CASES_OF_PAYMENT} from attempts a
       where a.place = ${place} and a.payment_id = ${uuid} order by a.number`),
    receiptsOf(tx, id),
    refundsOf(tx, id),
  ])
  if (!payment) throw new Error(`payment ${id} is gone`)
  const lockedAt = payment.sequence
  return {
    payment: paymentOf(payment),
    attempts: attempts.map(attemptOf),
    cases: casesIn(attempts),
    receipts,
    refunds,
    lockedAt,
  }
}

/** For the operator: finds by id, reference or attempt reference, over all merchants. */
export async function findPaymentStatesByName(db: Queries, name: string): Promise<PaymentState[]> {
  const id = parseId('payment', name)
  const one = id ? await findPaymentStateById(db, id) : await findByAttemptReference(db, name)
  return one ? [one] : withAttempts(db, await findPaymentsByReference(db, name))
}

async function findByAttemptReference(db: Queries, name: string): Promise<PaymentState | undefined> {
  const place = placeOfReference(name)
  if (place === undefined) return undefined
  return readState(
    db,
    sql`
      select ${COLUMNS} from payments p left join attempts a on a.place = ${place} and a.payment_id = p.id
       where p.place = ${place} and p.id = (select payment_id from attempts where place = ${place} and reference = ${name})
       order by a.number`,
  )
}

export async function withAttempts(db: Queries, payments: Payment[]): Promise<PaymentState[]> {
  const ids = payments.map(({ id }) => id)
  const [attempts, cases] = await Promise.all([attemptsOf(db, ids), casesOfAll(db, ids)])
  const byPayment = Map.groupBy(attempts, ({ paymentId }) => paymentId)
  return payments.map((payment) => ({
    payment,
    attempts: byPayment.get(payment.id) ?? [],
    cases: cases.get(payment.id) ?? [],
  }))
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
