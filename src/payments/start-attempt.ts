import assert from 'node:assert/strict'
import type { Transaction } from '../database/database.ts'
import { canTake } from '../integrations/integration.ts'
import { listEnabledIntegrations } from '../integrations/integration-store.ts'
import type { Channel } from '../kernel/channel.ts'
import type { AttemptId, PaymentId, SavedCardId } from '../kernel/ids.ts'
import { type Currency, money } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import { findMerchant } from '../merchants/merchant-store.ts'
import type {
  AccountStart,
  Capabilities,
  CardStart,
  Declined,
  Order,
  SavedCardCharge,
  SavedCardToken,
  Unknown,
} from '../providers/provider.ts'
import { callProvider } from './call-provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { settleAttempt } from './settle-attempt.ts'
import type { Attempt, Instructions } from './state/attempt.ts'
import { newAttempt } from './state/new-attempt.ts'
import type { Payment } from './state/payment.ts'
import {
  type AwaitingConfirmation,
  addAttempt,
  confirmSavedCard,
  findOpenAttempt,
  type IssuedInstructions,
  type PaymentState,
  storeInstructions,
} from './state/payment-state.ts'
import { lockPaymentState } from './store/attempts.ts'
import { rematchNotices } from './store/notices.ts'
import { deleteCard, findCard } from './store/saved-cards.ts'
import { writeDecision } from './write-decision.ts'

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
  /** Called in the transaction that stores the intent. */
  onIntent?: (tx: Transaction, id: AttemptId) => Promise<void>
}

/** Thrown when the provider returned no instructions. The attempt has the outcome. */
export class AttemptNotStarted extends Problem {
  /** No money can have moved, so failover to another provider is safe. */
  readonly nothingStarted: boolean
  constructor(
    code: 'provider_error' | 'provider_timeout',
    detail: string,
    attempt: Attempt,
    more: { nothingStarted: boolean; retryAfterSeconds?: number; retryable?: boolean },
  ) {
    const { nothingStarted, ...rest } = more
    super(code, detail, { extra: { attempt: attempt.reference }, ...rest })
    this.nothingStarted = nothingStarted
  }
}

/**
 * Starts an attempt: commits the intent, calls the provider, commits its answer. If an attempt of the same provider and channel is open,
 * it is returned and the provider is not called. The payment's lock makes this safe for concurrent calls.
 */
export async function startAttempt(deps: PaymentDependencies, paymentId: PaymentId, start: Start): Promise<Started> {
  const { capabilities, channel, onIntent } = start
  const next = await deps.database.transaction(async (tx): Promise<Intent | Started> => {
    const state = await lockPaymentState(tx, paymentId)
    const attempt = findOpenAttempt(state, { provider: capabilities.name, channel }, deps.clock.now())
    if (!attempt) return storeIntent(tx, deps, state, start)
    await onIntent?.(tx, attempt.id)
    return { state, attempt }
  })
  return 'order' in next ? executeStart(deps, next) : next
}

/** A stored intent with everything that the provider call needs. */
export interface Intent {
  attempt: Attempt
  order: Order
  /** `email` as it was saved with the card: providers compare it case-sensitively. */
  saved: { id: SavedCardId; token: SavedCardToken; email: string; isChosen: boolean } | undefined
}

/** Stores the intent before the provider call. The caller holds the payment's lock. */
export async function storeIntent(
  tx: Transaction,
  deps: PaymentDependencies,
  before: PaymentState,
  start: Start,
): Promise<Intent> {
  const { capabilities, channel, onIntent } = start
  const { payment } = before
  const account = await currentAccount(tx, payment, start)
  const begun = newAttempt(
    before,
    { ...start, account, chargedAtOnce: start.card !== undefined && start.card !== 'new' },
    deps.clock.now(),
  )
  const decision = addAttempt(before, begun)
  const merchant = await findMerchant(tx, payment.merchantId)
  const saved = channel === 'card' ? await savedCardFor(tx, deps, payment, account, start) : undefined
  await writeDecision(tx, deps, before, decision)
  await onIntent?.(tx, begun.id)
  const attempt = decision.state.attempts.at(-1) as Attempt
  return { attempt, saved, order: orderOf(deps, payment, attempt, capabilities, merchant?.name ?? '') }
}

