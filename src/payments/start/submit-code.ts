import { Problem } from '../../kernel/problem.ts'
import { failureOf } from '../../providers/failure.ts'
import type { PromptStart, Submitted, Unknown } from '../../providers/provider.ts'
import { askProvider, recordProviderCall } from '../call-provider.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { type Signal, settleAttempt } from '../settle/settle-attempt.ts'
import { type Attempt, handleOf, MAX_CODES } from '../state/attempt.ts'
import { PHONE_ASKS_MS } from '../state/attempt-after.ts'
import type { Payment } from '../state/payment.ts'
import { attemptForCode, attemptIn, giveCode, type PaymentState, wantCodeAgain } from '../state/payment-state.ts'
import { type CallRecord, callRecorded } from '../store/attempts.ts'
import { instructionsOfStart } from './request-start.ts'
import { saveInstructions } from './start-attempt.ts'

/**
 * Gives the provider the code that it asked for. The intent is on disk before the call: the attempt is `processing`
 * until the provider answers, so no second code and no second attempt starts beside it. A refused code can be given
 * again, MAX_CODES in all; then the attempt fails. After an unknown answer the attempt stays `processing`, and the
 * checks find what has become of it; the code is not asked for again. The code is not stored.
 *
 * The result is the payment's state, also after a decline or an unknown answer. Throws `input_not_expected` and
 * `input_refused`.
 */
export async function submitCode(deps: PaymentDeps, payment: Payment, code: string): Promise<PaymentState> {
  const { attempt, codesGiven, state } = await changePayment(deps, payment.id, {
    decide: (before, _, tx) => {
      const now = deps.clock.now()
      const waiting = attemptForCode(before, now)
      const decision = giveCode(before, waiting, now)
      writeDecision(tx, deps, before, decision)
      const { codesGiven = 0 } = waiting.instructions
      return { state: decision.state, attempt: attemptIn(decision.state, waiting.id), codesGiven: codesGiven + 1 }
    },
  })
  const { answer, record } = await askProvider<Submitted>(deps, attempt, 'submit code', async (provider) =>
    provider.submit ? provider.submit(handleOf(attempt), code) : TAKES_NO_CODES,
  )
  switch (answer.kind) {
    case 'link':
    case 'account':
    case 'prompt':
    case 'pay to':
    case 'dial':
    case 'qr':
      return (await saveInstructions(deps, attempt, instructionsOfStart(answer, ''), record)).state
    case 'code wanted': {
      if (codesGiven >= MAX_CODES) return settleAttempt(deps, attempt, tooManyCodes(record))
      const { providerReference, expiresAt: instructionsExpireAt, ...given } = answer
      const issued = { instructions: { ...given, codesGiven }, instructionsExpireAt, providerReference }
      return (await saveInstructions(deps, attempt, issued, record)).state
    }
    // The code was right, and there is nothing to show: the phone asks, or will soon.
    case 'pending':
    case 'processing':
      return (
        await saveInstructions(deps, attempt, instructionsOfStart(promptOf(attempt, deps.clock.now()), ''), record)
      ).state
    case 'paid':
    case 'missing':
    case 'declined':
      return settleAttempt(deps, attempt, { outcome: answer, source: 'start', call: record })
    case 'code refused':
      if (codesGiven >= MAX_CODES) return settleAttempt(deps, attempt, tooManyCodes(record))
      await askAgain(deps, attempt, record, false)
      throw new Problem('input_refused', `${sentence(answer.because)} The code can be given again.`)
    case 'unknown': {
      if (!answer.neverSent) {
        await recordProviderCall(deps, record)
        return state
      }
      await askAgain(deps, attempt, record, true)
      const detail = `${attempt.provider} cannot be reached right now. The code was not sent; give it again shortly.`
      throw new Problem('provider_error', detail, { retryAfterSeconds: 10 })
    }
  }
}

/** The provider's words, which may end with a point. */
const sentence = (words: string) => `The code was not right: ${words.replace(/\.+$/, '')}.`

const TAKES_NO_CODES: Unknown = { kind: 'unknown', because: 'the provider takes no codes', neverSent: true }

function promptOf({ providerReference }: Attempt, now: Date): PromptStart {
  return { kind: 'prompt', providerReference, expiresAt: new Date(now.getTime() + PHONE_ASKS_MS) }
}

/** As a decline of the provider: the customer can start again, and money that comes all the same is booked. */
function tooManyCodes(call: CallRecord): Signal {
  const failure = failureOf('incorrect_otp', 'too_many_codes')
  return { outcome: { kind: 'declined', failure, tryId: null }, source: 'start', call }
}

function askAgain(deps: PaymentDeps, { id, paymentId }: Attempt, call: CallRecord, neverSent: boolean): Promise<void> {
  return changePayment(deps, paymentId, {
    decide: (before, _, tx) => {
      writeDecision(tx, deps, before, wantCodeAgain(before, id, { neverSent, now: deps.clock.now() }))
      tx.write(callRecorded(call))
    },
  })
}
