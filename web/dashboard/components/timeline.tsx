import type { TimelineEntry } from '../payment-answers.ts'
import { useData } from './data.ts'
import { inWords } from './payment-status.tsx'
import { ProblemPanel } from './problem.tsx'
import { formatMoney, Time } from './values.tsx'

const KINDS: Record<string, string> = {
  request: 'Your request',
  change: 'Change',
  call: 'Call to the provider',
  notice: 'Notice of the provider',
  money: 'Money',
  refund: 'Refund',
}

/** All records of a payment, newest first. */
export function Timeline({ path, currency }: { path: string; currency: string }) {
  const { data, error, refetch } = useData<TimelineEntry[]>(path)
  if (!data) return error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>
  return (
    <ol class="timeline">
      {[...data].reverse().map((entry, index) => (
        <li key={`${data.length - index}`} class={entry.kind}>
          <p>
            <span class="cell-main">{inWords(entry.what)}</span>{' '}
            <span class="soft">{KINDS[entry.kind] ?? entry.kind}</span>
          </p>
          <p class="cell-more">
            <Time at={entry.at} /> {detailOf(entry, currency)}
          </p>
        </li>
      ))}
    </ol>
  )
}

/** What is worth reading of an entry, in one line. */
function detailOf({ detail }: TimelineEntry, currency: string): string {
  const { amount, cause, outcome, detail: why, failure, state, note, tookMs, times, status, receiptNumber } = detail
  const reason = failure && typeof failure === 'object' && 'message' in failure ? String(failure.message) : undefined
  return [
    typeof amount === 'number' ? formatMoney(amount, String(detail.currency ?? currency)) : undefined,
    receiptNumber && `receipt number ${receiptNumber}`,
    reason,
    outcome,
    why,
    status,
    state,
    note,
    cause && `because of: ${cause}`,
    typeof tookMs === 'number' && `${tookMs} ms`,
    typeof times === 'number' && times > 1 && `${times} times`,
  ]
    .filter(Boolean)
    .join(' · ')
}
