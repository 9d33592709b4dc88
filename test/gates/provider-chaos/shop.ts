import { setTimeout as pause } from 'node:timers/promises'
import type { Channel } from '../../../src/kernel/channel.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import type { Copies } from '../copies.ts'
import type { Random } from '../random.ts'
import type { Merchant } from './service.ts'

// biome-ignore lint/suspicious/noExplicitAny: the caller checks the shape of the answer
export type Json = any

export interface Answer {
  status: number
  body: Json
}

/** `refused`: a 4xx. `unknown`: the connection broke, or a 5xx that may have come after the work. */
export type CallOutcome = 'ok' | 'refused' | 'unknown'

/** Where the service answers. */
export type Reachable = Pick<Copies, 'pick' | 'isOurs'>

/** The outcome of the call is unknown: the copy was killed. */
const BROKEN_OFF = 599
const SOMEBODY_WITHIN_MS = 60_000
const ANSWER_WITHIN_MS = 20_000
const MOST_TRIES = 50

/** The merchant's backend and the customers' browsers, calling any copy that is up, with counts of the answers. */
export class Shop {
  readonly tally = new Map<string, Record<CallOutcome, number>>()
  readonly #copies: Reachable
  readonly #random: Random
  readonly #merchant: Pick<Merchant, 'headers'>

  constructor(copies: Reachable, random: Random, merchant: Pick<Merchant, 'headers'>) {
    this.#copies = copies
    this.#random = random
    this.#merchant = merchant
  }

  isOurs(link: string): boolean {
    return this.#copies.isOurs(link)
  }

  /** `name`: what it is counted as. */
  async ask(
    name: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const { status, text, isJson } = await this.#reach(name, path, {
      method,
      headers: {
        ...this.#merchant.headers,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status, body: isJson ? JSON.parse(text) : {} }
  }

  /** Repeats an idempotent call until its outcome is known. */
  async askUntilKnown(...call: Parameters<Shop['ask']>): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.ask(...call)
      if (answer.status < 500) return answer
      if (tries === MOST_TRIES) throw new Error(`${call[0]}: ${answer.status} after ${tries} tries`)
      await pause(this.#random.between(50, 400))
    }
  }

  /**
   * The merchant sets the provider up. Another base URL is another account, though all fakes of a provider share their
   * keys.
   */
  async setUp({
    provider,
    settings,
    upstream,
  }: Pick<FakeProvider, 'provider' | 'settings' | 'upstream'>): Promise<Json> {
    const { name } = provider.capabilities
    const wanted = { settings, baseURL: upstream.url }
    const { status, body } = await this.askUntilKnown('set up', 'PUT', `/payments/v1/integrations/${name}`, wanted)
    if (status !== 200) throw new Error(`${name} could not be set up: ${JSON.stringify(body)}`)
    return body.data
  }

  async #reach(
    name: string,
    path: string,
    init: RequestInit,
  ): Promise<{ status: number; text: string; isJson: boolean }> {
    for (const deadline = performance.now() + SOMEBODY_WITHIN_MS; performance.now() < deadline; await pause(20)) {
      const baseUrl = this.#copies.pick(this.#random)
      if (!baseUrl) continue
      try {
        const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
        const response = await fetch(baseUrl + path, { redirect: 'manual', signal, ...init })
        const isJson = /json/.test(response.headers.get('content-type') ?? '')
        const answer = { status: response.status, text: await response.text(), isJson }
        this.#count(name, answer.status < 400 ? 'ok' : answer.status < 500 ? 'refused' : 'unknown')
        return answer
      } catch (error) {
        if ((error as { cause?: NodeJS.ErrnoException }).cause?.code === 'ECONNREFUSED') continue // it was never sent
        this.#count(name, 'unknown')
        return { status: BROKEN_OFF, text: '', isJson: false }
      }
    }
    throw new Error(`no copy was up for ${SOMEBODY_WITHIN_MS} ms`)
  }

  async payment(name: string): Promise<PaymentSeen | undefined> {
    const { status, body } = await this.ask('read', 'GET', `/payments/v1/payments/${encodeURIComponent(name)}`)
    return status === 200 ? body.data : undefined
  }

  /**
   * Our page of a payment, as a browser without scripts has it: the form of that method, or nothing when there is none.
   */
  async openForm(paymentId: string, method: 'card' | 'transfer'): Promise<Form | undefined> {
    const { text } = await this.browse('open page', `/pay/${paymentId}?method=${method}`)
    const forms = text.split('<form ').slice(1)
    const found = forms.find((form) => form.includes(`name="method" value="${method}"`))
    return found === undefined ? undefined : readForm(found.split('</form>', 1)[0] ?? '')
  }

  async press(paymentId: string, form: URLSearchParams): Promise<void> {
    await this.browse('press', `/pay/${paymentId}`, form)
  }

  browse(name: string, path: string, form?: URLSearchParams): Promise<{ status: number; text: string }> {
    return this.#reach(name, path, form ? { method: 'POST', body: form } : {})
  }

  #count(name: string, outcome: CallOutcome): void {
    const counts = this.tally.get(name) ?? { ok: 0, refused: 0, unknown: 0 }
    counts[outcome]++
    this.tally.set(name, counts)
  }
}

export interface PaymentSeen {
  id: string
  reference: string
  status: string
  amount: number
  amountPaid: number
  attempts: AttemptSeen[]
}

export interface AttemptSeen {
  id: string
  reference: string
  channel: Channel
  status: string
  amountCharged: number
  failure: { code: string } | null
  instructions: { link?: string; amountToTransfer?: number; input?: { kind: 'otp' | 'voucher' } } | null
}

export interface Form {
  /** The fields as rendered. */
  fields: URLSearchParams
  /** Of saved cards. */
  cards: string[]
}

function readForm(markup: string): Form {
  const fields = new URLSearchParams()
  const cards: string[] = []
  for (const [input] of markup.matchAll(/<input [^>]*>/g)) {
    const read = (attribute: string) => new RegExp(`${attribute}="([^"]*)"`).exec(input)?.[1] ?? ''
    const [name, value, type] = [read('name'), read('value'), read('type')]
    if (name === 'card' && value !== 'new') cards.push(value)
    if (type === 'hidden' || (type === 'radio' && input.includes(' checked'))) fields.set(name, value)
  }
  return { fields, cards }
}
