import type { Attempt } from './attempt.ts'
import { COMPARE, compareWith, type RecordedRefund, type Records, SET_BACK } from './audited-records.ts'

/** Sums against receipts and refunds, and amounts, currencies and transaction ids against the events. */
export function auditMoney(records: Records): string[] {
  const { state, receipts, refunds } = records
  const { payment, attempts } = state
  const found: string[] = []
  const compare = compareWith(found, COMPARE)
  for (const attempt of attempts) {
    const { id, reference, currency, amountCharged, amountReceived, amountReversed } = attempt
    const own = receipts.filter((receipt) => receipt.attemptId === id && receipt.currency === currency)
    compare(`amountReceived of attempt ${reference}`, amountReceived, sum(own))
    const reversed = own.filter(({ amount, returned }) => amount > 0 && returned === amount)
    compare(`amountReversed of attempt ${reference}`, amountReversed, sum(reversed))
    const back = refunds.filter(({ attemptId, status }) => attemptId === id && status !== 'failed')
    compare(`amountReturned of attempt ${reference}`, attempt.amountReturned, sum(back))
    const gone = back.filter(({ counted, status }) => counted && status === 'successful')
    compare(`amountRefunded of attempt ${reference}`, attempt.amountRefunded, sum(gone))
    if (attempt.status === 'successful' && amountReceived - amountReversed < amountCharged)
      found.push(
        `attempt ${reference} is successful with ${amountReceived - amountReversed} of ${amountCharged} ${currency} received: ${COMPARE}`,
      )
  }
  compare('amountPaid', payment.amountPaid, sum(receipts.filter(({ counted }) => counted)))
  const gone = refunds.filter(({ counted, status }) => counted && status === 'successful')
  compare('amountRefunded', payment.amountRefunded, sum(gone))
  return [...found, ...auditPrices(records), ...auditTransactions(records), ...auditRefunds(records)]
}

function auditPrices({ state: { payment, attempts }, events, told, receipts }: Records): string[] {
  const found: string[] = []
  const compare = compareWith(found, SET_BACK)
  const first = events.find(({ price }) => price)?.price ?? told
  if (first) compare('the amount', `${payment.amount} ${payment.currency}`, `${first.amount} ${first.currency}`)
  for (const attempt of attempts) {
    const { reference, currency, amountCharged, fee } = attempt
    const asked = priceOf(attempt, events) ?? told?.attempts.find((each) => each.reference === reference)
    if (asked) compare(`the charge of attempt ${reference}`, `${amountCharged} with fee ${fee}`, `${asked.amountCharged} with fee ${asked.fee}`) // biome-ignore format: one fact, one line
    compare(`the currency of attempt ${reference}`, currency, payment.currency)
  }
  const strange = receipts.find(({ counted, currency }) => counted && currency !== payment.currency)
  if (strange) found.push(`transaction ${strange.transactionId} counts in ${strange.currency}: ${SET_BACK}`)
  return found
}

const priceOf = ({ reference }: Attempt, events: Records['events']) =>
  events.find(({ attemptReference, price }) => attemptReference === reference && price)?.price

/** Each transaction that an event or a refund names is on record, with the amount that the event has. */
function auditTransactions({ events, receipts, refunds }: Records): string[] {
  const found: string[] = []
  for (const { sequence, transactions } of events) {
    for (const { id, amount, currency } of transactions ?? []) {
      const receipt = receipts.find(({ transactionId }) => transactionId === id)
      if (!receipt) found.push(`transaction ${id} of event ${sequence} is on record no more: ${COMPARE}`)
      else if (receipt.amount !== amount || receipt.currency !== currency)
        found.push(
          `transaction ${id} is on record with ${receipt.amount} ${receipt.currency}, event ${sequence} says ${amount} ${currency}: ${COMPARE}`,
        )
    }
  }
  for (const { id, attemptId, transactionIds } of refunds) {
    const strange = transactionIds.filter(
      (each) => !receipts.some((receipt) => receipt.attemptId === attemptId && receipt.transactionId === each),
    )
    for (const each of strange) found.push(`refund ${id} is of transaction ${each}, which is not on record: ${COMPARE}`)
  }
  return found
}

/** A refund is what its last event says. Money that was given back before it was seen here has no event. */
function auditRefunds({ state: { payment }, events, refunds }: Records): string[] {
  const found: string[] = []
  const compare = compareWith(found, COMPARE)
  const told = new Map(events.flatMap(({ refund }) => (refund ? [[refund.id, refund] as const] : [])))
  for (const refund of refunds) {
    const { id, amount, currency, status, kind, resolvedAt } = refund
    const last = told.get(id)
    if (last) compare(`refund ${id}`, textOf(refund), textOf(last))
    else if (status !== 'pending' && kind !== 'provider') found.push(`refund ${id} of ${amount} ${currency} is ${status}, and no event says so: ${COMPARE}`) // biome-ignore format: one fact, one line
    if ((status === 'pending') !== (resolvedAt === null))
      found.push(
        `refund ${id} is ${status} and its resolved_at is ${resolvedAt === null ? 'empty' : 'set'}: ${SET_BACK}`,
      )
    if (currency !== payment.currency) found.push(`refund ${id} is in ${currency}: ${SET_BACK}`)
  }
  for (const id of told.keys())
    if (!refunds.some((refund) => refund.id === id))
      found.push(`refund ${id} is in the events and not on record: restore its row from a backup`)
  return found
}

const textOf = ({ amount, currency, status }: Pick<RecordedRefund, 'amount' | 'currency'> & { status: string }) =>
  `${status}, ${amount} ${currency}`

function sum(rows: { amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0)
}
