import type { ComponentChildren } from 'preact'
import type { Dispute } from '../money-answers.ts'
import type { Payment, Refund } from '../payment-answers.ts'
import { refundDays } from '../refund-days.ts'
import { providerName, withoutCode } from './payment-status.tsx'
import { Status, type Tone } from './status.tsx'
import { Money, Time } from './values.tsx'

/** What a merchant has to know about a payment before anything else, in one sentence. */
export interface Attention {
  id: string
  state: [Tone, string]
  text: ComponentChildren
}

/** The most urgent first: disputes have a deadline. */
export function attentionOf(payment: Payment, disputes: Dispute[]): Attention[] {
  return [
    ...disputes.filter(({ status }) => status === 'open').map((dispute) => disputed(payment, dispute)),
    ...payment.attempts.flatMap(({ id, needsReview, amountReceived, amountCharged }) => {
      if (needsReview === null) return []
      const amount = <Money amount={amountReceived || amountCharged} currency={payment.currency} />
      const text = (
        <>
          {amount} {amountReceived ? 'received' : 'charged'}: {withoutCode(needsReview)}
        </>
      )
      return [{ id, state: ['attention', 'Needs review'] as [Tone, string], text }]
    }),
    ...payment.refunds.filter((refund) => isUnsolved(refund, payment.refunds)).map(failed),
    ...payment.refunds.filter(({ status }) => status === 'pending').map((refund) => pending(payment, refund)),
  ]
}

function disputed({ attempts }: Payment, dispute: Dispute): Attention {
  const { id, amount, currency, reason, respondBy } = dispute
  const provider = providerName(attempts.find((attempt) => attempt.id === dispute.attempt)?.provider ?? 'the provider')
  const isOver = respondBy !== null && Date.parse(respondBy) < Date.now()
  const text = (
    <>
      The customer’s bank disputes <Money amount={amount} currency={currency} />
      {reason && ` (${reason.replaceAll('_', ' ')})`}:{' '}
      {isOver ? `the time to answer at ${provider} ended on ` : `answer at ${provider} `}
      {respondBy === null ? 'as soon as you can' : !isOver && 'by '}
      {respondBy !== null && <Time at={respondBy} />}
      {isOver ? ', and the bank decides.' : ', or the money is taken back.'}
    </>
  )
  return { id, state: ['bad', 'Disputed'], text }
}

function failed({ id, amount, currency, failure, resolvedAt }: Refund): Attention {
  const text = (
    <>
      The refund of <Money amount={amount} currency={currency} /> failed on <Time at={resolvedAt} />
      {failure && ` (${withoutCode(failure)})`}: the customer does not have the money.
    </>
  )
  return { id, state: ['bad', 'Refund failed'], text }
}

const DAY_MS = 86_400_000

function pending({ attempts }: Payment, { id, amount, currency, needsReview, createdAt }: Refund): Attention {
  const provider = attempts.find(({ status }) => status === 'successful')?.provider
  const until = new Date(Date.parse(createdAt) + refundDays(provider) * DAY_MS).toISOString()
  const text = (
    <>
      The refund of <Money amount={amount} currency={currency} />, asked for on <Time at={createdAt} />, is not
      finished:{' '}
      {needsReview ? (
        withoutCode(needsReview)
      ) : (
        <>
          {providerName(provider ?? 'the provider')} has until <Time at={until} />.
        </>
      )}
    </>
  )
  return { id, state: needsReview ? ['attention', 'Refund needs review'] : ['waiting', 'Refund pending'], text }
}

/** It failed, and no later refund sends as much. A won dispute ends its chargeback in the same way. */
function isUnsolved(refund: Refund, all: Refund[]): boolean {
  if (refund.status !== 'failed' || refund.kind === 'chargeback') return false
  return !all.some(
    ({ status, createdAt, amount }) => status !== 'failed' && createdAt > refund.createdAt && amount >= refund.amount,
  )
}

export function AttentionList({ all }: { all: Attention[] }) {
  if (all.length === 0) return null
  return (
    <ul class="attention-list" aria-label="Needs attention">
      {all.map(({ id, state: [tone, word], text }) => (
        <li key={id} class={tone}>
          <Status tone={tone}>{word}</Status>
          <p>{text}</p>
        </li>
      ))}
    </ul>
  )
}
