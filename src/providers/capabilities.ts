import { CHANNELS, type Channel } from '../kernel/channel.ts'
import type { FeeSchedule } from '../kernel/fee.ts'
import type { MobileNetwork } from '../kernel/mobile-networks.ts'
import type { Mode } from '../kernel/mode.ts'

/** What a provider can do, as data. Its adapter declares it; everything else only reads it. */
export interface Capabilities {
  /** The word that merchants use for it in `provider`. */
  name: string
  /** Its name as people write it. */
  title: string
  /** Moves no real money, so it is offered in sandbox mode alone. */
  sandboxOnly: boolean
  /** What customers can pay with, by channel and currency. */
  offers: Offers
  /**
   * Currencies, countries and networks differ from account to account: `ProviderClient.readOffers` reads them, and they
   * are stored with the integration. The lists here are empty, and `offers` names the channels alone.
   */
  offersOfAccount?: true
  /** Its card page may stand in a frame of ours; else the customer is sent there and comes back. */
  framed: boolean
  /** Its card page can be opened with a saved card; else the customer confirms on a page of ours. */
  pageTakesSavedCards: boolean
  /** Its card page asks whether to keep the card; else we ask, and `Order.saveCard` says so. */
  pageAsksToSave: boolean
  /** ISO 3166-1 alpha-2. */
  countries: string[]
  /** ISO 4217. */
  currencies: string[]
  /** What a customer may be charged at once by currency, in minor units. An offer can have its own. */
  limits: Record<string, Limits>
  /**
   * Channels whose refunds need the customer's bank account: the provider cannot send the money back to where it came
   * from.
   */
  refundNeedsAccount?: Channel[]
  /** How many days a refund takes at most, until a person should look at it. Default: 3. */
  refundTakesDays?: number
  /** How many working days after a payment its money is paid out; absent: 2. Known for providers that list it. */
  settles?: { workingDays: number; byCountry?: Record<string, number> }
  /** Some of what it says of an order comes in notices alone: `OrderHandle.notices` has it. */
  noticesHaveFacts?: true
  /**
   * Its notices are signed with keys that are the same for all of its accounts. They prove the provider, not the
   * account: of an unknown order nothing is recorded unless `findReference` finds it.
   */
  signsForAllAccounts?: true
  /** Its word for an order is our reference, shortened to its last characters in capitals: how many. */
  referenceLength?: number
  /** What it expects as the answer to a notice. Absent: nothing of its own. */
  noticeAnswer?: object
  /** Its notices may be longer than others: of a settlement with all of its payments. */
  maxNoticeBytes?: number
  /** Its name in addresses that it calls, where its own is refused there. */
  nameInAddresses?: string
  /** How long to wait for an answer of one that is known to be quick; absent: as long as for any. */
  answersWithinMs?: number
}

export interface Limits {
  min: number
  max: number
}

/** What one account can do, for a provider with `offersOfAccount`. */
export type AccountOffers = Pick<Capabilities, 'offers' | 'countries' | 'currencies'>

export type Offers = Partial<Record<Channel, Record<string, Offer>>>

/** One channel in one currency. */
export interface Offer {
  /** What the provider keeps. */
  fee: FeeSchedule
  limits?: Limits
  /**
   * The mobile networks, by country. The customer chooses one and gives a phone number. Countries that are not named
   * are not served.
   */
  networks?: Record<string, readonly MobileNetwork[]>
  /** Of them, by country: those that want a code which the customer has made beforehand, by dialling. */
  codeBeforehand?: Record<string, readonly MobileNetwork[]>
  /** By country: how the customer makes that code, in the provider's own words. */
  codeHelp?: Record<string, string>
  /** Of them, by country: those that take no payments at the moment. */
  closed?: Record<string, readonly MobileNetwork[]>
  /** Of them, by country: those that take no fraction of the currency, such as cents. */
  wholeUnits?: Record<string, readonly MobileNetwork[]>
  /** Of them: those that are off without these optional settings. Read by `capabilitiesWith`. */
  networkNeeds?: Partial<Record<MobileNetwork, readonly string[]>>
  /** The banks that the customer chooses from. */
  banks?: readonly { code: string; name: string }[]
  /** How long the customer has. Absent: until the payment ends. */
  lifetimeSeconds?: number
  /** The optional setting without which it is off: read by `capabilitiesWith`. */
  needsSetting?: string
}

/** The offer with those of its networks alone. A country that has none left is not served. */
export function withNetworks(offer: Offer, has: (network: MobileNetwork, country: string) => boolean): Offer {
  if (!offer.networks) return offer
  const networks = Object.entries(offer.networks)
    .map(([country, list]) => [country, list.filter((network) => has(network, country))] as const)
    .filter(([, list]) => list.length > 0)
  return { ...offer, networks: Object.fromEntries(networks) }
}

/** In addresses that it calls. */
export const addressNameOf = ({ name, nameInAddresses }: Capabilities) => nameInAddresses ?? name

/** One offer for each currency that has a fee, the rest alike. */
export function offersAt(fees: Record<string, FeeSchedule>, rest: Omit<Offer, 'fee'> = {}): Record<string, Offer> {
  return Object.fromEntries(Object.entries(fees).map(([currency, fee]) => [currency, { fee, ...rest }]))
}

export function channelsOf({ offers }: Pick<Capabilities, 'offers'>): Channel[] {
  return CHANNELS.filter((channel) => offers[channel] !== undefined)
}

export function offerOf({ offers }: Capabilities, channel: Channel, currency: string): Offer | undefined {
  const byCurrency = offers[channel]
  return byCurrency && Object.hasOwn(byCurrency, currency) ? byCurrency[currency] : undefined
}

/** One thing that a merchant copies from the provider's dashboard. */
export interface Setting {
  name: string
  /** What it is and where the provider shows it, in one sentence. */
  about: string
  /** Sealed, and never shown again. */
  secret: boolean
  optional?: boolean
  /** Its format by mode, so that a key of one mode is refused in the other. */
  pattern: Record<Mode, RegExp>
  /** The same for people: "sk_test_…". */
  looksLike: Record<Mode, string>
}
