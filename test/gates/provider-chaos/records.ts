import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { audit, type Records } from '../../../src/payments/state/audit.ts'
import { isOpenCase } from '../../../src/payments/state/case.ts'
import type { Payment } from '../../../src/payments/state/payment.ts'
import { recordsAfter } from '../../../src/payments/store/audit-records.ts'

/** An order at the provider, and the money that it took and refunded for it. */
export interface Ordered {
  requested: number
  amount: number
  refunded: number
}

/** What is due for longer than that should have been done. */
export const LATE_BY_SECONDS = 60

/** States: enough money is one success, and the records follow from the events. */
export function comparePayment(records: Records, ledger: Map<string, Ordered>): string[] {
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
  const beyond = sumOf(records.receipts.filter(({ counted }) => !counted))
  const back = sumOf(records.refunds.filter(({ counted }) => !counted))
  const held = attempts
    .filter(({ id }) =>
      records.state.cases.some((each) => isOpenCase(each) && each.reason === 'surplus' && each.subject.id === id),
    )
    .reduce((total, each) => {
      const received = records.receipts.filter(({ attemptId, counted }) => attemptId === each.id && !counted)
      return (
        total +
        sumOf(received) -
        sumOf(records.refunds.filter(({ attemptId, counted }) => attemptId === each.id && !counted))
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

const PAGE = 500

export async function readRecords(database: Database): Promise<Records[]> {
  const all: Records[] = []
  let last: Payment | undefined
  for (;;) {
    const page = await database.transaction((tx) => recordsAfter(tx, last, PAGE))
    all.push(...page)
    if (page.length < PAGE) return all
    last = page.at(-1)?.state.payment
  }
}

export function countBy<Row>(rows: Row[], of: (row: Row) => string): Map<string, number> {
  return new Map([...Map.groupBy(rows, of)].map(([name, group]) => [name, group.length]))
}

export function sumOf(rows: { amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0)
}
