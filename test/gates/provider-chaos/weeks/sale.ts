import { providerName } from '../../../../src/kernel/channel.ts'
import type { ChannelSample } from '../../../fakes/conformance-rig.ts'
import type { FakeProvider } from '../../../fakes/fake-provider.ts'
import type { Random } from '../../random.ts'
import { orderOf } from '../customers.ts'
import type { AttemptSeen, Shop } from '../shop.ts'
import type { Post } from './post.ts'
import type { Weather } from './weather.ts'

export type Channel = AttemptSeen['channel']
export const BANK = 'virtual-bank-account'

/** What is planned, by simulated time. */
export class Agenda {
  #entries: { at: number; act: () => Promise<unknown> }[] = []

  at(at: number, act: () => Promise<unknown>): void {
    this.#entries.push({ at, act })
  }

  /** Removes what is due, in the order of its time. */
  take(now: number): (() => Promise<unknown>)[] {
    const due = this.#entries.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at)
    this.#entries = this.#entries.filter(({ at }) => at > now)
    return due.map(({ act }) => act)
  }
}

/** What the history needs of a provider: the fake of a real one has it, and the sandbox provider. */
export interface WeeksProvider
  extends Pick<
    FakeProvider,
    | 'provider'
    | 'price'
    | 'pays'
    | 'settings'
    | 'upstream'
    | 'customer'
    | 'disputeAtProvider'
    | 'closeDispute'
    | 'ledger'
  > {
  refundAtProvider: FakeProvider['refundAtProvider']
  /** Where its API is, when that is not the root of `upstream`. */
  baseURL?: string
  /** A merchant can have new keys of the same account. */
  renewsKeys: boolean
  /** A card can be charged twice by one link. */
  takesTwice?: boolean
  /** Before the ledger is read, if it is not in this process. */
  refresh?(): Promise<void>
  /** The headers of a notice that is sent now; undefined when they are not signed. */
  sign(body: Buffer): Record<string, string | undefined>
  takeNotices(): Promise<Posted[]>
}

/** `url`: where to, if not to the address of the merchant. */
export interface Posted extends Pick<ReturnType<FakeProvider['takeNotices']>[number], 'url' | 'headersTo'> {
  body: Buffer
}

/** A provider whose price is whole takes no cents. */
function amountOf({ fake: { price, pays } }: Stage, random: Random): number {
  const amount = random.between(60_000, 5_000_000)
  return pays && price.amount % 100 === 0 ? amount - (amount % 100) : amount
}

export interface Stage {
  shop: Shop
  /** Beside cards and account numbers. */
  channels: readonly ChannelSample[]
  fake: WeeksProvider
  weather: Weather
  post: Post
  agenda: Agenda
  /** Only the whole of a payment can be refunded. */
  refundsWholeOnly: boolean
  now(): number
  /** What was done about a payment beside paying it, by its reference. */
  deeds: Map<string, Deeds>
}

/** The truth that the ledger of the fake does not tell apart. */
export interface Deeds {
  fault: string
  /** What the merchant asked to be refunded, each time once. */
  asked: number
  /** Ids of refunds that were made in the dashboard of the provider. */
  dashboard: string[]
  disputes: { order: string; id: string; amount: number; status: 'open' | 'won' | 'lost' }[]
}

/** One payment of one customer, and what becomes of it over the weeks. */
export class Sale {
  readonly reference: string
  readonly random: Random
  readonly stage: Stage
  readonly deeds: Deeds
  #body: Record<string, unknown>

