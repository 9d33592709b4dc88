/**
 * Token buckets, kept in memory: a limit protects this process, and must not cost a database query. Each key may use
 * `perSecond` on average and `burst` at once.
 */
export interface RateLimit {
  perSecond: number
  burst: number
}

export interface Verdict {
  allowed: boolean
  remaining: number
  retryAfterSeconds: number
}

const MAX_KEYS = 50_000

export class RateLimiter {
  readonly limit: RateLimit
  readonly #nowMs: () => number
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>()

  constructor(limit: RateLimit, nowMs: () => number = () => performance.now()) {
    this.limit = limit
    this.#nowMs = nowMs
  }

  /** Uses one token, if there is one. */
  take(key: string): Verdict {
    const bucket = this.#bucket(key)
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    return this.#verdict(bucket.tokens, allowed)
  }

  /** Returns a token of a request that turned out to be legitimate. */
  releaseCall(key: string): void {
    const bucket = this.#bucket(key)
    bucket.tokens = Math.min(this.limit.burst, bucket.tokens + 1)
  }

  /** Whether there is a token, without taking it: for limits that only failures use up. */
  look(key: string): Verdict {
    const { tokens } = this.#bucket(key)
    return this.#verdict(tokens, tokens >= 1)
  }

  #bucket(key: string) {
    const nowMs = this.#nowMs()
    const known = this.#buckets.get(key)
    if (known) {
      known.tokens = Math.min(this.limit.burst, known.tokens + ((nowMs - known.atMs) / 1000) * this.limit.perSecond)
      known.atMs = nowMs
      return known
    }
    // Evicts the oldest key: at worst that caller starts with a full bucket again.
    if (this.#buckets.size >= MAX_KEYS) this.#buckets.delete(this.#buckets.keys().next().value as string)
    const bucket = { tokens: this.limit.burst, atMs: nowMs }
    this.#buckets.set(key, bucket)
    return bucket
  }

  #verdict(tokens: number, allowed: boolean): Verdict {
    const missing = Math.max(0, 1 - tokens)
    return {
      allowed,
      remaining: Math.floor(tokens),
      retryAfterSeconds: Math.max(1, Math.ceil(missing / this.limit.perSecond)),
    }
  }
}
