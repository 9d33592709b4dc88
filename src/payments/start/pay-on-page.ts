import type { EnabledIntegration } from '../../integrations/integration-store.ts'
import type { Channel } from '../../kernel/channel.ts'
import type { SavedCardId } from '../../kernel/ids.ts'
import { Problem, type ProblemCode } from '../../kernel/problem.ts'
import type { Language } from '../../merchants/brand.ts'
import { offerOf } from '../../providers/capabilities.ts'
import type { ChannelInput } from '../../providers/provider.ts'
import { changePayment } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { type Attempt, MAX_ATTEMPTS_BY_REFERENCE } from '../state/attempt.ts'
import { isSameInput } from '../state/channel-input.ts'
import type { Payment } from '../state/payment.ts'
import { optionsForChannel, type PaymentOption } from '../state/payment-options.ts'
import {
  type AwaitingConfirmation,
  assertCanStartAttempt,
  awaitsConfirmation,
  mayUseSavedCard,
  type PaymentState,
} from '../state/payment-state.ts'
import { callRecorded } from '../store/attempts.ts'
import { findPaymentStateById } from '../store/payment-states.ts'
import { AttemptNotStarted } from './attempt-not-started.ts'
import type { Intent } from './request-start.ts'
import {
  executeStart,
  readStartContext,
  type Start,
  type StartContext,
  type Starting,
  writeConfirmed,
  writeIntent,
} from './start-attempt.ts'

/** The form that a customer submitted on the checkout page. */
export interface PageChoice {
  channel: Channel
  /** What the customer gave for the channel. */
  input?: ChannelInput
  /** A saved card is charged directly. Absent: the provider's page may offer the card that was used last. */
  card?: SavedCardId | 'new'
  /** The customer agreed to save a new card. */
  saveCard?: boolean
  /** The amount that the page showed. The customer is never charged more. */
  atMost?: number
  /** Request a new account number although one is open. */
  newAccount?: boolean
  merchantName: string
  /** The page was opened by client-id and reference alone, which are public. */
  byReference?: boolean
  language?: Language
  /** Idempotency key of the form. A repeated submit starts no second attempt. */
  key: string
}

/**
 * Handles a submit of the checkout page. The result is the payment's state, also after a decline, a timeout, or an
 * attempt in another tab. Only errors that the state cannot show are thrown.
 *
 * Failover: if a provider certainly started nothing, the next provider is called. After an unknown outcome it is not,
 * because both could charge the customer.
 */
export async function payOnPage(deps: PaymentDeps, payment: Payment, choice: PageChoice): Promise<PaymentState> {
  try {
    let next: Next | undefined = await changePayment(deps, payment.id, {
      read: (tx) => readStartContext(tx, payment),
      decide: (state, context, tx) => writeNext({ tx, deps, state, context }, choice),
    })
    while (next) {
      const { intent, others }: Next = next
      try {
        return (await executeStart(deps, intent, { onPage: true })).state
      } catch (error) {
        const [other, ...rest] = others
        if (!other || !(error instanceof AttemptNotStarted) || !error.nothingStarted) throw error
        next = await failOver(deps, payment, intent.attempt, choice, [other, ...rest])
      }
    }
  } catch (error) {
    if (!isShownByState(error)) throw error
  }
  const state = await findPaymentStateById(deps.database, payment.id)
  if (!state) throw new Error(`payment ${payment.id} is gone`)
  return state
}

/** The next provider call, and the options for failover. */
interface Next {
  intent: Intent
  others: PaymentOption[]
}

/** Undefined for a repeated submit, and when a matching attempt already waits for the customer. */
function writeNext(starting: Starting, choice: PageChoice): Next | undefined {
  const { deps, state, context } = starting
  const now = deps.clock.now()
  if (state.attempts.some(({ pageKey }) => pageKey === choice.key)) return undefined
  const waiting = state.attempts.filter(awaitsConfirmation).find((attempt) => isMeantBy(attempt, choice))
  if (waiting && context.integrations.some((each) => takesCardsAt(each, waiting)))
    return { intent: writeConfirmed(starting, waiting, choice), others: [] }
  if (!choice.newAccount && state.attempts.some((attempt) => isWaitingFor(attempt, choice, now))) return undefined
  assertMayStart(state, choice, now)
  const [best, ...others] = findChoices(deps, state, choice, context)
  if (!best) return undefined // the price has risen since the page was shown, so the page is shown again
  const start = { ...startOf(state, best, choice), pageKey: choice.key }
  return { intent: writeIntent(starting, start), others }
}

