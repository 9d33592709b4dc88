import type { Channel } from '../../kernel/channel.ts'
import type { SavedCardId } from '../../kernel/ids.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import type { FailureCode } from '../../providers/provider.ts'

/** The words of the page's address for what merchants call channels. */
export type MethodName = 'card' | 'bank'

export const CHANNEL: Record<MethodName, Channel> = { card: 'card', bank: 'virtual-bank-account' }

export function methodOf(channel: Channel): MethodName {
  return channel === 'card' ? 'card' : 'bank'
}

/** A way to pay, and what it would cost the customer. */
export interface Method {
  name: MethodName
  amountCharged: number
}

export interface CardChoice {
  id: SavedCardId
  brand: string
  last4: string
}

/** What may be on offer, for a payment that is still open. */
export interface Offer {
  methods: Method[]
  cards: CardChoice[]
  /** We ask whether to keep a new card, for the provider's page does not. */
  asksToSave: boolean
}

/** What whoever looks at the page asked to see. It changes what is shown, never what is so. */
export interface Wish {
  method: MethodName | undefined
  /** They say that the transfer is on its way. */
  sent: boolean
  /** They have been here while it was open, so its success is news. */
  following: boolean
}

export interface AccountDetails {
  bankName: string
  accountNumber: string
  accountName: string
  amountToTransfer: number
  received: number
  expiresAt: Date
}

/** What is to be shown: one of these, by what the database says and nothing else. */
export type Screen =
  | { state: 'choose'; chosen: Method; offer: Offer }
  /** The provider has been called and has not answered yet. */
  | { state: 'processing' }
  /** The provider's own page is where it goes on. */
  | { state: 'provider'; provider: string; link: string; offer: Offer }
  | { state: 'awaiting'; account: AccountDetails; offer: Offer }
  | { state: 'checking'; account: AccountDetails; offer: Offer }
  | { state: 'partial'; account: AccountDetails; offer: Offer }
  | {
      state: 'failed'
      failure: FailureCode
      method: MethodName
      failures: number
      /** Nothing of this try is with the provider, so we may say so. */
      notCharged: boolean
      /** They agreed that the card be kept, and need not say so again. */
      saveCard: boolean
      offer: Offer
    }
  /** Nobody knows yet whether money has moved. */
  | { state: 'confirming' }
  | { state: 'succeeded' | 'already_paid'; paid: number; excess: number; refunded: number; at: Date }
  | { state: 'cancelled' }
  | { state: 'expired' }
  | { state: 'account_expired'; offer: Offer }
  /** Still open, but nothing that is set up can take it. */
  | { state: 'unpayable' }

export type State = Screen['state']

/** How long a call to a provider may look like work in progress. After that we say that we do not know. */
export const PROCESSING_MS = 90_000

export function screenOf({ payment, attempts }: PaymentState, offer: Offer, wish: Wish, now: Date): Screen {
  switch (payment.status) {
    case 'successful': {
      const state = wish.following ? 'succeeded' : 'already_paid'
      const { amountPaid: paid, amountRefunded: refunded, completedAt, createdAt } = payment
      return { state, paid, excess: excessOf(attempts, refunded), refunded, at: completedAt ?? createdAt }
    }
    case 'cancelled':
      return { state: 'cancelled' }
    case 'expired':
      return { state: 'expired' }
    case 'pending':
      return openScreen({ payment, attempts }, offer, wish, now)
  }
}

/** Money that a transfer brought beyond the amount due, until it is refunded. */
function excessOf(attempts: Attempt[], refunded: number): number {
  const paid = attempts.find(({ status }) => status === 'successful')
  return paid ? Math.max(0, paid.amountReceived - paid.amountReturned - paid.amountCharged - refunded) : 0
}

function openScreen({ payment, attempts }: PaymentState, offer: Offer, wish: Wish, now: Date): Screen {
  const underWay = attempts.find(({ status }) => status === 'processing')
  if (underWay) {
    // Once the customer has been given something to pay with, only they and the provider know what became of it.
    const called = underWay.instructions === null && now.getTime() - underWay.askedAt.getTime() < PROCESSING_MS
    return { state: called ? 'processing' : 'confirming' }
  }
  if (payment.expiresAt <= now) return { state: 'expired' }

  const last = attempts.findLast(({ status }) => status === 'pending' || status === 'failed')
  const asked = wish.method && offer.methods.find(({ name }) => name === wish.method)
  if (!asked && last?.status === 'pending') {
    const shown = instructionsScreen(last, offer, wish, now)
    if (shown) return shown
  }
  if (!asked && last?.status === 'failed' && last.failure && last.failure.code !== 'customer_cancelled') {
    const failures = attempts.filter(({ status, channel }) => status === 'failed' && channel === last.channel).length
    // Money that was taken and given back is told by the reason itself.
    const notCharged = last.amountReceived === last.amountReturned && last.failure.code !== 'reversed'
    const { saveCard } = last
    const method = methodOf(last.channel)
    return { state: 'failed', failure: last.failure.code, method, failures, notCharged, saveCard, offer }
  }
  const chosen = asked ?? offer.methods[0]
  return chosen ? { state: 'choose', chosen, offer } : { state: 'unpayable' }
}

function instructionsScreen(attempt: Attempt, offer: Offer, wish: Wish, now: Date): Screen | undefined {
  const { instructions, instructionsExpireAt, provider } = attempt
  const received = attempt.amountReceived - attempt.amountReturned
  // What waits for the customer's yes is asked for among the other ways to pay.
  if (!instructions || instructions.kind === 'confirm') return undefined
  const isOver = instructionsExpireAt !== null && instructionsExpireAt <= now
  if (instructions.kind !== 'account') {
    return isOver ? undefined : { state: 'provider', provider, link: instructions.link, offer }
  }
  if (isOver && received === 0) return { state: 'account_expired', offer }
  const { bankName, accountNumber, accountName, amountToTransfer } = instructions
  const account: AccountDetails = {
    bankName,
    accountNumber,
    accountName,
    amountToTransfer,
    received,
    expiresAt: instructionsExpireAt ?? now,
  }
  const state = received > 0 ? 'partial' : wish.sent ? 'checking' : 'awaiting'
  return { state, account, offer }
}
