import { CHANNEL_FACTS, type Channel } from '../../kernel/channel.ts'
import type { SavedCardId } from '../../kernel/ids.ts'
import type { MobileNetwork } from '../../kernel/mobile-networks.ts'
import { type Attempt, type Instructions, phoneMayAsk, type StoredInput } from '../../payments/state/attempt.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import type { FailureCode } from '../../providers/provider.ts'

/** The channels in the URLs and forms of the page. */
export const IN_URL: Record<Channel, string> = {
  card: 'card',
  'virtual-bank-account': 'transfer',
  'mobile-money': 'mobile',
  ussd: 'ussd',
  bank: 'bank',
  qr: 'qr',
}

/** A payment method, its price for the customer, and what its form asks for. */
export interface Method {
  channel: Channel
  amountCharged: number
  networks?: readonly MobileNetwork[]
  /** Of those networks: the customer makes a code on the phone first. */
  codeBeforehand?: readonly MobileNetwork[]
  /** How that code is made, in the provider's own words. */
  codeHelp?: string
  /** Of them: those that cannot be used at the moment. */
  closed?: readonly MobileNetwork[]
  banks?: readonly { code: string; name: string }[]
}

export interface CardChoice {
  id: SavedCardId
  brand: string
  last4: string
}

/** Payment methods and saved cards of a pending payment. */
export interface MethodChoices {
  methods: Method[]
  cards: CardChoice[]
  /** Our page asks whether to save the card, because the provider's page does not. */
  asksToSave: boolean
}

/** The visitor's input from the query. It selects a view and never changes the payment. */
export interface VisitorInput {
  channel: Channel | undefined
  /** The customer said that the transfer was sent. */
  sent: boolean
  /** The page was open before the success, so the success is shown as news. */
  following: boolean
}

export interface AccountDetails {
  bankName: string
  accountNumber: string
  accountName: string
  amountToTransfer: number
  received: number
  expiresAt: Date
  /** Must stand in the transfer. */
  narration?: string
}

type Given<Kind extends Instructions['kind']> = Extract<Instructions, { kind: Kind }>

/** What the customer does outside the page: approves on the phone, dials, scans. */
export interface Outside {
  channel: Channel
  input: StoredInput | null
  amountCharged: number
  received: number
  expiresAt: Date | null
  choices: MethodChoices
  earlier: Earlier | undefined
}

/** A request that the customer may still approve, beside another one. */
export interface Earlier {
  kind: 'prompt' | 'other'
  phoneNumber: string | undefined
}

/** The states of the page. They depend on stored data and the clock only. */
export type Screen =
  | { state: 'choose'; chosen: Method; choices: MethodChoices; earlier: Earlier | undefined }
  /** The provider has been called and has not answered yet. */
  | { state: 'processing' }
  /** The customer continues on the provider's page. */
  | { state: 'provider'; provider: string; channel: Channel; link: string; choices: MethodChoices }
  | { state: 'awaiting'; account: AccountDetails; choices: MethodChoices }
  | { state: 'checking'; account: AccountDetails; choices: MethodChoices }
  | { state: 'partial'; account: AccountDetails; choices: MethodChoices }
  | {
      state: 'failed'
      failure: FailureCode
      channel: Channel
      failures: number
      /** The provider holds no money of this attempt, so the page may say "not charged". */
      notCharged: boolean
      /** The customer agreed to save the card, and the retry keeps that. */
      saveCard: boolean
      choices: MethodChoices
      earlier: Earlier | undefined
    }
  | ({ state: 'prompt'; given: Given<'prompt'> } & Outside)
  | ({ state: 'code'; given: Given<'code wanted'> } & Outside)
  | ({ state: 'pay_to'; given: Given<'pay to'> } & Outside)
  | ({ state: 'dial'; given: Given<'dial'> } & Outside)
  | ({ state: 'qr'; given: Given<'qr'> } & Outside)
  /**
   * The time for one of these is over, and the money can still come. `isUnsure`: time is left, and it is not known
   * whether the phone asks.
   */
  | ({ state: 'waiting'; isUnsure?: true } & Outside)
  /** The outcome at the provider is unknown. */
  | { state: 'confirming' }
  | { state: 'succeeded' | 'already_paid'; paid: number; excess: number; refunded: number; at: Date }
  /** `mayBePaid`: what was handed out can still take the customer's money. */
  | { state: 'cancelled'; mayBePaid: boolean }
  | { state: 'expired' }
  | { state: 'account_expired'; choices: MethodChoices }
  /** Pending, but no integration can take it. */
  | { state: 'unpayable' }

export type State = Screen['state']

/** How long a provider call is shown as processing; after that the state is `confirming`. */
export const PROCESSING_MS = 90_000

export function screenOf(
  { payment, attempts }: PaymentState,
  choices: MethodChoices,
  input: VisitorInput,
  now: Date,
): Screen {
  switch (payment.status) {
    case 'successful': {
      const state = input.following ? 'succeeded' : 'already_paid'
      const { amountPaid: paid, amountRefunded: refunded, completedAt, createdAt } = payment
      return { state, paid, excess: excessOf(attempts, refunded), refunded, at: completedAt ?? createdAt }
    }
    case 'cancelled':
      return { state: 'cancelled', mayBePaid: attempts.some(mayBePaid) }
    case 'expired':
      return { state: 'expired' }
    case 'pending':
      return openScreen({ payment, attempts }, choices, input, now)
  }
}

/** Money that a transfer brought beyond the amount due, until it is refunded. */
function excessOf(attempts: Attempt[], refunded: number): number {
  const paid = attempts.find(({ status }) => status === 'successful')
  return paid ? Math.max(0, paid.amountReceived - paid.amountReturned - paid.amountCharged - refunded) : 0
}

