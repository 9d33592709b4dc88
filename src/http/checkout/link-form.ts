import { decimalsOf, type Money, money, parseAmount } from '../../kernel/money.ts'
import type { LinkForm } from '../../payments/start/pay-link.ts'
import { amountLimits, type PaymentLink } from '../../payments/state/payment-link.ts'
import { FORMATS } from '../contract/formats.ts'

/** As the customer typed them. A field that the link does not collect is empty. */
export type LinkValues = Record<FieldName, string>
export type FieldName = 'amount' | 'email' | 'name' | 'phoneNumber' | 'answer'

export interface FieldMistake {
  field: FieldName
  why: 'missing' | 'email' | 'text' | 'amount' | 'too_low' | 'too_high'
  /** The amount that the message names. */
  limit?: Money
}

export const EMPTY: LinkValues = { amount: '', email: '', name: '', phoneNumber: '', answer: '' }

const MAX_LENGTH: Record<FieldName, number> = {
  amount: 24,
  email: 254,
  name: 100,
  phoneNumber: 32,
  answer: 200,
}
const HUNDRED = 100

export function valuesIn(form: URLSearchParams): LinkValues {
  const value = (name: FieldName) => (form.get(name) ?? '').trim().normalize('NFC').slice(0, 500)
  return {
    amount: value('amount'),
    email: value('email'),
    name: value('name'),
    phoneNumber: value('phoneNumber'),
    answer: value('answer'),
  }
}

/** The same rules as for a checkout. Everything that the link collects is required. */
export function readLinkForm(
  link: PaymentLink,
  values: LinkValues,
): { form: Omit<LinkForm, 'key'> | undefined; mistakes: FieldMistake[] } {
  const mistakes: FieldMistake[] = []
  const amount = link.amount ?? chosenAmount(link, values.amount, mistakes)
  const text = (field: FieldName, isCollected: boolean) => {
    if (!isCollected) return null
    const value = values[field]
    if (value === '') mistakes.push({ field, why: 'missing' })
    else if (field === 'email' && !FORMATS['e-mail']?.test(value)) mistakes.push({ field, why: 'email' })
    else if (value.length > MAX_LENGTH[field] || !FORMATS['plain-text']?.test(value))
      mistakes.push({ field, why: 'text' })
    return value
  }
  const email = text('email', true) ?? ''
  const name = text('name', link.collectName)
  const phoneNumber = text('phoneNumber', link.collectPhoneNumber)
  const answer = text('answer', link.customField !== null)
  if (mistakes.length > 0 || amount === undefined) return { form: undefined, mistakes }
  return { form: { amount, user: { email, name, phoneNumber }, answer }, mistakes }
}

function chosenAmount(link: PaymentLink, text: string, mistakes: FieldMistake[]): number | undefined {
  const { currency } = link
  const { lowest, highest } = amountLimits(link)
  const amount = parseAmount(text, currency)
  const refuse = (why: FieldMistake['why'], limit?: number) => {
    mistakes.push({ field: 'amount', why, ...(limit !== undefined && { limit: money(limit, currency) }) })
    return undefined
  }
  if (text === '') return refuse('missing')
  const example = Math.min(Math.max(lowest, HUNDRED * 10 ** decimalsOf(currency)), highest)
  if (amount === undefined) return refuse('amount', example)
  if (amount < lowest) return refuse('too_low', lowest)
  if (amount > highest) return refuse('too_high', highest)
  return amount
}
