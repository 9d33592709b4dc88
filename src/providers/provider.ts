import type { FeeSchedule } from '../kernel/fee.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Money } from '../kernel/money.ts'

/**
 * The port: how we speak with whoever moves the money. It knows channels, not brands.
 *
 * - An *order* is one attempt as the provider sees it: one reference, one amount.
 * - A *receipt* is money that the provider says it has taken: one transaction of theirs, with its own id.
 * - An *outcome* is what a provider says of an order. A decline is an outcome, and so is silence: nothing here throws for either.
 */
export type Channel = 'card' | 'virtual-bank-account'

export interface Provider {
  readonly capabilities: Capabilities
  /** Speaks for one merchant in one mode. Keeps no state that another process would miss. */
  connect(account: Account): Connection
  /** For a provider that moves no real money: its settings for a merchant who has set nothing up. */
  sandboxSettings?(seed: { masterKey: Buffer; merchantUuid: string; serverUrl: string }): Record<string, string>
}

/** What a provider can do, as data. Its adapter declares it; everything else only reads it. */
export interface Capabilities {
  /** The word that merchants use for it in `provider`. */
  name: string
  /** Moves no real money, so it is offered in sandbox mode alone. */
  sandboxOnly: boolean
  channels: Channel[]
  /** Its card page may stand in a frame of ours; else the customer is sent there and comes back. */
  framed: boolean
  /** ISO 3166-1 alpha-2. */
  countries: string[]
  /** ISO 4217. */
  currencies: string[]
  /** What a customer may be charged at once, in minor units. */
  limits: Record<string, { min: number; max: number }>
  /** What the provider keeps, by channel and currency. */
  fees: Record<Channel, Record<string, FeeSchedule>>
  /** How long an account number stays open, when the provider lets us choose. */
  accountLifetimeSeconds: number
  /** How long to wait for an answer of one that is known to be quick; absent: as long as for any. */
  answersWithinMs?: number
}

export interface Account {
  mode: Mode
  /** Keys and the like, as the merchant set them up. */
  settings: Record<string, string>
  http: ProviderHttp
}

export interface Connection {
  /** A page of the provider's that takes the card. With a saved card it asks for a yes, or for a PIN or code, and charges that one. */
  startCard(order: Order, savedCard?: SavedCardToken): Promise<CardStart>
  /** Charges a saved card right away, for customers who have said yes on a page of ours. */
  chargeSavedCard(order: Order, savedCard: SavedCardToken): Promise<SavedCardCharge>
  /** An account number for this order alone. */
  openAccount(order: Order): Promise<AccountStart>
  check(order: OrderHandle): Promise<Outcome>
  /** Pure: verifies the signature over the raw body, and says what the notice says. */
  readNotice(notice: RawNotice): NoticeReading
  refund(wanted: RefundOrder): Promise<RefundOutcome>
}

export interface Order {
  /** Ours, one for each attempt, known to us before the provider is: 32 of a-z and 0-9, inside every alphabet there is. */
  reference: string
  /** What the customer pays, charges included. */
  amount: Money
  country: string
  customer: { email: string; name: string | null; phoneNumber: string | null }
  merchantName: string
  /** Where the provider's page sends the customer afterwards. */
  returnURL: string
  /** When the link or the account number should end. */
  expiresAt: Date
}

export interface OrderHandle {
  reference: string
  /** The provider's own word for it, where it has one of its own; else our reference again. */
  providerReference: string
  channel: Channel
}

export type CardStart =
  | { kind: 'link'; link: string; providerReference: string; publicKey: string; expiresAt: Date }
  | Declined
  | Unknown

export type SavedCardCharge = { kind: 'step'; link: string; providerReference: string } | Outcome

export type AccountStart =
  | {
      kind: 'account'
      /** Some providers have none to show. */
      accountName: string | null
      accountNumber: string
      bankName: string
      amountToTransfer: number
      expiresAt: Date
      providerReference: string
    }
  | Declined
  | Unknown

