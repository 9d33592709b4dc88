import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../../src/database/database.ts'
import { findCurrentKeysVersion } from '../../../src/integrations/provider-keys-store.ts'
import { type Channel, providerName } from '../../../src/kernel/channel.ts'
import { type AttemptId, newId, uuidOf } from '../../../src/kernel/ids.ts'
import type { SecretBox } from '../../../src/kernel/secret-box.ts'
import { upsertCard } from '../../../src/payments/store/saved-cards.ts'
import type { ChannelSample } from '../../fakes/conformance-rig.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { closeInstructions } from '../../support/payment-records.ts'
import type { Random } from '../random.ts'
import type { Merchant } from './service.ts'
import type { AttemptSeen, PaymentSeen, Shop } from './shop.ts'

/** As much of a provider as customers and the comparison need. The fake of a real provider has all of it. */
export interface PlayedProvider
  extends Pick<
    FakeProvider,
    'provider' | 'price' | 'pays' | 'customer' | 'refundAtProvider' | 'disputeAtProvider' | 'closeDispute'
  > {
  savedCards: Partial<FakeProvider['savedCards']>
  refundsWholeOnly?: boolean
  ordersLackOurReference?: boolean
  /** A charge may be of another amount than it was asked for. */
  takesWrongAmounts?: boolean
  ledger(): ReturnType<FakeProvider['ledger']> | Promise<ReturnType<FakeProvider['ledger']>>
  /** What a customer does on its page. Absent: the page takes a form with the button. */
  press?(order: string, button: Button, random: Random): Promise<void>
}

/**
 * `code`: the customer's bank asks for one. `silence`: the card is charged, and the provider says nothing for a while.
 */
export type Button = 'pay' | 'decline' | 'code' | 'silence'

export interface World {
  shop: Shop
  merchant: Merchant
  fake: PlayedProvider
  /** Ways to pay beside cards and bank transfers. */
  channels: readonly ChannelSample[]
  database: Database
  secrets: SecretBox
  /** The merchant's webhook URL. */
  webhook: string
  told: Told
}

/** What a merchant was answered, to compare with the records. */
export interface Told {
  payments: string[]
  /** `reference of payment`. */
  attempts: string[]
  /** Payments. */
  cancelled: string[]
  /** `keys`: how many different refunds were asked for; `ids`: what was answered with 201. */
  refunds: { payment: string; keys: number; ids: string[] }[]
  /** Made in the provider's dashboard, or by a customer's bank. */
  atProvider: { refunds: { order: string; id: string }[]; disputes: { order: string; id: string; outcome: string }[] }
}

export const newTold = (): Told => ({
  ...{ payments: [], attempts: [], cancelled: [], refunds: [] },
  atProvider: { refunds: [], disputes: [] },
})

interface VisitOptions {
  again?: string
  sample?: ChannelSample | undefined
}

type CardKind = 'paying' | 'declining' | 'askingForAStep'

/** Tries to start an attempt before a customer gives up. */
const START_TRIES = 4
/** While the outcome of an attempt is unknown, no other may start. A customer waits for this long. */
const PATIENCE_MS = 10_000
const LOOK_EVERY_MS = 250
/** Answers without a call to the provider. */
const AWAY_MS = 4_000

/** One customer with one payment. Returns what the merchant does afterwards, if anything. */
export class Visit {
  readonly #world: World
  readonly #random: Random
  readonly #number: number
  readonly #amount: number
  readonly #body: Record<string, unknown>
  readonly reference: string
  readonly #user: { email: string; id: string | null }

  readonly sample: ChannelSample | undefined

