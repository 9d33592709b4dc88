import type { Country } from '../kernel/country.ts'
import type { Currency } from '../kernel/money.ts'

/** The shop sells in three cities, each with its own currency and ways to pay. */
export const CITIES = {
  lagos: { name: 'Lagos', country: 'NG' as Country, currency: 'NGN' as Currency, phoneNumber: null },
  accra: { name: 'Accra', country: 'GH' as Country, currency: 'GHS' as Currency, phoneNumber: '055 123 4789' },
  nairobi: { name: 'Nairobi', country: 'KE' as Country, currency: 'KES' as Currency, phoneNumber: '0712 345 789' },
} as const
export type City = keyof typeof CITIES
export const CITY_NAMES = Object.keys(CITIES) as City[]

export function cityOf(name: unknown): City {
  return CITY_NAMES.find((each) => each === name) ?? 'lagos'
}
