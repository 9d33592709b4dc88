import { CHANNEL_FACTS, CHANNELS } from '../../../src/kernel/channel.ts'
import { isMobileNetwork, MOBILE_NETWORKS } from '../../../src/kernel/mobile-networks.ts'
import type { Attempt, AttemptStatus, PaymentStatus } from '../payment-answers.ts'
import { Status, type Tone } from './status.tsx'

interface Shown {
  status: PaymentStatus
  late: boolean
  needsReview: boolean
  amountPaid: number
  amountRefunded: number
  lastStatus: AttemptStatus | null
  /** What stands above the state, where all of the payment is known. */
  above?: [Tone, string] | undefined
}

/** The state of a payment in one word: what its merchant has to know first. */
export function PaymentStatusMark(payment: Shown) {
  const [tone, word] = payment.above ?? stateOf(payment)
  return <Status tone={tone}>{word}</Status>
}

function stateOf({ status, late, needsReview, amountPaid, amountRefunded, lastStatus }: Shown): [Tone, string] {
  if (needsReview) return ['attention', 'Needs review']
  if (amountPaid > 0 && amountRefunded >= amountPaid) return ['neutral', 'Refunded']
  if (amountRefunded > 0) return ['neutral', 'Partly refunded']
  if (status === 'successful') return late ? ['attention', 'Paid late'] : ['good', 'Paid']
  if (status === 'cancelled') return ['neutral', 'Cancelled']
  if (status === 'expired') return ['neutral', 'Expired']
  if (amountPaid > 0) return ['attention', 'Partly paid']
  if (lastStatus === 'processing') return ['waiting', 'Processing']
  if (lastStatus === 'failed') return ['bad', 'Failed, still open']
  return ['waiting', 'Open']
}

const ATTEMPTS: Record<AttemptStatus, [Tone, string]> = {
  pending: ['waiting', 'Waiting for the customer'],
  processing: ['waiting', 'Processing'],
  successful: ['good', 'Paid'],
  failed: ['bad', 'Failed'],
  abandoned: ['neutral', 'Abandoned'],
  surplus: ['attention', 'Paid twice, refunded'],
}

export function AttemptStatusMark({ status }: { status: AttemptStatus }) {
  const [tone, word] = ATTEMPTS[status]
  return <Status tone={tone}>{word}</Status>
}

const REFUNDS: Record<string, [Tone, string]> = {
  pending: ['waiting', 'Pending'],
  successful: ['good', 'Refunded'],
  failed: ['bad', 'Failed'],
}

export function RefundStatusMark({ status, needsReview }: { status: string; needsReview: string | null }) {
  const [tone, word] = needsReview ? (['attention', 'Needs review'] as const) : (REFUNDS[status] ?? ['neutral', status])
  return <Status tone={tone}>{word}</Status>
}

const PROVIDERS: Record<string, string> = {
  gateway: 'Sandbox provider',
  paystack: 'Paystack',
  flutterwave: 'Flutterwave',
  monnify: 'Monnify',
  stripe: 'Stripe',
  mpesa: 'M-PESA Daraja',
}
export const PROVIDER_OPTIONS = Object.entries(PROVIDERS)

export function providerName(name: string): string {
  return PROVIDERS[name] ?? name
}

export const CHANNEL_OPTIONS: [string, string][] = CHANNELS.map((channel) => [channel, CHANNEL_FACTS[channel].title])
const CHANNEL_NAMES = Object.fromEntries(CHANNEL_OPTIONS)

export function channelName(channel: string): string {
  return CHANNEL_NAMES[channel] ?? channel
}

/** What the customer gave: "MTN MoMo, +233•••••4987". */
export function paidFromText({ phoneNumber, network, bank }: NonNullable<Attempt['paidFrom']>): string {
  const name = network && isMobileNetwork(network) ? MOBILE_NETWORKS[network] : network
  return [name, phoneNumber, bank && `bank ${bank}`].filter(Boolean).join(', ')
}

/** `amount_mismatch: money came …` without the code; a code alone in words. */
export function withoutCode(reason: string): string {
  return /^[a-z_]+$/.test(reason) ? inWords(reason) : reason.replace(/^[a-z_]+: /, '')
}

/** `insufficient_funds` is "Insufficient funds". */
export function inWords(code: string): string {
  const text = code.replaceAll(/[_.]/g, ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
