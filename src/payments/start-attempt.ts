import assert from 'node:assert/strict'
import type { Queries } from '../database/database.ts'
import { canTake } from '../integrations/integration.ts'
import { type EnabledIntegration, listEnabledIntegrations } from '../integrations/integration-store.ts'
import type { Channel } from '../kernel/channel.ts'
import type { AttemptId, PaymentId, SavedCardId } from '../kernel/ids.ts'
import { type Currency, money } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import type {
  AccountStart,
  Capabilities,
  CardStart,
  Order,
  Outcome,
  SavedCardCharge,
  SavedCardToken,
  Unknown,
} from '../providers/provider.ts'
import { AttemptNotStarted, answeredTooLate, keysRefused, notStartedOutcome } from './attempt-not-started.ts'
import { askProvider, recordProviderCall } from './call-provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { maySaveCard, settleAttempt } from './settle-attempt.ts'
import { keepStarted } from './started-attempts.ts'
import type { Attempt, Instructions } from './state/attempt.ts'
import { newAttempt } from './state/new-attempt.ts'
import type { Payment } from './state/payment.ts'
import {
  type AwaitingConfirmation,
  addAttempt,
  confirmSavedCard,
  type Decision,
  findOpenAttempt,
  type IssuedInstructions,
  type PaymentState,
  storeInstructions,
} from './state/payment-state.ts'
import { saveStartedId } from './store/idempotent-calls.ts'
import { lockPaymentState, type Snapshot } from './store/payment-states.ts'
import { deleteCard, findCard } from './store/saved-cards.ts'
import type { CallRecord, StartedBy } from './store/write-payment.ts'
import { changePayment, type Plan, tryWriteDecision, writeDecision } from './write-decision.ts'

export interface Started {
  state: PaymentState
  attempt: Attempt
}

export interface Start {
  capabilities: Capabilities
  channel: Channel
  /** A saved card is charged directly. Absent: the provider's page offers the card that this customer used last. */
  card?: SavedCardId | 'new'
  /** The customer agreed to save a new card. */
  saveCard?: boolean
  /** Idempotency key of the submitted form. */
  pageKey?: string
  /** The call with an idempotency key that starts the attempt. */
  startedBy?: StartedBy | undefined
}

/**
 * Starts an attempt: commits the intent, calls the provider, commits its answer. If an attempt of the same provider and channel is open,
 * it is returned and the provider is not called.
 */
export async function startAttempt(deps: PaymentDependencies, paymentId: PaymentId, start: Start): Promise<Started> {
  const { capabilities, channel, startedBy } = start
  const next = await changePayment<Intent | Started>(deps, paymentId, async (db, state) => {
    const attempt = findOpenAttempt(state, { provider: capabilities.name, channel }, deps.clock.now())
    if (!attempt) return planIntent(db, deps, state, start)
    if (startedBy) await saveStartedId(db, startedBy, attempt.id)
    return { result: { state, attempt } }
  })
  return 'order' in next ? executeStart(deps, next) : next
}

/** A stored intent with everything that the provider call needs. */
export interface Intent {
  /** The payment with the attempt, right after the intent was stored. */
  state: Snapshot
  attempt: Attempt
  order: Order
  /** `email` as it was saved with the card: providers compare it case-sensitively. */
  saved: { id: SavedCardId; token: SavedCardToken; email: string; isChosen: boolean } | undefined
}

type PlannedIntent = Plan<Intent> & { decision: Decision }

/** A new attempt, which is stored as the intent before the provider call. */
export async function planIntent(
  db: Queries,
  deps: PaymentDependencies,
  before: Snapshot,
  start: Start,
  chosen?: EnabledIntegration,
): Promise<PlannedIntent> {
  const integration = chosen ?? (await currentIntegration(db, before.payment, start))
  const plan = planUncardedIntent(deps, before, start, integration)
  const saved = await savedCardFor(db, deps, before.payment, integration, start)
  return { ...plan, result: { ...plan.result, saved } }
}

/** The same, without the saved card. */
export function planUncardedIntent(
  deps: PaymentDependencies,
  before: Snapshot,
  start: Start,
  { account, version }: EnabledIntegration,
): PlannedIntent {
  const { capabilities, pageKey, startedBy } = start
  const chargedAtOnce = start.card !== undefined && start.card !== 'new'
  const decision = addAttempt(before, newAttempt(before, { ...start, account, chargedAtOnce }, deps.clock.now()))
  const attempt = decision.state.attempts.at(-1) as Attempt
  const order = orderOf(deps, before.payment, attempt, capabilities, before.merchantName)
  return {
    decision,
    more: { integration: { provider: capabilities.name, version }, pageKey, startedBy },
    result: { state: { ...before, ...decision.state }, attempt, saved: undefined, order },
  }
}

