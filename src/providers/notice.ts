import type { NoticedSettlement } from './account-lists.ts'
import type { Receipt } from './provider.ts'

/** The port's notices (webhooks): see `ProviderClient.readNotice`. */

export interface RawNotice {
  headers: Record<string, string | undefined>
  body: Buffer
  receivedAt: Date
  /** The public address that it was sent to, with what an adapter added to it: see `OrderNotices`. */
  url?: string
}

export type NoticeReading =
  /** Not from this provider's account, or too old to be believed: 401, and nothing is kept. */
  | { kind: 'forged'; because: string }
  /** From the provider, but about nothing that we can read. Kept for a person to look at. */
  | { kind: 'unreadable'; because: string }
  /** Not signed, as some sandboxes send it. Nothing is stored; at most a check of that order is scheduled. */
  | { kind: 'hint'; reference: string }
  /** Whether a payment of this order may be made. Nothing is stored, and `answers` has what to answer. */
  | { kind: 'question'; reference: string; answers: { yes: object; no: object } }
  | {
      kind: 'notice'
      /** Our reference, or the provider's own: whichever it names. */
      reference: string | null
      /**
       * `refund` and `dispute` are a reason to list the order's refunds and disputes; nothing else is read from them.
       */
      says: 'paid' | 'failed' | 'processing' | 'pending' | 'refund' | 'dispute' | 'other'
      receipts: Receipt[]
      /** The provider's transaction, for `findReference`: where it names no reference, or one that may not be ours. */
      transactionId?: string
      /**
       * What only a notice says, in the adapter's words: kept with the notice, and given back with
       * `OrderHandle.notices`. No personal data, no secrets.
       */
      facts?: Facts
      /** The same, where it may name the customer: it is erased with them. */
      personalFacts?: Facts
      /** What it pays out, where no list says so. It then says `other`, and names no order. */
      settlement?: NoticedSettlement
    }

/** By the adapter's own names. */
export type Facts = Record<string, string | undefined>
