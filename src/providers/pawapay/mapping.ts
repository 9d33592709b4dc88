import { createHash } from 'node:crypto'
import type { MobileNetwork } from '../../kernel/mobile-networks.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import type { AccountOffers, Offer } from '../capabilities.ts'
import { failureOf } from '../failure.ts'
import { type Declined, type FailureCode, type Outcome, type RefundOutcome, unknown } from '../provider.ts'
import { FEE, PROMPT_SECONDS } from './capabilities.ts'
import { type ActiveConf, isUuid, type Moved, type Operator, type Steps } from './wire.ts'

/** Pure: pawaPay's ids, statuses and codes to ours. */

/**
 * They want a UUID v4 of ours. It follows from our reference, which is stored before the call, so it can be told again
 * at any time. A reference that is such an id already is the one of a deposit.
 */
export function uuidOf(reference: string): string {
  if (isUuid(reference)) return reference.toLowerCase()
  const bytes = createHash('sha256').update(`pawapay ${reference}`).digest()
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/** Our reference, where the id of the deposit follows from it; else the deposit, which may be of another shop. */
export const referenceOf = ({ clientReferenceId: ours, id }: Moved): string =>
  ours !== null && uuidOf(ours) === id ? ours : id

/** A customer who has not answered by then will not: it is in the operator's hands. Their own advice is 15 minutes. */
const CUSTOMER_ACTS_FOR_MS = 15 * 60_000

/** `now`: of the answer. A deposit brings money once and whole, and they identify it by the id that we gave it. */
export function outcomeOf(moved: Moved, now: Date): Outcome {
  const { id, status, amount, created, failureCode, receiptNumber } = moved
  switch (status) {
    case 'COMPLETED': {
      const receipt = { transactionId: id, idIsProviders: true as const, amount, at: created }
      return { kind: 'paid', receipts: [{ ...receipt, ...(receiptNumber && { receiptNumber }) }] }
    }
    case 'FAILED':
      return declined(failureCode ?? 'UNSPECIFIED_FAILURE')
    case 'ACCEPTED':
    case 'SUBMITTED':
    case 'ENQUEUED':
    case 'PROCESSING':
      return now.getTime() - created.getTime() < CUSTOMER_ACTS_FOR_MS
        ? { kind: 'pending', receipts: [] }
        : { kind: 'processing' }
    // The operator did not say clearly what became of it. They find out, in an unknown time.
    case 'IN_RECONCILIATION':
      return { kind: 'processing' }
    default:
      return unknown('an undocumented status')
  }
}

export function refundOutcomeOf({ id, status, failureCode }: Moved): RefundOutcome {
  switch (status) {
    case 'COMPLETED':
      return { kind: 'refunded', refundId: id }
    case 'FAILED':
      return { kind: 'refused', because: failureCode ?? 'UNSPECIFIED_FAILURE' }
    case 'ACCEPTED':
    case 'ENQUEUED':
    case 'SUBMITTED':
    case 'PROCESSING':
    case 'IN_RECONCILIATION':
      return { kind: 'pending', refundId: id }
    default:
      return unknown('an undocumented status')
  }
}

/** It was not accepted now, and can be later: the same request is sent again. */
export const REFUSED_FOR_NOW: ReadonlySet<string> = new Set([
  'REFUND_IN_PROGRESS',
  'PROVIDER_TEMPORARILY_UNAVAILABLE',
  'UNKNOWN_ERROR',
])

const FAILURES: Record<string, FailureCode> = {
  PAYER_NOT_FOUND: 'subscriber_unknown',
  INVALID_PHONE_NUMBER: 'subscriber_unknown',
  PAYMENT_NOT_APPROVED: 'customer_cancelled',
  PAYER_LIMIT_REACHED: 'limit_exceeded',
  AMOUNT_OUT_OF_BOUNDS: 'limit_exceeded',
  INSUFFICIENT_BALANCE: 'insufficient_funds',
  PROVIDER_TEMPORARILY_UNAVAILABLE: 'provider_unavailable',
  // Another prompt is open on this phone.
  PAYMENT_IN_PROGRESS: 'other',
  UNSPECIFIED_FAILURE: 'other',
  UNKNOWN_ERROR: 'other',
}
const BY_PAYER = new Set(Object.keys(FAILURES))

/** Codes that are not about the payer are about our request or about the merchant's account. */
export function declined(code: string): Declined {
  const ours: FailureCode = (BY_PAYER.has(code) ? FAILURES[code] : undefined) ?? 'provider_error'
  return { kind: 'declined', failure: failureOf(ours, code), tryId: null }
}

/** What they call an operator, without the country. */
const NETWORKS: Record<string, MobileNetwork> = {
  MTN_MOMO: 'mtn',
  AIRTEL: 'airtel',
  AIRTEL_OAPI: 'airtel',
  AIRTELTIGO: 'at',
  AT: 'at',
  FREE: 'free',
  HALOTEL: 'halopesa',
  MOOV: 'moov',
  MPESA: 'mpesa',
  ORANGE: 'orange',
  TELECEL: 'telecel',
  TIGO: 'tigo',
  TNM: 'tnm',
  VODACOM: 'vodacom',
  VODACOM_MPESA: 'vodacom',
  VODAFONE: 'telecel',
  WAVE: 'wave',
  ZAMTEL: 'zamtel',
}

export function networkOf({ provider }: Pick<Operator, 'provider'>): MobileNetwork | undefined {
  const family = provider.replace(/_[A-Z]{3}$/, '')
  return Object.hasOwn(NETWORKS, family) ? NETWORKS[family] : undefined
}

/** Where an account has two operators under one name, the one that takes payments. */
export function findOperator(
  { operators }: ActiveConf,
  wanted: { country: string; currency: string; network: MobileNetwork | undefined },
): Operator | undefined {
  const found = operators.filter(
    (each) =>
      each.country === wanted.country && each.currency === wanted.currency && networkOf(each) === wanted.network,
  )
  return found.find(({ isOpen }) => isOpen) ?? found[0]
}

/** Why this operator will refuse the amount, as they would say it. */
export function whyNot(
  { isOpen, min, max, takesFractions }: Operator,
  amount: number,
  places: number,
): string | undefined {
  if (!isOpen) return 'PROVIDER_TEMPORARILY_UNAVAILABLE'
  if (amount < min || amount > max) return 'AMOUNT_OUT_OF_BOUNDS'
  return takesFractions || amount % 10 ** places === 0 ? undefined : 'INVALID_AMOUNT'
}

export function offersOf({ operators }: ActiveConf): AccountOffers {
  const offers: Record<
    string,
    Offer & Required<Pick<Offer, 'networks' | 'limits' | 'codeBeforehand' | 'closed' | 'wholeUnits'>>
  > = {}
  for (const operator of operators) {
    const { country, currency, min, max } = operator
    const network = networkOf(operator)
    if (!network) continue
    offers[currency] ??= {
      ...{ fee: FEE, lifetimeSeconds: PROMPT_SECONDS, networks: {}, codeBeforehand: {}, closed: {}, wholeUnits: {} },
      limits: { min, max },
    }
    const offer = offers[currency]
    // Of all its operators. The bounds of one of them are checked before its deposit is made.
    offer.limits = { min: Math.min(offer.limits.min, min), max: Math.min(Math.max(offer.limits.max, max), MAX_AMOUNT) }
    add(offer.networks, country, network)
    if (operator.authType === 'PREAUTH') {
      add(offer.codeBeforehand, country, network)
      const help = inWords(operator.codeSteps, country)
      if (help) offer.codeHelp = { ...offer.codeHelp, [country]: help }
    }
    const used = findOperator({ operators, signsCallbacks: false }, { country, currency, network })
    if (!used?.isOpen) add(offer.closed, country, network)
    if (!used?.takesFractions) add(offer.wholeUnits, country, network)
  }
  const currencies = Object.keys(offers)
  const countries = [...new Set(Object.values(offers).flatMap(({ networks }) => Object.keys(networks)))]
  return { offers: { 'mobile-money': offers }, countries, currencies }
}

function add(lists: Record<string, readonly MobileNetwork[]>, country: string, network: MobileNetwork): void {
  const list = lists[country] ?? []
  if (!list.includes(network)) lists[country] = [...list, network]
}

/** Where people read French. They write their instructions in English and French. */
const FRENCH: ReadonlySet<string> = new Set(['BF', 'BJ', 'CD', 'CG', 'CI', 'CM', 'GA', 'SN'])

export const inWords = ({ en, fr }: Steps, country: string): string | null =>
  FRENCH.has(country) ? (fr ?? en) : (en ?? fr)
