import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf, type EventType } from '../events/event.ts'
import { newWebhookSecret, type WebhookSecret } from '../events/webhook-secret.ts'
import { SANDBOX_MERCHANT_ID } from '../integrations/create-merchant.ts'
import type { Country } from '../kernel/country.ts'
import { newAttemptReference, newId, newReference, newShortCode } from '../kernel/ids.ts'
import { DEFAULT_CURRENCY } from '../kernel/money.ts'
import { randomPlace } from '../kernel/place.ts'
import type { WebhookAnswer } from '../outbound/webhook-http.ts'
import { linksOn } from '../payments/links.ts'
import { attemptView, viewOf } from '../payments/payment-view.ts'
import type { Attempt } from '../payments/state/attempt.ts'
import type { Payment } from '../payments/state/payment.ts'
import type { PaymentState } from '../payments/state/payment-state.ts'
import { webhookHeaders } from '../webhooks/signature.ts'
import { testMessage } from '../webhooks/try-endpoint.ts'

/** The response of a webhook handler to one message, and whether it was correct. */
export interface Grade {
  what: string
  /** What the message tests. */
  means: string
  wanted: 'accepted (2xx)' | 'refused (4xx)'
  status: number | null
  error: string | null
  tookMs: number
  /** Whether the shop acted on the event, according to its --acted list; null when not checked. */
  acted: boolean | null
  ok: boolean
  /** How to fix the handler; null when it is correct. */
  mend: string | null
}

type Post = (call: {
  url: string
  headers: Record<string, string>
  body: string
  allowPrivate: boolean
}) => Promise<WebhookAnswer>

interface Handler {
  url: string
  secret: WebhookSecret
  reference: string | undefined
  /** Reads the ids of the events that the shop has acted on, in any format. */
  readActed?: () => Promise<string>
  /** How long the shop may take to act after its response. */
  actsWithinMs?: number
}

/** Sends valid, repeated, stale and forged events to a handler and checks its responses. Nothing is stored. */
export async function gradeHandler(post: Post, handler: Handler): Promise<Grade[]> {
  const { url, secret, reference } = handler
  const grades: Grade[] = []
  for (const { what, means, wanted, mend, mustActOn, headers, body } of messages(secret, reference)) {
    const answer = await post({ url, headers, body, allowPrivate: true })
    const status = answer.kind === 'answer' ? answer.status : null
    const isAnswered = status !== null && Math.floor(status / 100) === (wanted === ACCEPTED ? 2 : 4)
    const acted = isAnswered && mustActOn ? await hasActed(handler, mustActOn.id) : null
    const ok = isAnswered && acted !== false
    grades.push({
      what,
      means,
      wanted,
      status,
      error: answer.kind === 'answer' ? null : `${answer.because}: ${answer.detail}`,
      tookMs: answer.tookMs,
      acted,
      ok,
      mend: ok ? null : status === null ? whyNoAnswer(answer) : acted === false ? (mustActOn?.mend ?? mend) : mend,
    })
  }
  return grades
}

/** Null without a list. A shop may respond first and act afterwards, so the list is polled for a while. */
async function hasActed({ readActed, actsWithinMs = 5_000 }: Handler, id: string): Promise<boolean | null> {
  if (!readActed) return null
  const until = performance.now() + actsWithinMs
  for (;;) {
    if ((await readActed()).includes(id)) return true
    if (performance.now() >= until) return false
    await sleep(100)
  }
}

function whyNoAnswer(answer: WebhookAnswer): string {
  if (answer.kind === 'failed' && answer.because === 'timeout')
    return 'No response within 15 s. Store the event, respond with 2xx at once, and process it afterwards.'
  return 'No response. Check that the handler runs at this URL.'
}

const ACCEPTED = 'accepted (2xx)' as const
const REFUSED = 'refused (4xx)' as const