/** The options at the shown price or below. For a saved card, only the provider that issued its token. */
function findChoices(
  { providers }: PaymentDeps,
  state: PaymentState,
  { channel, card, input, atMost = Number.POSITIVE_INFINITY }: PageChoice,
  { integrations, cards }: StartContext,
): PaymentOption[] {
  const affordable = (option: PaymentOption) =>
    option.amountCharged <= atMost && takesInput(option, state.payment, input)
  const choices = optionsForChannel(state.payment, integrations, providers, channel)
  if (!card || card === 'new') return choices.filter(affordable)
  const chosen = mayUseSavedCard(state, card) ? cards.find(({ id }) => id === card) : undefined
  const keeper = integrations.find(
    ({ provider, keysVersion }) => chosen?.provider === provider && chosen.keysVersion === keysVersion,
  )
  const choice = choices.find(({ capabilities }) => capabilities.name === keeper?.provider)
  if (!choice) throw new Problem('not_found', 'There is no such card.')
  return [choice].filter(affordable)
}

/** Not every provider has the network or the bank that the customer chose. */
function takesInput(
  { capabilities, channel }: PaymentOption,
  { currency, country }: Payment,
  { network, bank }: ChannelInput = {},
): boolean {
  const { networks, banks } = offerOf(capabilities, channel, currency) ?? {}
  const hasNetwork = network === undefined || networks?.[country]?.includes(network) === true
  return hasNetwork && (bank === undefined || banks?.some(({ code }) => code === bank) === true)
}

/** Stores the intent with the next provider, for the same submit. */
function failOver(
  deps: PaymentDeps,
  payment: Payment,
  { id: attemptId }: Attempt,
  choice: PageChoice,
  [other, ...others]: [PaymentOption, ...PaymentOption[]],
): Promise<Next> {
  return changePayment(deps, payment.id, {
    read: (tx) => readStartContext(tx, payment),
    decide: (state, context, tx) => {
      assertMayStart(state, choice, deps.clock.now())
      const intent = writeIntent({ tx, deps, state, context }, startOf(state, other, choice))
      const detail = 'nothing was started here'
      const at = deps.clock.now()
      tx.write(callRecorded({ attemptId, call: 'fail over', outcome: other.capabilities.name, detail, tookMs: 0, at }))
      return { intent, others }
    },
  })
}

function assertMayStart(state: PaymentState, { byReference }: PageChoice, now: Date): void {
  assertCanStartAttempt(state, now, byReference ? MAX_ATTEMPTS_BY_REFERENCE : undefined)
}

function startOf(
  { payment }: PaymentState,
  { capabilities }: PaymentOption,
  { channel, input, card, saveCard, merchantName, language, byReference = false }: PageChoice,
): Start {
  // Without user.id, the provider's page must not offer the last saved card of the e-mail address.
  const chosen = card ?? (payment.user.id === null ? 'new' : undefined)
  const start = { capabilities, channel, input, merchantName, byReference, ...(language && { language }) }
  return { ...start, ...(chosen && { card: chosen }), ...(saveCard && { saveCard }) }
}

/** Whether the submit confirms this attempt: same card, and not more than the shown price. */
function isMeantBy(
  { instructions, amountCharged }: AwaitingConfirmation,
  { card, atMost = amountCharged }: PageChoice,
): boolean {
  return instructions.savedCard === card && amountCharged <= atMost
}

/**
 * A confirmation starts a charge, so the integration must be enabled with the keys that the attempt was started with.
 */
function takesCardsAt({ provider, keysVersion, channels }: EnabledIntegration, waiting: AwaitingConfirmation): boolean {
  return provider === waiting.provider && keysVersion === waiting.keysVersion && channels.includes(waiting.channel)
}

/** Whether this open attempt is what the submit asks for. With another number or bank it is not. */
function isWaitingFor(attempt: Attempt, { channel, card, input }: PageChoice, now: Date): boolean {
  const { instructions, instructionsExpireAt } = attempt
  if (attempt.status !== 'pending' || attempt.channel !== channel || !instructions) return false
  if (instructionsExpireAt && instructionsExpireAt <= now) return false
  switch (instructions.kind) {
    case 'account':
      return true
    case 'prompt':
    case 'pay to':
    case 'code wanted':
    case 'dial':
    case 'qr':
      return isSameInput(attempt.input, input ?? null)
    case 'confirm':
      return false
    case 'step':
      return instructions.savedCard === card
    case 'link':
      return (
        isSameInput(attempt.input, input ?? null) && (card === undefined || (card === 'new' && !instructions.savedCard))
      )
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
