import { CHANNEL_FACTS, type Channel } from '../../src/kernel/channel.ts'
import type { Capabilities } from '../../src/providers/capabilities.ts'
import type {
  Declined,
  Failure,
  NoticeReading,
  Order,
  Outcome,
  Provider,
  ProviderClient,
  Receipt,
  RefundOutcome,
  ReversalsAnswer,
  SavedCardCharge,
  Start,
  Started,
  Unknown,
} from '../../src/providers/provider.ts'

/** The fault of one call to the provider. `stale`: it answers with the state before the last change. */
export const FATES = ['honest', 'silent before', 'silent after', 'never sent', 'stale'] as const
export type Fate = (typeof FATES)[number]

export type ChargeKind = 'pays' | 'declines' | 'code' | 'hushed' | 'less' | 'more' | 'reversed' | 'partly returned'

interface Transaction {
  id: string
  status: 'paid' | 'failed'
  amount: number
  /** Refunded in the provider's dashboard before we asked for the outcome. */
  returned: number
  at: Date
}

interface Entry {
  order: Order
  channel: Channel
  transactions: Transaction[]
  /** Money was taken, and the provider calls it "processing" for a while. */
  hushed: boolean
  refunds: { reference: string; id: string; amount: number; at: Date }[]
}

const SIGNATURE = 'from the adversary'

/**
 * A provider inside the test's process, with its own ledger. Each call is answered with the fault that the test chose.
 * All answers are recorded, so that our decisions can be compared with the evidence.
 */
export class Adversary {
  readonly name = 'adversary'
  readonly ledger = new Map<string, Entry>()
  readonly answered = new Map<string, string[]>()
  /** Notices that are not delivered yet: in any order, once, twice or never. */
  readonly mailbox: Buffer[] = []
  readonly #now: () => Date
  readonly #lifetimeMs: number
  #count = 0

  constructor(now: () => Date, { lifetimeMs = 86_400_000 } = {}) {
    this.#now = now
    this.#lifetimeMs = lifetimeMs
  }

  readonly capabilities: Capabilities = {
    name: this.name,
    title: this.name,
    sandboxOnly: true,
    framed: false,
    pageTakesSavedCards: true,
    pageAsksToSave: true,
    countries: ['NG'],
    currencies: ['NGN'],
    limits: {},
    offers: {
      card: { NGN: { fee: { basisPoints: 0 } } },
      'virtual-bank-account': { NGN: { fee: { basisPoints: 0 }, lifetimeSeconds: 1_800 } },
      'mobile-money': { NGN: { fee: { basisPoints: 0 }, networks: { NG: ['mtn'] }, lifetimeSeconds: 120 } },
    },
  }

  provider(): Provider {
    return { capabilities: this.capabilities, settings: [], baseURL: null, connect: () => this.connection('honest') }
  }

  /** Every call through it has this fault. */
  connection(fate: Fate): ProviderClient {
    return {
      publicKey: 'public',
      verifyKeys: async () => ({ kind: 'good' }),
      start: async (order) => this.#start(order, fate),
      chargeSavedCard: async (): Promise<SavedCardCharge> => ({ kind: 'unknown', because: 'no cards are kept here' }),
      check: async ({ reference }) => this.#check(reference, fate),
      readNotice: ({ headers, body }) => readNotice(headers.signature, body),
      refund: async ({ reference, order, amount }) => this.#refund(reference, order.reference, amount.amount, fate),
      listReversals: async ({ reference }, transactionIds) => this.#listReversals(reference, transactionIds, fate),
    }
  }

  /** The orders whose money comes that way, oldest first. */
  references(money: 'whole' | 'in parts'): string[] {
    const entries = [...this.ledger.values()].filter(({ channel }) => CHANNEL_FACTS[channel].money === money)
    return entries.map(({ order }) => order.reference)
  }

  taken(reference: string): number {
    const paid = this.ledger.get(reference)?.transactions.filter(({ status }) => status === 'paid') ?? []
    return paid.reduce((sum, { amount }) => sum + amount, 0)
  }

