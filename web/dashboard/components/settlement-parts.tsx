import { Link } from 'wouter-preact'
import { useMerchant } from '../session.ts'
import type { LineKind, Settlement } from '../settlement-answers.ts'
import { formatIn } from '../zone.ts'
import { Status, type Tone } from './status.tsx'
import { Money, useZone } from './values.tsx'

const TABS = [
  ['/settlements', 'Settlements'],
  ['/settlements/unsettled', 'Not settled yet'],
  ['/settlements/bank', 'Bank'],
  ['/settlements/fees', 'Fees'],
] as const

/** The screens about settlements, beside each other. */
export function SettlementTabs({ current }: { current: (typeof TABS)[number][1] }) {
  const merchant = useMerchant()
  return (
    <nav class="tabs" aria-label="Settlements">
      {TABS.map(([path, name]) => (
        <Link key={path} href={merchant.path(path)} aria-current={name === current ? 'page' : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  )
}

const STATES: Record<Settlement['status'], [Tone, string]> = {
  pending: ['waiting', 'Not paid out yet'],
  paid: ['good', 'Paid out'],
  failed: ['bad', 'Failed'],
}

export function SettlementMark({ status, because, difference }: Pick<Settlement, 'status' | 'because' | 'difference'>) {
  const [tone, word] = stateOf({ status, because, difference })
  return <Status tone={tone}>{word}</Status>
}

function stateOf({ status, because, difference }: Pick<Settlement, 'status' | 'because' | 'difference'>) {
  if (status === 'failed') return STATES.failed
  if (difference) return ['attention', 'Differs'] as const
  return status === 'pending' && because ? (['attention', 'Held back'] as const) : STATES[status]
}

export const LINE_KINDS: Record<LineKind, string> = {
  payment: 'Payment',
  refund: 'Refund',
  dispute: 'Dispute',
  fee: 'Fee',
  adjustment: 'Adjustment',
}

/** An amount that the provider may not name. */
export function Known({ amount, currency }: { amount: number | null; currency: string }) {
  return amount === null ? <span class="soft">–</span> : <Money amount={amount} currency={currency} />
}

/** A day like `2026-11-16`: without a zone, as banks and providers name it. */
export function Day({ day }: { day: string }) {
  return <time dateTime={day}>{formatIn('UTC', 'day').format(new Date(`${day}T00:00:00Z`))}</time>
}

/** When a settlement was paid out, or when that is expected. */
export function DayOf({ paidAt, expectedOn }: Pick<Settlement, 'paidAt' | 'expectedOn'>) {
  const zone = useZone()
  if (paidAt) return <time dateTime={paidAt}>{formatIn(zone, 'day').format(new Date(paidAt))}</time>
  return expectedOn ? (
    <span>
      expected <Day day={expectedOn} />
    </span>
  ) : (
    <span class="soft">–</span>
  )
}

/** `1 payment`, `1,250 payments`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${NUMBER.format(count)} ${count === 1 ? one : many}`
}
const NUMBER = new Intl.NumberFormat('en')
