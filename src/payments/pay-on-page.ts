import type { Queries } from '../database/database.ts'
import type { Integration } from '../integrations/integration.ts'
import { type EnabledIntegration, listEnabledIntegrations } from '../integrations/integration-store.ts'
import type { Channel } from '../kernel/channel.ts'
import type { PaymentId, SavedCardId } from '../kernel/ids.ts'
import { Problem, type ProblemCode } from '../kernel/problem.ts'
import { AttemptNotStarted } from './attempt-not-started.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { executeStart, type Intent, planConfirmed, planIntent, type Start } from './start-attempt.ts'
import { type Attempt, MAX_ATTEMPTS_BY_REFERENCE } from './state/attempt.ts'
import { optionsForChannel, type PaymentOption } from './state/payment-options.ts'
import {
  type AwaitingConfirmation,
  assertCanStartAttempt,
  awaitsConfirmation,
  mayUseSavedCard,
  type PaymentState,
} from './state/payment-state.ts'
import { hasPageKey } from './store/attempts.ts'
import { findPaymentStateById, type Snapshot } from './store/payment-states.ts'
import { findCardProvider } from './store/saved-cards.ts'
import { changePayment, type Plan } from './write-decision.ts'

/** The form that a customer submitted on the checkout page. */
export interface PageChoice {
  channel: Channel
  /** A saved card is charged directly. Absent: the provider's page may offer the card that was used last. */
  card?: SavedCardId | 'new'
  /** The customer agreed to save a new card. */
  saveCard?: boolean
  /** The amount that the page showed. The customer is never charged more. */
  atMost?: number
  /** Request a new account number although one is open. */
  newAccount?: boolean
  /** The page was opened by client-id and reference alone, which are public. */
  byReference?: boolean
  /** Idempotency key of the form. A repeated submit starts no second attempt. */
  key: string
}

/**
 * Handles a submit of the checkout page. The result is the payment's state, also after a decline, a timeout, or an attempt in another
 * tab. Only errors that the state cannot show are thrown.
 *
 * Failover: if a provider certainly started nothing, the next provider is called. After an unknown outcome it is not, because both
 * could charge the customer.
 */
export async function payOnPage(
  deps: PaymentDependencies,
  paymentId: PaymentId,
  choice: PageChoice,
  known?: KnownToPage,
): Promise<PaymentState> {
  const plan = async (db: Queries, state: Snapshot) => {
    const isFirst = db === deps.database
    // A refusal, also one that is thrown, is checked against the database.
    const cached =
      known && isFirst ? await planNext(db, deps, state, choice, known.integrations).catch(() => undefined) : undefined
    return cached?.decision
      ? cached
      : planNext(db, deps, state, choice, await listEnabledIntegrations(db, state.payment))
  }
  try {
    let next: Next | undefined = await changePayment(deps, paymentId, plan, known?.snapshot)
    while (next) {
      const { intent, others }: Next = next
      try {
        return (await executeStart(deps, intent, { onPage: true })).state
      } catch (error) {
        const [other, ...rest] = others
        if (!other || !(error instanceof AttemptNotStarted) || !error.nothingStarted) throw error
        next = await failOver(deps, intent.attempt, other, rest, choice)
      }
    }
  } catch (error) {
    if (!isShownByState(error)) throw error
  }
  const state = await findPaymentStateById(deps.database, paymentId)
  if (!state) throw new Error(`payment ${paymentId} is gone`)
  return state
}

/** What the page has read or cached. Both have a version, and nothing is written if one of them has changed. */
export interface KnownToPage {
  snapshot: Snapshot
  integrations: EnabledIntegration[]
}

/** The next provider call, and the options for failover. */
interface Next {
  intent: Intent
  others: PaymentOption[]
}

/** Undefined for a repeated submit, and when a matching attempt already waits for the customer. */
async function planNext(
  db: Queries,
  deps: PaymentDependencies,
  state: Snapshot,
  choice: PageChoice,
  integrations: EnabledIntegration[],
): Promise<Plan<Next | undefined>> {
  const now = deps.clock.now()
  if (state.attempts.length > 0 && (await hasPageKey(db, state.payment.id, choice.key))) return { result: undefined }
  const waiting = state.attempts.filter(awaitsConfirmation).find((attempt) => isMeantBy(attempt, choice))
  const integration = waiting && integrations.find((each) => takesCardsAt(each, waiting))
  if (waiting && integration) {
    const { decision, result: intent } = await planConfirmed(db, deps, state, waiting)
    const { provider, version } = integration
    const more = { pageKey: choice.key, integration: { provider, version } }
    return { decision, more, result: { intent, others: [] } }
  }
  if (!choice.newAccount && state.attempts.some((attempt) => isWaitingFor(attempt, choice, now))) {
    return { result: undefined }
  }
  assertMayStart(state, choice, now)
  const [best, ...others] = await findChoices(db, deps, integrations, state, choice)
  if (!best) return { result: undefined } // the price has risen since the page was shown, so the page is shown again
  const start = { ...startOf(state, best, choice), pageKey: choice.key }
  const chosen = integrations.find(({ provider }) => provider === best.capabilities.name)
  const { decision, more = {}, result: intent } = await planIntent(db, deps, state, start, chosen)
  return { decision, more, result: { intent, others } }
}

