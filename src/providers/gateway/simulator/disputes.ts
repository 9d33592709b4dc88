import {
  type Dispute,
  disputesOf,
  findDispute,
  findDisputes,
  findRefunds,
  insertDispute,
  type PageRange,
  type Refund,
  saveDispute,
} from './dispute-store.ts'
import type { Chance } from './faults.ts'
import { type Books, changeBooks, type LedgerDeps } from './ledger.ts'
import { findPayment, insertTransaction, savePayment } from './ledger-store.ts'
import { newId } from './new-id.ts'
import { queueNotice } from './notices.ts'
import { transactionId } from './record.ts'
import { refundPayment } from './refund-payment.ts'
import { invalid, notFound, Refusal } from './refusal.ts'

const RESPOND_IN_DAYS = 7

export function disputeView({ id, amount, currency, status, reason, respondBy, openedAt }: Dispute) {
  return {
    id: `gds_${id}`,
    amount,
    currency,
    status,
    reason,
    respondBy: respondBy.toISOString(),
    openedAt: openedAt.toISOString(),
  }
}

/** The cardholder disputes what was charged. No money moves before the dispute is lost. */
export async function openDispute(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  wanted: { payment: string; amount: number | null; reason: string },
) {
  const found = await findPayment(deps.database, merchantUuid, wanted.payment)
  if (!found) throw notFound('There is no payment with this reference.')
  return changeBooks(deps, found, async (tx, books) => {
    const left = books.payment.taken - books.payment.refunded
    const amount = wanted.amount ?? left
    if (amount < 1 || amount > left) throw tooMuch(left)
    const { reason } = wanted
    const dispute = await insertDispute(tx, books.payment, { amount, reason, respondInDays: RESPOND_IN_DAYS })
    const view = disputeView(dispute)
    await queueNotice(tx, deps, { chance, books, type: 'dispute.opened', dispute: view })
    return view
  })
}

/** The bank changes what it claims while the dispute is open. */
export function changeDispute(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  id: number,
  changes: { amount: number | null; reason: string | null },
) {
  return withDispute(deps, merchantUuid, id, async (tx, books, dispute) => {
    if (dispute.status !== 'open') throw closed(dispute)
    const changed = {
      ...dispute,
      amount: changes.amount ?? dispute.amount,
      reason: changes.reason ?? dispute.reason,
    }
    if (changed.amount > books.payment.taken) throw tooMuch(books.payment.taken)
    await saveDispute(tx, changed)
    await queueNotice(tx, deps, { chance, books, type: 'dispute.updated', dispute: disputeView(changed) })
    return disputeView(changed)
  })
}

/** A lost dispute takes the money once. A dispute that was lost can still be won: the money comes back. */
export function closeDispute(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  id: number,
  outcome: 'won' | 'lost',
) {
  return withDispute(deps, merchantUuid, id, async (tx, books, dispute) => {
    if (dispute.status === outcome) throw closed(dispute)
    const after = outcome === 'lost' ? await lose(tx, books, dispute) : await win(tx, books, dispute)
    await saveDispute(tx, after.dispute)
    await queueNotice(tx, deps, {
      chance,
      books: after.books,
      type: 'dispute.closed',
      dispute: disputeView(after.dispute),
    })
    return disputeView(after.dispute)
  })
}

type Tx = Parameters<typeof saveDispute>[0]

async function lose(tx: Tx, books: Books, dispute: Dispute) {
  const lost: Dispute = { ...dispute, status: 'lost' }
  const isRefunded = books.transactions.some(
    ({ kind, byHand, amount, at }) =>
      kind === 'refund' && byHand && amount === dispute.amount && at >= dispute.openedAt,
  )
  if (isRefunded) return { books, dispute: lost }
  const refunded = books.payment.refunded + dispute.amount
  if (refunded > books.payment.taken) throw tooMuch(books.payment.taken - books.payment.refunded)
  return { books: await move(tx, books, 'dispute', dispute.amount, refunded), dispute: { ...lost, moved: true } }
}

async function win(tx: Tx, books: Books, dispute: Dispute) {
  const won: Dispute = { ...dispute, status: 'won', moved: false }
  if (!dispute.moved) return { books, dispute: won }
  const refunded = books.payment.refunded - dispute.amount
  return { books: await move(tx, books, 'reinstatement', dispute.amount, refunded), dispute: won }
}

async function move(tx: Tx, books: Books, kind: 'dispute' | 'reinstatement', amount: number, refunded: number) {
  const payment = { ...books.payment, refunded }
  const entered = await insertTransaction(tx, payment, { kind, amount })
  await savePayment(tx, payment)
  return { payment, transactions: entered ? [...books.transactions, entered] : books.transactions }
}