/** The write of the intent is refused if the integration has changed since, so that a removed or changed one is not used. */
async function currentIntegration(db: Queries, payment: Payment, start: Start): Promise<EnabledIntegration> {
  const { name } = start.capabilities
  const { country, currency } = payment
  const integration = (await listEnabledIntegrations(db, payment)).find(({ provider }) => provider === name)
  if (!integration?.channels.includes(start.channel) || !canTake(integration, country, currency)) {
    throw new Problem(
      'provider_not_configured',
      `"${name}" is not set up for ${currency} in ${country} by ${start.channel}.`,
    )
  }
  return integration
}

export async function savedCardFor(
  db: Queries,
  { secrets }: PaymentDependencies,
  payment: Payment,
  { account }: Pick<EnabledIntegration, 'account'>,
  { capabilities, channel, card }: Start,
): Promise<Intent['saved']> {
  if (channel !== 'card' || card === 'new') return undefined
  const at = { provider: capabilities.name, account }
  const found = await findCard(db, secrets, payment, at, payment.user, card)
  if (card && !found) throw new Problem('not_found', 'There is no such card.')
  return found && { ...found, isChosen: card !== undefined }
}

/** The customer's confirmation of a saved card charge. */
export async function planConfirmed(
  db: Queries,
  deps: PaymentDependencies,
  before: Snapshot,
  waiting: AwaitingConfirmation,
): Promise<Plan<Intent> & { decision: Decision }> {
  const { payment } = before
  const capabilities = deps.providers.find(waiting.provider)?.capabilities
  if (!capabilities) throw new Error(`${waiting.provider} not found`)
  const decision = confirmSavedCard(before, waiting.id, deps.clock.now())
  const { savedCard: card } = waiting.instructions
  const saved = await savedCardFor(db, deps, payment, waiting, { capabilities, channel: 'card', card })
  const attempt = decision.state.attempts.find(({ id }) => id === waiting.id) as Attempt
  const order = orderOf(deps, payment, attempt, capabilities, before.merchantName)
  return { decision, result: { state: { ...before, ...decision.state }, attempt, saved, order } }
}

/** Calls the provider and stores its answer. `onPage`: the customer waits on the checkout page, and failover is possible. */
export async function executeStart(
  deps: PaymentDependencies,
  intent: Intent,
  { onPage = false } = {},
): Promise<Started> {
  const { attempt, saved } = intent
  const { provider } = attempt
  const { answer, record: call } = await requestStart(deps, intent)
  switch (answer.kind) {
    case 'link':
    case 'account':
    case 'confirm':
    case 'step': {
      const started = await saveInstructions(deps, intent, answer, call)
      // The attempt failed before the answer came, and the customer may have started another. Both links could be paid.
      if (started.attempt.status === 'failed') throw answeredTooLate(attempt)
      return started
    }
    case 'declined': {
      if (saved && answer.failure.code === 'invalid_token') {
        // The provider no longer knows the token.
        await deleteCard(deps.database, attempt, saved.id)
        // Nothing was started, so the provider's page can take another card.
        if (!saved.isChosen) {
          if (call) await recordProviderCall(deps, call)
          return executeStart(deps, { ...intent, saved: undefined }, { onPage })
        }
      }
      await settleStart(deps, intent, answer, call)
      if (answer.keysRefused) throw keysRefused(attempt)
      throw new AttemptNotStarted('provider_error', `${provider} refused: ${answer.failure.message}`, attempt, {
        nothingStarted: !saved?.isChosen,
      })
    }
    case 'unknown': {
      // An error status instead of a page or an account number: the customer received nothing to pay with, so no money can move. This does
      // not hold for a direct charge of a saved card.
      const unusable = onPage && answer.errorStatus !== undefined && !saved?.isChosen
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
        `${provider} did not answer clearly, so it is unknown whether attempt ${attempt.reference} was started. It is checked until the outcome is known; read the payment for its state.`,
        attempt,
        { nothingStarted: false, retryAfterSeconds: 10 },
      )
    }
    default:
      return startedIn(await settleStart(deps, intent, answer, call), attempt.id)
  }
}

function settleStart(
  deps: PaymentDependencies,
  { attempt, state }: Intent,
  outcome: Outcome,
  call: CallRecord | undefined,
): Promise<PaymentState> {
  return settleAttempt(deps, attempt, { outcome, source: 'start', ...(call && { call }) }, state)
}

type Answer = CardStart | AccountStart | SavedCardCharge | ConfirmationPage

/** The checkout page asks for confirmation, because the provider has no page that offers a saved card. */
interface ConfirmationPage {
  kind: 'confirm'
  link: string
  publicKey: string
  providerReference: string
}

