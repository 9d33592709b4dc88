import { createRequire } from 'node:module'
import countries from 'i18n-iso-countries'

export type Country = string & { readonly kind: 'country' }

const require = createRequire(import.meta.url)
countries.registerLocale(require('i18n-iso-countries/langs/en.json'))

/** `NG`, `nga` and `Nigeria` are all NG; undefined for what ISO 3166-1 does not know. */
export function parseCountry(text: string): Country | undefined {
  if (text.length === 2) {
    const code = text.toUpperCase()
    return countries.isValid(code) ? (code as Country) : undefined
  }
  const code = text.length === 3 ? countries.alpha3ToAlpha2(text.toUpperCase()) : countries.getAlpha2Code(text, 'en')
  return code as Country | undefined
}
