/** What a provider can do, as data. Its adapter declares it; everything else only reads it. */
export interface Capabilities {
  /** The word that merchants use for it in `provider`. */
  name: string
  /** Moves no real money, so it is offered in sandbox mode alone. */
  sandboxOnly: boolean
  channels: ('card' | 'virtual-bank-account')[]
  /** ISO 3166-1 alpha-2. */
  countries: string[]
  /** ISO 4217. */
  currencies: string[]
}
