import type { Transaction } from '../database/database.ts'
import { chargeFor, feeOf } from '../kernel/fee.ts'
import { type AttemptId, newAttemptReference, newId, type PaymentId, type SavedCardId, uuidOf } from '../kernel/ids.ts'
import { type Currency, money } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import { findMerchant } from '../merchants/merchant-store.ts'
import type { Payment } from '../payments/payment.ts'
import type {
  AccountStart,
  Capabilities,
  CardStart,
  Channel,
  Declined,
  Order,
  SavedCardToken,
} from '../providers/provider.ts'
import type { Attempt, Instructions } from './attempt.ts'
import { lockBook } from './attempt-store.ts'
import { type Book, begin, type Issued, issue } from './book.ts'
import { rematchNotices } from './notice-store.ts'
import type { AttemptParts } from './parts.ts'
import { deleteCard, findCard } from './saved-card-store.ts'
import { ask, settleAttempt } from './settle-attempt.ts'
import { watchAnew } from './watch.ts'
import { writeDecision } from './write-decision.ts'

export interface Started {
  book: Book
  attempt: Attempt
}

export interface Start {
  capabilities: Capabilities
  channel: Channel
  /** Told in the transaction that puts the intent on disk. */
  onBegun?: (tx: Transaction, id: AttemptId) => Promise<void>
}

/** Thrown when the provider gave nothing to go on with. The attempt says what became of it. */
export class NotStarted extends Problem {}

/** A payment's next try: the intent on disk, then the provider's word, then that on disk. */
export async function startAttempt(parts: AttemptParts, paymentId: PaymentId, start: Start): Promise<Started> {
  const { capabilities } = start
  const begun = await intend(parts, paymentId, start)
  const answer = await callProvider(parts, begun)
  switch (answer.kind) {
    case 'link':
    case 'account':
      return keepInstructions(parts, begun.attempt, answer)
    case 'declined':
      await settleAttempt(parts, begun.attempt, { outcome: answer, source: 'start' })
      throw new NotStarted('provider_error', `${capabilities.name} refused: ${answer.failure.message}`, {
        extra: { attempt: begun.attempt.reference },
      })
    case 'unknown': {
      if (answer.neverSent) {
        await settleAttempt(parts, begun.attempt, { outcome: neverBegan(answer.because), source: 'start' })
        throw new NotStarted(
          'provider_error',
          `${capabilities.name} cannot be reached right now. Nothing was started; try again shortly.`,
          {
            extra: { attempt: begun.attempt.reference },
            retryAfterSeconds: 10,
          },
        )
      }
      throw new NotStarted(
        'provider_timeout',
        `${capabilities.name} did not answer clearly, so nobody knows yet whether attempt ${begun.attempt.reference} was started. We keep asking; read the payment to see.`,
        { extra: { attempt: begun.attempt.reference }, retryAfterSeconds: 10 },
      )
    }
  }
}

/** All that the call needs, read before anything is on disk: what fails here has begun nothing. */
interface Intent {
  attempt: Attempt
  order: Order
  saved: { id: SavedCardId; token: SavedCardToken } | undefined
}

function intend(parts: AttemptParts, paymentId: PaymentId, { capabilities, channel, onBegun }: Start): Promise<Intent> {
  return parts.database.transaction(async (tx) => {
    const before = await lockBook(tx, paymentId)
    const { payment } = before
    const begun = newAttempt(before, capabilities, channel, parts.clock.now())
    const decision = begin(before, begun)
    const merchant = await findMerchant(tx, payment.merchantId)
    const saved =
      channel === 'card' ? await findCard(tx, parts.secrets, payment, capabilities.name, payment.user.email) : undefined
    await writeDecision(tx, parts, before, decision)
    await onBegun?.(tx, begun.id)
    const attempt = decision.book.attempts.at(-1) as Attempt
    return { attempt, saved, order: orderOf(parts, payment, attempt, capabilities, merchant?.name ?? '') }
  })
}

function newAttempt({ payment, attempts }: Book, capabilities: Capabilities, channel: Channel, now: Date): Attempt {
  const id = newId('attempt', now)
  const orderReference = uuidOf(id).replaceAll('-', '')
  return {
    id,
    paymentId: payment.id,
    merchantId: payment.merchantId,
    mode: payment.mode,
    number: attempts.length + 1,
    reference: newAttemptReference(payment.reference),
    provider: capabilities.name,
    channel,
    status: 'processing',
    currency: payment.currency,
    ...priceOf(payment, capabilities, channel),
    amountReceived: 0,
    amountReturned: 0,
    amountRefunded: 0,
    orderReference,
    providerReference: orderReference,
    failure: null,
    failedTryId: null,
    instructions: null,
    instructionsExpireAt: null,
    saidPaid: false,
    needsReview: null,
    createdAt: now,
    resolvedAt: null,
    watch: watchAnew(now),
  }
}