  constructor(stage: Stage, random: Random, { number, fault }: { number: number; fault: string }) {
    const { price } = stage.fake
    this.stage = stage
    this.random = random
    this.reference = `weeks-${number}`
    this.deeds = { fault, asked: 0, dashboard: [], disputes: [] }
    stage.deeds.set(this.reference, this.deeds)
    this.#body = {
      reference: this.reference,
      amount: amountOf(stage, random),
      currency: price.currency,
      country: price.country,
      user: { email: `customer-${number}@example.com` },
    }
  }

  after(ms: number, act: () => Promise<unknown>): void {
    this.stage.agenda.at(this.stage.now() + ms, act)
  }

  /** By card, unless the provider has none. */
  async start(channel?: Channel): Promise<AttemptSeen | undefined> {
    const { shop, fake } = this.stage
    const { name } = fake.provider.capabilities
    const way = channel ? { channel, input: {} } : (fake.pays ?? { channel: 'card' as const, input: {} })
    const body = { ...this.#body, ...way.input, provider: providerName(name, way.channel) }
    const answer = await shop.ask('initialize', 'POST', '/payments/v1/payments/initialize', body)
    if (answer.status !== 200) return undefined
    const payment = await shop.payment(this.reference)
    return payment?.attempts.find(({ reference }) => reference === answer.body.data.reference)
  }

  /** By phone, bank or QR code. The code that a network asks for is given, unless it never comes. */
  async startBy(sample: ChannelSample, { givesCode = true } = {}): Promise<AttemptSeen | undefined> {
    const { shop, fake } = this.stage
    const { channel, price, input, code } = sample
    const provider = providerName(fake.provider.capabilities.name, channel)
    this.#body = { ...this.#body, ...price }
    const body = { ...this.#body, ...input, provider }
    const answer = await shop.ask('initialize', 'POST', '/payments/v1/payments/initialize', body)
    if (answer.status !== 200) return undefined
    const { reference, data } = answer.body.data
    if (code && givesCode) {
      const path = `/payments/v1/payments/${this.reference}/input`
      await shop.ask('input', 'POST', path, { [data.input.kind]: code.right })
    }
    const payment = await shop.payment(this.reference)
    return payment?.attempts.find((attempt) => attempt.reference === reference)
  }

  async pay(attempt: AttemptSeen | undefined): Promise<void> {
    if (attempt?.instructions) await this.stage.fake.customer.payByCard(orderOf(attempt), { save: false })
  }

  async transfer(attempt: AttemptSeen | undefined, share: number): Promise<void> {
    const due = attempt?.instructions?.amountToTransfer
    if (attempt && due) await this.stage.fake.customer.transfer?.(orderOf(attempt), Math.ceil(due * share))
  }

  /** By the merchant. `part`: of it, where a part can be refunded. */
  async refund(part?: number): Promise<void> {
    const { shop, refundsWholeOnly } = this.stage
    const amount = refundsWholeOnly ? undefined : part
    const payment = await shop.payment(this.reference)
    if (payment?.status !== 'successful') return
    const path = `/payments/v1/payments/${this.reference}/refunds`
    const key = crypto.randomUUID()
    let wanted: Record<string, unknown> = amount === undefined ? {} : { amount }
    for (let tries = 0; tries < 2; tries++) {
      const { status, body } = await shop.ask('refund', 'POST', path, wanted, { 'idempotency-key': key })
      if (status === 201 || status >= 500) this.deeds.asked += amount ?? payment.amountPaid
      if (body.code !== 'refund_account_required') return
      wanted = { ...wanted, destinationAccountNumber: '0690000031', destinationAccountBankCode: '058' }
    }
  }

  async refundInDashboard(order: string, amount: number): Promise<void> {
    const id = await this.stage.fake.refundAtProvider(order, amount)
    if (id) this.deeds.dashboard.push(id)
  }

  async dispute(order: string, amount: number): Promise<Deeds['disputes'][number] | undefined> {
    const id = await this.stage.fake.disputeAtProvider?.(order, { amount, reason: 'fraudulent' })
    if (!id) return undefined
    const dispute = { order, id, amount, status: 'open' as const }
    this.deeds.disputes.push(dispute)
    return dispute
  }

  async close(dispute: Deeds['disputes'][number], status: 'won' | 'lost'): Promise<void> {
    await this.stage.fake.closeDispute?.(dispute.id, status)
    dispute.status = status
  }
}
