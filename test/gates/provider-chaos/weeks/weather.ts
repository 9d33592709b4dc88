import type { Asked, Said, Trouble } from '../../../fakes/upstream.ts'
import { randomOf } from '../../random.ts'
import { DAY, HOUR, MINUTE } from './clock.ts'
import type { WeeksProvider } from './sale.ts'
import { type Json, parse, print, type Wire, wireOf } from './wire.ts'

/** From and until, in simulated milliseconds. */
export type Window = readonly [number, number]
/** No call gets through for 50 hours. */
export const AWAY: Window = [3 * DAY, 3 * DAY + 50 * HOUR]
/** The keys are refused for 60 hours. Then the merchant saves new ones, and the old ones stay refused. */
export const REFUSED: Window = [8 * DAY, 8 * DAY + 60 * HOUR]

/** Calls with the first keys are answered. */
export const ANSWERED: Window[] = [
  [0, AWAY[0]],
  [AWAY[1], REFUSED[0]],
]

/** A list shows so many of its entries later than the answer about the order. */
const LAGGING = 0.15
const LAG_MS = [MINUTE, 3 * DAY] as const
const BROKEN = 0.01
const HOW_BROKEN: Trouble[] = ['reset before the work', 'answering 500 before the work', 'answering 429']

/** What the provider says about one order beside the truth. */
interface OrderFaults {
  unpaid?: Window
  withoutList?: Window
  answers500?: Window
  reversedFrom?: number
  /** The next refund is made, and its answer is lost. */
  losesRefundAnswer?: boolean
  /** Its refunds are in lists only after so long. */
  lagsRefunds?: number
}

/** All of it, when the bank sends the money back; half of it more when the provider got the amount wrong. */
export interface ChangedRefund {
  order: string
  less: number
  at: number
}

/** Stands between the service and the fake of a provider: what it says wrong over the weeks, and what never arrives. */
export class Weather {
  readonly counts = new Map<string, number>()
  calls = 0
  readonly #seed: number
  readonly #fake: WeeksProvider
  readonly #wire: Wire
  readonly #now: () => number
  readonly #orders = new Map<string, OrderFaults>()
  /** By the provider's id. */
  readonly #refunds = new Map<string, ChangedRefund>()
  /** From when on a list shows it. */
  readonly #listedFrom = new Map<string, number>()
  #isActive = true

  constructor(seed: number, fake: WeeksProvider, now: () => number) {
    this.#seed = seed
    this.#fake = fake
    this.#now = now
    this.#wire = wireOf(fake.provider.capabilities.name)
    fake.upstream.trouble = (asked) => this.#choose(asked)
    fake.upstream.garble = (said, asked) => this.#change(said, asked)
  }

  get canReverse(): boolean {
    return this.#wire.reverse !== undefined
  }

  get canChangeRefunds(): boolean {
    return this.#wire.failRefund !== undefined
  }

  get canOmitList(): boolean {
    return this.#wire.omitList !== undefined
  }

  /** What is lasting stays: reversals, refunds that failed, refused keys. */
  clearUp(): void {
    this.#isActive = false
  }

  set(order: string, faults: OrderFaults): void {
    this.#orders.set(order, { ...this.#orders.get(order), ...faults })
  }

  changeRefund(id: string, change: ChangedRefund): void {
    this.#refunds.set(id, change)
  }

  /** How much less than it was asked for has gone back by a refund; negative when it is more. */
  lessBy(id: string): number {
    const change = this.#refunds.get(id)
    return change && this.#now() >= change.at ? change.less : 0
  }

  isReversed(order: string): boolean {
    return this.#now() >= (this.#orders.get(order)?.reversedFrom ?? Number.POSITIVE_INFINITY)
  }

  /** After each step of the customers: a list is late counted from the moment at which the money moved. */
  look(): void {
    const { taken, givenBack } = this.#fake.ledger()
    for (const { reference } of taken) this.#listed(reference)
    for (const { id, reference } of givenBack) this.#listed(id, this.#orders.get(reference)?.lagsRefunds)
  }

