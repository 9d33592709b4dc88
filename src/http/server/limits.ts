import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LinkId, MerchantId, PaymentId, SessionId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { networkOf } from '../../kernel/network.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import { type RateLimit, RateLimiter, type Verdict } from './rate-limit.ts'

const MINUTE_SECONDS = 60

export const LIMITS = {
  live: { perSecond: 100, burst: 200 },
  sandbox: { perSecond: 25, burst: 50 },
  /**
   * Only failures take a token and only failures are refused, so a valid credential is never limited by others at its
   * address.
   */
  wrongCredentials: { perSecond: 5 / MINUTE_SECONDS, burst: 5 },
  /** Wrong secrets of one client-id from one address. */
  guessedSecrets: { perSecond: 5 / MINUTE_SECONDS, burst: 5 },
  page: { perSecond: 10, burst: 20 },
  logo: { perSecond: 10, burst: 20 },
  /** Checks at the provider that a customer triggers, per payment. */
  asks: { perSecond: 0.5, burst: 3 },
  /** Status polls of open pages. An office or a mobile carrier has hundreds of customers behind one address. */
  status: { perSecond: 100, burst: 500 },
  /** Payments that are made on the page of a reusable link, by address and by link. Each is stored. */
  linkPaymentsOfAddress: { perSecond: 10 / MINUTE_SECONDS, burst: 20 },
  linkPayments: { perSecond: 5, burst: 100 },
  /**
   * Requests to one phone, by merchant and number, in live mode: without a limit, a stranger with a public
   * link could make another person's phone ring again and again.
   */
  prompts: { perSecond: 10 / 3_600, burst: 6 },
  /** Receipts that are asked for on payment pages, by address. Each may be a mail. */
  receipts: { perSecond: 5 / MINUTE_SECONDS, burst: 10 },
  wrongLinks: { perSecond: 10 / MINUTE_SECONDS, burst: 10 },
  /** The API reference is large, and metrics are expensive to collect. */
  docs: { perSecond: 1, burst: 12 },
  metrics: { perSecond: 2, burst: 20 },
  /**
   * The sandbox provider's card pages and the demo shop. Each order of the shop is stored; a visitor tries several ways
   * to pay.
   */
  sandboxPages: { perSecond: 5, burst: 20 },
  demoOrders: { perSecond: 0.2, burst: 20 },
  /** Requests of the dashboard without a session. Wrong passwords and codes have limits of their own. */
  signIn: { perSecond: 2, burst: 60 },
  /** All requests of a session. A change counts twice. A screen makes about ten; open tabs read again what changed. */
  session: { perSecond: 20, burst: 200 },
  /** Providers' notices, by address and by merchant. A notice with a valid signature costs nothing here. */
  forgedNotices: { perSecond: 5, burst: 50 },
  unsignedNotices: { perSecond: 5, burst: 50 },
  /** Look-ups of merchants and keys that the cache cannot answer and that find nothing, by address. */
  noticeLookUps: { perSecond: 5, burst: 50 },
} satisfies Record<string, RateLimit>

/** Client-ids with the addresses that sent their right secret. */

/** Open SSE streams. Pages above the limit poll. */
export const MAX_STREAMS = { perAddress: 500, perAddressAndPayment: 10 }
const STREAM_RETRY_SECONDS = 30

/** All rate limits of the HTTP server. "Per address" means per `networkOf`. RATE_LIMIT=off disables them. */
export class Limits {
  readonly #on: boolean
  readonly #limiters: Record<keyof typeof LIMITS, RateLimiter>
  readonly #streams = new Map<string, number>()

  constructor(on: boolean) {
    this.#on = on
    const entries = Object.entries(LIMITS).map(([name, limit]) => [name, new RateLimiter(limit)])
    this.#limiters = Object.fromEntries(entries) as Record<keyof typeof LIMITS, RateLimiter>
  }

  /** An authenticated API call. The headers tell the client how many calls are left. */
  call(reply: FastifyReply, mode: Mode, clientId: string): void {
    if (!this.#on) return
    const limiter = this.#limiters[mode]
    const verdict = limiter.take(clientId)
    const { perSecond, burst } = limiter.limit
    reply.headers({
      'ratelimit-policy': `"default";q=${perSecond};w=1`,
      ratelimit: `"default";r=${verdict.remaining};t=1`,
      'ratelimit-limit': String(burst),
      'ratelimit-remaining': String(verdict.remaining),
      'ratelimit-reset': '1',
    })
    if (!verdict.allowed) {
      throw limited(verdict, `This client-id may make ${perSecond} calls a second in ${mode} mode.`)
    }
  }

  /**
   * After the comparison, so that the right secret is always heard: a stranger behind the same address, who knows the
   * public client-id, must not lock the merchant out. Secrets have 256 bits, so the limits are not what keeps them from
   * being guessed.
   */
  wrongCredentials(request: FastifyRequest, clientId: string): void {
    const network = networkOf(request.ip)
    if (clientId)
      this.#spend(
        'guessedSecrets',
        `${clientId} ${network}`,
        'Too many wrong secrets for this client-id from this address.',
      )
    this.#spend('wrongCredentials', network, 'Too many calls with wrong credentials from this address.')
    if (clientId)
      this.#spend('wrongCredentials', `id ${clientId}`, 'Too many calls with a wrong secret for this client-id.')
  }

