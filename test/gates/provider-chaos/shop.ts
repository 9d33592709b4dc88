import type { CallOutcome } from '../chaos/door.ts'
import type { Merchant } from './service.ts'

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came back; whoever asked says what it must be
export type Json = any

export interface Answer {
  status: number
  body: Json
}

/** The merchant's backend and the customers' browsers, with a tally of what they were answered. */
export class Shop {
  readonly tally = new Map<string, Record<CallOutcome, number>>()
  readonly baseUrl: string
  readonly #merchant: Merchant

  constructor(baseUrl: string, merchant: Merchant) {
    this.baseUrl = baseUrl
    this.#merchant = merchant
  }

  /** `name`: what it is counted as. */
  async ask(
    name: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers: {
        ...this.#merchant.headers,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { status } = response
    this.#count(name, status < 400 ? 'ok' : status < 500 ? 'refused' : 'unknown')
    return { status, body: await response.json() }
  }

  async payment(name: string): Promise<PaymentSeen | undefined> {
    const { status, body } = await this.ask('read', 'GET', `/payments/v1/payments/${encodeURIComponent(name)}`)
    return status === 200 ? body.data : undefined
  }

  /** Our page of a payment, as a browser without scripts has it: the form of that method, or nothing when there is none. */
  async openForm(paymentId: string, method: 'card' | 'bank'): Promise<Form | undefined> {
    const page = await (await this.browse('open page', `/pay/${paymentId}?method=${method}`)).text()
    const forms = page.split('<form ').slice(1)
    const found = forms.find((form) => form.includes(`name="method" value="${method}"`))
    return found === undefined ? undefined : readForm(found.split('</form>', 1)[0] ?? '')
  }

  async press(paymentId: string, form: URLSearchParams): Promise<void> {
    await (await this.browse('press', `/pay/${paymentId}`, form)).text()
  }

  async browse(name: string, path: string, form?: URLSearchParams): Promise<Response> {
    const response = await fetch(new URL(path, this.baseUrl), {
      redirect: 'manual',
      ...(form && { method: 'POST', body: form }),
    })
    const { status } = response
    this.#count(name, status < 400 ? 'ok' : status < 500 ? 'refused' : 'unknown')
    return response
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
  channel: 'card' | 'virtual-bank-account'
  status: string
  amountCharged: number
  failure: { code: string } | null
  instructions: { link?: string; amountToTransfer?: number } | null
}

export interface Form {
  /** As it is sent when nothing is touched. */
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