interface Message extends Pick<Grade, 'what' | 'means' | 'wanted'> {
  mend: string
  /** The shop must act on this event, and not only answer. */
  mustActOn?: { id: string; mend: string }
  headers: Record<string, string>
  body: string
}

const LINKS = linksOn(() => 'http://localhost:3000')
const TEN_MINUTES_MS = 600_000

function messages(secret: WebhookSecret, reference: string | undefined): Message[] {
  const now = new Date()
  const story = paidOnSecondAttempt(now, reference)
  const before = afterFirstAttempt(story)
  const event = (
    type: EventType,
    sequence: number,
    state: PaymentState = story,
    more: Record<string, unknown> = {},
  ) => {
    const { place, merchantId, mode, id: paymentId } = state.payment
    const id = newId('event', now, place)
    const data = {
      payment: viewOf(state, [], LINKS),
      attempt: attemptView(state.attempts.at(-1) as Attempt, []),
      ...more,
    }
    const body = bodyOf({ id, place, type, sequence, data, merchantId, mode, paymentId, occurredAt: now, cause: null })
    return { id, body }
  }
  const signed = (message: { id: string; body: string }, changes: { secret?: WebhookSecret; at?: Date } = {}) => ({
    headers: webhookHeaders([changes.secret ?? secret], { ...message, at: changes.at ?? new Date() }),
    body: message.body,
  })
  const paid = () => event('payment.successful', 7)
  const good = paid()
  const altered = paid()
  const excess = { amount: 5_000, currency: story.payment.currency }
  const overpaid = event('payment.overpaid', 6, story, { excess })
  const { 'webhook-signature': _, ...withoutSignature } = signed(paid()).headers

  return [
    {
      what: 'a good event',
      means: 'payment.successful, signed with your secret.',
      wanted: ACCEPTED,
      mend: 'Verify the signature over the raw body, before parsing it, with this secret. Respond with 2xx also for an unknown payment.',
      mustActOn: {
        id: good.id,
        mend: 'Its id is not in the --acted list. Act on payment.successful and list its id there.',
      },
      ...signed(good),
    },
    {
      what: 'the same again',
      means: 'The same id and body, as after a lost response (at-least-once delivery).',
      wanted: ACCEPTED,
      mend: 'Store the ids of handled events. Respond with 2xx to a known id, without processing it again.',
      ...signed(good),
    },
    {
      what: 'old news',
      means: 'attempt.failed with a lower sequence, after the success of the same payment.',
      wanted: ACCEPTED,
      mend: 'Store the highest sequence of each payment. Respond with 2xx to a lower one and keep the payment unchanged.',
      ...signed(event('attempt.failed', 3, before)),
    },
    {
      what: 'late money',
      means: 'payment.overpaid with a lower sequence than the success that you know.',
      wanted: ACCEPTED,
      mend: 'Respond with 2xx and act on it: money events count also with a lower sequence.',
      mustActOn: {
        id: overpaid.id,
        mend: 'It was dropped. Act on money events (payment.successful, .overpaid, .underpaid, .surplus, refund.*, dispute.*) once per id, with any sequence. The sequence only protects the stored state.',
      },
      ...signed(overpaid),
    },
    {
      what: 'a new type',
      means: 'An unknown type: new types will be added.',
      wanted: ACCEPTED,
      mend: 'Respond with 2xx to types that you do not handle. Otherwise they are retried for three days.',
      ...signed(event('payment.not_invented_yet' as EventType, 8)),
    },
    {
      what: 'a test event',
      means: 'endpoint.test, which the test of an endpoint sends. Its data is empty.',
      wanted: ACCEPTED,
      mend: 'Respond with 2xx to endpoint.test. It has no payment: check the type before you read one.',
      ...signed(testMessage(now, story.payment.place, story.payment.mode)),
    },
    {
      what: 'a stale one',
      means: 'A valid signature that is ten minutes old: a possible replay attack.',
      wanted: REFUSED,
      mend: 'Respond with 400 to a webhook-timestamp that differs by more than five minutes from now.',
      ...signed(paid(), { at: new Date(now.getTime() - TEN_MINUTES_MS) }),
    },
    {
      what: 'a forged one',
      means: 'Signed with another secret.',
      wanted: REFUSED,
      mend: 'Compute the signature with your secret, compare in constant time, and respond with 401 when none matches. Without this check anyone can report a payment as paid.',
      ...signed(paid(), { secret: newWebhookSecret() }),
    },
    {
      what: 'an altered one',
      means: 'A valid signature of another body.',
      wanted: REFUSED,
      mend: 'The signature covers `{webhook-id}.{webhook-timestamp}.{raw body}`: include all three.',
      headers: signed(altered).headers,
      body: altered.body.replace('"sequence":7', '"sequence":9'),
    },
    {
      what: 'an unsigned one',
      means: 'No webhook-signature header.',
      wanted: REFUSED,
      mend: 'Respond with 401 to a request without a signature.',
      headers: withoutSignature,
      body: paid().body,
    },
  ]
}

