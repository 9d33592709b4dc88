import type { Channel } from '../../src/kernel/channel.ts'
import type {
  ChannelInput,
  FailureCode,
  Provider,
  ProviderClient,
  RawNotice,
  Started,
} from '../../src/providers/provider.ts'
import type { Upstream } from './upstream.ts'

/** Input of the conformance suite: a server that speaks the provider's protocol, a connection to it, and a customer. */
export interface Rig {
  provider: Provider
  /** As the merchant would paste them. */
  settings: Record<string, string>
  /** Over a real way out to `upstream`, with a deadline of about half a second at most. */
  connection: ProviderClient
  upstream: Upstream
  /** Texts that must never appear in an outcome. */
  secrets: string[]
  /** How its customers pay, where that is not by card. */
  pays?: Pick<ChannelSample, 'channel' | 'input' | 'starts'>
  /** An amount that this provider takes. */
  price: { amount: number; currency: string; country: string }
  /** How many orders, and how many refunds, the upstream has written down, under whatever reference. */
  ordersMade(): number
  refundsMade(): number
  customer: {
    /** These two: in the way of `pays`, where it has no cards. */
    payByCard(reference: string, options: { save: boolean }): Promise<void>
    failByCard(reference: string): Promise<void>
    transfer?(reference: string, amount: number): Promise<void>
    /** Nobody entered the PIN or code that the bank had asked for, if it had, and the bank ends the try. */
    letStepRunOut?(reference: string): Promise<void>
    /**
     * The three that follow are for the channels in `Features.channels`, and each needs them. The customer approves on
     * the phone, dials the code, scans the QR code, pays at their bank, or pays to the number: the whole amount. After
     * `expire`, too: that is a late approval. A fake enters the money in `ledger().taken`, and queues a notice.
     */
    approve?(reference: string): Promise<void>
    /** The customer says no, on the phone or on the bank's page. */
    refuse?(reference: string): Promise<void>
    /**
     * The time of the prompt or of the code is over, and nobody has approved. What the provider then says of the order
     * is the fake's to know: failed, or still pending.
     */
    expire?(reference: string): Promise<void>
  }
  /** Tokens of saved cards and what becomes of them. A provider without cards knows none of them. */
  savedCards: { paying: string; declining: string; unheardOf: string; askingForAStep?: string }
  /** Where its API is, when that is not the root of `upstream`. */
  baseURL?: string
  /** From now on accounts have no name to show. */
  hideAccountNames?(): void
  notices: NoticeRig
  /**
   * A refund made in the provider's dashboard, completed at once. `amount` is in our minor units. Returns the
   * provider's id of the refund, or undefined when the amount is more than what is left: a dashboard refuses that as
   * the API does. A fake with notices also queues the notice that the provider sends, and enters the refund in
   * `ledger().givenBack`.
   */
  refundAtProvider?(reference: string, amount: number): Promise<string | undefined>
  /** A cardholder disputes the payment. Returns the provider's id of the dispute. Queues the provider's notice. */
  disputeAtProvider?(reference: string, dispute: { amount: number; reason: string }): Promise<string>
  /**
   * `lost`: the money is taken from the merchant, and `ledger().givenBack` has it exactly once. Queues the provider's
   * notice.
   */
  closeDispute?(disputeId: string, outcome: 'won' | 'lost'): Promise<void>
  /** From now on a list holds at most this many entries per page, whatever the adapter asks for. */
  limitPages?(size: number): void
  /** From now on an entry is in no list before it is this old. By its id it is found at once. */
  listsLag?(ms: number): void
  /** A shop that is none of ours uses the same account: one payment, of which a part was refunded. */
  otherShopSells?(): void
  /**
   * Pays out what it has taken in the currency of `price` and has not paid out before, less its fees and, in lists,
   * what went back. Returns its id. `late`: it was expected three days ago, and is not paid. `short`: less arrives than
   * its own sums say. `member missing`: the sums have a payment that is not among its lines. A fake whose provider
   * sends a notice queues it.
   */
  settle?(fault?: SettlementFault): string
  /** The body of the notice of a settlement, of a provider that tells of it in notices alone. */
  settlementNotice?(id: string): Buffer
}

