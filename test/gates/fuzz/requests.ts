import { type Random, randomOf } from '../random.ts'
import { SPOILT_TEXT } from './bodies.ts'
import { type Body, goodCheckout, SPOILT } from './checkouts.ts'
import { BROKEN } from './garbage.ts'
import { INTEGRATIONS } from './integrations.ts'
import { PAYING } from './paying.ts'
import { ADDRESSES } from './targets.ts'
import { bytesOf, type Header, inPieces } from './wire.ts'

export interface FuzzCase {
  index: number
  kind: string
  method: string
  target: string
  pieces: Buffer[]
  /** `whole`: well-formed HTTP, must be answered. `broken`: may be. `cut`: the client hangs up without waiting. */
  how: 'whole' | 'broken' | 'cut'
  expected: readonly number[]
  /** The fields that a 201 must have stored. */
  checkout?: Body
  /** The reference of an earlier checkout. If that one failed, nothing is expected of this one. */
  buildsOn?: string
  /** On a connection of its own. */
  alone?: boolean
}

export interface Credentials {
  'client-id': string
  'client-secret': string
}

/** Ids from earlier answers, for later cases. */
export interface Known {
  ids: string[]
  codes: string[]
  account: ProviderAccount
}

/** The merchant at its provider, with the key that signs notices. */
export interface ProviderAccount {
  merchantId: string
  secretKey: string
  /** Orders that were started, by the provider's reference. */
  orders: string[]
}

/** The input of a generator of cases. */
export interface Bench {
  random: Random
  index: number
  credentials: Header[]
  known: Known
  /** A reference that was sent long enough ago to be answered; sometimes one that was never sent. */
  earlierReference(): string
  good(): Body
}

export type Made = Omit<FuzzCase, 'index' | 'kind' | 'pieces'> & { bytes: Buffer; slowly?: boolean }

const CHECKOUTS = '/payments/v1/checkouts'
const JSON_TYPE: Header = ['content-type', 'application/json']
/** More than the requests in flight, so that the case that another one builds on has been answered. */
const LONG_AGO = 300

/**
 * Generates the cases of a run. Each depends on the seed and its index alone, except for the ids that the service
 * generated: so a case can be made again without sending those before it.
 */
export class FuzzCases {
  readonly #seed: number
  readonly #credentials: Header[]
  readonly #known: Known
  readonly #sent: { index: number; body: Body; key: string | undefined }[] = []
  #index = 0

  constructor(seed: number, credentials: Credentials, known: Known) {
    this.#seed = seed
    this.#credentials = Object.entries(credentials)
    this.#known = known
  }

  next(): FuzzCase {
    const index = this.#index++
    const random = randomOf(this.#seed, index)
    const bench: Bench = {
      random,
      index,
      credentials: this.#credentials,
      known: this.#known,
      earlierReference: () => String(this.#earlier(random)?.body.reference ?? `nobody-${index}`),
      good: () => goodCheckout(random, index, this.#seed),
    }
    const [kind, make] = this.#choose(random)
    const { bytes, slowly, ...made } = make(bench)
    return { index, kind, ...made, pieces: slowly ? inPieces(random, bytes) : [bytes] }
  }

  #choose(random: Random): [kind: string, make: (bench: Bench) => Made] {
    const roll = random.next()
    if (roll < 0.22) return ['good checkout', (bench) => this.#good(bench)]
    if (roll < 0.28) return ['repeated checkout', (bench) => this.#repeated(bench)]
    if (roll < 0.46) {
      const [kind, spoil] = random.pick(Object.entries(SPOILT))
      return [`field: ${kind}`, (bench) => this.#spoilt(bench, spoil(random, bench.good()))]
    }
    if (roll < 0.55) {
      const [kind, spoil] = random.pick(Object.entries(SPOILT_TEXT))
      return [
        `body: ${kind}`,
        (bench) => {
          const { text, expected, means } = spoil(random, bench.good())
          return { ...this.#post(bench, text, expected), ...(means && { checkout: means }) }
        },
      ]
    }
    if (roll < 0.8) {
      const [kind, make] = random.pick(Object.entries(ADDRESSES))
      return [kind, make]
    }
    if (roll < 0.92) return random.pick(Object.entries(PAYING))
    if (roll < 0.95) return random.pick(Object.entries(INTEGRATIONS))
    const [kind, make] = random.pick(Object.entries(BROKEN))
    return [`broken: ${kind}`, make]
  }

  #good(bench: Bench): Made {
    const body = bench.good()
    const key = bench.random.chance(0.4) ? `key ${this.#seed} ${bench.index} !~` : undefined
    this.#sent.push({ index: bench.index, body, key })
    return { ...this.#post(bench, JSON.stringify(body), [201], key), checkout: body }
  }

  /** The same again: a replay with its key, refused without it, or the key with something else. */
  #repeated(bench: Bench): Made {
    const earlier = this.#earlier(bench.random)
    if (!earlier) return this.#good(bench)
    const { body, key } = earlier
    const buildsOn = String(body.reference)
    if (!key) return { ...this.#post(bench, JSON.stringify(body), [409]), buildsOn }
    const changed = JSON.stringify({ ...body, amount: 4_321 })
    if (bench.random.chance(0.3)) return { ...this.#post(bench, changed, [422], key), buildsOn }
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()))
    return { ...this.#post(bench, reordered, [201], key), checkout: body, buildsOn }
  }

  #spoilt(bench: Bench, { body, expected }: { body: Body; expected: readonly number[] }): Made {
    return { ...this.#post(bench, JSON.stringify(body), expected), checkout: body }
  }

  #post({ random, credentials }: Bench, body: string | Buffer, expected: readonly number[], key?: string): Made {
    const headers = [...credentials, JSON_TYPE, ...(key ? [['idempotency-key', key] as const] : [])]
    const chunkSize = random.chance(0.15) ? random.pick([1, 7, 1_000]) : undefined
    // A body of 60 KB in chunks of one byte would only be slow.
    const size = chunkSize && body.length > 2_000 ? 1_000 : chunkSize
    return {
      method: 'POST',
      target: CHECKOUTS,
      how: 'whole',
      expected,
      bytes: bytesOf({ method: 'POST', target: CHECKOUTS, headers, body, chunkSize: size }),
      slowly: random.chance(0.1),
    }
  }

  #earlier(random: Random) {
    const last = this.#sent.findLastIndex(({ index }) => index <= this.#index - LONG_AGO)
    return last === -1 ? undefined : this.#sent[random.between(0, last)]
  }
}
