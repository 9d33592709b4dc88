import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomOf } from '../random.ts'
import { ABUSE, type AbuseRequest, type Public } from './abuse-requests.ts'

/** A client at one address of this machine, with a few connections that it keeps. */
export class Visitor {
  readonly #port: number
  readonly #agent: Agent

  constructor(port: number, localAddress: string, maxSockets: number) {
    this.#port = port
    this.#agent = new Agent({ keepAlive: true, localAddress, maxSockets })
  }

  /**
   * Resolves to status and body when the answer is complete; 0 when there was none. Of a large body only the beginning
   * is decoded.
   */
  ask({ method, path, headers = {}, body, stream }: AbuseRequest): Promise<{ status: number; text: string }> {
    return new Promise((resolve) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const sent = request(
        { host: '127.0.0.1', port: this.#port, method, path, agent: this.#agent, headers: { ...headers, ...length } },
        (answer) => {
          const status = answer.statusCode ?? 0
          if (stream && status === 200) {
            resolve({ status, text: '' })
            return void answer.destroy()
          }
          let text = ''
          answer.on('data', (part: Buffer) => {
            if (text.length < 100_000) text += part.toString('latin1')
          })
          answer.on('end', () => resolve({ status, text })).on('error', () => resolve({ status: 0, text: '' }))
        },
      )
      sent.setTimeout(10_000, () => sent.destroy())
      sent.on('error', () => resolve({ status: 0, text: '' }))
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** `requests` over all public paths, at most `perSecond` of them. Returns how often each kind got each status. */
export async function attack(
  visitor: Visitor,
  known: Public,
  { requests, perSecond, seed, hands = 16 }: { requests: number; perSecond: number; seed: number; hands?: number },
): Promise<Map<string, Map<number, number>>> {
  const outcomes = new Map<string, Map<number, number>>()
  const kinds = Object.entries(ABUSE)
  const startedAt = performance.now()
  let next = 0
  const work = async () => {
    for (let index = next++; index < requests; index = next++) {
      const waitMs = startedAt + (index / perSecond) * 1_000 - performance.now()
      if (waitMs > 1) await sleep(waitMs)
      const [kind, make] = kinds[index % kinds.length] as (typeof kinds)[number]
      const { status } = await visitor.ask(make(randomOf(seed, index), known))
      const statuses = outcomes.get(kind) ?? new Map<number, number>()
      outcomes.set(kind, statuses.set(status, (statuses.get(status) ?? 0) + 1))
    }
  }
  await Promise.all(Array.from({ length: hands }, work))
  return outcomes
}

export interface Healthy {
  /** Milliseconds of each answer. */
  took: number[]
  failed: number
}

/**
 * A merchant and its customers at a steady rate, until it is stopped: new checkouts, their pages, and reads by the API.
 */
export async function healthyTraffic(
  visitor: Visitor,
  headers: Record<string, string>,
  isOver: () => boolean,
): Promise<Healthy> {
  const healthy: Healthy = { took: [], failed: 0 }
  const startedAt = performance.now()
  const underWay: Promise<void>[] = []
  let page = ''
  const measure = async (wanted: AbuseRequest, good: number) => {
    const from = performance.now()
    const { status, text } = await visitor.ask(wanted)
    healthy.took.push(performance.now() - from)
    if (status !== good) healthy.failed++
    else if (status === 201) page = new URL(JSON.parse(text).data.url).pathname
  }
  const checkout = JSON.stringify({ amount: 1_000, country: 'NG', user: { email: 'ada@example.com' } })
  for (let tick = 0; !isOver(); tick++) {
    const waitMs = startedAt + tick * 50 - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    // Of 20 requests a second 4 are checkouts, 8 pages and 8 reads: below every limit.
    if (tick % 5 === 0)
      underWay.push(measure({ method: 'POST', path: '/payments/v1/checkouts', headers, body: checkout }, 201))
    else if (tick % 5 < 3 && page) underWay.push(measure({ method: 'GET', path: page }, 200))
    else underWay.push(measure({ method: 'GET', path: '/payments/v1/payments?limit=1', headers }, 200))
  }
  await Promise.all(underWay)
  return healthy
}

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