export type SettlementFault = 'late' | 'short' | 'member missing'

export interface NoticeRig {
  /** Signed as the provider signs. */
  sign(body: Buffer, at: Date): RawNotice
  /** The body of a notice about what has become of an order. */
  bodyOf(kind: NoticeKind, reference: string): Buffer | undefined
  /** Whether the signature covers the body, and its time. */
  covers: { body: boolean; time: boolean }
  /** Another account's signature on the same body. */
  signAsAnother(body: Buffer, at: Date): RawNotice
}

export type NoticeKind = 'paid' | 'failed' | 'processing' | 'pending' | 'refund' | 'dispute'

/**
 * A way to pay that the suite tries: one row for each channel, and one more for each network or bank with which the
 * provider starts in another way. The suite demands a row for each channel that it offers.
 */
export interface ChannelSample {
  channel: Exclude<Channel, 'card' | 'virtual-bank-account'>
  price: Rig['price']
  /** A customer who does nothing by themselves: the rig's `customer` approves, refuses, or lets it expire. */
  input: ChannelInput
  /** What `start` answers. */
  starts: Started['kind']
  /** If `starts` is "code wanted": the code that `submit` takes, and what it answers to that. */
  code?: { right: string; leadsTo: Started['kind'] | 'processing' | 'pending' | 'paid' }
  /** The start makes no call: what the customer pays to is known without one. */
  makesNoCall?: true
  /** What `check` says of an order that the customer refused. Absent: no more than that it is not paid. */
  refused?: FailureCode
  /** What it says once the time is over. Absent: the provider does not say, so the order stays open. */
  expired?: FailureCode
}

/** Optional features of a provider. A test of a feature is registered only for the providers that have it. */
export interface Features {
  /** The kinds of notices that the provider sends. */
  notices: readonly NoticeKind[]
  /** Charging a saved card may need a PIN or an OTP first. */
  asksForSteps?: boolean
  /** A virtual bank account may come without an account name. */
  hidesAccountNames?: boolean
  /** `Declined.tryId` differs between two tries on the provider's page. */
  numbersTries?: boolean
  /**
   * What happens to a transfer of another amount than the order's. Absent: the provider has no virtual bank accounts.
   */
  wrongTransferAmounts?: 'rejected' | 'kept'
  /** A repeated refund request with the same reference makes no second refund. */
  idempotentRefunds?: boolean
  /** The adapter implements `listReversals`; the fake has `refundAtProvider`. */
  listsReversals?: boolean
  /** `listReversals` includes disputes; the fake has `disputeAtProvider` and `closeDispute`. */
  listsDisputes?: boolean
  /** The adapter has `lists`; the fake has `limitPages`, `listsLag` and `otherShopSells`. */
  listsTransactions?: boolean
  /**
   * `refund` and `listReversals` go by the transactions, so that money which a person matched with another order can be
   * refunded.
   */
  refundsByTransaction?: boolean
  /** 401 and 403 at a start call are a decline with `keysRefused`. */
  reportsRefusedKeys?: boolean
  /**
   * An order can be asked for by the provider's id alone. After a start whose answer was lost, a check is unknown, and
   * a start that is repeated is refused.
   */
  ordersLackOurReference?: boolean
  /** Only the whole of a payment can be refunded. */
  refundsWholeOnly?: boolean
  /** How it tells of what it pays out; the fake has `settle`. */
  settlements?: 'in lists' | 'in notices'
  /** A receipt of a card payment says what the provider charges for it. */
  namesFees?: boolean
  /** The channels that it offers beside cards and bank transfers; the rig has `approve`, `refuse` and `expire`. */
  channels?: readonly ChannelSample[]
}
