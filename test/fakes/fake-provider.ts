import type { Money } from '../../src/kernel/money.ts'
import type { Provider } from '../../src/providers/provider.ts'
import type { Features, NoticeRig, Rig } from './conformance-rig.ts'
import type { Upstream } from './upstream.ts'

/**
 * A provider's server for tests: speaks its documented protocol, strictly, over HTTP, with customers who act on it. It
 * keeps books of its own, which are the truth that ours must equal.
 */
export interface FakeProvider extends Omit<Rig, 'connection'> {
  upstream: Upstream
  notices: NoticeRig
  // `disputeAtProvider` and `closeDispute` stay optional: Monnify has no disputes.
  refundAtProvider: NonNullable<Rig['refundAtProvider']>
  limitPages: NonNullable<Rig['limitPages']>
  listsLag: NonNullable<Rig['listsLag']>
  otherShopSells: NonNullable<Rig['otherShopSells']>
  /** What it has taken and given back so far, each with our reference of the order. */
  ledger(): { taken: Entry[]; givenBack: Entry[] }
  /** From now on, refunds wait for the bank account of the customer. */
  refundsNeedAccounts?(): void
  /** For a provider whose older accounts get notices of another shape: from now on it sends those. */
  sendOlderNotices?(): void
  /**
   * The notices that it has to send, oldest first, signed as it signs them at that moment. Each is handed out once.
   * `url`: where to, for a provider that took it with the order. `headersTo`: for one that signs the address.
   */
  takeNotices(): {
    headers: Record<string, string>
    body: Buffer
    url?: string | undefined
    headersTo?(url: string): Record<string, string>
  }[]
}

export interface Entry {
  reference: string
  /** The provider's id of it. */
  id: string
  amount: Money
}

/** Starts one. Ends with the test. */
export type StartFake = (t: { after(end: () => Promise<void>): void }) => Promise<FakeProvider>

/** An entry of the list of fakes. */
export interface Fake<Started extends FakeProvider = FakeProvider> {
  provider: Provider
  features: Features
  start(t: Parameters<StartFake>[0]): Promise<Started>
}
