import type { Channel } from '../kernel/channel.ts'
import type { MobileNetwork } from '../kernel/mobile-networks.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Currency, Money } from '../kernel/money.ts'
import type { Owner } from '../kernel/scope.ts'
import type { ProviderHttp, Unknown } from '../outbound/provider-http.ts'
import type { AccountLists, ListedDispute, ListedRefund, ListedTransaction } from './account-lists.ts'
import type { AccountOffers, Capabilities, Setting } from './capabilities.ts'
import { failureOf } from './failure.ts'
import type { Facts, NoticeReading, RawNotice } from './notice.ts'
import type { Start, Started, Submitted } from './start.ts'

export type { ProviderAnswer, ProviderCall, ProviderHttp, Unknown } from '../outbound/provider-http.ts'
export type * from './account-lists.ts'
export type { Facts, NoticeReading, RawNotice } from './notice.ts'
export type * from './start.ts'

/**
 * The port: the interface of every payment provider. It knows channels, not brands.
 *
 * - An *order* is one attempt as the provider sees it: one reference, one amount.
 * - A *receipt* is money that the provider says it has taken: one transaction of theirs, with its own id.
 * - An *outcome* is what a provider says of an order. A decline is an outcome, and so is silence: nothing here throws
 *   for either.
 */
export interface Provider {
  readonly capabilities: Capabilities
  /** What a merchant has to tell us, as data: the API, the CLI and the docs all read it. */
  readonly settings: readonly Setting[]
  /** Where its API is; null for one that we play ourselves. */
  readonly baseURL: Record<Mode, string> | null
  /** Speaks for one merchant in one mode. Keeps no state that another process would miss. */
  connect(options: ClientOptions): ProviderClient
  /** For a provider that moves no real money: the keys of a merchant who has set nothing up. */
  sandboxKeys?(seed: {
    masterKey: Buffer
    merchantUuid: string
    serverUrl: string
  }): Pick<ClientOptions, 'settings' | 'baseURL'>
}

export interface ClientOptions {
  mode: Mode
  /** Keys and the like, as the merchant set them up. */
  settings: Record<string, string>
  /** Without a slash at its end. */
  baseURL: string
  http: ProviderHttp
}

export interface ProviderClient {
  /** The key that may be seen by everyone. */
  readonly publicKey: string
  /**
   * The account at the provider, as its settings name it without keys. Clients of the same account know each other's
   * orders. Absent: settings do not name it.
   */
  readonly account?: string
  /** Whether the keys work, by a call that changes nothing. */
  verifyKeys(): Promise<KeysVerdict>
  /** For `Capabilities.offersOfAccount`: what this account can do now. It is asked for every five minutes. */
  readOffers?(): Promise<{ kind: 'offers'; offers: AccountOffers } | Unknown>
  /**
   * What the customer pays with, by `order.channel`. With `order.savedCard`, the provider's page asks the customer to
   * confirm that card, or for a PIN or code, and charges it.
   */
  start(order: Order): Promise<Start>
  /** The code that a start asked for (`CodeWanted`). */
  submit?(order: OrderHandle, code: string): Promise<Submitted>
  /** Charges a saved card right away, after the customer has confirmed on a page of ours. */
  chargeSavedCard(order: Order, savedCard: SavedCardToken): Promise<SavedCardCharge>
  check(order: OrderHandle): Promise<Outcome>
  /**
   * Fetches what `readNotice` needs to judge this notice and does not have yet, as a public key of the provider. It is
   * awaited before each notice, genuine or not, so it asks the provider rarely.
   */
  prepareNotice?(notice: RawNotice): Promise<void>
  /** Pure: verifies the signature over the raw body, and says what the notice says. */
  readNotice(notice: RawNotice): NoticeReading
  /**
   * The reference of the order that a transaction of this account belongs to, for a provider with notices that name the
   * transaction alone, or with `signsForAllAccounts`.
   */
  findReference?(transactionId: string): Promise<{ kind: 'found'; reference: string } | { kind: 'missing' } | Unknown>
  refund(wanted: RefundOrder): Promise<RefundOutcome>
  /**
   * For a provider without lists, whose notices of unknown orders name money: whether there is such a transaction, with
   * its amount. It may answer by another notice only: `unknown` until that has come. `notices`: of this transaction.
   */
  findTransaction?(
    transactionId: string,
    notices: OrderNotices,
  ): Promise<ListedTransaction | { kind: 'missing' } | Unknown>
  /** Tells the provider the address of notices that are about no request of ours. When keys were set. */
  registerNotices?(url: string): Promise<KeysVerdict>
  /** The banks that `BankAccount.bankCode` may name, for people to choose from. */
  listBanks?(currency: Currency): Promise<BanksAnswer>
  /**
   * Refunds and disputes of one order, as the provider lists them now, including those made in its dashboard. For
   * reconciliation. `transactionIds`: the transactions on record. When there are any, reversals of others are left out:
   * they are reported by `returned` when their transaction is seen, and would count twice. Only a provider that names
   * one sum for an order (`returnedIsOfOrder`) cannot do that.
   */
  listReversals?(order: OrderHandle, transactionIds: string[]): Promise<ReversalsAnswer>
  /**
   * The account's own lists, by time of creation, page by page. For reconciliation. Other shops may use the same
   * account: their entries are in the lists, too. What a provider cannot list by account is absent, and is listed by
   * order (`listReversals`).
   */
  lists?: AccountLists
}

