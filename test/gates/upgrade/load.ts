import { setTimeout as sleep } from 'node:timers/promises'

interface Target {
  baseUrl: string
  headers: Record<string, string>
}

const PAID_WITHIN_MS = 30_000

/** Clients that take one payment after another, each request at another process. */
export class UpgradeLoad {
  readonly failures: string[] = []
  /** Payments that were taken and found paid. */
  count = 0
  #targets: () => Target[]
  #next = 0
  #stopped = false
  #clients: Promise<void>[]

  constructor(targets: () => Target[], clients: number) {
    this.#targets = targets
    this.#clients = Array.from({ length: clients }, (_, client) => this.#run(client))
  }

  /** Resolves after so many further payments, or when one has failed. */
  async paid(further: number): Promise<void> {
    const wanted = this.count + further
    while (this.count < wanted && this.failures.length === 0) await sleep(50)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
  }

  async #run(client: number): Promise<void> {
    for (let number = 0; !this.#stopped; number++) {
      try {
        await this.#pay(`upgrade-${client}-${number}`)
        this.count++
      } catch (error) {
        const { message, cause } = error as Error
        this.failures.push(`${message} ${cause ?? ''}`)
      }
    }
  }

  async #pay(reference: string): Promise<void> {
    const wanted = { provider: 'gateway', amount: 1_250_000, reference, user: { email: 'ada@example.com' } }
    const started = await this.#call('POST', '/payments/v1/payments/initialize', wanted)
    await this.#call('POST', `/sandbox/gateway/charges/${started.data.data.reference}`, { card: '4084084084084081' })
    const deadline = performance.now() + PAID_WITHIN_MS
    for (;;) {
      const { data } = await this.#call('GET', `/payments/v1/payments/${reference}`)
      if (data.status === 'successful' && data.amountPaid === wanted.amount) return
      if (performance.now() > deadline) throw new Error(`${reference} is still ${data.status}`)
      await sleep(50)
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the answer
  async #call(method: string, path: string, body?: unknown): Promise<any> {
    const targets = this.#targets()
    const { baseUrl, headers } = targets[this.#next++ % targets.length] as Target
    const answer = await fetch(baseUrl + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
}
