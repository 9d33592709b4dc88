import type { Transaction } from '../database/database.ts'
import { newId, type PaymentId, uuidOf } from '../kernel/ids.ts'
import { type Currency, type Money, money } from '../kernel/money.ts'
import type { RefundOutcome } from '../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import { findAttempt, lockBook } from './attempt-store.ts'
import { type Book, factsAbout } from './book.ts'
import type { AttemptParts } from './parts.ts'
import { transactionsOf } from './receipt-store.ts'
import { nextRefundTry, planRefund, type Refund, refundView } from './refund.ts'
import {
  claimDueRefunds,
  findProviderRefund,
  insertRefund,
  leaseRefund,
  lockRefund,
  refundsOf,
  saveRefund,
} from './refund-store.ts'
import { ask } from './settle-attempt.ts'
import { writeDecision } from './write-decision.ts'

/** Sends money back through the provider that took it. The promise is on disk before the provider hears of it. */
export async function refundPayment(
  parts: AttemptParts,
  id: PaymentId,
  wanted: { amount?: number | undefined; reason: string | null },
): Promise<Refund> {
  const refund = await parts.database.transaction(async (tx) => {
    const book = await lockBook(tx, id)
    const { attempt, amount } = planRefund(book, await refundsOf(tx, id), wanted.amount)
    const made = await insertRefund(tx, {
      id: newId('refund', parts.clock.now()),
      book,
      attemptId: attempt.id,
      amount,
      kind: 'merchant',
      reason: wanted.reason,
      transactionIds: await transactionsOf(tx, attempt.id),
    })
    if (!made) throw new Error('a refund with a new id was there already')
    await leaseRefund(tx, made.id)
    return made
  })
  return carryOut(parts, refund)
}

export async function carryOutDueRefunds(parts: AttemptParts, limit: number): Promise<number> {
  const due = await claimDueRefunds(parts.database, limit)
  await Promise.all(
    due.map((refund) =>
      carryOut(parts, refund).catch((err) =>
        parts.log.warn({ err, refundId: refund.id }, 'refund waits for another try'),
      ),
    ),
  )
  return due.length
}

async function carryOut(parts: AttemptParts, refund: Refund): Promise<Refund> {
  const attempt = await findAttempt(parts.database, refund.attemptId)
  if (!attempt) throw new Error(`attempt ${refund.attemptId} is gone`)
  const outcome = await ask(parts, attempt, 'refund', (provider) =>
    provider.refund({
      reference: uuidOf(refund.id).replaceAll('-', ''),
      order: {
        reference: attempt.orderReference,
        providerReference: attempt.providerReference,
        channel: attempt.channel,
      },
      transactionIds: refund.transactionIds,
      amount: money(refund.amount, refund.currency as Currency),
      reason: refund.reason,
    }),
  )
  return parts.database.transaction((tx) => conclude(tx, parts, refund, outcome))
}

async function conclude(tx: Transaction, parts: AttemptParts, wanted: Refund, outcome: RefundOutcome): Promise<Refund> {
  const book = await lockBook(tx, wanted.paymentId)
  const refund = await lockRefund(tx, wanted.id)
  if (!refund) throw new Error(`refund ${wanted.id} is gone`)
  if (refund.status !== 'pending') return refund
  const now = parts.clock.now()
  switch (outcome.kind) {
    case 'refunded':
      return complete(tx, parts, book, { ...refund, providerRefundId: outcome.refundId })
    case 'refused': {
      const failed: Refund = { ...refund, status: 'failed', failure: outcome.because, resolvedAt: now }
      await saveRefund(tx, failed, null)
      await tell(tx, parts, book, failed)
      return failed
    }
    default: {
      const tried = {
        ...refund,
        tries: refund.tries + 1,
        providerRefundId: 'refundId' in outcome ? outcome.refundId : refund.providerRefundId,
      }
      await saveRefund(tx, tried, nextRefundTry(tried.tries, now))
      return tried
    }
  }
}

async function complete(tx: Transaction, parts: AttemptParts, book: Book, refund: Refund): Promise<Refund> {
  const done: Refund = { ...refund, status: 'successful', failure: null, resolvedAt: parts.clock.now() }
  await saveRefund(tx, done, null)
  // What went back beyond the payment was never part of it.
  const amountRefunded = book.payment.amountRefunded + (done.kind === 'surplus' ? 0 : done.amount)
  await tell(tx, parts, book, done, { ...book, payment: { ...book.payment, amountRefunded } })
  return done
}

function tell(tx: Transaction, parts: AttemptParts, before: Book, refund: Refund, after: Book = before): Promise<void> {
  const type = refund.status === 'failed' ? 'refund.failed' : 'refund.successful'
  return writeDecision(
    tx,
    parts,
    before,
    factsAbout(after, [{ type, attemptId: refund.attemptId, more: { refund: refundView(refund) } }]),
  )
}

/** A refund or chargeback that the provider tells us of: ours, answered at last, or one that was made on its side. */
export function recordProviderRefund(
  parts: AttemptParts,
  attempt: Attempt,
  says: 'refunded' | 'charged_back',
  told: { refundId: string; reference: string | null; amount: Money },
): Promise<string> {
  return parts.database.transaction(async (tx) => {
    const book = await lockBook(tx, attempt.paymentId)
    const known = await findProviderRefund(tx, attempt.id, told.refundId)
    if (known && known.status !== 'pending') return 'a refund that is on record already'
    const unanswered = (await refundsOf(tx, attempt.paymentId)).filter(
      ({ attemptId, status }) => attemptId === attempt.id && status === 'pending',
    )
    const ours = known ?? unanswered.find(({ id }) => told.reference === uuidOf(id).replaceAll('-', ''))
    if (!ours && told.reference === null && unanswered.some(({ amount }) => amount === told.amount.amount)) {
      // It may be any of these, or none. Each is asked for again under its own name, and after that this one can be told from them;
      // a guess would mark one as done that the customer never gets.
      throw new Error('a refund of ours of the same amount is not answered yet; this notice waits for it')
    }
    if (ours) {
      const refund = await lockRefund(tx, ours.id)
      if (refund) await complete(tx, parts, book, { ...refund, providerRefundId: told.refundId })
      return 'a refund of ours'
    }
    const amount = Math.min(told.amount.amount, book.payment.amountPaid - book.payment.amountRefunded)
    if (amount < 1 || told.amount.currency !== book.payment.currency)
      return 'a refund that does not fit this payment; look at it'
    const made = await insertRefund(tx, {
      id: newId('refund', parts.clock.now()),
      book,
      attemptId: attempt.id,
      amount,
      kind: says === 'refunded' ? 'provider' : 'chargeback',
      reason: 'Made on the provider’s side.',
      transactionIds: [],
      providerRefundId: told.refundId,
    })
    if (!made) return 'a refund that is on record already'
    const amountRefunded = book.payment.amountRefunded + amount
    await tell(tx, parts, book, made, { ...book, payment: { ...book.payment, amountRefunded } })
    return 'a refund made on the provider’s side'
  })
}
