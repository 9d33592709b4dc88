import type { Random } from '../random.ts'
import { CARD } from './cards.ts'
import { type Answer, type Door, pause } from './door.ts'

/** Calls that were answered with 2xx, to compare with the records. */
export interface Told {
  /** Of payments. */
  checkouts: string[]
  /** Of attempts, with the payment's. */
  attempts: { reference: string; payment: string }[]
  /** Of payments. */
  cancelled: string[]
  /** At the provider, over its control calls: what the customer was charged or has sent. */
  moved: { providerReference: string; amount: number }[]
  refunded: { payment: string; id: string; amount: number }[]
}

interface Attempt {
  payment: string
  reference: string
  providerReference: string
  accountNumber: string | undefined
}

type Channel = 'card' | 'transfer'

/** After that a customer gives up. An order that the provider does not know stays unknown for ten minutes. */
const START_TRIES = 3

/** The behaviours of customers, with their weights. */
const STORIES: [number, (visit: Visit) => Promise<void>][] = [
  [14, async (visit) => visit.payWith(await visit.start('card'), CARD.pays)],
  [8, async (visit) => visit.payWith(await visit.startFromCheckout('card'), CARD.pays)],
  [6, (visit) => visit.declinedThenSamePage()],
  [6, (visit) => visit.declinedThenNewAttempt()],
  [3, async (visit) => visit.payWith(await visit.start('card'), visit.badCard())],
  [6, (visit) => visit.withCode()],
  [6, async (visit) => visit.payWith(await visit.start('card'), CARD.staysSilent)],
  [6, (visit) => visit.savedCard()],
  [10, async (visit) => visit.transfer(await visit.startFromCheckout('transfer'), [1])],
  [6, async (visit) => visit.transfer(await visit.start('transfer'), [0.4, 0.6])],
  [2, async (visit) => visit.transfer(await visit.start('transfer'), [0.7])],
  [4, async (visit) => visit.transfer(await visit.start('transfer'), [1.3])],
  [4, async (visit) => visit.transfer(await visit.start('transfer'), [1, 1])],
  [3, async (visit) => visit.transfer(await visit.start('transfer'), [0.5, 0.5, 0.5, 0.5])],
  [5, (visit) => visit.cancelled()],
  [4, (visit) => visit.cancelledThenPaid()],
  [6, (visit) => visit.paidTwice()],
  [4, (visit) => visit.paidThenRefunded()],
  [3, async (visit) => void (await visit.start('card'))],
]

/** One customer with one payment, from the first call to the last. */
export async function visit(door: Door, random: Random, number: number, told: Told): Promise<void> {
  const total = STORIES.reduce((sum, [weight]) => sum + weight, 0)
  let drawn = random.between(1, total)
  const story = STORIES.find(([weight]) => {
    drawn -= weight
    return drawn <= 0
  })
  await story?.[1](new Visit(door, random, number, told))
}

class Visit {
  readonly #door: Door
  readonly #random: Random
  readonly #told: Told
  readonly #name: number
  readonly #reference: string
  readonly #email: string
  readonly #amount: number

  /** `again`: the same customer's next payment. */
  constructor(door: Door, random: Random, number: number, told: Told, again = '') {
    this.#door = door
    this.#random = random
    this.#told = told
    this.#name = number
    this.#reference = `chaos-${number}${again}`
    this.#email = `customer-${number}@example.com`
    this.#amount = random.between(10, 500_000) * 10
  }

  badCard(): string {
    return this.#random.pick([CARD.insufficientFunds, CARD.declined, CARD.expired])
  }

  async declinedThenSamePage(): Promise<void> {
    const attempt = await this.start('card')
    await this.#charge(attempt, { card: this.badCard() })
    await this.#moment()
    await this.payWith(attempt, CARD.pays)
  }

  async declinedThenNewAttempt(): Promise<void> {
    await this.payWith(await this.start('card'), this.badCard())
    await this.#moment()
    await this.payWith(await this.start('card'), CARD.pays)
  }

