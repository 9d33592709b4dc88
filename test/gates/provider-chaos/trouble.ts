import { setTimeout as pause } from 'node:timers/promises'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import type { Asked, Said, Trouble } from '../../fakes/upstream.ts'
import type { Copies } from '../copies.ts'
import type { Killer } from '../killer.ts'
import type { Random } from '../random.ts'

/** Fault rates of requests, in percent. */
const TROUBLE_IN_100: Record<Trouble, number> = {
  'silent before the work': 2,
  'silent after the work': 2,
  'reset before the work': 2,
  'reset after the work': 2,
  'breaking off after the work': 2,
  'answering 500 before the work': 5,
  'answering 503 after the work': 5,
  'answering 429': 5,
  redirecting: 1,
}
/** The share of 429 answers with Retry-After. Until that time no call is made. */
const SAYS_WHEN = 0.01
const COME_BACK: Said = { status: 429, text: '{"error":"slow down"}', headers: { 'retry-after': '1' } }
const AWAY = 'reset before the work'

const TOO_MANY: Said = { status: 429, text: '{"error":"slow down"}' }

/** Stands between the service and the provider's accounts, and counts what it does. */
export class TroubledWay {
  readonly counts = new Map<string, number>()
  readonly #random: Random
  readonly #fakes: FakeProvider[]
  readonly #killer: Killer
  #awayUntil = 0
  #burstUntil = 0

  constructor(random: Random, fakes: FakeProvider[], killer: Killer) {
    this.#random = random
    this.#fakes = fakes
    this.#killer = killer
  }

  begin(): void {
    for (const { upstream } of this.#fakes) upstream.trouble = (asked) => this.#choose(asked)
  }

  end(): void {
    for (const { upstream } of this.#fakes) upstream.trouble = undefined
  }

  /** Everything is answered with 429 for a moment. */
  limitRate(ms: number): void {
    this.#burstUntil = performance.now() + ms
    this.#count('bursts of 429')
  }

  /** No request gets through for a moment, long enough for a circuit breaker to open. */
  goAway(ms: number): void {
    this.#awayUntil = performance.now() + ms
    this.#count('away for a moment')
  }

  #choose({ method, path, headers }: Asked): Trouble | Said | undefined {
    if (!headers.authorization) return undefined // a customer on the provider's page
    this.#count('requests')
    const killed = this.#killer.look(method, path)
    if (killed) return killed
    if (performance.now() < this.#awayUntil) return AWAY
    if (performance.now() < this.#burstUntil) return TOO_MANY
    const trouble = this.#draw()
    if (!trouble) return undefined
    this.#count(trouble)
    if (trouble !== 'answering 429' || !this.#random.chance(SAYS_WHEN)) return trouble
    this.#count('with Retry-After')
    return COME_BACK
  }

  #draw(): Trouble | undefined {
    let drawn = this.#random.next() * 100
    for (const [trouble, share] of Object.entries(TROUBLE_IN_100)) {
      drawn -= share
      if (drawn < 0) return trouble as Trouble
    }
    return undefined
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }
}

const LOST = 0.2
const DOUBLED = 0.3
const LATE = 0.3
const LATE_BY_MS = [300, 5_000] as const
const LOOK_EVERY_MS = 25
/** Five minutes. A busy machine needs a while to start the service again. */
const MOST_TRIES = 1_200

/** Delivers the fake's notices with faults: some are lost, doubled or reordered. */
export class Courier {
  readonly counts = { sent: 0, lost: 0, doubled: 0, late: 0 }
  /** The notices that the service refused, with its answer. */
  readonly refused: string[] = []
  readonly #random: Random
  readonly #fake: FakeProvider
  readonly #copies: Pick<Copies, 'pick'>
  readonly #path: string
  readonly #lost: Notice[] = []
  readonly #underWay = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  #isReliable = false
  #isStopped = false

  constructor(random: Random, fake: FakeProvider, copies: Pick<Copies, 'pick'>, path: string) {
    this.#random = random
    this.#fake = fake
    this.#copies = copies
    this.#path = path
    this.#timer = setInterval(() => this.#collect(), LOOK_EVERY_MS)
  }

  /** From now on notices arrive once and at once. */
  becomeReliable(): void {
    this.#isReliable = true
    for (const notice of this.#lost.splice(0)) this.#send(notice, 0)
  }

  /** Resolves when all notices have been delivered. */
  async allDelivered(): Promise<void> {
    for (;;) {
      this.#collect()
      if (this.#underWay.size === 0) return
      await Promise.all(this.#underWay)
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#isStopped = true
  }

  #collect(): void {
    for (const notice of this.#fake.takeNotices()) this.#carry(notice)
  }

  #carry(notice: Notice): void {
    if (this.#isReliable) return void this.#send(notice, 0)
    if (this.#random.chance(LOST)) {
      this.counts.lost++
      // What nothing else tells comes at last. Weeks: what never comes is a case.
      if (this.#fake.provider.capabilities.noticesHaveFacts) this.#lost.push(notice)
      return
    }
    this.#send(notice, this.#delay())
    if (!this.#random.chance(DOUBLED)) return
    this.counts.doubled++
    this.#send(notice, this.#delay())
  }

  #delay(): number {
    if (!this.#random.chance(LATE)) return 0
    this.counts.late++
    return this.#random.between(...LATE_BY_MS)
  }

  #send(notice: Notice, delayMs: number): void {
    this.counts.sent++
    const sending = this.#deliver(notice, delayMs).finally(() => this.#underWay.delete(sending))
    this.#underWay.add(sending)
  }

  /** Retries until it is accepted, as providers do. */
  async #deliver(notice: Notice, delayMs: number): Promise<void> {
    const { body } = notice
    await pause(delayMs)
    let status = 0
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      status = await this.#post(notice)
      if (status === 200) return
      if (this.#isStopped) return // no copy is left to take it
      if (status < 500) return void this.refused.push(`a notice was answered with ${status}: ${body}`)
      await pause(250)
    }
    this.refused.push(`a notice was refused ${MOST_TRIES} times, last with ${status}: ${body}`)
  }

  /** 599: no copy is up, or it was killed meanwhile. */
  async #post({ headers, body, url, headersTo }: Notice): Promise<number> {
    const baseUrl = this.#copies.pick(this.#random)
    if (!baseUrl) return 599
    const address = baseUrl + (url ? new URL(url).pathname : this.#path)
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(headersTo?.(address) ?? headers) },
      body: new Uint8Array(body),
    }
    return fetch(address, request).then(
      ({ status }) => status,
      () => 599,
    )
  }
}

type Notice = ReturnType<FakeProvider['takeNotices']>[number]
