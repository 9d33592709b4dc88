import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../../src/kernel/ids.ts'
import { audit, type Records } from '../../../src/payments/state/audit.ts'
import { recordsAfter } from '../../../src/payments/store/audit-records.ts'
import type { Told } from './customers.ts'
import type { Door } from './door.ts'

/** A payment in the provider's ledger, as its control call returns it. */
export interface LedgerRecord {
  reference: string
  channel: 'card' | 'transfer'
  status: string
  requested: number
  amount: number
  refunded: number
}

interface AttemptRow {
  id: string
  payment_id: string
  reference: string
  order_reference: string
  status: string
  needs_review: string | null
  amount_charged: number
  received: number
  refunded: number
  refunding: number
  overdue_seconds: number | null
}

/** Both sides and their differences. */
export interface Comparison {
  payments: Map<string, number>
  attempts: Map<string, number>
  late: number
  surplusAttempts: number
  needReview: number
  processing: number
  /** Refunds that the provider has not answered, and that the schedule will ask for again: how many attempts, how much. */
  refunding: { attempts: number; amount: number }
  taken: { ours: number; theirs: number }
  refunded: { ours: number; theirs: number }
  ledgerRecords: number
  differences: string[]
  /** Differences of refunds, which may take longer to settle. */
  refundDifferences: string[]
}

const LATE_BY_SECONDS = 60

export async function compare(database: Database, door: Door, told: Told): Promise<Comparison> {
  const ledger = await readLedger(door)
  const attempts = await readAttempts(database)
  const records = await readRecords(database)
  const byOrder = new Map(attempts.map((attempt) => [attempt.order_reference, attempt]))
  const inLedger = new Map(ledger.map((record) => [record.reference, record]))
  const differences = [
    ...ledger.flatMap((record) => compareTaken(record, byOrder.get(record.reference))),
    ...attempts.flatMap((attempt) => compareAttempt(attempt, inLedger.get(attempt.order_reference))),
    ...records.flatMap((each) => comparePayment(each, inLedger)),
    ...records
      .filter(({ refunds }) => refunds.some(({ status }) => status === 'failed'))
      .map(({ state }) => `${state.payment.reference}: a refund was refused`),
    ...(await compareLists(database)),
    ...compareTold(told, records, attempts, inLedger),
  ]
  const sum = <Row>(rows: Row[], of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0)
  return {
    payments: countBy(records, ({ state }) => state.payment.status),
    attempts: countBy(attempts, ({ status }) => status),
    late: records.filter(({ state }) => state.payment.late).length,
    surplusAttempts: attempts.filter(({ status }) => status === 'surplus').length,
    needReview: attempts.filter(({ needs_review }) => needs_review !== null).length,
    processing: attempts.filter(({ status }) => status === 'processing').length,
    refunding: {
      attempts: attempts.filter(({ refunding }) => refunding > 0).length,
      amount: sum(attempts, ({ refunding }) => refunding),
    },
    taken: { ours: sum(attempts, ({ received }) => received), theirs: sum(ledger, ({ amount }) => amount) },
    refunded: { ours: sum(attempts, ({ refunded }) => refunded), theirs: sum(ledger, ({ refunded }) => refunded) },
    ledgerRecords: ledger.length,
    differences,
    refundDifferences: ledger.flatMap((record) => compareRefunded(record, byOrder.get(record.reference))),
  }
}

/** Money: every unit that the provider took is on record, for that attempt. */
function compareTaken({ reference, amount }: LedgerRecord, attempt: AttemptRow | undefined): string[] {
  if (!attempt) return [`${reference}: the provider has it, and we have no such attempt`]
  if (attempt.received === amount) return []
  return [`${attempt.reference} (${attempt.status}): the provider took ${amount}, we have ${attempt.received}`]
}

/** Every unit that the provider refunded is on record. */
function compareRefunded({ refunded }: LedgerRecord, attempt: AttemptRow | undefined): string[] {
  if (!attempt || (attempt.refunded === refunded && attempt.refunding === 0)) return []
  const { reference, refunded: ours, refunding } = attempt
  return [`${reference}: the provider refunded ${refunded}, we recorded ${ours}, and ${refunding} is pending`]
}

/** Checks run in time, and an attempt that is still processing has no money. */
function compareAttempt(attempt: AttemptRow, record: LedgerRecord | undefined): string[] {
  const { reference, status, needs_review, overdue_seconds } = attempt
  const found: string[] = []
  if ((overdue_seconds ?? 0) > LATE_BY_SECONDS) found.push(`${reference}: its check is ${overdue_seconds} s late`)
  if (status !== 'processing') return found
  if (overdue_seconds === null && !needs_review) found.push(`${reference}: processing, and no check is scheduled`)
  if (record && record.amount > 0 && !needs_review)
    found.push(`${reference}: processing, and the provider has the money`)
  return found
}

