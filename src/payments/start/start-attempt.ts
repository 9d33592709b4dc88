import type { Queries, Writes } from '../../database/database.ts'
import { alertRaised } from '../../events/alert-store.ts'
import { canTake } from '../../integrations/integration.ts'
import { type EnabledIntegration, listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { CHANNEL_FACTS, type Channel } from '../../kernel/channel.ts'
import type { AttemptId, SavedCardId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Language } from '../../merchants/brand.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { ChannelInput, Declined, Failure, Outcome, Unknown } from '../../providers/provider.ts'
import { recordProviderCall } from '../call-provider.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { settleAttempt } from '../settle/settle-attempt.ts'
import { type Attempt, isOfProvider, phoneMayAsk } from '../state/attempt.ts'
import { newAttempt, storedInput } from '../state/new-attempt.ts'
import type { Payment } from '../state/payment.ts'
import {
  type AwaitingConfirmation,
  addAttempt,
  assertNotEnded,
  attemptIn,
  confirmSavedCard,
  type Decision,
  findOpenAttempt,
  type IssuedInstructions,
  type PaymentState,
  storeInstructions,
} from '../state/payment-state.ts'
import { type CallRecord, callRecorded } from '../store/attempts.ts'
import { type CallKey, startedIdSaved } from '../store/idempotent-calls.ts'
import { noticesWaitAgain, referenceLocked } from '../store/notices.ts'
import type { LockedPayment } from '../store/payment-states.ts'
import { deleteCard, findCardsOf, openCard, type SealedCard } from '../store/saved-cards.ts'
import { AttemptNotStarted, answeredTooLate, keysRefused, notStartedOutcome } from './attempt-not-started.ts'
import { type Intent, instructionsFrom, orderOf, type Ready, requestStart } from './request-start.ts'

export interface StartedAttempt {
  state: PaymentState
  attempt: Attempt
}

export interface Start {
  capabilities: Capabilities
  channel: Channel
  /** What the customer gave for the channel. */
  input?: ChannelInput | undefined
  /** As the provider shows it to the customer. */
  merchantName: string
  /** A saved card is charged directly. Absent: the provider's page offers the card that this customer used last. */
  card?: SavedCardId | 'new'
  /** The customer agreed to save a new card. */
  saveCard?: boolean
  /** Idempotency key of the submitted form. */
  pageKey?: string
  /** Of the page. */
  language?: Language
  /** The page was opened by client-id and reference alone. */
  byReference?: boolean
  /** The call with an idempotency key that starts the attempt. */
  startedBy?: CallKey | undefined
}

/**
 * Starts an attempt: commits the intent, calls the provider, commits its answer. If an attempt of the same provider,
 * channel and input is open, it is returned and the provider is not called.
 */
export async function startAttempt(deps: PaymentDeps, payment: Payment, start: Start): Promise<StartedAttempt> {
  const { capabilities, channel, startedBy } = start
  const next = await changePayment(deps, payment.id, {
    read: (tx) => readStartContext(tx, payment),
    decide: (state, context, tx): StartedAttempt | Intent => {
      const wanted = { provider: capabilities.name, channel, input: storedInput(start.input) }
      const open = findOpenAttempt(state, wanted, deps.clock.now())
      if (open && startedBy) tx.write(startedIdSaved(startedBy, open.id))
      return open ? { state, attempt: open } : writeIntent({ tx, deps, state, context }, start)
    },
  })
  return 'order' in next ? executeStart(deps, next) : next
}

/** What the start of an attempt depends on besides its payment. */
export interface StartContext {
  integrations: EnabledIntegration[]
  /** The customer's, the last used first. */
  cards: SealedCard[]
}

/** Read in the transaction that stores the intent, so that a removed or changed integration is not used. */
export async function readStartContext(tx: Queries, payment: Pick<Payment, 'user'> & Scope): Promise<StartContext> {
  const [integrations, cards] = await Promise.all([
    listEnabledIntegrations(tx, payment),
    findCardsOf(tx, payment, payment.user),
  ])
  return { integrations, cards }
}

/** A payment under its lock, with what the start of an attempt depends on. */
export interface Starting {
  tx: Writes
  deps: PaymentDeps
  state: LockedPayment
  context: StartContext
}

/** Writes a new attempt as the intent before the provider call. */
export function writeIntent({ tx, deps, state, context }: Starting, start: Start): Intent {
  const { decision, intent } = planIntent(deps, state, start, context)
  writeDecision(tx, deps, state, decision)
  if (start.startedBy) tx.write(startedIdSaved(start.startedBy, intent.attempt.id))
  return intent
}

export function planIntent(
  deps: PaymentDeps,
  before: PaymentState,
  start: Start,
  { integrations, cards }: StartContext,
): { decision: Decision; intent: Intent } {
  const { keysVersion } = integrationFor(integrations, before.payment, start)
  const chargedAtOnce = start.card !== undefined && start.card !== 'new'
  const decision = addAttempt(before, newAttempt(before, { ...start, keysVersion, chargedAtOnce }, deps.clock.now()))
  const attempt = decision.state.attempts.at(-1) as Attempt
  const saved = savedCardFor(deps, before.payment, attempt, start, cards)
  const { merchantName, capabilities, input = {} } = start
  return { decision, intent: intentOf(deps, decision.state, attempt, { merchantName, capabilities, saved, input }) }
}

function intentOf(
  deps: PaymentDeps,
  state: PaymentState,
  attempt: Attempt,
  {
    merchantName,
    capabilities,
    saved,
    input,
  }: Pick<Intent, 'merchantName' | 'saved'> & Pick<Start, 'capabilities'> & { input: ChannelInput },
): Intent {
  const order = orderOf(deps, state.payment, attempt, { capabilities, merchantName, input })
  return { state, attempt, merchantName, saved, order }
}

function integrationFor(integrations: EnabledIntegration[], payment: Payment, start: Start): EnabledIntegration {
  const { name } = start.capabilities
  const { country, currency } = payment
  const integration = integrations.find(({ provider }) => provider === name)
  if (!integration?.channels.includes(start.channel) || !canTake(integration, country, currency)) {
    throw new Problem(
      'provider_not_configured',
      `"${name}" is not set up for ${currency} in ${country} by ${start.channel}.`,
    )
  }
  return integration
}

/** The chosen card, or the one that the customer used last, if its token is for these keys. */
function savedCardFor(
  { secrets, log }: PaymentDeps,
  payment: Payment,
  { provider, keysVersion, channel }: Pick<Attempt, 'provider' | 'keysVersion' | 'channel'>,
  { card }: Pick<Start, 'card'>,
  cards: SealedCard[],
): Intent['saved'] {
  if (!CHANNEL_FACTS[channel].savesCards || card === 'new') return undefined
  const found = cards.find(
    (each) =>
      each.provider === provider && each.keysVersion === keysVersion && (card === undefined || each.id === card),
  )
  if (card && !found) throw new Problem('not_found', 'There is no such card.')
  try {
    return found && { ...openCard(found, secrets, payment), isChosen: card !== undefined }
  } catch (err) {
    if (card) throw err
    log.warn({ err, paymentId: payment.id }, 'the saved card cannot be read; it is not offered')
    return undefined
  }
}

/** The customer confirmed the charge of a saved card. `key`: of the form. */
export function writeConfirmed(
  { tx, deps, state, context }: Starting,
  waiting: AwaitingConfirmation,
  { key, merchantName }: { key: string; merchantName: string },
): Intent {
  const decision = confirmSavedCard(state, waiting.id, key, deps.clock.now())
  const chosen = { card: waiting.instructions.savedCard }
  const saved = savedCardFor(deps, state.payment, waiting, chosen, context.cards)
  writeDecision(tx, deps, state, decision)
  const capabilities = deps.providers.find(waiting.provider)?.capabilities
  if (!capabilities) throw new Error(`${waiting.provider} not found`)
  const confirmed = attemptIn(decision.state, waiting.id)
  return intentOf(deps, decision.state, confirmed, { merchantName, capabilities, saved, input: {} })
}

/** `onPage`: the customer waits on the checkout page, and failover is possible. */
interface Where {
  onPage?: boolean
}

/** Calls the provider and stores its answer. */
export async function executeStart(deps: PaymentDeps, intent: Intent, where: Where = {}): Promise<StartedAttempt> {
  const { answer, record: call } = await requestStart(deps, intent)
  switch (answer.kind) {
    case 'link':
    case 'account':
    case 'prompt':
    case 'pay to':
    case 'code wanted':
    case 'dial':
    case 'qr':
    case 'confirm':
    case 'step':
      return handOut(deps, intent, answer, call)
    // A saved card is charged without instructions; some networks take the money at once, too.
    case 'paid':
    case 'pending':
    case 'processing':
    case 'missing':
      return startedIn(await settleStart(deps, intent, answer, call), intent.attempt.id)
    case 'declined':
      return startDeclined(deps, intent, answer, call, where)
    case 'unknown':
      return startUnknown(deps, intent, answer, call, where)
  }
}

/**
 * Stores the instructions. Throws if the payment ended before they came, or the attempt failed: what is handed out
 * could be paid beside another. An attempt that was paid in the meantime is an answer.
 */
async function handOut(
  deps: PaymentDeps,
  intent: Intent,
  answer: Ready,
  call: CallRecord | undefined,
): Promise<StartedAttempt> {
  const issued = instructionsFrom(answer, intent, intent.merchantName)
  const started = await saveInstructions(deps, intent.attempt, issued, call)
  if (started.attempt.status === 'successful') return started
  assertNotEnded(started.state.payment, deps.clock.now())
  if (started.attempt.status === 'failed') throw answeredTooLate(intent.attempt)
  return started
}

async function startDeclined(
  deps: PaymentDeps,
  intent: Intent,
  answer: Declined,
  call: CallRecord | undefined,
  where: Where,
): Promise<StartedAttempt> {
  const { attempt, saved } = intent
  if (saved && answer.failure.code === 'invalid_token') {
    // The provider no longer knows the token.
    await deleteCard(deps.database, attempt, saved.id)
    // Nothing was started, so the provider's page can take another card.
    if (!saved.isChosen) {
      if (call) await recordProviderCall(deps, call)
      return executeStart(deps, { ...intent, saved: undefined }, where)
    }
  }
  await settleStart(deps, intent, answer, call)
  if (answer.keysRefused) {
    const now = deps.clock.now()
    // Once a day: the provider may refuse good keys for a moment, and these again after months.
    const subject = `${attempt.provider} ${attempt.keysVersion} ${now.toISOString().slice(0, 10)}`
    await deps.database.rows(alertRaised(attempt, { kind: 'provider_failing', subject }, now))
    throw keysRefused(attempt)
  }
  throw new AttemptNotStarted('provider_error', `${attempt.provider} refused: ${answer.failure.message}`, attempt, {
    nothingStarted: !saved?.isChosen && startedNothing(attempt, answer.failure),
  })
}

/**
 * What is wrong with the customer's phone or account is wrong at the next provider, too. Where a phone asks, a reason
 * that we do not know may be the customer's no, and the next provider would ask again.
 */
function startedNothing(attempt: Attempt, failure: Failure): boolean {
  return phoneMayAsk(attempt) ? failure.code === 'provider_error' : isOfProvider(failure)
}

async function startUnknown(
  deps: PaymentDeps,
  intent: Intent,
  answer: Unknown,
  call: CallRecord | undefined,
  { onPage = false }: Where,
): Promise<never> {
  const { attempt, saved } = intent
  const { provider, reference } = attempt
  // An error status instead of a page or an account number: the customer received nothing to pay with, so no money can
  // move. This does not hold for a direct charge of a saved card, and for a phone that may ask.
  const unusable = onPage && answer.errorStatus !== undefined && !saved?.isChosen && !phoneMayAsk(attempt)
  if (answer.neverSent || unusable) {
    await settleStart(deps, intent, notStartedOutcome(answer.because), call)
    throw new AttemptNotStarted(
      'provider_error',
      `${provider} cannot be reached right now. Nothing was started; try again shortly.`,
      attempt,
      { nothingStarted: true, retryAfterSeconds: 10 },
    )
  }
  if (call) await recordProviderCall(deps, call)
  throw new AttemptNotStarted(
    'provider_timeout',
    `${provider} did not answer clearly, so it is unknown whether attempt ${reference} was started. It is checked until the outcome is known; read the payment for its state.`,
    attempt,
    { nothingStarted: false, retryAfterSeconds: 10 },
  )
}

function settleStart(
  deps: PaymentDeps,
  { attempt }: Intent,
  outcome: Outcome,
  call: CallRecord | undefined,
): Promise<PaymentState> {
  return settleAttempt(deps, attempt, { outcome, source: 'start', ...(call && { call }) })
}

export function saveInstructions(
  deps: PaymentDeps,
  attempt: Attempt,
  issued: IssuedInstructions,
  call: CallRecord | undefined,
): Promise<StartedAttempt> {
  return changePayment(deps, attempt.paymentId, {
    decide: (before, _, tx) => {
      const now = deps.clock.now()
      const decision = storeInstructions(before, attempt.id, issued, now)
      writeDecision(tx, deps, before, decision)
      if (call) tx.write(callRecorded(call))
      // Notices may have used the provider's own reference before we knew it.
      const { provider, orderReference } = attempt
      const reference = issued.providerReference
      if (reference !== orderReference) {
        tx.write(referenceLocked(attempt, { provider, reference }))
        tx.write(noticesWaitAgain(attempt, { provider, reference }, now))
      }
      return startedIn(decision.state, attempt.id)
    },
  })
}

function startedIn(state: PaymentState, id: AttemptId): StartedAttempt {
  return { state, attempt: attemptIn(state, id) }
}