  refunded(reference: string): number {
    const entry = this.ledger.get(reference)
    const refunds = entry?.refunds.reduce((sum, { amount }) => sum + amount, 0) ?? 0
    return refunds + (entry?.transactions.reduce((sum, { returned }) => sum + returned, 0) ?? 0)
  }

  /** The customer on the card page or the phone. What has taken money takes no more. */
  charge(reference: string, kind: ChargeKind): void {
    const entry = this.ledger.get(reference)
    if (!entry || comesInParts(entry) || this.taken(reference) > 0 || kind === 'code') return
    if (kind === 'declines') {
      this.#enter(entry, 'failed', entry.order.amount.amount)
      this.#tell(entry, 'failed')
      return
    }
    const by = { less: -100, more: 100, pays: 0, hushed: 0, reversed: 0, 'partly returned': 0 }[kind]
    const amount = entry.order.amount.amount + by
    this.#enter(entry, 'paid', amount, kind === 'reversed' ? amount : kind === 'partly returned' ? 300 : 0)
    if (kind === 'hushed') {
      entry.hushed = true
      this.#tell(entry, 'pending')
    }
    this.#tell(entry, 'paid')
  }

  /** The customer at the bank. An account number accepts any amount. */
  transfer(reference: string, amount: number, returned = 0): void {
    const entry = this.ledger.get(reference)
    if (!entry || !comesInParts(entry)) return
    this.#enter(entry, 'paid', amount, returned)
    this.#tell(entry, this.taken(reference) >= entry.order.amount.amount ? 'paid' : 'pending')
  }

  /** From now on it answers correctly. */
  speakUp(): void {
    for (const entry of this.ledger.values()) entry.hushed = false
  }

  signed(body: Buffer): { body: Buffer; headers: Record<string, string> } {
    return { body, headers: { signature: SIGNATURE } }
  }

  #start(order: Order, fate: Fate): Start {
    const { channel } = order
    if (fate === 'never sent') return this.#answer(order.reference, neverSent())
    if (fate === 'silent before') return this.#answer(order.reference, silence())
    if (!this.ledger.has(order.reference)) {
      this.ledger.set(order.reference, { order, channel, transactions: [], hushed: false, refunds: [] })
    }
    if (fate === 'silent after') return this.#answer(order.reference, silence())
    const expiresAt = new Date(this.#now().getTime() + this.#lifetimeMs)
    return this.#answer(order.reference, startOf(order, { expiresAt, providerReference: order.reference }))
  }