/** States: enough money is one success, and the records follow from the events. */
export function comparePayment(
  records: Records,
  ledger: Map<string, Pick<LedgerRecord, 'requested' | 'amount' | 'refunded'>>,
): string[] {
  const { payment, attempts } = records.state
  const found = audit(records)
  const orders = attempts.map(({ orderReference }) => ledger.get(orderReference))
  // Money that was refunded before the rest came does not complete a payment; after a success it changes nothing.
  const isPaid = orders.some((record) => record && record.amount >= record.requested)
  const isHeld = orders.some((record) => record && record.amount - record.refunded >= record.requested)
  const isSuccessful = payment.status === 'successful'
  if (isHeld ? !isSuccessful : isSuccessful && !isPaid) {
    found.push(isHeld ? `paid at the provider, and ${payment.status}` : 'successful, and not paid at the provider')
  }
  const beyond = sum(records.receipts.filter(({ counted }) => !counted))
  const back = sum(records.refunds.filter(({ counted }) => !counted))
  const held = attempts
    .filter(({ needsReview }) => needsReview?.startsWith('surplus: '))
    .reduce((total, each) => {
      const received = records.receipts.filter(({ attemptId, counted }) => attemptId === each.id && !counted)
      return (
        total +
        sum(received) -
        sum(records.refunds.filter(({ attemptId, counted }) => attemptId === each.id && !counted))
      )
    }, 0)
  if (beyond !== back + held)
    found.push(`${beyond} was surplus, ${back} of it was refunded, and ${held} waits for a person`)
  return found.map((finding) => `${payment.reference}: ${finding}`)
}

export async function compareLists(database: Database): Promise<string[]> {
  const found = await database.rows<{ what: string; count: number }>(sql`
    select 'notices that match nothing' as what, count(*) from notices where state = 'unmatched'
    union all select 'receipts that match nothing', count(*) from receipts where attempt_id is null
    union all select 'notices that are not processed', count(*) from notices
               where state = 'waiting' and due_at < now() - ${LATE_BY_SECONDS} * interval '1 second'
    union all select 'refunds that are not requested', count(*) from refunds
               where status = 'pending' and (due_at is null or due_at < now() - ${LATE_BY_SECONDS} * interval '1 second')`)
  return found.filter(({ count }) => count > 0).map(({ what, count }) => `${count} ${what}`)
}

/** Every acknowledged call is on record. */
function compareTold(
  told: Told,
  records: Records[],
  attempts: AttemptRow[],
  ledger: Map<string, LedgerRecord>,
): string[] {
  const payments = new Map(records.map((each) => [each.state.payment.reference, each]))
  const paymentOf = new Map(attempts.map(({ reference, payment_id }) => [reference, payment_id]))
  const isOf = (payment: string, id: string | undefined) => {
    const known = payments.get(payment)?.state.payment.id
    return known !== undefined && uuidOf(known) === id
  }
  const gone = (what: string, names: string[]) => names.map((name) => `${name}: ${what}, and is not on record`)
  const moved = Map.groupBy(told.moved, ({ providerReference }) => providerReference)
  return [
    ...gone(
      'its checkout was answered with 201',
      told.checkouts.filter((reference) => !payments.has(reference)),
    ),
    ...gone(
      'its initialize was answered with 200',
      told.attempts
        .filter(({ reference, payment }) => !isOf(payment, paymentOf.get(reference)))
        .map((each) => each.reference),
    ),
    ...gone(
      'its cancel was answered with 200',
      told.cancelled.filter((name) => !payments.get(name)?.events.some(({ type }) => type === 'payment.cancelled')),
    ),
    ...gone(
      'its refund was answered with 201',
      told.refunded
        .filter(({ payment, amount }) => !payments.get(payment)?.refunds.some((refund) => refund.amount === amount))
        .map(({ payment }) => payment),
    ),
    ...[...moved]
      .filter(([reference, all]) => sum(all) > (ledger.get(reference)?.amount ?? 0))
      .map(([reference]) => `${reference}: the provider confirmed money to a customer that its ledger does not have`),
  ]
}

async function readLedger(door: Door): Promise<LedgerRecord[]> {
  const ledger: LedgerRecord[] = []
  for (let cursor: string | null = '0'; cursor !== null; ) {
    const path = `/sandbox/gateway/ledger?limit=1000&cursor=${cursor}`
    const answer = await door.askUntilKnown('ledger', 'GET', path)
    if (answer?.status !== 200) throw new Error(`the ledger cannot be read: ${answer?.status}`)
    ledger.push(...answer.body.data)
    cursor = answer.body.nextCursor
  }
  return ledger
}

function readAttempts(database: Database): Promise<AttemptRow[]> {
  return database.rows(sql`
    select a.id, a.payment_id, a.reference, a.order_reference, a.status, a.needs_review, a.amount_charged,
           coalesce((select sum(amount) from receipts where place = a.place and attempt_id = a.id), 0)::bigint as received,
           coalesce((select sum(amount) from refunds where place = a.place and attempt_id = a.id and status = 'successful'), 0)::bigint as refunded,
           coalesce((select sum(amount) from refunds where place = a.place and attempt_id = a.id and status = 'pending'), 0)::bigint as refunding,
           case when a.next_check_at is not null
             then round(extract(epoch from now() - greatest(a.next_check_at, a.check_leased_until)))::integer end as overdue_seconds
      from attempts a`)
}

const PAGE = 500

export async function readRecords(database: Database): Promise<Records[]> {
  const all: Records[] = []
  let last: PaymentId | undefined
  for (;;) {
    const page = await database.transaction((tx) => recordsAfter(tx, last, PAGE))
    all.push(...page)
    if (page.length < PAGE) return all
    last = page.at(-1)?.state.payment.id
  }
}

export function countBy<Row>(rows: Row[], of: (row: Row) => string): Map<string, number> {
  return new Map([...Map.groupBy(rows, of)].map(([name, group]) => [name, group.length]))
}

function sum(rows: { amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0)
}
