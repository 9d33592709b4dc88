import { Problem } from '../../kernel/problem.ts'
import { failureOf } from '../../providers/failure.ts'
import type { Declined } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'

/** Thrown when the provider returned no instructions. The attempt has the outcome. */
export class AttemptNotStarted extends Problem {
  /** No money can have moved, so failover to another provider is safe. */
  readonly nothingStarted: boolean
  constructor(
    code: 'provider_error' | 'provider_timeout',
    detail: string,
    attempt: Attempt,
    more: { nothingStarted: boolean; retryAfterSeconds?: number; retryable?: boolean },
  ) {
    const { nothingStarted, ...rest } = more
    super(code, detail, { extra: { attempt: attempt.reference }, ...rest })
    this.nothingStarted = nothingStarted
  }
}

export function answeredTooLate(attempt: Attempt): AttemptNotStarted {
  return new AttemptNotStarted(
    'provider_timeout',
    `${attempt.provider} answered too late: attempt ${attempt.reference} had failed already. Nothing was charged; try again.`,
    attempt,
    { nothingStarted: false },
  )
}

export function keysRefused(attempt: Attempt): AttemptNotStarted {
  const { provider, mode } = attempt
  return new AttemptNotStarted(
    'provider_error',
    `${provider} refused your ${mode} keys. Set the right ones with PUT /payments/v1/integrations/${provider} or manilla integration set ${provider}.`,
    attempt,
    { nothingStarted: true, retryable: false },
  )
}

export function notStartedOutcome(because: string): Declined {
  return { kind: 'declined', failure: failureOf('provider_unavailable', because), tryId: null }
}
