import type { PaymentLink } from '../payment-answers.ts'
import { Status, type Tone } from './status.tsx'
import { formatMoney } from './values.tsx'

const STATES: Record<PaymentLink['status'], [tone: Tone, name: string]> = {
  active: ['good', 'Active'],
  inactive: ['neutral', 'Off'],
  expired: ['neutral', 'Expired'],
  used_up: ['attention', 'Used up'],
}

export function LinkStatusMark({ status }: Pick<PaymentLink, 'status'>) {
  const [tone, name] = STATES[status]
  return <Status tone={tone}>{name}</Status>
}

/** What a link costs, in words where the customer chooses. */
export function linkAmount({ amount, minAmount, maxAmount, currency }: PaymentLink): string {
  if (amount !== null) return formatMoney(amount, currency)
  const show = (limit: number) => formatMoney(limit, currency)
  if (minAmount !== null && maxAmount !== null) return `${show(minAmount)} to ${show(maxAmount)}`
  if (minAmount !== null) return `From ${show(minAmount)}`
  if (maxAmount !== null) return `Up to ${show(maxAmount)}`
  return `Any amount in ${currency}`
}

const MOST_COUNTED = 1_000

/** How often it was paid, and how often it may be. */
export function timesPaid({ timesPaid: times, maxPayments }: PaymentLink): string {
  if (maxPayments !== null) return `${times} of ${maxPayments}`
  return times >= MOST_COUNTED ? `${MOST_COUNTED} or more` : String(times)
}