export type Outcome =
  | { kind: 'paid'; receipts: Receipt[]; savedCard?: SavedCard }
  /** The customer's turn. Part of the money may be there. */
  | { kind: 'pending'; receipts: Receipt[] }
  /** The provider is working on it. */
  | { kind: 'processing' }
  | Declined
  /** The provider does not know this order, or not yet. */
  | { kind: 'missing' }
  | Unknown

/** Definitely no money for this try; on some pages the customer may go on to another try of the same order. */
export interface Declined {
  kind: 'declined'
  failure: Failure
  /** Tells one try on the provider's page from the next; null where the provider does not number them. */
  tryId: string | null
}

/** Silence, an error of theirs, an answer that makes no sense. Money may or may not have moved: ask again, never guess. */
export interface Unknown {
  kind: 'unknown'
  because: string
  /** Set when the request certainly never left us, so that nothing can have happened. */
  neverSent?: boolean
}

export interface Receipt {
  /** The provider's id of the transaction; unique within the account. */
  transactionId: string
  amount: Money
  at: Date
}

export interface Failure {
  code: FailureCode
  /** For the customer, in plain words. */
  message: string
  /** The provider's own code, whatever it is. */
  providerCode: string | null
}

export const FAILURE_CODES = [
  'insufficient_funds',
  'card_declined',
  'card_expired',
  'card_not_supported',
  'incorrect_pin',
  'incorrect_otp',
  'authentication_failed',
  'limit_exceeded',
  'suspected_fraud',
  'invalid_token',
  'amount_mismatch',
  'transfer_expired',
  'customer_cancelled',
  'provider_unavailable',
  'provider_error',
  'other',
] as const
export type FailureCode = (typeof FAILURE_CODES)[number]

/** Charges the card again, for the customer whose e-mail it was made with. A secret. */
export type SavedCardToken = string

export interface SavedCard {
  token: SavedCardToken
  brand: string
  last4: string
  expiryMonth: number
  expiryYear: number
}

export interface RawNotice {
  headers: Record<string, string | undefined>
  body: Buffer
  receivedAt: Date
}

export type NoticeReading =
  /** Not from this provider's account, or too old to be believed: 401, and nothing is kept. */
  | { kind: 'forged'; because: string }
  /** From the provider, but about nothing that we can read. Kept for a person to look at. */
  | { kind: 'unreadable'; because: string }
  | {
      kind: 'notice'
      /** Our reference, or the provider's own: whichever it names. */
      reference: string | null
      says: 'paid' | 'failed' | 'processing' | 'pending' | 'refunded' | 'charged_back' | 'other'
      receipts: Receipt[]
      /** `reference`: ours, when the provider repeats it. */
      refund?: { refundId: string; reference: string | null; amount: Money }
    }

export interface RefundOrder {
  /** Ours, one for each refund; a repeat uses the same. */
  reference: string
  order: OrderHandle
  /** The transactions that brought the money, newest last. */
  transactionIds: string[]
  amount: Money
  reason: string | null
}

export type RefundOutcome =
  | { kind: 'refunded'; refundId: string }
  | { kind: 'pending'; refundId: string | null }
  | { kind: 'refused'; because: string }
  | Unknown

/** The way out, handed to an adapter: a deadline on every call, connections kept open, a breaker per account. */
export interface ProviderHttp {
  request(call: ProviderCall): Promise<ProviderAnswer>
}

export interface ProviderCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string
}

export type ProviderAnswer =
  /** Any HTTP answer below 500 other than 429: the provider understood us. */
  { kind: 'answer'; status: number; text: string } | Unknown

/** Every provider there is, and the way to speak with one for a merchant. */
export interface Providers {
  find(name: string): Provider | undefined
  connect(owner: { merchantId: MerchantId; mode: Mode }, name: string): Promise<Connection>
}