/** What the customer is charged, and what the provider keeps of it. */
export function priceOf(
  { amount, currency, customerBearsCharge }: Pick<Payment, 'amount' | 'currency' | 'customerBearsCharge'>,
  capabilities: Capabilities,
  channel: Channel,
): { amountCharged: number; fee: number } {
  const schedule = capabilities.fees[channel][currency]
  if (!schedule) return { amountCharged: amount, fee: 0 }
  const amountCharged = customerBearsCharge ? chargeFor(schedule, amount) : amount
  const { min, max } = capabilities.limits[currency] ?? { min: 1, max: Number.MAX_SAFE_INTEGER }
  if (amountCharged < min || amountCharged > max) {
    throw new Problem(
      'amount_out_of_range',
      `${capabilities.name} takes ${min} to ${max} ${currency} (in the lowest denomination) at once; this would be ${amountCharged}.`,
    )
  }
  return { amountCharged, fee: feeOf(schedule, amountCharged) }
}

async function callProvider(parts: AttemptParts, { attempt, order, saved }: Intent): Promise<CardStart | AccountStart> {
  if (attempt.channel === 'virtual-bank-account') {
    return ask(parts, attempt, 'open account', (provider) => provider.openAccount(order))
  }
  const answer = await ask(parts, attempt, 'start card', (provider) => provider.startCard(order, saved?.token))
  if (saved && answer.kind === 'declined' && answer.failure.code === 'invalid_token') {
    // The provider forgot that card, so we do too. Nothing was started; the page can ask for another.
    await deleteCard(parts.database, attempt, saved.id)
    return ask(parts, attempt, 'start card', (provider) => provider.startCard(order))
  }
  return answer
}

function orderOf(
  { links }: AttemptParts,
  payment: Payment,
  attempt: Attempt,
  capabilities: Capabilities,
  merchantName: string,
): Order {
  const openUntil = attempt.createdAt.getTime() + capabilities.accountLifetimeSeconds * 1_000
  const isAccount = attempt.channel === 'virtual-bank-account'
  return {
    reference: attempt.orderReference,
    amount: money(attempt.amountCharged, attempt.currency as Currency),
    country: payment.country,
    customer: payment.user,
    merchantName,
    returnURL: links.comeBack(attempt.id),
    // Whoever pays before it closes has paid in time.
    expiresAt: isAccount ? new Date(Math.min(openUntil, payment.expiresAt.getTime())) : payment.expiresAt,
  }
}

type Ready = Extract<CardStart, { kind: 'link' }> | Extract<AccountStart, { kind: 'account' }>

function keepInstructions(parts: AttemptParts, attempt: Attempt, answer: Ready): Promise<Started> {
  return parts.database.transaction(async (tx) => {
    const before = await lockBook(tx, attempt.paymentId)
    const merchant = await findMerchant(tx, attempt.merchantId)
    const decision = issue(before, attempt.id, issuedBy(answer, merchant?.name ?? ''), parts.clock.now())
    await writeDecision(tx, parts, before, decision)
    // A provider with a name of its own for the order may have used it before we knew it.
    if (answer.providerReference !== attempt.orderReference) {
      await rematchNotices(tx, attempt, attempt.provider, answer.providerReference)
    }
    const after = decision.book.attempts.find(({ id }: { id: AttemptId }) => id === attempt.id) as Attempt
    return { book: decision.book, attempt: after }
  })
}

function issuedBy(answer: Ready, merchantName: string): Issued {
  const instructions: Instructions =
    answer.kind === 'link'
      ? { kind: 'link', link: answer.link, publicKey: answer.publicKey }
      : {
          kind: 'account',
          accountName: answer.accountName ?? merchantName,
          accountNumber: answer.accountNumber,
          bankName: answer.bankName,
          amountToTransfer: answer.amountToTransfer,
        }
  return { instructions, instructionsExpireAt: answer.expiresAt, providerReference: answer.providerReference }
}

function neverBegan(because: string): Declined {
  const failure = {
    code: 'provider_unavailable',
    message: 'The provider cannot be reached right now. Nothing was charged.',
    providerCode: because,
  } as const
  return { kind: 'declined', failure, tryId: null }
}
