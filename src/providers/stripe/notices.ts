import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Mode } from '../../kernel/mode.ts'
import { money } from '../../kernel/money.ts'
import type { NoticeReading, RawNotice, Receipt } from '../provider.ts'
import { readEvent, type StripeEventObject } from './wire.ts'

type Notice = Extract<NoticeReading, { kind: 'notice' }>

/** An event of theirs, whose signature was good. */
export function readingOf(body: Buffer, mode: Mode): NoticeReading {
  const event = readEvent(body)
  if (!event) return unreadable('not an event of the documented shape')
  const { type, object, at } = event
  if (event.livemode !== (mode === 'live')) return unreadable('an event of the other mode')
  const read = readerOf(type)
  if (!read) return notice(object, 'other')
  return read(object, at) ?? unreadable(`a ${type} that cannot be read`)
}

type Reader = (object: StripeEventObject, at: Date) => NoticeReading | undefined

/** By type, so that an object that has no business there is not read as something else. */
const READERS = new Map<string, Reader>([
  ['checkout.session.completed', readSession],
  ['checkout.session.async_payment_succeeded', readSession],
  ['checkout.session.async_payment_failed', (object) => only('checkout.session', object, 'failed')],
  ['payment_intent.succeeded', readPaidIntent],
  ['payment_intent.payment_failed', (object) => only('payment_intent', object, 'failed')],
  ['payment_intent.processing', (object) => only('payment_intent', object, 'processing')],
  ['payment_intent.requires_action', (object) => only('payment_intent', object, 'pending')],
])

/**
 * `refund.created`, `charge.refunded`, `charge.dispute.closed` and so on: any of them may be the only one that arrives.
 */
function readerOf(type: string): Reader | undefined {
  if (/^(refund\.|charge\.refund)/.test(type)) return (object) => readReversal(object, 'refund', ['refund', 'charge'])
  if (type.startsWith('charge.dispute.')) return (object) => readReversal(object, 'dispute', ['dispute'])
  return READERS.get(type)
}

/** Completed is not paid: a delayed method is completed first. */
function readSession(session: StripeEventObject, at: Date): NoticeReading | undefined {
  if (session.object !== 'checkout.session') return undefined
  switch (session.payment_status) {
    case 'paid':
      return paid(session, session.payment_intent, session.amount_total, at)
    case 'unpaid':
      return notice(session, 'processing')
    default:
      return notice(session, 'other')
  }
}

function readPaidIntent(intent: StripeEventObject, at: Date): NoticeReading | undefined {
  if (intent.object !== 'payment_intent') return undefined
  return paid(intent, intent.id, intent.amount_received, at)
}

function paid(object: StripeEventObject, intentId: string | null, amount: number | null, at: Date): Notice | undefined {
  const { currency, reference } = object
  if (!intentId || !amount || !currency) return undefined
  // Without our note it is another business of the same account, and not money of ours.
  if (reference === null) return notice(object, 'other')
  return notice(object, 'paid', [{ transactionId: intentId, idIsProviders: true, amount: money(amount, currency), at }])
}

function only(kind: string, object: StripeEventObject, says: Notice['says']): NoticeReading | undefined {
  return object.object === kind ? notice(object, says) : undefined
}

/**
 * A reason to list the refunds or disputes of the payment; nothing else is read from it. Ours has our notes on it. A
 * refund from the dashboard and a dispute name the payment alone.
 */
function readReversal(
  object: StripeEventObject,
  says: 'refund' | 'dispute',
  kinds: string[],
): NoticeReading | undefined {
  if (!kinds.includes(object.object ?? '')) return undefined
  const transactionId = object.payment_intent
  return { ...notice(object, says), ...(transactionId && { transactionId }) }
}

function notice({ reference }: StripeEventObject, says: Notice['says'], receipts: Receipt[] = []): Notice {
  return { kind: 'notice', reference, says, receipts }
}

const unreadable = (because: string): NoticeReading => ({ kind: 'unreadable', because })

const TOLERANCE_SECONDS = 300

/**
 * Why a notice is not to be believed; undefined when it is genuine. `Stripe-Signature: t={unix
 * seconds},v1={hex}[,v1=…][,v0=…]`, each v1 an HMAC-SHA256 of "{t}.{body}" with a secret of the endpoint's. While a
 * secret is being rolled there are two of them, and either is good.
 */
export function findForgery(webhookSecret: string, { headers, body, receivedAt }: RawNotice): string | undefined {
  const header = headers['stripe-signature']
  if (!header) return 'no signature'
  const { seconds, signatures } = read(header)
  if (!seconds || signatures.length === 0) return 'a signature that cannot be read'
  // Over the bytes as they came, and without a hint of how much of a guess was right.
  const right = createHmac('sha256', webhookSecret).update(`${seconds}.`).update(body).digest()
  if (!signatures.some((signature) => timingSafeEqual(signature, right))) return 'a wrong signature'
  const ageSeconds = Math.abs(receivedAt.getTime() / 1000 - Number(seconds))
  return ageSeconds > TOLERANCE_SECONDS ? 'a signature from another time' : undefined
}

function read(header: string): { seconds: string | undefined; signatures: Buffer[] } {
  const parts = header.length <= 2_048 ? header.split(',') : []
  const times = parts.flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? [])
  const signatures = parts.flatMap((part) => /^v1=([0-9a-f]{64})$/.exec(part)?.[1] ?? [])
  // Two times would leave it open which of them was signed.
  return {
    seconds: times.length === 1 ? times[0] : undefined,
    signatures: signatures.map((hex) => Buffer.from(hex, 'hex')),
  }
}