/** The options at the shown price or below. For a saved card, only the provider that issued its token. */
async function findChoices(
  db: Queries,
  { providers }: PaymentDependencies,
  integrations: Integration[],
  state: PaymentState,
  { channel, card, atMost = Number.POSITIVE_INFINITY }: PageChoice,
): Promise<PaymentOption[]> {
  const { payment } = state
  const affordable = ({ amountCharged }: PaymentOption) => amountCharged <= atMost
  const choices = optionsForChannel(payment, integrations, providers, channel)
  if (!card || card === 'new') return choices.filter(affordable)
  const keeper = mayUseSavedCard(state, card) ? await findCardProvider(db, payment, payment.user, card) : undefined
  const choice = choices.find(({ capabilities }) => capabilities.name === keeper)
  if (!choice) throw new Problem('not_found', 'There is no such card.')
  return [choice].filter(affordable)
}

/** Stores the intent with the next provider, for the same submit. */
function failOver(
  deps: PaymentDependencies,
  { id: attemptId, paymentId }: Attempt,
  other: PaymentOption,
  others: PaymentOption[],
  choice: PageChoice,
): Promise<Next> {
  const outcome = other.capabilities.name
  const call = {
    attemptId,
    call: 'fail over',
    outcome,
    detail: 'nothing was started here',
    tookMs: 0,
    at: deps.clock.now(),
  }
  return changePayment(deps, paymentId, async (db, state) => {
    assertMayStart(state, choice, deps.clock.now())
    const { decision, more, result: intent } = await planIntent(db, deps, state, startOf(state, other, choice))
    return { decision, more: { ...more, call }, result: { intent, others } }
  })
}

function assertMayStart(state: PaymentState, { byReference }: PageChoice, now: Date): void {
  assertCanStartAttempt(state, now, byReference ? MAX_ATTEMPTS_BY_REFERENCE : undefined)
}

function startOf(
  { payment }: PaymentState,
  { capabilities }: PaymentOption,
  { channel, card, saveCard }: PageChoice,
): Start {
  // Without user.id, the provider's page must not offer the last saved card of the e-mail address.
  const chosen = card ?? (payment.user.id === null ? 'new' : undefined)
  return { capabilities, channel, ...(chosen && { card: chosen }), ...(saveCard && { saveCard }) }
}

/** Whether the submit confirms this attempt: same card, and not more than the shown price. */
function isMeantBy(
  { instructions, amountCharged }: AwaitingConfirmation,
  { card, atMost = amountCharged }: PageChoice,
): boolean {
  return instructions.savedCard === card && amountCharged <= atMost
}

/** A confirmation starts a charge, so the integration must be enabled with the keys that the attempt was started with. */
function takesCardsAt({ provider, account, channels }: EnabledIntegration, waiting: AwaitingConfirmation): boolean {
  return provider === waiting.provider && account === waiting.account && channels.includes('card')
}

/** Whether this open attempt is what the submit asks for. */
function isWaitingFor(attempt: Attempt, { channel, card }: PageChoice, now: Date): boolean {
  const { instructions, instructionsExpireAt } = attempt
  if (attempt.status !== 'pending' || attempt.channel !== channel || !instructions) return false
  if (instructionsExpireAt && instructionsExpireAt <= now) return false
  switch (instructions.kind) {
    case 'account':
      return true
    case 'confirm':
      return false
    case 'step':
      return instructions.savedCard === card
    case 'link':
      return card === undefined || (card === 'new' && !instructions.savedCard)
  }
}

const SHOWN_BY_STATE: readonly ProblemCode[] = [
  'attempt_in_progress',
  'payment_already_completed',
  'payment_cancelled',
  'payment_expired',
]

function isShownByState(error: unknown): boolean {
  return error instanceof AttemptNotStarted || (error instanceof Problem && SHOWN_BY_STATE.includes(error.code))
}