export type ReversalsAnswer =
  | { kind: 'reversals'; refunds: ListedRefund[]; disputes: ListedDispute[] }
  /** The provider does not know this order. */
  | { kind: 'missing' }
  | Unknown

export type KeysVerdict = { kind: 'good' } | { kind: 'bad'; because: string } | Unknown

/** What the customer gave before the start, where the offer asks for it: see `Offer`. */
export interface ChannelInput {
  /** With the country's prefix: +233551234987. */
  phoneNumber?: string
  network?: MobileNetwork
  /** The provider's code of the bank. */
  bank?: string
  /** A code that the customer made beforehand, where the network wants one. */
  preAuthorisationCode?: string
}

export interface Order {
  channel: Channel
  input: ChannelInput
  /**
   * Ours, one for each attempt, known to us before the provider is: 32 of a-z and 0-9, inside every alphabet there is.
   */
  reference: string
  /** What the customer pays, charges included. */
  amount: Money
  country: string
  customer: { email: string; name: string | null; phoneNumber: string | null }
  merchantName: string
  /** Where the provider's page sends the customer afterwards. */
  returnURL: string
  /** As in `OrderNotices`. */
  noticeURL?: string
  /** When the attempt was written. Fixed, so that a repeat of the call can send the same body. */
  startedAt: Date
  /** When the link or the account number should end. */
  expiresAt: Date
  /** The customer agreed that the card be kept, on a page of ours. */
  saveCard: boolean
  savedCard?: SavedCardToken
}

export interface OrderHandle {
  reference: string
  /** The provider's own word for it, where it has one of its own; else our reference again. */
  providerReference: string
  channel: Channel
  /** When we first asked for it. */
  startedAt: Date
  /** What was asked for, to tell a part from the whole where the provider does not. */
  amount?: Money
  /** What the customer got to pay with. Absent: it is not known, as the answer to the start may have been lost. */
  startedAs?: Started['kind'] | undefined
  /** As in `PromptStart`. Absent also if the customer was erased. */
  personalId?: string | undefined
  notices?: OrderNotices
}

/** The notices of an order, for a provider with `noticesHaveFacts`. */
export interface OrderNotices {
  /**
   * Where the provider shall send them, for one that takes the address with each order. The adapter may add a last
   * part: an unguessable token, where notices are not signed. `RawNotice.url` has it.
   */
  url: string
  /** What they said so far, oldest first. */
  facts: readonly Facts[]
}

export type SavedCardCharge = { kind: 'step'; link: string; providerReference: string } | Outcome

export type Outcome =
  /** `savedCard`: whenever the provider returns one. The caller knows whether the customer agreed to save it. */
  | { kind: 'paid'; receipts: Receipt[]; savedCard?: SavedCard }
  /** It waits for the customer. A part of the money may have arrived. */
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
  /** The provider refused the merchant's keys: trying again changes nothing until they are corrected. */
  keysRefused?: true
}

export interface Receipt {
  /** The provider's id of the transaction; unique within the account. */
  transactionId: string
  /**
   * The provider issued the id. Absent: the adapter made it up, from an amount for example. The same money may then
   * have another id in another answer, so it is never refunded without a person.
   */
  idIsProviders?: true
  /** The number that the customer was told, where it is not the id, or was not known when the id was given. */
  receiptNumber?: string
  amount: Money
  at: Date
  /** What the provider had given back of it (reversal, refund, lost dispute) when it answered. Absent: nothing. */
  returned?: number
  /**
   * The provider names one reversed sum for all transactions of an order; the adapter has spread it over them. Also on
   * a share of 0.
   */
  returnedIsOfOrder?: true
  /**
   * What the provider really charges the merchant for it, in minor units of `amount.currency`, taxes included. Absent:
   * it does not say so here, or charges in another currency.
   */
  fee?: number
  /** No list of the provider names what went back, so `returned` is all of it. A list may lag. */
  returnedIsUnlisted?: true
}