/** Money was taken, although the amounts can be equal: `amountReceived` leaves out money in another currency. */
const MONEY_MOVED: ReadonlySet<FailureCode> = new Set(['reversed', 'amount_mismatch'])

function openScreen(
  { payment, attempts }: Pick<PaymentState, 'payment' | 'attempts'>,
  choices: MethodChoices,
  input: VisitorInput,
  now: Date,
): Screen {
  const underWay = attempts.find(({ status }) => status === 'processing')
  if (underWay) {
    // With instructions issued, the outcome depends on the customer, so it is not "processing" any more.
    const called = underWay.instructions === null && now.getTime() - underWay.askedAt.getTime() < PROCESSING_MS
    return { state: called ? 'processing' : 'confirming' }
  }
  if (payment.expiresAt <= now) return { state: 'expired' }

  const last = attempts.findLast(({ status }) => status === 'pending' || status === 'failed')
  const asked = input.channel && choices.methods.find(({ channel }) => channel === input.channel)
  if (!asked && last?.status === 'pending') {
    const earlier = earlierOf(attempts.filter((each) => each !== last))
    const shown = instructionsScreen(last, { choices, earlier }, input, now)
    if (shown) return shown
  }
  const earlier = earlierOf(attempts)
  if (!asked && last?.status === 'failed' && last.failure && isShown(last.failure.code, last.channel)) {
    const failures = attempts.filter(({ status, channel }) => status === 'failed' && channel === last.channel).length
    const { saveCard, channel } = last
    const failure = last.failure.code
    const notCharged = last.amountReceived === last.amountReturned && !MONEY_MOVED.has(failure)
    return { state: 'failed', failure, channel, failures, notCharged, saveCard, choices, earlier }
  }
  const chosen = asked ?? choices.methods[0]
  return chosen ? { state: 'choose', chosen, choices, earlier } : { state: 'unpayable' }
}

/** Who left a page on purpose sees the methods again, without a reason. On the phone it may have been a mistake. */
function isShown(failure: FailureCode, channel: Channel): boolean {
  switch (channel) {
    case 'card':
    case 'virtual-bank-account':
    case 'bank':
    case 'qr':
      return failure !== 'customer_cancelled'
    case 'mobile-money':
    case 'ussd':
      return true
  }
}

function earlierOf(attempts: Attempt[]): Earlier | undefined {
  const open = attempts.findLast((attempt) => attempt.status === 'pending' && isOutside(attempt))
  if (!open) return undefined
  const isPrompt = open.instructions?.kind === 'prompt' || open.instructions?.kind === 'link'
  return { kind: isPrompt ? 'prompt' : 'other', phoneNumber: open.input?.phoneNumber }
}

function mayBePaid(attempt: Attempt): boolean {
  const { status, instructions } = attempt
  if (status === 'failed') return false
  return isOutside(attempt) || (instructions === null && phoneMayAsk(attempt))
}

/** The customer may have paid by it, and the page cannot know. */
function isOutside({ instructions, channel }: Attempt): boolean {
  switch (instructions?.kind) {
    case 'prompt':
    case 'pay to':
    case 'dial':
    case 'qr':
      return true
    case 'link':
      // Mobile money: the phone asks after the provider's page.
      return CHANNEL_FACTS[channel].asksByItself
    case 'code wanted':
    case 'confirm':
    case 'step':
    case 'account':
    case undefined:
      return false
  }
}

function methodNamed({ methods }: MethodChoices, channel: Channel): Method | undefined {
  return methods.find((method) => method.channel === channel)
}

export const cardIn = (choices: MethodChoices) => methodNamed(choices, 'card')
export const transferIn = (choices: MethodChoices) => methodNamed(choices, 'virtual-bank-account')

function instructionsScreen(
  attempt: Attempt,
  { choices, earlier }: Pick<Outside, 'choices' | 'earlier'>,
  { sent }: VisitorInput,
  now: Date,
): Screen | undefined {
  const { instructions, instructionsExpireAt, provider, channel, input, amountCharged } = attempt
  // A confirmation is shown among the payment methods.
  if (!instructions || instructions.kind === 'confirm') return undefined
  const isOver = instructionsExpireAt !== null && instructionsExpireAt <= now
  const received = attempt.amountReceived - attempt.amountReturned
  const expiresAt = instructionsExpireAt
  const outside: Outside = { channel, input, amountCharged, received, expiresAt, choices, earlier }
  switch (instructions.kind) {
    case 'link':
    case 'step':
      if (isOver) return isOutside(attempt) ? { state: 'waiting', ...outside } : undefined
      return { state: 'provider', provider, channel, link: instructions.link, choices }
    case 'account': {
      if (isOver && received === 0) return { state: 'account_expired', choices }
      const account: AccountDetails = { ...instructions, received, expiresAt: instructionsExpireAt ?? now }
      return { state: received > 0 ? 'partial' : sent ? 'checking' : 'awaiting', account, choices }
    }
    case 'prompt':
      if (isOver) return { state: 'waiting', ...outside }
      if (instructions.isUnsure) return { state: 'waiting', isUnsure: true, ...outside }
      return { state: 'prompt', given: instructions, ...outside }
    case 'pay to':
      return isOver && received === 0
        ? { state: 'waiting', ...outside }
        : { state: 'pay_to', given: instructions, ...outside }
    case 'code wanted':
      return isOver ? undefined : { state: 'code', given: instructions, ...outside }
    case 'dial':
      return isOver ? { state: 'waiting', ...outside } : { state: 'dial', given: instructions, ...outside }
    case 'qr':
      return isOver ? { state: 'waiting', ...outside } : { state: 'qr', given: instructions, ...outside }
  }
}