  page(request: FastifyRequest): void {
    this.#spend('page', networkOf(request.ip), 'Too many requests from this address.')
  }

  /** Separate from pages: the first view of a page requests both. */
  logo(request: FastifyRequest): void {
    this.#spend('logo', networkOf(request.ip), 'Too many requests from this address.')
  }

  /** Whether a customer's request may trigger a check at the provider now. */
  mayAsk(paymentId: string): boolean {
    return !this.#on || this.#limiters.asks.take(paymentId).allowed
  }

  /** Whether the page may send a request to this phone now. In the sandbox no phone rings. */
  mayPrompt({ merchantId, mode }: Scope, phoneNumber: string): boolean {
    if (!this.#on || mode === 'sandbox') return true
    return this.#limiters.prompts.take(`${merchantId} ${phoneNumber}`).allowed
  }

  status(request: FastifyRequest): void {
    this.#spend('status', networkOf(request.ip), 'Too many requests from this address.')
  }

  /** Counts an SSE stream until its response closes. */
  stream(request: FastifyRequest, reply: FastifyReply, paymentId: PaymentId): void {
    if (!this.#on) return
    const address = networkOf(request.ip)
    const addressAndPayment = `${address} ${paymentId}`
    const open = (key: string) => this.#streams.get(key) ?? 0
    if (open(address) >= MAX_STREAMS.perAddress || open(addressAndPayment) >= MAX_STREAMS.perAddressAndPayment)
      throw limited({ retryAfterSeconds: STREAM_RETRY_SECONDS }, 'Too many open pages at this address.')
    const count = (change: 1 | -1) => {
      for (const key of [address, addressAndPayment]) {
        const now = open(key) + change
        if (now > 0) this.#streams.set(key, now)
        else this.#streams.delete(key)
      }
    }
    count(1)
    reply.raw.once('close', () => count(-1))
  }

  /** Runs before the lookup of a link, so that an address with too many wrong guesses learns nothing. */
  beforeLink(request: FastifyRequest): void {
    if (!this.#on) return
    const verdict = this.#limiters.wrongLinks.look(networkOf(request.ip))
    if (!verdict.allowed) throw limited(verdict, 'Too many wrong links from this address.')
  }

  wrongLink(request: FastifyRequest): void {
    if (this.#on) this.#limiters.wrongLinks.take(networkOf(request.ip))
  }

  linkPayment(request: FastifyRequest, link: LinkId): void {
    this.#spend('linkPaymentsOfAddress', networkOf(request.ip), 'Too many payments from this address.')
    this.#spend('linkPayments', link, 'Too many payments of this link.')
  }

  receipt(request: FastifyRequest): void {
    this.#spend('receipts', networkOf(request.ip), 'Too many receipts for this address.')
  }

  docs(request: FastifyRequest): void {
    this.#spend('docs', networkOf(request.ip), 'Too many requests from this address.')
  }

  metrics(request: FastifyRequest): void {
    this.#spend('metrics', networkOf(request.ip), 'Too many requests from this address.')
  }

  signIn(request: FastifyRequest): void {
    this.#spend('signIn', networkOf(request.ip), 'Too many requests from this address.')
  }

  session(id: SessionId): void {
    this.#spend('session', id, 'Too many requests of this session.')
  }

  guest(request: FastifyRequest, limit: 'sandboxPages' | 'demoOrders'): void {
    this.#spend(limit, networkOf(request.ip), 'Too many requests from this address.')
  }

  forgedNotice(request: FastifyRequest, merchantId: MerchantId): void {
    this.#spend('forgedNotices', networkOf(request.ip), 'Too many notices with a bad signature from this address.')
    this.#spend('forgedNotices', merchantId, 'Too many notices with a bad signature for this merchant.')
  }

  unsignedNotice(request: FastifyRequest, merchantId: MerchantId): void {
    this.#spend('unsignedNotices', networkOf(request.ip), 'Too many unsigned notices from this address.')
    this.#spend('unsignedNotices', merchantId, 'Too many unsigned notices for this merchant.')
  }

  noticeLookUp(request: FastifyRequest): void {
    this.#spend('noticeLookUps', networkOf(request.ip), 'Too many notices for unknown accounts from this address.')
  }

  /**
   * The account exists: a provider sends the notices of all merchants from a few addresses, so this look-up is not
   * counted.
   */
  noticeLookUpFound(request: FastifyRequest): void {
    this.#limiters.noticeLookUps.releaseCall(networkOf(request.ip))
  }

  #spend(name: keyof typeof LIMITS, key: string, why: string): void {
    if (!this.#on) return
    const verdict = this.#limiters[name].take(key)
    if (!verdict.allowed) throw limited(verdict, why)
  }
}

function limited({ retryAfterSeconds }: Pick<Verdict, 'retryAfterSeconds'>, why: string): Problem {
  return new Problem('rate_limited', `${why} Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds })
}