export interface Failure {
  code: FailureCode
  /** For the merchant, in the API and webhooks. The payment page shows its own text for the code. */
  message: string
  /** The provider's own code. */
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
  'reversed',
  'amount_mismatch',
  'transfer_expired',
  'prompt_expired',
  'subscriber_unknown',
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

export interface RefundOrder {
  /** Ours, one for each refund; a repeat uses the same. */
  reference: string
  order: OrderHandle
  /** The transactions that brought the money, newest last. */
  transactionIds: string[]
  amount: Money
  reason: string | null
  /** Where the money shall go, when a person has told it. */
  account?: BankAccount | undefined
  /**
   * What the provider called this refund when it accepted it. One that it does not list any more, or not yet, is not
   * asked for again.
   */
  refundId?: string | undefined
  /**
   * False once our lease on this refund has run out: another process may be asking for it. An adapter whose provider
   * has no idempotency key looks at it right before the request that moves money.
   */
  isLeaseHeld?(): boolean
  /**
   * An adapter whose provider has no idempotency key calls it right before the request that moves money. True once for
   * each refund. After that the request may have arrived, so the adapter may only search for it.
   */
  mayAsk?(): Promise<boolean>
  /** The provider's ids of the other refunds of this order in our books: none of those can be this one. */
  otherRefundIds?: string[]
  /**
   * If a person matched all of these transactions with the payment: they are of another order at the provider.
   * `isOnRecord`: of an order.
   */
  matched?: { receipts: Receipt[]; isOnRecord(reference: string): Promise<boolean> } | undefined
  /**
   * When it was put on record, before the provider was first asked: a refund that was made earlier cannot be this one.
   */
  recordedAt?: Date
}

/** The customer's. Personal data: sealed in the database, and never in a log. */
export interface BankAccount {
  accountNumber: string
  /** The provider's code of the bank. */
  bankCode: string
}

export type BanksAnswer = { kind: 'banks'; banks: Bank[] } | Unknown

export interface Bank {
  code: string
  name: string
}

export type RefundOutcome =
  | { kind: 'refunded'; refundId: string }
  /** `needsAccount`: it waits for the customer's bank account, and why. */
  | { kind: 'pending'; refundId: string | null; needsAccount?: string }
  /** `wasAccepted`: it had taken the refund, and says now that it did not make it. */
  | { kind: 'refused'; because: string; wasAccepted?: true }
  | Unknown

/** Thrown when a merchant has no such provider in that mode, and never had. */
export class NotSetUp extends Error {}

/** Every provider there is, and the way to speak with one for a merchant. */
export interface Providers {
  /** Also by its name in addresses. */
  find(name: string): Provider | undefined
  /** Whether it has been answering lately, as far as this process knows. For the choice between several. */
  isHealthy(owner: Owner, name: string): boolean
  recordResult(owner: Owner, name: string, result: 'succeeded' | 'failed'): void
  /**
   * With the version of the keys that is given, also a retired one; else with the current one, also of an integration
   * that was removed: payments under way go on.
   */
  connect(owner: Owner, name: string, options?: ConnectOptions): Promise<ProviderClient>
  /** The versions of the keys that may have signed a notice, the current one first. Empty: never set up. */
  keysVersions(owner: Owner, name: string): Promise<number[]>
  /** The circuit breakers of the open clients. */
  breakers(): { provider: string; mode: Mode; state: string }[]
}

export interface ConnectOptions {
  /** The version of the keys; 0 for a provider that has nothing to set up. Absent: the current one. */
  keysVersion?: number
  /**
   * Starts have a circuit breaker and a connection pool of their own, so that neither failing checks refuse new
   * payments nor failing starts stop checks. `check` is everything else: checks, refunds, listings. Absent: `check`.
   */
  purpose?: 'start' | 'check'
}

export const unknown = (because: string): Unknown => ({ kind: 'unknown', because })
export const notOffered = (channel: Channel): Declined => ({
  kind: 'declined',
  failure: failureOf('provider_error', `${channel}_not_offered`),
  tryId: null,
})
export const ASKED_BEFORE = unknown('it was asked for this refund before, and does not list it')
/** An answer of the provider that does not have the documented shape. */
export const unreadable = (status: number): Unknown => unknown(`it answered ${status} with what we cannot read`)
