import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../../database/database.ts'
import { readTime } from '../../database/database-clock.ts'
import { formatMoney } from '../../kernel/money.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import { needsReviewOf } from '../../payments/state/case.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { askForPerson, openChecks } from '../../payments/store/attempts.ts'
import { findPaymentStatesByName } from '../../payments/store/payment-states.ts'
import { timelineOf, unansweredCalls } from '../../payments/store/timeline.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { withDatabase } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

const OPTIONS: Command['options'] = {
  payment: { value: 'REFERENCE', summary: 'Reference of the payment or of an attempt, or the chk_ id', required: true },
  merchant: { value: 'mer_…', summary: 'The merchant, when several use this reference' },
}

export const paymentShow: Command = {
  name: 'payment show',
  summary: 'Show a payment and its attempts',
  options: OPTIONS,
  word: 'payment',
  async run(options) {
    const state = await withDatabase(({ database }) => findNamedPayment(database, options))
    print(options.json, state, describePayment(state))
  },
}

export const paymentTimeline: Command = {
  name: 'payment timeline',
  summary: 'Show the history of a payment',
  options: OPTIONS,
  word: 'payment',
  async run(options) {
    const timeline = await withDatabase(async ({ database }) => {
      const { payment } = await findNamedPayment(database, options)
      return timelineOf(database, payment.id)
    })
    const lines = timeline.map(
      ({ at, kind, what, detail }) => `${at.toISOString()}  ${kind.padEnd(8)} ${what}  ${JSON.stringify(detail)}`,
    )
    print(options.json, timeline, lines.join('\n'))
  },
}

const WORKER_TIMEOUT_MS = 15_000

export const paymentResync: Command = {
  name: 'payment resync',
  summary: 'Ask the provider for a payment, its refunds and disputes now, and show the result',
  options: OPTIONS,
  word: 'payment',
  async run(options) {
    const { state, postponed, unanswered } = await withDatabase(async ({ database }) => {
      const before = await findNamedPayment(database, options)
      const { id } = before.payment
      const askedAt = new Date(await readTime(database))
      await askForPerson(database, id)
      const checked = await untilChecked(database, before, options)
      return { ...checked, unanswered: await unansweredCalls(database, id, askedAt) }
    })
    print(options.json, state, describePayment(state))
    if (unanswered.length > 0) {
      const calls = unanswered.map(({ attempt, call, because }) => `${call} of ${attempt}: ${because}`)
      throw new OperatorError(`The provider gave no answer, so this is the state before it: ${calls.join('; ')}.`)
    }
    if (postponed.length === 0) return
    const times = postponed.map(({ reference, checks }) => `${reference} to ${checks.nextAt?.toISOString()}`)
    throw new OperatorError(
      `Checks were postponed, because the provider account has as many calls as its limits allow: ${times.join(', ')}.`,
    )
  },
}

/**
 * The running service makes the checks: its circuit breakers know which provider is down. A check that exceeds the
 * limits of its provider account is postponed, and the state is then no result of it.
 */
async function untilChecked(
  database: Database,
  before: PaymentState,
  options: Options,
): Promise<{ state: PaymentState; postponed: Attempt[] }> {
  const deadline = Date.now() + WORKER_TIMEOUT_MS
  for (;;) {
    const { isDue, isAsked } = await openChecks(database, before.payment.id)
    const state = await findNamedPayment(database, options)
    const postponed = state.attempts.filter((attempt) => isUnchecked(attempt, before))
    const isOpen = isDue || (isAsked && postponed.length === 0)
    const isOver = Date.now() > deadline
    if (isOpen && isOver) {
      throw new OperatorError(
        `The checks were not made within ${WORKER_TIMEOUT_MS / 1_000} s. If no service runs on this database (npm start, or ROLE=worker), start one; it makes them. If one runs, the provider may be slow: look at the payment again in a minute.`,
      )
    }
    const isSoon = postponed.some(({ checks }) => checks.nextAt && checks.nextAt.getTime() < deadline)
    if (!isOpen && (isOver || !isSoon)) return { state, postponed }
    await sleep(100)
  }
}

/** Nothing but the time of its next check has changed. */
function isUnchecked({ id, status, checks }: Attempt, { attempts }: PaymentState): boolean {
  const old = attempts.find((attempt) => attempt.id === id)
  if (!old || checks.nextAt === null || old.status !== status) return false
  return isDeepStrictEqual({ ...old.checks, nextAt: null }, { ...checks, nextAt: null })
}

/** The payment that `--payment` names. */
export async function findNamedPayment(database: Database, options: Options): Promise<PaymentState> {
  const name = options.required('payment')
  const merchant = options.text('merchant') === undefined ? undefined : merchantOption(options)
  const found = await findPaymentStatesByName(database, name)
  const states = found.filter(({ payment }) => !merchant || payment.merchantId === merchant)
  const [state, ...others] = states
  if (!state) throw new OperatorError(`There is no payment ${name}.`)
  if (others.length > 0) {
    const ids = states.map(({ payment }) => `${payment.id} (${payment.merchantId}, ${payment.mode})`)
    throw new UsageError(`Several payments have the reference ${name}; name one by its id: ${ids.join(', ')}`)
  }
  return state
}

export function describePayment({ payment, attempts, cases }: PaymentState): string {
  const { currency } = payment
  const facts = {
    id: payment.id,
    reference: payment.reference,
    merchant: payment.merchantId,
    mode: payment.mode,
    status: payment.late ? `${payment.status} (late)` : payment.status,
    amount: formatMoney(payment),
    paid: formatMoney({ amount: payment.amountPaid, currency }),
    refunded: formatMoney({ amount: payment.amountRefunded, currency }),
    created: payment.createdAt.toISOString(),
    expires: payment.expiresAt.toISOString(),
    completed: payment.completedAt?.toISOString() ?? '-',
  }
  const lines = Object.entries(facts).map(([name, value]) => `${name.padEnd(10)} ${value}`)
  const rows = attempts.map((attempt) => ({
    '#': String(attempt.number),
    attempt: attempt.reference,
    provider: attempt.provider,
    channel: attempt.channel,
    status: attempt.status,
    charged: formatMoney({ amount: attempt.amountCharged, currency }),
    received: formatMoney({ amount: attempt.amountReceived, currency }),
    failure: attempt.failure?.code ?? '-',
    'next check': attempt.checks.nextAt?.toISOString() ?? '-',
    review: needsReviewOf(cases, attempt.id) ?? '-',
  }))
  return [...lines, '', rows.length > 0 ? table(rows) : 'No attempts yet.'].join('\n')
}