  /** `again`: the same customer's next payment. `sample`: one that is paid by this channel. */
  constructor(world: World, random: Random, number: number, { again = '', sample }: VisitOptions = {}) {
    const { pays } = world.fake
    this.sample = sample ?? world.channels.find((each) => each === pays)
    const { price } = this.sample ?? world.fake
    this.#world = world
    this.#random = random
    this.#number = number
    this.#amount = this.sample?.price.amount ?? random.between(40_000, 5_000_000)
    this.reference = `chaos-${number}${again}`
    // Most are signed in with the shop; the others' cards are reached by initialize alone.
    this.#user = { email: `customer-${number}@example.com`, id: number % 4 === 0 ? null : `customer-${number}` }
    this.#body = {
      reference: this.reference,
      amount: this.#amount,
      currency: price.currency,
      country: price.country,
      user: this.#user,
      webhook: world.webhook,
      customerBearsCharge: random.chance(0.2),
    }
  }

  again(): Visit {
    return new Visit(this.#world, this.#random, this.#number, { again: '-again' })
  }

  /** A card whose token the customer left with an earlier payment; what it does is known to the fake. */
  async hasCard(kind: CardKind): Promise<void> {
    const { database, secrets, merchant, fake } = this.#world
    const token = fake.savedCards[kind]
    if (!token) return
    const card = { token, brand: 'visa', last4: '4081', expiryMonth: 9, expiryYear: 2035 }
    const { name: provider } = fake.provider.capabilities
    const id = newId('card', new Date(), merchant.place)
    await database.transaction(async (tx) => {
      const keysVersion = await findCurrentKeysVersion(tx, merchant, provider)
      await upsertCard(tx, secrets, { id, scope: merchant, provider, keysVersion, customer: this.#user, card })
    })
  }

  async checkout(): Promise<PaymentSeen | undefined> {
    const { status } = await this.#world.shop.ask('checkout', 'POST', '/payments/v1/checkouts', this.#body)
    if (status !== 201) return undefined
    this.#world.told.payments.push(this.reference)
    return this.read()
  }

  read(): Promise<PaymentSeen | undefined> {
    return this.#world.shop.payment(this.reference)
  }

  /** By card, unless the provider has none. */
  get #byDefault(): { channel: Channel; input: object } {
    return this.#world.fake.pays ?? { channel: 'card', input: {} }
  }

  /** The merchant initializes an attempt, half of the time with an idempotency key. */
  async initialize(
    channel: Channel = this.#byDefault.channel,
    { saveCard = false, input = this.#byDefault.input } = {},
  ): Promise<AttemptSeen | undefined> {
    const { shop, fake, told } = this.#world
    const { name } = fake.provider.capabilities
    const headers: Record<string, string> = this.#random.chance(0.5) ? { 'idempotency-key': crypto.randomUUID() } : {}
    const provider = providerName(name, channel)
    const body = { ...this.#body, provider, ...input, ...(saveCard && { saveCard }) }
    for (let tries = 0; tries < START_TRIES; tries++) {
      const answer = await shop.ask('initialize', 'POST', '/payments/v1/payments/initialize', body, headers)
      if (answer.status === 200) {
        told.payments.push(this.reference)
        told.attempts.push(`${answer.body.data.reference} of ${this.reference}`)
        return (await this.read())?.attempts.find(({ reference }) => reference === answer.body.data.reference)
      }
      const isForNow =
        answer.status >= 500 || ['attempt_in_progress', 'idempotency_in_progress'].includes(answer.body.code)
      if (!isForNow) return undefined
      await this.#waitForTurn()
    }
    return undefined
  }

  /** The customer presses the button on our page. `card`: a saved one, if there is one. */
  async press(channel: Channel = 'card', { card = 'new' as 'new' | 'saved', save = false } = {}) {
    const { shop } = this.#world
    const payment = await this.read()
    if (!payment) return undefined
    for (let tries = 0; tries < START_TRIES; tries++) {
      const form = await shop.openForm(payment.id, channel === 'card' ? 'card' : 'transfer')
      if (form) {
        const { fields, cards } = form
        if (channel === 'card') fields.set('card', (card === 'saved' && cards[0]) || 'new')
        if (save) fields.set('save', '1')
        await shop.press(payment.id, fields)
      }
      const seen = await this.read()
      const last = seen?.attempts.at(-1)
      if (!last || seen?.status !== 'pending' || last.instructions) return last
      if (card === 'saved' && last.status === 'failed') return last
      await this.#waitForTurn()
    }
    return undefined
  }

  /**
   * Follows the instructions of the attempt: the provider's page, a step at the bank, or a confirmation on our page.
   */
  async pay(attempt: AttemptSeen | undefined, press: Button = 'pay'): Promise<void> {
    if (this.#world.fake.pays && attempt?.instructions) {
      await this.decide(attempt, press === 'decline' ? 'refuse' : 'approve')
      return
    }
    const link = attempt?.instructions?.link
    if (!attempt || !link) return
    const { shop, fake } = this.#world
    if (fake.press) {
      await fake.press(orderOf(attempt), press, this.#random)
      if (this.#random.chance(0.5)) await shop.browse('return', `/return/${attempt.id}`)
      return
    }
    if (shop.isOurs(link)) return this.pay(await this.press('card', { card: 'saved' }), press)
    const page = await fetch(link, { method: 'POST', body: new URLSearchParams({ press }), redirect: 'manual' })
    await page.text()
    const back = page.headers.get('location')
    if (back && this.#random.chance(0.5)) await this.#comeBack(back)
  }

  /** On the provider's page, with consent to save the card. */
  async payAndKeep(attempt: AttemptSeen | undefined): Promise<void> {
    if (attempt?.instructions) await this.#world.fake.customer.payByCard(orderOf(attempt), { save: true })
  }

  async transfer(attempt: AttemptSeen | undefined, shares: number[]): Promise<void> {
    const due = attempt?.instructions?.amountToTransfer
    if (!attempt || !due) return
    for (const share of shares) {
      await this.#world.fake.customer.transfer?.(orderOf(attempt), Math.round(due * share))
      await this.moment()
    }
  }

  /** By the channel of the sample, up to where the customer decides; undefined when they cannot. */
  async startChannel(): Promise<AttemptSeen | undefined> {
    if (!this.sample) return undefined
    const { channel, input, code } = this.sample
    const attempt = await this.initialize(channel, { input })
    if (!code || !attempt?.instructions) return attempt?.instructions ? attempt : undefined
    return (await this.giveCode(attempt, code.right)) === 200 ? attempt : undefined
  }

  async giveCode({ instructions }: AttemptSeen, code: string): Promise<number | undefined> {
    if (!instructions?.input) return undefined
    const path = `/payments/v1/payments/${this.reference}/input`
    const { status } = await this.#world.shop.ask('give code', 'POST', path, { [instructions.input.kind]: code })
    return status
  }

  /** Nobody says no to a number that can be paid to. */
  async decide(attempt: AttemptSeen | undefined, what: 'approve' | 'refuse' | 'expire'): Promise<void> {
    if (!attempt || (what === 'refuse' && this.sample?.starts === 'pay to')) return
    await this.#world.fake.customer[what]?.(orderOf(attempt))
  }

  closeInstructions(): Promise<void> {
    return closeInstructions(this.#world.database, this.reference)
  }

  async cancel(): Promise<void> {
    const { shop, told } = this.#world
    const { status } = await shop.ask('cancel', 'POST', `/payments/v1/payments/${this.reference}/cancel`)
    if (status === 200) told.cancelled.push(this.reference)
  }

  /** All of it, a part, or in parts; each with a key, and some asked twice. */
  async refund(): Promise<void> {
    const payment = await this.read()
    if (payment?.status !== 'successful') return
    const third = Math.ceil(payment.amountPaid / 3)
    const parts = [[third], [third, third], [third, undefined]]
    const amounts = this.#random.pick([[undefined], ...(this.#world.fake.refundsWholeOnly ? [] : parts)])
    const told = { payment: this.reference, keys: amounts.length, ids: [] as string[] }
    this.#world.told.refunds.push(told)
    for (const amount of amounts) {
      const key = crypto.randomUUID()
      const again = this.#random.pick(['never', 'at once', 'later'])
      const first = this.#refund(amount, key, told.ids)
      if (again === 'at once') await this.#refund(amount, key, told.ids)
      await first
      if (again === 'later') await this.#refund(amount, key, told.ids)
    }
  }

  /** The merchant makes a partial refund in the provider's dashboard. */
  async refundAtProvider(): Promise<void> {
    const winner = await this.#winner()
    if (!winner) return
    const order = orderOf(winner)
    const amount = Math.ceil(winner.amountCharged / this.#random.pick([3, 5]))
    const id = await this.#world.fake.refundAtProvider?.(order, amount)
    if (id) this.#world.told.atProvider.refunds.push({ order, id })
  }

  /** The cardholder disputes the charge, and the bank decides; now and then it never does. */
  async dispute(): Promise<void> {
    const { fake, told } = this.#world
    const winner = await this.#winner()
    if (!winner || !fake.disputeAtProvider) return
    const order = orderOf(winner)
    const id = await fake.disputeAtProvider(order, { amount: winner.amountCharged, reason: 'fraudulent' })
    const outcome = this.#random.pick(['open', 'won', 'lost'] as const)
    await this.moment()
    if (outcome !== 'open') await fake.closeDispute?.(id, outcome)
    told.atProvider.disputes.push({ order, id, outcome })
  }

  async #winner(): Promise<AttemptSeen | undefined> {
    return (await this.read())?.attempts.find(({ status }) => status === 'successful')
  }

  async #refund(amount: number | undefined, key: string, ids: string[]): Promise<void> {
    const path = `/payments/v1/payments/${this.reference}/refunds`
    const headers = { 'idempotency-key': key }
    let account = {}
    for (let tries = 0; tries < START_TRIES; tries++) {
      const wanted = { ...(amount && { amount }), ...account }
      const { status, body } = await this.#world.shop.ask('refund', 'POST', path, wanted, headers)
      if (body.code === 'refund_account_required') {
        account = { destinationAccountNumber: '0690000031', destinationAccountBankCode: '058' }
        continue
      }
      if (status === 201) return void ids.push(body.data.id)
      if (status < 500 && body.code !== 'idempotency_in_progress') return
      await this.moment()
    }
  }

  /** Waits until the outcome is known, or the customer gives up. */
  async untilSuccessful(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (performance.now() < deadline) {
      if ((await this.read())?.status !== 'pending') return
      await pause(LOOK_EVERY_MS)
    }
  }

  /** A pause, as customers have. */
  moment(): Promise<void> {
    return pause(this.#random.between(0, 600))
  }

  async #comeBack(address: string): Promise<void> {
    const { pathname, search } = new URL(address)
    if (this.#world.shop.isOurs(address)) await this.#world.shop.browse('return', pathname + search)
  }

  async #waitForTurn(): Promise<void> {
    await this.moment()
    const deadline = performance.now() + PATIENCE_MS
    while (performance.now() < deadline) {
      const attempts = (await this.read())?.attempts ?? []
      if (attempts.some(({ status }) => status === 'processing')) await pause(LOOK_EVERY_MS)
      else return pause(attempts.at(-1)?.failure?.code === 'provider_unavailable' ? AWAY_MS : 0)
    }
  }
}

/** Our reference at the provider, which merchants do not see. */
export const orderOf = ({ id }: AttemptSeen) => uuidOf(id as AttemptId).replaceAll('-', '')