  #check(reference: string, fate: Fate): Outcome {
    if (fate === 'never sent') return this.#answer(reference, neverSent())
    if (fate === 'silent before' || fate === 'silent after') return this.#answer(reference, silence())
    const entry = this.ledger.get(reference)
    if (!entry || (fate === 'stale' && entry.transactions.length === 0)) {
      return this.#answer(reference, { kind: 'missing' })
    }
    const seen = fate === 'stale' ? entry.transactions.slice(0, -1) : entry.transactions
    return this.#answer(reference, outcomeOf(entry, seen, fate !== 'stale' && entry.hushed))
  }

  #refund(reference: string, of: string, amount: number, fate: Fate): RefundOutcome {
    if (fate === 'never sent') return neverSent()
    if (fate === 'silent before') return silence()
    const entry = this.ledger.get(of)
    if (!entry) return { kind: 'refused', because: 'not_found' }
    let refund = entry.refunds.find((known) => known.reference === reference)
    if (!refund) {
      if (this.refunded(of) + amount > this.taken(of)) return { kind: 'refused', because: 'refund_exceeds_payment' }
      refund = { reference, id: `rf-${++this.#count}`, amount, at: new Date() }
      entry.refunds.push(refund)
      this.#post(of, { says: 'refund' })
    }
    return fate === 'silent after' ? silence() : { kind: 'refunded', refundId: refund.id }
  }

  /** It does not repeat our reference, as with many providers. */
  #listReversals(reference: string, transactionIds: string[], fate: Fate): ReversalsAnswer {
    if (fate === 'never sent') return neverSent()
    if (fate === 'silent before' || fate === 'silent after') return silence()
    const entry = this.ledger.get(reference)
    if (!entry) return { kind: 'missing' }
    const { currency } = entry.order.amount
    const refunds = (fate === 'stale' ? entry.refunds.slice(0, -1) : entry.refunds).map(({ id, amount, at }) => ({
      ...{ refundId: id, reference: null, status: 'successful' as const, at },
      amount: { amount, currency },
    }))
    const early = entry.transactions
      .filter(({ id, returned }) => returned > 0 && (transactionIds.length === 0 || transactionIds.includes(id)))
      .map(({ id, returned, at }) => ({
        ...{ refundId: `early-${id}`, reference: null, status: 'successful' as const, at },
        amount: { amount: returned, currency },
      }))
    return { kind: 'reversals', refunds: [...early, ...refunds], disputes: [] }
  }

  #enter(entry: Entry, status: Transaction['status'], amount: number, returned = 0): void {
    const id = `tx-${entry.order.reference}-${++this.#count}`
    // The database stamps our own records with the real time, which steps of a test do not move.
    entry.transactions.push({ id, status, amount, returned, at: new Date() })
  }

  #tell({ order }: Entry, says: 'paid' | 'failed' | 'pending'): void {
    this.#post(order.reference, { says })
  }

  #post(reference: string, says: object): void {
    this.mailbox.push(Buffer.from(JSON.stringify({ id: ++this.#count, reference, ...says })))
  }

  #answer<Answer extends { kind: string }>(reference: string, answer: Answer): Answer {
    const known = this.answered.get(reference) ?? []
    this.answered.set(reference, [...known, 'neverSent' in answer ? 'never sent' : answer.kind])
    return answer
  }
}

const comesInParts = ({ channel }: Entry) => CHANNEL_FACTS[channel].money === 'in parts'

function startOf(
  { channel, reference, amount }: Order,
  started: { providerReference: string; expiresAt: Date },
): Started {
  switch (channel) {
    case 'card':
    case 'bank':
      return { kind: 'link', link: `https://adversary.test/${reference}`, publicKey: 'pk', ...started }
    case 'virtual-bank-account': {
      const bank = { accountName: null, accountNumber: '9000000001', bankName: 'Bank' }
      return { kind: 'account', ...bank, amountToTransfer: amount.amount, ...started }
    }
    case 'mobile-money':
      return { kind: 'prompt', ...started }
    case 'ussd':
      return { kind: 'dial', code: '*402#', bankName: 'Bank', ...started }
    case 'qr':
      return { kind: 'qr', text: reference, ...started }
  }
}

function outcomeOf(entry: Entry, seen: Transaction[], hushed: boolean): Outcome {
  const { order } = entry
  const paid = seen.filter(({ status }) => status === 'paid')
  const currency = order.amount.currency
  const receipts: Receipt[] = paid.map(({ id, amount, returned, at }) => ({
    transactionId: id,
    idIsProviders: true,
    amount: { amount, currency } as Receipt['amount'],
    at,
    ...(returned > 0 && { returned }),
  }))
  if (comesInParts(entry)) {
    const sum = paid.reduce((total, { amount }) => total + amount, 0)
    return { kind: sum >= order.amount.amount ? 'paid' : 'pending', receipts }
  }
  if (paid.length > 0) return hushed ? { kind: 'processing' } : { kind: 'paid', receipts }
  const last = seen.at(-1)
  return last ? declined(last.id) : { kind: 'pending', receipts: [] }
}

function readNotice(signature: string | undefined, body: Buffer): NoticeReading {
  if (signature !== SIGNATURE) return { kind: 'forged', because: 'a wrong signature' }
  const { reference, says } = JSON.parse(body.toString())
  return { kind: 'notice', reference, says, receipts: [] }
}

function declined(tryId: string): Declined {
  const failure: Failure = { code: 'card_declined', message: 'The bank declined this card.', providerCode: '05' }
  return { kind: 'declined', failure, tryId }
}

const silence = (): Unknown => ({ kind: 'unknown', because: 'no answer' })
const neverSent = (): Unknown => ({ kind: 'unknown', because: 'no connection', neverSent: true })