/**
 * A refund made in the dashboard. For a lost dispute it moves no money of its own: that is how some providers show the
 * loss.
 */
export async function refundByHand(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  wanted: { payment: string; amount: number | null; dispute: number | null },
) {
  const found = await findPayment(deps.database, merchantUuid, wanted.payment)
  if (!found) throw notFound('There is no payment with this reference.')
  const reference = newId('hand-', deps.clock.now())
  if (wanted.dispute === null) {
    const amount = wanted.amount ?? found.taken - found.refunded
    if (amount < 1) throw tooMuch(0)
    const disputes = await disputesOf(deps.database, found)
    if (disputes.some((dispute) => dispute.moved && dispute.amount === amount))
      throw new Refusal(409, 'dispute_lost', 'This money went back with a lost dispute. Name the dispute to settle it.')
    return refundPayment(deps, chance, merchantUuid, { reference, payment: wanted.payment, amount, byHand: true })
  }
  return withDispute(deps, merchantUuid, wanted.dispute, async (tx, books, dispute) => {
    if (dispute.status !== 'lost' || !dispute.moved || dispute.settledBy !== null)
      throw new Refusal(409, 'dispute_not_lost', 'Only a lost dispute is settled by a refund, once.')
    const { amount, currency } = dispute
    const refund = await insertTransaction(tx, books.payment, {
      ...{ kind: 'refund', amount, refundReference: reference, byHand: true },
    })
    if (!refund) throw new Error('a reference with random bits was there already')
    await saveDispute(tx, { ...dispute, settledBy: refund.id })
    const id = transactionId(refund)
    const after = { ...books, transactions: [...books.transactions, refund] }
    await queueNotice(tx, deps, { chance, books: after, type: 'refund.successful', refund: { id, amount, currency } })
    return { id, reference, payment: wanted.payment, amount, currency, status: 'successful' as const }
  })
}

/** Refunds and disputes of a payment, as the provider's API lists them. */
export async function returnsOf({ database }: LedgerDeps, { payment, transactions }: Books) {
  const disputes = await disputesOf(database, payment)
  return {
    reference: payment.reference,
    refunds: transactions
      .filter(({ kind }) => kind === 'refund')
      .map((refund) => refundView(refund, disputes.find(({ settledBy }) => settledBy === refund.id)?.id)),
    disputes: disputes.map(disputeView),
  }
}

function refundView(refund: Refund, disputeId: number | null | undefined) {
  const { amount, currency, at, byHand, refundReference } = refund
  return {
    id: transactionId(refund),
    // A refund of the dashboard has no reference of the merchant's.
    ...{ reference: byHand ? null : refundReference, amount, currency, status: 'successful', at: at.toISOString() },
    ...(disputeId && { dispute: `gds_${disputeId}` }),
  }
}

/** A page of the refunds that were made in a range of time, each with the reference of its payment. */
export async function listRefunds({ database }: LedgerDeps, merchantUuid: string, range: PageRange) {
  const found = await findRefunds(database, merchantUuid, range)
  const refunds = found.map((refund) => ({ ...refundView(refund, refund.disputeId), payment: refund.payment }))
  return { refunds, nextCursor: cursorAfter(found, range) }
}

export async function listDisputes({ database }: LedgerDeps, merchantUuid: string, range: PageRange) {
  const found = await findDisputes(database, merchantUuid, range)
  const disputes = found.map((dispute) => ({ ...disputeView(dispute), payment: dispute.payment }))
  return { disputes, nextCursor: cursorAfter(found, range) }
}

export const cursorAfter = (found: { id: number }[], { limit }: PageRange) =>
  found.length === limit ? String(found.at(-1)?.id) : null

async function withDispute<Result>(
  deps: LedgerDeps,
  merchantUuid: string,
  id: number,
  change: (tx: Tx, books: Books, dispute: Dispute) => Promise<Result>,
): Promise<Result> {
  const found = await findDispute(deps.database, merchantUuid, id)
  if (!found) throw notFound('There is no dispute with this id.')
  return changeBooks(deps, { place: found.place, id: found.paymentId }, async (tx, books) => {
    // Read again under the lock of its payment.
    const dispute = await findDispute(tx, merchantUuid, id)
    if (!dispute) throw notFound('There is no dispute with this id.')
    return change(tx, books, dispute)
  })
}

const tooMuch = (left: number) => invalid(`amount must be at most ${left}, which is what is left of the payment.`)
const closed = ({ status }: Dispute) => new Refusal(409, 'dispute_closed', `This dispute is ${status} already.`)
