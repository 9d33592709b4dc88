import { failureOf } from '../failure.ts'
import {
  type Declined,
  type FailureCode,
  type OrderHandle,
  type Outcome,
  type Receipt,
  type Unknown,
  unknown,
} from '../provider.ts'
import type { Fact } from './notices.ts'

/** What became of one prompt. */
export type Prompt = { checkoutId: string; requestId?: string } & (
  | { kind: 'paid'; requestId: string }
  | { kind: 'open' }
  | { kind: 'declined'; declined: Declined }
  | Unknown
)

/** Final, by their table of result codes. */
const FAILURES: Record<string, FailureCode> = {
  '1': 'insufficient_funds',
  '2': 'limit_exceeded',
  '3': 'limit_exceeded',
  '4': 'limit_exceeded',
  // The balance of the short code would be too high.
  '8': 'provider_error',
  '17': 'other',
  '1001': 'other',
  '1019': 'prompt_expired',
  '1025': 'provider_unavailable',
  '1032': 'customer_cancelled',
  '1037': 'prompt_expired',
  '2001': 'incorrect_pin',
  '2028': 'provider_error',
  '8006': 'other',
  '9999': 'provider_unavailable',
  SFC_IC0003: 'provider_error',
}
const PAID = '0'
/** Seen in answers to a query, and in no table. */
const UNDER_WAY = '4999'

/**
 * A code that is in no table is final only if the callback has it, too: it is sent when M-PESA has finished. A query
 * may have a code for what is under way.
 */
export function promptOf(
  { checkoutId, requestId, code }: { checkoutId: string; requestId: string; code: string },
  facts: readonly Fact[],
): Prompt {
  if (code === PAID) return { checkoutId, requestId, kind: 'paid' }
  if (code === UNDER_WAY) return { checkoutId, kind: 'open' }
  const isFinal = facts.some((fact) => fact.request === requestId && fact.code === code)
  const known = Object.hasOwn(FAILURES, code) ? FAILURES[code] : undefined
  if (!known && !isFinal) return { checkoutId, ...unknown(`it has an unknown result code: ${code}`) }
  return { checkoutId, kind: 'declined', declined: declined(known ?? 'other', code, requestId) }
}

export const LONG_MS = 3_600_000

/**
 * An order has one prompt. If its answer was lost, and it came twice to M-PESA, callbacks name two, and each may be
 * paid. A callback can name any prompt of the short code, so money that only callbacks named is not given back without
 * a person.
 */
export function outcomeOf(prompts: Prompt[], order: OrderHandle, facts: readonly Fact[], now: Date): Outcome {
  const paid = prompts.filter((prompt) => prompt.kind === 'paid')
  const receipts: Receipt[] = []
  for (const { requestId } of paid) {
    const said = facts.find(({ request, code }) => request === requestId && code === PAID)
    const { amount, startedAt } = order
    // A query names no amount. A prompt is for one amount, and the customer cannot change it.
    if (!amount) return unknown('its amount is not known')
    if (said?.amount !== undefined && said.amount !== String(amount.amount))
      return unknown('the callback names another amount')
    const isSure = order.personalId !== undefined && { idIsProviders: true as const }
    const [receiptNumber] = receiptNumbersOf(requestId, order, facts)
    receipts.push({
      ...{ transactionId: requestId, ...isSure, ...(receiptNumber && { receiptNumber }) },
      ...{ amount, at: timeOf(said) ?? startedAt },
    })
  }
  if (receipts.length > 0) return { kind: 'paid', receipts }
  const unclear = prompts.find((prompt) => prompt.kind === 'unknown')
  if (unclear) {
    const { checkoutId: _, requestId: __, ...answer } = unclear
    return answer
  }
  if (prompts.some(({ kind }) => kind === 'open')) {
    // A phone asks for a minute. What is open for long waits for M-PESA, and "pending" would be a clear answer.
    const isLong = now.getTime() - order.startedAt.getTime() > LONG_MS
    return isLong ? { kind: 'processing' } : { kind: 'pending', receipts: [] }
  }
  const last = prompts.findLast((prompt) => prompt.kind === 'declined')
  return last ? last.declined : unknown('there is no prompt')
}

/**
 * The receipt numbers of a prompt that was paid, as callbacks name them: more than one is a contradiction. If its own
 * callback was lost, the first payment of its amount to the paybill is it: M-PESA confirms prompts there, too.
 */
export function receiptNumbersOf(requestId: string, { amount }: OrderHandle, facts: readonly Fact[]): string[] {
  const own = facts.flatMap(({ request, receipt }) => (request === requestId && receipt) || [])
  if (own.length > 0) return [...new Set(own)]
  const named = new Set(facts.flatMap(({ receipt }) => receipt ?? []))
  const alike = facts.filter((each) => each.paid && !named.has(each.paid) && each.amount === `${amount?.amount}`)
  const [first] = alike.toSorted((a, b) => (a.at ?? '').localeCompare(b.at ?? ''))
  return first?.paid ? [first.paid] : []
}

const timeOf = (said: Fact | undefined) => (said?.at === undefined ? undefined : new Date(said.at))

export function declined(code: FailureCode, theirs: string, tryId: string | null = null): Declined {
  return { kind: 'declined', failure: failureOf(code, theirs), tryId }
}

/** Of HTTP 500: the refusals after which nothing was started, by their words. The code is the same for all. */
const REFUSALS: [RegExp, 'keys' | FailureCode][] = [
  [/wrong credentials|merchant does not exist/i, 'keys'],
  // The customer has another prompt open.
  [/unable to lock subscriber/i, 'other'],
  [/spike arrest|quota violation/i, 'provider_unavailable'],
]

export const isRefusal = (_code: string, message: string) => REFUSALS.some(([words]) => words.test(message))

/** The refusal of a start. The first is what a customer can do something about. */
export function refusalOf(code: string, message: string): Declined {
  const [, found] = REFUSALS.find(([words]) => words.test(message)) ?? []
  if (found === 'keys') return { ...declined('provider_error', code), keysRefused: true }
  const isPhone = /phone ?number|party ?a\b/i.test(message)
  return declined(found ?? (isPhone ? 'subscriber_unknown' : 'provider_error'), code)
}

/** Of HTTP 500 to a query. It says the same code when the password is wrong. */
export const isUnderWay = (_code: string, message: string) => /is being processed|still under processing/i.test(message)
