import assert from 'node:assert/strict'
import type { SavedCardId } from '../../kernel/ids.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { addressNameOf, type Capabilities, offerOf } from '../../providers/capabilities.ts'
import type {
  ChannelInput,
  Order,
  SavedCardCharge,
  SavedCardToken,
  Start,
  Started,
  Unknown,
} from '../../providers/provider.ts'
import { askProvider } from '../call-provider.ts'
import type { PaymentDeps } from '../deps.ts'
import type { Attempt, Instructions } from '../state/attempt.ts'
import type { Payment } from '../state/payment.ts'
import type { IssuedInstructions, PaymentState } from '../state/payment-state.ts'
import type { CallRecord } from '../store/attempts.ts'

/** A stored intent with everything that the provider call needs. */
export interface Intent {
  /** The payment with the attempt, right after the intent was stored. */
  state: PaymentState
  attempt: Attempt
  merchantName: string
  order: Order
  /** `email` as it was saved with the card: providers compare it case-sensitively. */
  saved: { id: SavedCardId; token: SavedCardToken; email: string; isChosen: boolean } | undefined
}

export type Answer = Start | SavedCardCharge | ConfirmationPage

/** The checkout page asks for confirmation, because the provider has no page that offers a saved card. */
interface ConfirmationPage {
  kind: 'confirm'
  link: string
  publicKey: string
  providerReference: string
}

/** Without a record when the provider was not called. */
export async function requestStart(
  deps: PaymentDeps,
  intent: Intent,
): Promise<{ answer: Answer; record?: CallRecord }> {
  const { attempt, order, saved } = intent
  if (saved?.isChosen) {
    const customer = { ...order.customer, email: saved.email }
    return askProvider(deps, attempt, 'charge saved card', (provider) =>
      provider.chargeSavedCard({ ...order, customer }, saved.token),
    )
  }
  if (saved && !deps.providers.find(attempt.provider)?.capabilities.pageTakesSavedCards) {
    return { answer: await askForConfirmation(deps, attempt) }
  }
  const withCard = { ...order, ...(saved && { savedCard: saved.token }) }
  return askProvider(deps, attempt, 'start', (provider) => provider.start(withCard))
}

async function askForConfirmation(
  { providers, links, log }: PaymentDeps,
  attempt: Attempt,
): Promise<ConfirmationPage | Unknown> {
  const { id: attemptId, provider, keysVersion, paymentId, orderReference: providerReference } = attempt
  try {
    const { publicKey } = await providers.connect(attempt, provider, { keysVersion })
    return { kind: 'confirm', link: links.payment(paymentId), publicKey, providerReference }
  } catch (err) {
    log.error({ err, attemptId, provider }, 'connecting to the provider failed')
    return { kind: 'unknown', because: 'there was no connection; the log has the reason', neverSent: true }
  }
}

export function orderOf(
  { links }: PaymentDeps,
  payment: Payment,
  attempt: Attempt,
  { capabilities, merchantName, input }: { capabilities: Capabilities; merchantName: string; input: ChannelInput },
): Order {
  const { lifetimeSeconds } = offerOf(capabilities, attempt.channel, attempt.currency) ?? {}
  const openUntil = lifetimeSeconds ? attempt.createdAt.getTime() + lifetimeSeconds * 1_000 : Number.POSITIVE_INFINITY
  const { email, name, phoneNumber } = payment.user
  return {
    channel: attempt.channel,
    input,
    reference: attempt.orderReference,
    amount: money(attempt.amountCharged, attempt.currency as Currency),
    country: payment.country,
    customer: { email, name, phoneNumber },
    merchantName,
    returnURL: links.comeBack(attempt.id),
    ...(capabilities.noticesHaveFacts && { noticeURL: links.notices(attempt, addressNameOf(capabilities)) }),
    startedAt: attempt.createdAt,
    expiresAt: new Date(Math.min(openUntil, payment.expiresAt.getTime())),
    saveCard: attempt.saveCard,
  }
}

/** The customer can pay now. */
export type Ready = Started | Extract<Answer, { kind: 'confirm' | 'step' }>

export function instructionsFrom(answer: Ready, { order, saved }: Intent, merchantName: string): IssuedInstructions {
  const { providerReference } = answer
  switch (answer.kind) {
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
    default:
      return instructionsOfStart(answer, merchantName, saved?.id)
  }
}

/** `savedCard`: the one that the provider's page offers. */
export function instructionsOfStart(
  answer: Started,
  merchantName: string,
  savedCard: SavedCardId | undefined = undefined,
): IssuedInstructions {
  const { providerReference, expiresAt: instructionsExpireAt, ...given } = answer
  switch (given.kind) {
    case 'link': {
      const { kind, link, publicKey, paidOnce } = given
      const instructions = { kind, link, publicKey, ...(paidOnce && { paidOnce }), ...(savedCard && { savedCard }) }
      return { instructions, instructionsExpireAt, providerReference }
    }
    case 'account': {
      const instructions = { ...given, accountName: given.accountName ?? merchantName }
      return { instructions, instructionsExpireAt, providerReference }
    }
    case 'prompt':
    case 'pay to':
    case 'code wanted':
    case 'dial':
    case 'qr':
      return { instructions: given, instructionsExpireAt, providerReference }
  }
}