/** Without a record when the provider was not called. */
async function requestStart(
  deps: PaymentDependencies,
  intent: Intent,
): Promise<{ answer: Answer; record?: CallRecord }> {
  const { attempt, order, saved } = intent
  if (attempt.channel === 'virtual-bank-account') {
    return askProvider(deps, attempt, 'open account', (provider) => provider.openAccount(order))
  }
  if (saved?.isChosen) {
    const customer = { ...order.customer, email: saved.email }
    return askProvider(deps, attempt, 'charge saved card', (provider) =>
      provider.chargeSavedCard({ ...order, customer }, saved.token),
    )
  }
  if (saved && !deps.providers.find(attempt.provider)?.capabilities.pageTakesSavedCards) {
    return { answer: await askForConfirmation(deps, attempt) }
  }
  return askProvider(deps, attempt, 'start card', (provider) => provider.startCard(order, saved?.token))
}

async function askForConfirmation(
  { providers, links, log }: PaymentDependencies,
  attempt: Attempt,
): Promise<ConfirmationPage | Unknown> {
  const { id: attemptId, provider, account, paymentId, orderReference: providerReference } = attempt
  try {
    const { publicKey } = await providers.connect(attempt, provider, { account })
    return { kind: 'confirm', link: links.payment(paymentId), publicKey, providerReference }
  } catch (err) {
    log.error({ err, attemptId, provider }, 'connecting to the provider failed')
    return { kind: 'unknown', because: 'there was no connection; the log has the reason', neverSent: true }
  }
}

function orderOf(
  { links }: PaymentDependencies,
  payment: Payment,
  attempt: Attempt,
  capabilities: Capabilities,
  merchantName: string,
): Order {
  const openUntil = attempt.createdAt.getTime() + capabilities.accountLifetimeSeconds * 1_000
  const isAccount = attempt.channel === 'virtual-bank-account'
  const { email, name, phoneNumber } = payment.user
  return {
    reference: attempt.orderReference,
    amount: money(attempt.amountCharged, attempt.currency as Currency),
    country: payment.country,
    customer: { email, name, phoneNumber },
    merchantName,
    returnURL: links.comeBack(attempt.id),
    startedAt: attempt.createdAt,
    expiresAt: isAccount ? new Date(Math.min(openUntil, payment.expiresAt.getTime())) : payment.expiresAt,
    saveCard: attempt.saveCard,
  }
}

type Ready = Extract<Answer, { kind: 'link' | 'account' | 'confirm' | 'step' }>

/** In one statement, unless the payment has changed since the intent. */
async function saveInstructions(
  deps: PaymentDependencies,
  intent: Intent,
  answer: Ready,
  call: CallRecord | undefined,
): Promise<Started> {
  const { attempt, state } = intent
  const issued = instructionsFrom(answer, intent, state.merchantName)
  const decideOn = (before: PaymentState) => storeInstructions(before, attempt.id, issued, deps.clock.now())
  // Notices may have used the provider's own reference before we knew it.
  const reference = answer.providerReference
  const rematch = reference === attempt.orderReference ? undefined : { provider: attempt.provider, reference }
  const decision = decideOn(state)
  if (await tryWriteDecision(deps, state, decision, { call, rematch })) {
    const started = startedIn({ ...state, ...decision.state }, attempt.id)
    if (!maySaveCard(deps, attempt)) keepStarted(started)
    return started
  }
  return deps.database.transaction(async (tx) => {
    const before = await lockPaymentState(tx, attempt.paymentId)
    const again = decideOn(before)
    await writeDecision(tx, deps, before, again, { call, rematch })
    return startedIn(again.state, attempt.id)
  })
}

function startedIn<State extends PaymentState>(state: State, id: AttemptId): Started & { state: State } {
  return { state, attempt: state.attempts.find((attempt) => attempt.id === id) as Attempt }
}

function instructionsFrom(answer: Ready, { order, saved }: Intent, merchantName: string): IssuedInstructions {
  const { providerReference } = answer
  switch (answer.kind) {
    case 'link': {
      const { link, publicKey, paidOnce, expiresAt: instructionsExpireAt } = answer
      const details = { ...(paidOnce && { paidOnce }), ...(saved && { savedCard: saved.id }) }
      return { instructions: { kind: 'link', link, publicKey, ...details }, instructionsExpireAt, providerReference }
    }
    case 'confirm': {
      assert(saved, 'only a saved card needs a confirmation')
      const { link, publicKey } = answer
      const instructions: Instructions = { kind: 'confirm', link, publicKey, savedCard: saved.id }
      return { instructions, instructionsExpireAt: order.expiresAt, providerReference }
    }
    case 'step': {
      assert(saved, 'only a saved card needs an extra step')
      const instructions: Instructions = { kind: 'step', link: answer.link, savedCard: saved.id }
      return { instructions, instructionsExpireAt: order.expiresAt, providerReference }
    }
    case 'account': {
      const { accountNumber, bankName, amountToTransfer, expiresAt } = answer
      const accountName = answer.accountName ?? merchantName
      const instructions: Instructions = { kind: 'account', accountName, accountNumber, bankName, amountToTransfer }
      return { instructions, instructionsExpireAt: expiresAt, providerReference }
    }
  }
}
