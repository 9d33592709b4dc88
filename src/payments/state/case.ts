import { type AttemptId, type CaseId, type MerchantId, newId, type PaymentId, type RefundId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Place } from '../../kernel/place.ts'
import type { Attempt } from './attempt.ts'
import type { Change, PaymentState } from './payment-state.ts'
import { beyondDue } from './reversed-money.ts'

export const CASE_REASONS = [
  'unmatched_money',
  'contradiction',
  'missing_at_provider',
  'unanswered',
  'refund_mismatch',
  'refund_failed',
  'surplus',
  'underpaid',
  'settlement_difference',
  'review',
] as const
export type CaseReason = (typeof CASE_REASONS)[number]

export const CASE_SUBJECTS = ['attempt', 'receipt', 'refund', 'dispute', 'notice', 'account', 'settlement'] as const

/** What the case is about. `id`: a public id, `receipt-12`, the number of a notice, or the provider of an account. */
export interface CaseSubject {
  kind: (typeof CASE_SUBJECTS)[number]
  id: string
  /** As people know it: the reference of an attempt, the provider's id of a transaction. */
  reference: string | null
}

/**
 * What the software must not decide alone. A subject has one open case for each reason. It is closed by a person with a
 * note, or by the books, when they agree again.
 */
export interface Case {
  id: CaseId
  place: Place
  merchantId: MerchantId
  mode: Mode
  /** Null: money of no payment, or an account as a whole. */
  paymentId: PaymentId | null
  provider: string | null
  reason: CaseReason
  subject: CaseSubject
  /** The money at stake. */
  amount: number | null
  currency: string | null
  /** One line for each fact. A line may begin with a code: `amount_mismatch: …`. */
  summary: string
  openedAt: Date
  closedAt: Date | null
  /** The actor, or `books`. */
  closedBy: string | null
  note: string | null
  /** What happened to it since the last decision. `decide` records it as an event. */
  news: 'opened' | 'updated' | 'closed' | null
}

export const BOOKS = 'books'

/** The code of a failed refund of money that never counted: a refund of the payment would send other money back. */
export const SURPLUS_REFUND_FAILED = 'surplus_refund_failed'

const REASON_OF_CODE: Record<string, CaseReason> = {
  ...Object.fromEntries(CASE_REASONS.map((reason) => [reason, reason])),
  outcome_unknown: 'unanswered',
  refund_unfinished: 'unanswered',
  [SURPLUS_REFUND_FAILED]: 'refund_failed',
}

/** The reason of a text that begins with a code, such as `contradiction: …`. */
export function reasonOf(why: string): CaseReason {
  return REASON_OF_CODE[/^([a-z_]+): /.exec(why)?.[1] ?? ''] ?? 'review'
}

type About = Pick<Case, 'subject' | 'reason'>
export type NewCase = Omit<Case, 'id' | 'openedAt' | 'closedAt' | 'closedBy' | 'note' | 'news'>

const MAX_LINES = 10

export interface Opening {
  now: Date
  /** The same happened once more: it is opened again, also after a person closed it. */
  isNew?: boolean
  /** The new line takes the place of the others. */
  replaces?: boolean
}

/**
 * Opens a case, or adds a line to the open one of the same subject and reason. What a person has closed is not opened
 * again with the same line.
 */
export function withCase(cases: Case[], wanted: NewCase, { now, isNew, replaces }: Opening): Case[] {
  const same = cases.filter((each) => isAbout(each, wanted) && each.closedBy !== BOOKS)
  const open = same.find(isOpenCase)
  const compared = open ? [open] : isNew ? [] : same
  if (compared.some(({ summary }) => summary.split('\n').includes(wanted.summary))) return cases
  if (!open) return [...cases, caseOf(wanted, now)]
  const before = replaces ? [] : open.summary.split('\n')
  const summary = [...before, wanted.summary].slice(-MAX_LINES).join('\n')
  const { amount, currency } = wanted
  const updated: Case = { ...open, summary, amount, currency, news: open.news ?? 'updated' }
  return cases.map((each) => (each === open ? updated : each))
}

export function caseOf(wanted: NewCase, now: Date): Case {
  const id = newId('case', now, wanted.place)
  return { ...wanted, id, openedAt: now, closedAt: null, closedBy: null, note: null, news: 'opened' }
}

export const isOpenCase = ({ closedAt }: Pick<Case, 'closedAt'>): boolean => closedAt === null

function isAbout({ subject, reason }: About, other: About): boolean {
  return subject.kind === other.subject.kind && subject.id === other.subject.id && reason === other.reason
}

export interface Closing {
  by: string
  note: string | null
  now: Date
}

/** Closes the open cases that are picked. */
export function withoutCases(cases: Case[], picks: (open: Case) => boolean, { by, note, now }: Closing): Case[] {
  return cases.flatMap((each) => {
    if (!isOpenCase(each) || !picks(each)) return [each]
    // Nobody has heard of it.
    if (each.news === 'opened') return []
    return [{ ...each, closedAt: now, closedBy: by, note, news: 'closed' as const }]
  })
}

