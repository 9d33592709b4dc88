import type { Country } from '../../kernel/country.ts'
import type { LinkId, MerchantId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, MAX_AMOUNT } from '../../kernel/money.ts'
import type { Place } from '../../kernel/place.ts'
import type { Mistake } from '../../kernel/problem.ts'

/** What a merchant decides about a reusable link. */
export interface LinkTerms {
  title: string
  description: string | null
  /** Null: the customer chooses, within the limits. */
  amount: number | null
  minAmount: number | null
  maxAmount: number | null
  currency: Currency
  country: Country
  customerBearsCharge: boolean
  collectName: boolean
  collectPhoneNumber: boolean
  /** The label of one more field. Its answer becomes metadata of the payment, under this name. */
  customField: string | null
  /** Null: any number. */
  maxPayments: number | null
  active: boolean
  redirectURL: string | null
  metadata: Record<string, string>
}

/** A reusable payment link: a page that asks for what it collects and makes an ordinary payment. */
export interface PaymentLink extends LinkTerms {
  id: LinkId
  place: Place
  merchantId: MerchantId
  mode: Mode
  code: string
  createdAt: Date
  expiresAt: Date | null
  /** By the clock of the database, when it was read. */
  secondsLeft: number | null
  /** Successful payments, counted up to MAX_COUNTED. */
  timesPaid: number
}

export const MAX_COUNTED = 1_000
/** Of one merchant in one mode. */
export const MAX_LINKS = 10_000
const MAX_METADATA_KEYS = 50

export const LINK_STATUSES = ['active', 'inactive', 'expired', 'used_up'] as const
export type LinkStatus = (typeof LINK_STATUSES)[number]

export function linkStatus({ active, secondsLeft, maxPayments, timesPaid }: PaymentLink): LinkStatus {
  if (maxPayments !== null && timesPaid >= maxPayments) return 'used_up'
  if (secondsLeft !== null && secondsLeft <= 0) return 'expired'
  return active ? 'active' : 'inactive'
}

/** Terms that contradict each other. The schema has checked each of them alone. */
export function linkMistakes(terms: LinkTerms): Mistake[] {
  const { amount, minAmount, maxAmount, customField, metadata } = terms
  const mistakes: Mistake[] = []
  const refuse = (field: string, message: string) =>
    mistakes.push({ pointer: `/${field}`, code: 'invalid_value', message })
  if (amount !== null && (minAmount !== null || maxAmount !== null))
    refuse('amount', 'amount is for a fixed amount. Leave it out to let the customer choose between the limits.')
  if (minAmount !== null && maxAmount !== null && minAmount > maxAmount)
    refuse('maxAmount', 'maxAmount must not be less than minAmount.')
  if (customField !== null && Object.hasOwn(metadata, customField))
    refuse('customField', 'metadata has a key with this name. The answer of the customer would replace it.')
  if (customField !== null && Object.keys(metadata).length >= MAX_METADATA_KEYS)
    refuse('metadata', `metadata must have at most ${MAX_METADATA_KEYS - 1} keys beside a customField.`)
  return mistakes
}

/** The amounts that a customer may choose. */
export function amountLimits({ minAmount, maxAmount }: LinkTerms): { lowest: number; highest: number } {
  return { lowest: minAmount ?? 1, highest: maxAmount ?? MAX_AMOUNT }
}