  async withCode(): Promise<void> {
    const attempt = await this.start('card')
    await this.#charge(attempt, { card: CARD.asksForCode })
    if (this.#random.chance(0.5)) await this.#charge(attempt, { card: CARD.asksForCode, otp: '000000' })
    await this.#charge(attempt, { card: CARD.asksForCode, otp: '123456' })
    await this.#comeBack(attempt)
  }

  /** Keeps the card with the first payment; the second is charged without naming one, if the first is on record by then. */
  async savedCard(): Promise<void> {
    await this.#charge(await this.start('card'), { card: CARD.pays, save: true })
    await this.#moment()
    await new Visit(this.#door, this.#random, this.#name, this.#told, 'again').#payWithSaved()
  }

  async #payWithSaved(): Promise<void> {
    const attempt = await this.start('card')
    const charged = await this.#charge(attempt, {})
    if (charged?.status === 422) await this.#charge(attempt, { card: CARD.pays })
    await this.#comeBack(attempt)
  }

  async transfer(attempt: Attempt | undefined, shares: number[]): Promise<void> {
    for (const share of shares) {
      await this.#transfer(attempt, Math.round(this.#amount * share))
      await this.#moment()
    }
  }

  async cancelled(): Promise<void> {
    if (this.#random.chance(0.5)) await this.start('card')
    else await this.#checkout()
    await this.#cancel()
  }

  async cancelledThenPaid(): Promise<void> {
    const attempt = await this.start(this.#random.pick(['card', 'transfer']))
    await this.#cancel()
    if (attempt?.accountNumber) await this.transfer(attempt, [1])
    else await this.payWith(attempt, CARD.pays)
  }

  /** By card in one tab, by transfer in the other, and both are used. */
  async paidTwice(): Promise<void> {
    const first = await this.start('card')
    const second = await this.start('transfer')
    const pay = (attempt: Attempt | undefined) =>
      attempt?.accountNumber ? this.transfer(attempt, [1]) : this.payWith(attempt, CARD.pays)
    if (this.#random.chance(0.5)) await Promise.all([pay(first), pay(second)])
    else {
      await pay(second)
      await pay(first)
    }
  }

  async paidThenRefunded(): Promise<void> {
    await this.payWith(await this.start('card'), CARD.pays)
    await this.#moment()
    const wanted = this.#random.chance(0.5) ? {} : { amount: Math.ceil(this.#amount / 3) }
    const path = `/payments/v1/payments/${this.#reference}/refunds`
    const answer = await this.#door.ask('refund', 'POST', path, wanted)
    if (answer?.status === 201) this.#told.refunded.push({ ...answer.body.data, payment: this.#reference })
  }

  async payWith(attempt: Attempt | undefined, card: string): Promise<void> {
    await this.#charge(attempt, { card })
    await this.#comeBack(attempt)
  }

  async startFromCheckout(channel: Channel): Promise<Attempt | undefined> {
    await this.#checkout()
    return this.start(channel)
  }

  /** Starts an attempt, half of the time with an idempotency key. After a lost answer it repeats the call or reads the payment. */
  async start(channel: Channel): Promise<Attempt | undefined> {
    const headers: Record<string, string> = this.#random.chance(0.5) ? { 'idempotency-key': crypto.randomUUID() } : {}
    const body = {
      provider: channel === 'card' ? 'gateway' : 'gateway-virtual-bank-account',
      reference: this.#reference,
      amount: this.#amount,
      user: { email: this.#email },
    }
    for (let round = 0; round < START_TRIES; round++) {
      const answer = await this.#door.ask('initialize', 'POST', '/payments/v1/payments/initialize', body, headers)
      if (answer?.status === 200) return this.#started(answer)
      if (answer && answer.status < 500 && answer.body.code !== 'attempt_in_progress' && !isRunning(answer)) return
      const found = await this.#findOpen(channel)
      if (found) return found
      await this.#moment()
    }
    return undefined
  }

  async #started({ body }: Answer): Promise<Attempt> {
    const { reference, data } = body.data
    this.#told.attempts.push({ reference, payment: this.#reference })
    const { reference: providerReference = '', accountNumber } = data
    return { payment: this.#reference, reference, providerReference, accountNumber }
  }

  /** The answer was lost, but the attempt may exist, with its instructions. */
  async #findOpen(channel: Channel): Promise<Attempt | undefined> {
    const attempt = (await this.#attempts()).findLast(
      (each) => each.instructions && each.status === 'pending' && (each.channel === 'card') === (channel === 'card'),
    )
    if (!attempt) return undefined
    const { reference, providerReference, instructions } = attempt
    return { payment: this.#reference, reference, providerReference, accountNumber: instructions.accountNumber }
  }

  async #attempts() {
    const answer = await this.#door.askUntilKnown('read', 'GET', `/payments/v1/payments/${this.#reference}`)
    return (answer?.body.data?.attempts ?? []) as {
      id: string
      reference: string
      channel: string
      status: string
      providerReference: string
      // biome-ignore lint/suspicious/noExplicitAny: a link or an account
      instructions: any
    }[]
  }

  async #checkout(): Promise<void> {
    const answer = await this.#door.askUntilKnown('checkout', 'POST', '/payments/v1/checkouts', {
      reference: this.#reference,
      amount: this.#amount,
      country: 'NG',
      user: { email: this.#email },
    })
    if (answer?.status === 201) this.#told.checkouts.push(this.#reference)
  }

  async #cancel(): Promise<void> {
    const answer = await this.#door.ask('cancel', 'POST', `/payments/v1/payments/${this.#reference}/cancel`)
    if (answer?.status === 200) this.#told.cancelled.push(this.#reference)
  }

  /** At the provider's page. A broken call is repeated: the provider answers that the card is charged already. */
  async #charge(attempt: Attempt | undefined, body: { card?: string; otp?: string; save?: boolean }) {
    if (!attempt) return undefined
    const { providerReference } = attempt
    const path = `/sandbox/gateway/charges/${providerReference}`
    const answer = await this.#door.askUntilKnown('charge', 'POST', path, body)
    if (answer?.status === 200 && (answer.body.data.result === 'paid' || answer.body.data.result === 'pending')) {
      const taken = answer.body.data.transactions.findLast(({ status }: { status: string }) => status !== 'failed')
      this.#told.moved.push({ providerReference, amount: taken.amount })
    }
    return answer
  }

  /** A broken transfer is not repeated: it may have been made or not. */
  async #transfer(attempt: Attempt | undefined, amount: number): Promise<void> {
    if (!attempt) return
    const body = { accountNumber: attempt.accountNumber, amount }
    const answer = await this.#door.ask('transfer', 'POST', '/sandbox/gateway/transfers', body)
    if (answer?.status !== 200) return
    this.#told.moved.push({ providerReference: answer.body.data.reference, amount })
  }

  async #comeBack(attempt: Attempt | undefined): Promise<void> {
    if (!attempt || this.#random.chance(0.5)) return
    const id = (await this.#attempts()).find(({ reference }) => reference === attempt.reference)?.id
    if (id) await this.#door.ask('return', 'GET', `/return/${id}`)
  }

  /** A pause, as customers and notices have. */
  #moment(): Promise<void> {
    return pause(this.#random.between(0, 1_500))
  }
}

function isRunning({ body }: Answer): boolean {
  return body.code === 'idempotency_in_progress'
}