interface Raising extends Opening {
  amount?: number
  reason?: CaseReason
}

/** Opens a case about an attempt. Its reason is the code that `why` begins with. */
export function raise(
  state: PaymentState,
  attempt: Attempt,
  why: string,
  { amount = atStake(state, attempt), reason = reasonOf(why), ...opening }: Raising,
): PaymentState {
  const { id, reference, place, merchantId, mode, paymentId, provider, currency } = attempt
  const subject: CaseSubject = { kind: 'attempt', id, reference }
  const owner = { place, merchantId, mode, paymentId, provider }
  const wanted = { ...owner, subject, reason, summary: why, amount, currency }
  return { ...state, cases: withCase(state.cases, wanted, opening) }
}

const atStake = (state: PaymentState, attempt: Attempt) =>
  (state.payment.status === 'pending' ? 0 : beyondDue(state, attempt)) || attempt.amountCharged

/** The books agree again: closes the cases of this attempt or refund, or those of them that are picked. */
export function settleCases(
  state: PaymentState,
  id: AttemptId | RefundId,
  now: Date,
  picks: (open: Case) => boolean = () => true,
): PaymentState {
  const cases = withoutCases(state.cases, (each) => each.subject.id === id && picks(each), {
    by: BOOKS,
    note: null,
    now,
  })
  return { ...state, cases }
}

/** Begins the summary of money that an attempt holds. It is on the list of transfers, and no review of the attempt. */
export const HELD = 'held: '

/** An open case that an attempt shows as its `needsReview`. */
export function isReviewOfAttempt(each: Case): boolean {
  return isOpenCase(each) && each.subject.kind === 'attempt' && !each.summary.startsWith(HELD)
}

/** Why a person has to look at the attempt: its first open case. */
export function needsReviewOf(cases: Case[], id: AttemptId): string | null {
  const open = cases.find((each) => isReviewOfAttempt(each) && each.subject.id === id)
  return open?.summary.replaceAll('\n', ' ') ?? null
}

/** The events of what happened to cases since the last decision. */
export function caseChanges({ cases, payment }: PaymentState): Change[] {
  return cases.flatMap((each): Change[] => {
    const { news, subject, summary, closedBy } = each
    if (news === null) return []
    const attemptId = subject.kind === 'attempt' ? (subject.id as AttemptId) : null
    const isReview = attemptId !== null && !summary.startsWith(HELD)
    const data = { case: caseView(each, payment.reference) }
    if (news === 'closed') {
      const reviewed: Change[] = isReview && closedBy !== BOOKS ? [{ type: 'attempt.reviewed', attemptId }] : []
      return [...reviewed, { type: 'case.closed', attemptId: null, data }]
    }
    const review: Change[] = isReview ? [{ type: 'attempt.needs_review', attemptId }] : []
    return [...review, { type: 'case.opened', attemptId: null, data }]
  })
}

/** A case as merchants see it. `payment`: its reference. */
export function caseView(from: Case, payment: string | null) {
  const { id, mode, reason, subject, provider, amount, currency, note, closedBy } = from
  return {
    id,
    mode,
    reason,
    subject,
    payment,
    provider,
    amount,
    currency,
    summary: from.summary.split('\n').map(sentenceOf).join(' '),
    suggestions: isOpenCase(from) ? suggestionsFor(from) : [],
    status: isOpenCase(from) ? ('open' as const) : ('closed' as const),
    note,
    openedAt: from.openedAt.toISOString(),
    closedAt: from.closedAt?.toISOString() ?? null,
    closedBy,
  }
}

/** Without the code that it begins with. */
function sentenceOf(line: string): string {
  const text = line.replace(/^[a-z_]+: /, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export const CASE_STATUSES = ['open', 'closed'] as const
export const CASE_SUGGESTIONS = [
  'match',
  'return',
  'refund',
  'retry_refund',
  'end_refund',
  'ask_again',
  'close',
] as const
export type CaseSuggestion = (typeof CASE_SUGGESTIONS)[number]

const DOES: Partial<Record<CaseReason, CaseSuggestion>> = {
  unmatched_money: 'match',
  surplus: 'refund',
  underpaid: 'refund',
  refund_failed: 'refund',
  contradiction: 'ask_again',
  missing_at_provider: 'ask_again',
  unanswered: 'ask_again',
  review: 'ask_again',
}

const DOES_BY_CODE: Partial<Record<string, CaseSuggestion>> = {
  refund_needs_account: 'retry_refund',
  [SURPLUS_REFUND_FAILED]: 'return',
}

/** What a person can do. */
function suggestionsFor({ reason, subject, summary }: Case): CaseSuggestion[] {
  const code = /^[a-z_]+/.exec(summary)?.[0] ?? ''
  const isLostRefund = subject.kind === 'refund' && code === 'unanswered'
  const does = isLostRefund ? 'end_refund' : (DOES_BY_CODE[code] ?? DOES[reason])
  return [...(does ? [does] : []), 'close']
}