/** Read in the transaction that inserts the attempt, so that a removed or changed integration is not used. */
async function currentAccount(tx: Transaction, payment: Payment, { capabilities, channel }: Start): Promise<number> {
  const { name } = capabilities
  const { country, currency } = payment
  const integration = (await listEnabledIntegrations(tx, payment)).find(({ provider }) => provider === name)
  if (!integration?.channels.includes(channel) || !canTake(integration, country, currency)) {
    throw new Problem('provider_not_configured', `"${name}" is not set up for ${currency} in ${country} by ${channel}.`)
  }
  return integration.account
}

async function savedCardFor(
  tx: Transaction,
  { secrets }: PaymentDependencies,
  payment: Payment,
  account: number,
  { capabilities, card }: Start,
): Promise<Intent['saved']> {
  if (card === 'new') return undefined
  const at = { provider: capabilities.name, account }
  const found = await findCard(tx, secrets, payment, at, payment.user, card)
  if (card && !found) throw new Problem('not_found', 'There is no such card.')
  return found && { ...found, isChosen: card !== undefined }
}

/** Stores the customer's confirmation of a saved card charge. The caller holds the payment's lock. */
export async function resumeConfirmed(
  tx: Transaction,
  deps: PaymentDependencies,
  before: PaymentState,
  waiting: AwaitingConfirmation,
): Promise<Intent> {
  const { payment } = before
  const capabilities = deps.providers.find(waiting.provider)?.capabilities
  if (!capabilities) throw new Error(`${waiting.provider} not found`)
  const decision = confirmSavedCard(before, waiting.id, deps.clock.now())
  const merchant = await findMerchant(tx, payment.merchantId)
  const { savedCard: card } = waiting.instructions
  const saved = await savedCardFor(tx, deps, payment, waiting.account, { capabilities, channel: 'card', card })
  await writeDecision(tx, deps, before, decision)
  const attempt = decision.state.attempts.find(({ id }) => id === waiting.id) as Attempt
  return { attempt, saved, order: orderOf(deps, payment, attempt, capabilities, merchant?.name ?? '') }
}

/** Calls the provider and stores its answer. `onPage`: the customer waits on the checkout page, and failover is possible. */
export async function executeStart(
  deps: PaymentDependencies,
  intent: Intent,
  { onPage = false } = {},
): Promise<Started> {
  const { attempt, saved } = intent
  const { provider } = attempt
  const answer = await requestStart(deps, intent)
  switch (answer.kind) {
    case 'link':
    case 'account':
    case 'confirm':
    case 'step': {
      const started = await saveInstructions(deps, intent, answer)
      // The attempt failed before the answer came, and the customer may have started another. Both links could be paid.
      if (started.attempt.status === 'failed') throw answeredTooLate(attempt)
      return started
    }
    case 'declined': {
      if (saved && answer.failure.code === 'invalid_token') {
        // The provider no longer knows the token.
        await deleteCard(deps.database, attempt, saved.id)
        // Nothing was started, so the provider's page can take another card.
        if (!saved.isChosen) return executeStart(deps, { ...intent, saved: undefined }, { onPage })
      }
      await settleAttempt(deps, attempt, { outcome: answer, source: 'start' })
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
        await settleAttempt(deps, attempt, { outcome: notStartedOutcome(answer.because), source: 'start' })
        throw new AttemptNotStarted(
          'provider_error',
          `${provider} cannot be reached right now. Nothing was started; try again shortly.`,
          attempt,
          { nothingStarted: true, retryAfterSeconds: 10 },
        )
      }
      throw new AttemptNotStarted(
        'provider_timeout',
        `${provider} did not answer clearly, so it is unknown whether attempt ${attempt.reference} was started. It is checked until the outcome is known; read the payment for its state.`,
        attempt,
        { nothingStarted: false, retryAfterSeconds: 10 },
      )
    }
    default:
      return startedIn(await settleAttempt(deps, attempt, { outcome: answer, source: 'start' }), attempt.id)
  }
}

