/** The prefixes of the countries in which customers pay by phone, and how many digits follow. */
const COUNTRIES: Record<string, { prefix: string; digits: number; keepsZero?: true }> = {
  BF: { prefix: '226', digits: 8, keepsZero: true },
  BJ: { prefix: '229', digits: 10, keepsZero: true },
  CD: { prefix: '243', digits: 9 },
  CG: { prefix: '242', digits: 9, keepsZero: true },
  CI: { prefix: '225', digits: 10, keepsZero: true },
  CM: { prefix: '237', digits: 9 },
  ET: { prefix: '251', digits: 9 },
  GA: { prefix: '241', digits: 8 },
  GH: { prefix: '233', digits: 9 },
  KE: { prefix: '254', digits: 9 },
  LS: { prefix: '266', digits: 8 },
  ML: { prefix: '223', digits: 8 },
  MW: { prefix: '265', digits: 9 },
  MZ: { prefix: '258', digits: 9 },
  NG: { prefix: '234', digits: 10 },
  RW: { prefix: '250', digits: 9 },
  SL: { prefix: '232', digits: 8 },
  SN: { prefix: '221', digits: 9 },
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
  const typed = text.replaceAll(/[\s().-]/g, '').replace(/^00/, '+')
  if (!known || !/^\+?\d{7,15}$/.test(typed)) return undefined
  const { prefix, digits, keepsZero } = known
  const isInternational = typed.startsWith('+') || (typed.startsWith(prefix) && typed.length === prefix.length + digits)
  const rest = typed.replace(/^\+/, '')
  if (isInternational && !rest.startsWith(prefix)) return undefined
  const local = isInternational ? rest.slice(prefix.length) : rest
  const national = keepsZero ? local : local.replace(/^0/, '')
  return national.length === digits ? { international: `+${prefix}${national}`, national } : undefined
}

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
  const atHome = national.map((number) => (known?.keepsZero ? number : `0${number}`))
  return [international, digits, ...atHome, ...national, maskPhoneNumber(international)]
}
