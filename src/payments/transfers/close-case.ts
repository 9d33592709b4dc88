import { actRecorded } from '../../events/audit-log-store.ts'
import type { CaseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { type Case, isOpenCase, withoutCases } from '../state/case.ts'
import { isHeldBy } from '../state/held-money.ts'
import { openMoneyOf } from '../state/open-money.ts'
import { decide } from '../state/payment-state.ts'
import { findCase } from '../store/cases.ts'
import { closeOther } from '../store/other-cases.ts'
import { reviewsOf } from '../store/reviews.ts'
import { closeTransfer, type Handling, reviewOf, writeReview } from './handle-transfer.ts'

const CLOSED = 'This case is closed already.'

/** A person closes a case with a note. It never moves money: what is on the list of transfers is noted there. */
export async function closeCase(deps: PaymentDeps, by: Handling & { note: string }, id: CaseId): Promise<void> {
  const { scope, actor, note } = by
  const found = await findCase(deps.database, scope, id)
  if (!found) throw new Problem('not_found', 'You have no case with this id in this mode.')
  if (!isOpenCase(found)) throw new Problem('conflict', CLOSED)
  const { paymentId, subject, amount } = found
  if (paymentId) return closeOfPayment(deps, by, { ...found, paymentId })
  if (subject.kind === 'receipt') {
    const receipt = { kind: 'receipt' as const, id: Number(subject.id.replace('receipt-', '')) }
    return closeTransfer(deps, by, receipt, 'noted', amount ?? 0)
  }
  await deps.database.transaction(async (tx) => {
    tx.write(actRecorded(scope.place, { actor, act: 'case.closed', merchantId: scope.merchantId, subject: id }))
    await closeOther(tx, scope, found, { by: actor, note, now: deps.clock.now() })
  })
}

function closeOfPayment(
  deps: PaymentDeps,
  by: Handling & { note: string },
  { id, paymentId }: Case & { paymentId: NonNullable<Case['paymentId']> },
): Promise<void> {
  return changePayment(deps, paymentId, {
    read: (tx) => reviewsOf(tx, paymentId),
    decide: (before, reviews, tx) => {
      const open = before.cases.find((each) => each.id === id && isOpenCase(each))
      if (!open) throw new Problem('conflict', CLOSED)
      const now = deps.clock.now()
      const cases = withoutCases(before.cases, (each) => each.id === id, { by: by.actor, note: by.note, now })
      writeDecision(tx, deps, before, decide({ ...before, cases }, [], now), { cause: 'case closed' })
      const holder = before.attempts.find((attempt) => isHeldBy(open, attempt))
      const money = holder && openMoneyOf(before, holder, reviews)
      const { place, merchantId, currency } = before.payment
      if (money)
        writeReview(tx, deps, by, { ...reviewOf(money), act: 'noted', paymentId, amount: money.amount, currency })
      tx.write(actRecorded(place, { actor: by.actor, act: 'case.closed', merchantId, subject: id }))
    },
  })
}