function answeredTooLate(attempt: Attempt): AttemptNotStarted {
  return new AttemptNotStarted(
    'provider_timeout',
    `${attempt.provider} answered too late: attempt ${attempt.reference} had failed already. Nothing was charged; try again.`,
    attempt,
    { nothingStarted: false },
  )
}

function keysRefused(attempt: Attempt): AttemptNotStarted {
  const { provider, mode } = attempt
  return new AttemptNotStarted(
    'provider_error',
    `${provider} refused your ${mode} keys. Set the right ones with PUT /payments/v1/integrations/${provider} or manilla integration set ${provider}.`,
    attempt,
    { nothingStarted: true, retryable: false },
  )
}

type Answer = CardStart | AccountStart | SavedCardCharge | ConfirmationPage

/** The checkout page asks for confirmation, because the provider has no page that offers a saved card. */
interface ConfirmationPage {
  kind: 'confirm'
  link: string
  publicKey: string
  providerReference: string
}

async function requestStart(deps: PaymentDependencies, intent: Intent): Promise<Answer> {
  const { attempt, order, saved } = intent
  if (attempt.channel === 'virtual-bank-account') {
    return callProvider(deps, attempt, 'open account', (provider) => provider.openAccount(order))
  }
  if (saved?.isChosen) {
    const customer = { ...order.customer, email: saved.email }
    return callProvider(deps, attempt, 'charge saved card', (provider) =>
      provider.chargeSavedCard({ ...order, customer }, saved.token),
    )
  }
  if (saved && !deps.providers.find(attempt.provider)?.capabilities.pageTakesSavedCards) {
    return askForConfirmation(deps, attempt)
  }
  return callProvider(deps, attempt, 'start card', (provider) => provider.startCard(order, saved?.token))
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

function saveInstructions(deps: PaymentDependencies, intent: Intent, answer: Ready): Promise<Started> {
  const { attempt } = intent
  return deps.database.transaction(async (tx) => {
    const before = await lockPaymentState(tx, attempt.paymentId)
    const merchant = await findMerchant(tx, attempt.merchantId)
    const decision = storeInstructions(
      before,
      attempt.id,
      instructionsFrom(answer, intent, merchant?.name ?? ''),
      deps.clock.now(),
    )
    await writeDecision(tx, deps, before, decision)
    // Notices may have used the provider's own reference before we knew it.
    if (answer.providerReference !== attempt.orderReference) {
      await rematchNotices(tx, attempt, attempt.provider, answer.providerReference)
    }
    return startedIn(decision.state, attempt.id)
  })
}

function startedIn(state: PaymentState, id: AttemptId): Started {
  return { state, attempt: state.attempts.find((attempt) => attempt.id === id) as Attempt }
}

function instructionsFrom(answer: Ready, { order, saved }: Intent, merchantName: string): IssuedInstructions {
  const { providerReference } = answer
  switch (answer.kind) {
    case 'link': {
      const { link, publicKey, expiresAt } = answer
      const instructions: Instructions = { kind: 'link', link, publicKey, ...(saved && { savedCard: saved.id }) }
      return { instructions, instructionsExpireAt: expiresAt, providerReference }
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

function notStartedOutcome(because: string): Declined {
  const failure = {
    code: 'provider_unavailable',
    message: 'The provider cannot be reached right now. Nothing was charged.',
    providerCode: because,
  } as const
  return { kind: 'declined', failure, tryId: null }
}