/** Built with the types and the view of real payments, so that the messages equal real ones. */
function paidOnSecondAttempt(now: Date, given: string | undefined): PaymentState {
  const place = randomPlace()
  const reference = given ?? `verify-${newReference(now, place)}`
  const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
  const payment: Payment = {
    id: newId('payment', now, place),
    place,
    merchantId: SANDBOX_MERCHANT_ID,
    mode: 'sandbox',
    reference,
    link: null,
    shortCode: newShortCode(now, place),
    status: 'successful',
    late: false,
    amount: 1_250_000,
    currency: DEFAULT_CURRENCY,
    country: 'NG' as Country,
    customerBearsCharge: false,
    amountPaid: 1_250_000,
    amountRefunded: 0,
    sequence: 7,
    version: 7,
    user: { id: null, email: 'ada@example.com', phoneNumber: null, name: 'Ada' },
    redirectURL: null,
    webhook: null,
    metadata: { madeBy: 'manilla webhooks verify' },
    createdAt: minutesAgo(3),
    expiresAt: minutesAgo(-1_440),
    completedAt: now,
  }
  const attempt = (number: number): Attempt => {
    const id = newId('attempt', now, place)
    return {
      id,
      place,
      paymentId: payment.id,
      merchantId: payment.merchantId,
      mode: payment.mode,
      feeCharged: null,
      keysVersion: 0,
      number,
      reference: newAttemptReference(reference, place),
      provider: 'example',
      channel: 'card',
      input: null,
      status: 'successful',
      currency: payment.currency,
      amountCharged: payment.amount,
      fee: 28_750,
      amountReceived: payment.amount,
      amountReturned: 0,
      amountRefunded: 0,
      amountReversed: 0,
      idsAreProviders: true,
      orderReference: id,
      providerReference: id,
      saveCard: false,
      chargedAtOnce: false,
      byReference: false,
      pageKey: null,
      language: null,
      knownToProvider: true,
      failure: null,
      failedTryId: null,
      instructions: null,
      instructionsExpireAt: null,
      noticeSaidPaid: false,
      createdAt: minutesAgo(3 - number),
      askedAt: minutesAgo(3 - number),
      resolvedAt: minutesAgo(2 - number),
      answeredAt: null,
      checks: { since: now, count: 0, missingInARow: 0, nextAt: null, lastActivityAt: null },
    }
  }
  const failure = {
    code: 'insufficient_funds' as const,
    message: 'There is not enough money on this card or account.',
    providerCode: null,
  }
  const declined: Attempt = { ...attempt(1), status: 'failed', amountReceived: 0, failure }
  return { payment, attempts: [declined, attempt(2)], cases: [] }
}

function afterFirstAttempt({ payment, attempts, cases }: PaymentState): PaymentState {
  return {
    payment: { ...payment, status: 'pending', amountPaid: 0, completedAt: null, sequence: 3 },
    attempts: attempts.slice(0, 1),
    cases,
  }
}
