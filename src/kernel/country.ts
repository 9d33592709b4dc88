import { createRequire } from 'node:module'
import countries from 'i18n-iso-countries/index.js' // its main file loads 80 languages

export type Country = string & { readonly kind: 'country' }

const require = createRequire(import.meta.url)
countries.registerLocale(require('i18n-iso-countries/langs/en.json'))

/** `NG`, `nga` and `Nigeria` are all NG. Undefined for a country that is not in ISO 3166-1. */
export function parseCountry(text: string): Country | undefined {
  const code = text.toUpperCase()
  if (/^[A-Z]{2}$/.test(code)) return countries.isValid(code) ? (code as Country) : undefined
  if (/^[A-Z]{3}$/.test(code)) return countries.alpha3ToAlpha2(code) as Country | undefined
  return text.length > 3 ? (countries.getAlpha2Code(text, 'en') as Country | undefined) : undefined
}
