/**
 * The prefixes of the countries in which customers pay by phone, and how many digits follow. `zero`: at home, numbers
 * begin with a zero that stays after the prefix, or with none. `begins`: how mobile numbers begin, where it is certain.
 */
const COUNTRIES: Record<string, { prefix: string; digits: number; zero?: 'stays' | 'none'; begins?: RegExp }> = {
  BF: { prefix: '226', digits: 8, zero: 'none' },
  BJ: { prefix: '229', digits: 10, zero: 'stays' },
  CD: { prefix: '243', digits: 9 },
  CG: { prefix: '242', digits: 9, zero: 'stays' },
  CI: { prefix: '225', digits: 10, zero: 'stays' },
  CM: { prefix: '237', digits: 9, zero: 'none' },
  ET: { prefix: '251', digits: 9 },
  GA: { prefix: '241', digits: 8 },
  GH: { prefix: '233', digits: 9, begins: /^[25]/ },
  KE: { prefix: '254', digits: 9, begins: /^[17]/ },
  LS: { prefix: '266', digits: 8, zero: 'none' },
  ML: { prefix: '223', digits: 8, zero: 'none' },
  MW: { prefix: '265', digits: 9 },
  MZ: { prefix: '258', digits: 9, zero: 'none' },
  NG: { prefix: '234', digits: 10 },
  RW: { prefix: '250', digits: 9 },
  SL: { prefix: '232', digits: 8 },
  SN: { prefix: '221', digits: 9, zero: 'none' },
  TZ: { prefix: '255', digits: 9 },
  UG: { prefix: '256', digits: 9 },
  ZA: { prefix: '27', digits: 9 },
  ZM: { prefix: '260', digits: 9 },
}

export interface PhoneNumber {
  /** +233551234987 */
  international: string
  /** Without the country's prefix and the zero before it: 551234987. In some countries the zero is part of it. */
  national: string
}

/** A mobile number as people type it: 0551234987, 055 123 4987, +233 55 123 4987. Undefined for any other text. */
export function parsePhoneNumber(text: string, country: string): PhoneNumber | undefined {
  const known = COUNTRIES[country]
  const typed = withLatinDigits(text)
    .replaceAll(/[\s().\p{Cf}\p{Pd}]/gu, '')
    .replace(/^00/, '+')
  if (!known || !/^\+?\d{7,15}$/.test(typed)) return undefined
  const { prefix, digits, zero, begins } = known
  const rest = typed.replace(/^\+/, '')
  // Longer than any number at home, so it begins with the prefix; perhaps with the zero of home after it.
  const isInternational = typed.startsWith('+') || (rest.startsWith(prefix) && rest.length >= prefix.length + digits)
  if (isInternational && !rest.startsWith(prefix)) return undefined
  const local = isInternational ? rest.slice(prefix.length) : rest
  const national = zero === 'stays' || local.length === digits ? local : local.replace(/^0/, '')
  if (national.length !== digits || begins?.test(national) === false) return undefined
  return { international: `+${prefix}${national}`, national }
}

/** Arabic-Indic digits, as keyboards in Arabic and Persian type them. */
const withLatinDigits = (text: string) =>
  text.replaceAll(/[٠-٩۰-۹]/g, (digit) => String((digit.codePointAt(0) ?? 0) & 0xf))

/** Whether numbers begin with a zero when they are dialled at home. */
export const beginsWithZero = (country: string): boolean => COUNTRIES[country]?.zero !== 'none'

/** The prefix of a country's numbers: "+233". */
export const dialPrefix = (country: string): string | undefined => {
  const known = COUNTRIES[country]
  return known && `+${known.prefix}`
}

/** For screens and answers: +233•••••4987. */
export const maskPhoneNumber = (international: string): string =>
  international.slice(0, 4) + '•'.repeat(Math.max(0, international.length - 8)) + international.slice(-4)

/** All ways in which a number that was given for a payment is written in texts, to find and erase it. */
export function phoneNumberForms(international: string): string[] {
  const digits = international.replace(/^\+/, '')
  const known = Object.values(COUNTRIES).find(
    ({ prefix, digits: rest }) => digits.length === prefix.length + rest && digits.startsWith(prefix),
  )
  const national = known ? [digits.slice(known.prefix.length)] : []
  const atHome = national.map((number) => (known?.zero ? number : `0${number}`))
  return [international, digits, ...atHome, ...national, maskPhoneNumber(international)]
}
