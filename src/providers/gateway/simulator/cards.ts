import type { FailureCode } from '../../provider.ts'

/** How a card acts when it is charged. Kept with a saved card in place of its number. */
export type Behaviour = 'pays' | 'asks_for_code' | 'stays_silent' | FailureCode

/** A card as far as we remember it: never its number. */
export interface Card {
  behaviour: Behaviour
  brand: string
  last4: string
  expiryMonth: number
  expiryYear: number
}

export type ChargeOutcome =
  | { kind: 'paid' }
  /** Charged, but neither an answer nor a notice says so for a while. */
  | { kind: 'silent' }
  | { kind: 'code_required' }
  | { kind: 'failed'; code: FailureCode }

export const RIGHT_CODE = '123456'

export const TEST_CARDS: readonly { number: string; brand: string; behaviour: Behaviour; says: string }[] = [
  { number: '4084 0840 8408 4081', brand: 'Visa', behaviour: 'pays', says: 'Pays' },
  { number: '5060 6666 6666 6666 666', brand: 'Verve', behaviour: 'asks_for_code', says: `Asks for ${RIGHT_CODE}` },
  { number: '4000 0000 0000 9995', brand: 'Visa', behaviour: 'insufficient_funds', says: 'Insufficient funds' },
  { number: '4000 0000 0000 0002', brand: 'Visa', behaviour: 'card_declined', says: 'Declined' },
  { number: '4000 0000 0000 0069', brand: 'Visa', behaviour: 'card_expired', says: 'Expired card' },
  { number: '4000 0000 0000 0119', brand: 'Visa', behaviour: 'stays_silent', says: 'Charged, answer lost' },
]

const KNOWN = new Map(TEST_CARDS.map((card) => [digitsOf(card.number), card]))

/**
 * The digits of a card number as people write it, or undefined when it cannot be one: a digit is missing, wrong or
 * swapped.
 */
export function parseCardNumber(text: string): string | undefined {
  const digits = digitsOf(text)
  return /^[0-9]{12,19}$/.test(digits) && addsUp(digits) ? digits : undefined
}

/** The check digit, by Luhn: from the right every second digit counts twice, with its digits added. */
function addsUp(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

/** What we keep of a card. A number that is no test card is of a kind that we do not take. */
export function cardOf(digits: string, expiry: { month: number; year: number }): Card {
  const known = KNOWN.get(digits)
  return {
    behaviour: known?.behaviour ?? 'card_not_supported',
    brand: known?.brand ?? 'Card',
    last4: digits.slice(-4),
    expiryMonth: expiry.month,
    expiryYear: expiry.year,
  }
}

export function outcomeOf(behaviour: Behaviour, code?: string): ChargeOutcome {
  switch (behaviour) {
    case 'pays':
      return { kind: 'paid' }
    case 'stays_silent':
      return { kind: 'silent' }
    case 'asks_for_code':
      if (code === undefined) return { kind: 'code_required' }
      return code.replaceAll(' ', '') === RIGHT_CODE ? { kind: 'paid' } : { kind: 'failed', code: 'incorrect_otp' }
    default:
      return { kind: 'failed', code: behaviour }
  }
}

function digitsOf(text: string): string {
  return text.replaceAll(/[\s-]/g, '')
}