  #listed(name: string, lagMs?: number): number {
    const known = this.#listedFrom.get(name)
    if (known !== undefined) return known
    const from = this.#now() + (lagMs ?? this.#lagOf(name))
    this.#listedFrom.set(name, from)
    return from
  }

  #choose(asked: Asked): Trouble | Said | undefined {
    const { authorization } = asked.headers
    if (!authorization) return undefined // a customer on the provider's page
    this.calls++
    if (this.#isIn(AWAY)) return this.#count('away for 50 h', 'reset before the work')
    const refusal = this.#checkKeys(asked)
    if (refusal) return refusal
    for (const [order, { answers500, losesRefundAnswer }] of this.#orders) {
      if (!(answers500 && this.#isIn(answers500)) && !losesRefundAnswer) continue
      if (!this.#isAbout(asked, order)) continue
      if (!losesRefundAnswer) return this.#count('500 about one order', 'answering 500 before the work')
      if (asked.method !== 'POST' || !/refund|reversal/.test(asked.path)) continue
      this.set(order, { losesRefundAnswer: false })
      return this.#count('answers to refunds lost', 'answering 503 after the work')
    }
    const random = randomOf(this.#seed, 1_000_000 + this.calls)
    if (!this.#isActive || !random.chance(BROKEN)) return undefined
    const how = random.pick(HOW_BROKEN)
    return this.#count(how, how)
  }

  /** The fake knows the old keys alone: the new ones are translated on their way, and the old ones are refused. */
  #checkKeys(asked: Asked): Said | undefined {
    if (this.#now() < REFUSED[0]) return undefined
    const { secretKey = '', apiKey = '' } = keysOf(this.#fake.settings)
    const headerOf = (key: string) => [`Bearer ${key}`, `Basic ${Buffer.from(`${apiKey}:${key}`).toString('base64')}`]
    const renewed = headerOf(keysOf(this.renewedKeys()).secretKey).indexOf(asked.headers.authorization as string)
    const isToken = !headerOf(secretKey).includes(asked.headers.authorization as string) && renewed === -1
    if (this.#now() >= REFUSED[1] && (isToken || renewed !== -1)) {
      if (!isToken) asked.headers.authorization = headerOf(secretKey)[renewed]
      return undefined
    }
    return this.#count('keys refused', { status: 401, text: '{"status":false,"message":"Invalid key","error":{}}' })
  }

  /** The settings with another secret key of the same form. The sandbox provider has the old ones again. */
  renewedKeys(): Record<string, string> {
    const { settings, renewsKeys } = this.#fake
    if (!renewsKeys) return settings
    const { secretName, secretKey } = keysOf(settings)
    return { ...settings, [secretName]: secretKey.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10)) }
  }

  #isAbout({ path, body }: Asked, order: string): boolean {
    const { taken } = this.#fake.ledger()
    const ids = taken.filter(({ reference }) => reference === order).map(({ id }) => id.split('#')[0] as string)
    return [order, ...ids].some((name) =>
      [name, encodeURIComponent(name)].some((text) => `${path} ${body}`.includes(text)),
    )
  }

  #change(said: Said, { headers, method }: Asked): Said {
    if (!headers.authorization || !said.text.startsWith('{')) return said
    const json = parse(said.text)
    const kept = method === 'GET' ? this.#withoutLate(json) : json
    this.#walk(kept)
    return { ...said, text: print(kept) }
  }

  #walk(json: Json): void {
    if (typeof json !== 'object' || json === null) return
    const order = Array.isArray(json) ? undefined : this.#wire.orderIn(json)
    if (order) this.#changeTransaction(json, order)
    const refund = Array.isArray(json) ? undefined : this.#wire.refundIn(json)
    const less = refund ? this.lessBy(refund) : 0
    if (less > 0) this.#wire.failRefund?.(json)
    if (less < 0) this.#wire.growRefund?.(json)
    for (const each of Object.values(json)) this.#walk(each)
  }

  #changeTransaction(json: Json, order: string): void {
    const { unpaid, withoutList } = this.#orders.get(order) ?? {}
    for (const [id, change] of this.#refunds) {
      if (change.order === order) this.#wire.lessRefunded?.(json, this.lessBy(id))
    }
    if (this.isReversed(order)) this.#wire.reverse?.(json)
    if (unpaid && this.#isIn(unpaid)) {
      this.#count('paid, then not paid', undefined)
      this.#wire.unpay(json)
    } else if (withoutList && this.#isIn(withoutList)) {
      this.#count('answers without their list', undefined)
      this.#wire.omitList?.(json)
    }
  }

  #withoutLate(json: Json): Json {
    if (Array.isArray(json)) return json.filter((each) => !this.#isLate(each)).map((each) => this.#withoutLate(each))
    if (typeof json !== 'object' || json === null) return json
    return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, this.#withoutLate(value)]))
  }

  #isLate(entry: Json): boolean {
    if (!this.#isActive || typeof entry !== 'object' || entry === null) return false
    const order = this.#wire.orderIn(entry)
    const name = this.#wire.refundIn(entry) ?? this.#wire.disputeIn(entry) ?? order
    if (!name) return false
    if (!this.#listedFrom.has(name)) this.look()
    const isLate = this.#now() < this.#listed(name)
    if (isLate) this.#count('lists that lag', undefined)
    return isLate
  }

  #lagOf(name: string): number {
    const hash = [...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), 7)
    const random = randomOf(this.#seed, hash)
    return random.chance(LAGGING) ? random.between(...LAG_MS) : 0
  }

  #isIn([from, until]: Window): boolean {
    return this.#now() >= from && this.#now() < until
  }

  #count<Result>(what: string, result: Result): Result {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
    return result
  }
}

/** The secret key, and the name of the setting that has it. */
function keysOf({ secretKey, apiKey, apiToken, consumerKey, consumerSecret }: Record<string, string>) {
  if (apiToken) return { secretName: 'apiToken', secretKey: apiToken, apiKey: '' }
  if (consumerSecret) return { secretName: 'consumerSecret', secretKey: consumerSecret, apiKey: consumerKey ?? '' }
  return { secretName: 'secretKey', secretKey: secretKey ?? '', apiKey: apiKey ?? '' }
}
