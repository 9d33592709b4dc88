import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Mode } from '../../kernel/mode.ts'
import { asWritten, decode, decoderOf, type Fields, fields, Lenient, parse, Required, word } from '../json-parsers.ts'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { isOfMode, isReversed, outcomeOf } from './mapping.ts'
import { digits, readTransaction } from './wire.ts'

/**
 * Verifies a notice. Returns the reason for rejecting it, or undefined when it is genuine. `x-paystack-signature` is
 * the HMAC-SHA512 of the body in lowercase hex, with the secret key. It covers no time, so a replayed notice is
 * accepted: it only triggers a check of the order.
 */
export function findForgery(secretKey: string, { headers, body }: RawNotice): string | undefined {
  const header = headers['x-paystack-signature']
  if (!header) return 'no signature'
  if (!/^[0-9a-f]{128}$/.test(header)) return 'a signature that cannot be read'
  // Over the bytes as they came: their own sample writes the parsed body anew, which need not give the same bytes.
  const right = createHmac('sha512', secretKey).update(body).digest()
  return timingSafeEqual(Buffer.from(header, 'hex'), right) ? undefined : 'a wrong signature'
}

export function readingOf({ event, data }: PaystackNotice, mode: Mode): NoticeReading {
  switch (event) {
    case 'charge.success':
      return chargeReading(data, mode)
    case 'bank.transfer.rejected': {
      const rejected = readRejectedTransfer(data)
      if (!rejected) return unreadable('a rejected transfer without a transaction')
      return { kind: 'notice', reference: null, says: 'failed', receipts: [], transactionId: rejected.transactionId }
    }
    case 'charge.dispute.create':
    case 'charge.dispute.remind':
    case 'charge.dispute.resolve':
      return returnReading('dispute', readDisputeNotice(data), mode)
    default:
      // A payout: its reference is of the merchant's transfer, and of no order.
      if (event.startsWith('transfer.')) return other(null)
      return event.startsWith('refund.')
        ? returnReading('refund', readRefundNotice(data), mode)
        : other(readRefundNotice(data)?.reference ?? readTransaction(data)?.reference ?? null)
  }
}

function returnReading(
  says: 'refund' | 'dispute',
  about: { reference: string; domain: string } | undefined,
  mode: Mode,
): NoticeReading {
  if (!about || !isOfMode(about, mode)) return unreadable(`a ${says} that is not of this mode, or names no transaction`)
  return { kind: 'notice', reference: about.reference, says, receipts: [] }
}

function chargeReading(data: Fields, mode: Mode): NoticeReading {
  const named = readNamed(data)
  if (!named) return unreadable('a charge of no order')
  const { reference, domain } = named
  if (domain !== null && !isOfMode({ domain }, mode)) return unreadable('a charge of another mode')
  const transaction = readTransaction(data)
  // Not whole, but a reason to check the order.
  if (!transaction) return other(reference)
  // Written after the refund. The check lists what was given back.
  if (isReversed(transaction)) return { kind: 'notice', reference, says: 'refund', receipts: [] }
  const outcome = outcomeOf(transaction, 'card')
  // The order is checked before anything is recorded, so a contradictory notice does no harm.
  return outcome.kind === 'paid'
    ? { kind: 'notice', reference, says: 'paid', receipts: outcome.receipts }
    : { kind: 'notice', reference, says: 'pending', receipts: [] }
}

const other = (reference: string | null): NoticeReading => ({ kind: 'notice', reference, says: 'other', receipts: [] })

const unreadable = (because: string): NoticeReading => ({ kind: 'unreadable', because })

export interface PaystackNotice {
  event: string
  data: Fields
}

const Word = Required((value) => word(value))

const decodeNotice = decoderOf({ event: Word, data: Lenient(fields) })
const decodeNamed = decoderOf({ reference: Word, domain: Lenient((value) => word(value)) })
const decodeRejectedTransfer = decoderOf({ bank_transfer: Required((value) => digits(fields(value)?.transaction_id)) })
const decodeRefundNotice = decoderOf({ transaction_reference: Word, domain: Word })
const decodeDisputeNotice = decoderOf({
  transaction: Lenient((value) => word(fields(value)?.reference)),
  merchant_transaction_reference: Lenient((value) => word(value)),
  domain: Word,
})

export function readNoticeBody(body: Buffer): PaystackNotice | undefined {
  const notice = decodeNotice(parse(decode(body), asWritten))
  return notice && { event: notice.event, data: notice.data ?? {} }
}

/** The order that a notice names, whatever else is missing. */
const readNamed = (data: Fields) => decodeNamed(data)

/** A transfer that was sent back: names a transaction, and neither reference nor mode. */
function readRejectedTransfer(data: Fields): { transactionId: string } | undefined {
  const rejected = decodeRejectedTransfer(data)
  return rejected && { transactionId: rejected.bank_transfer }
}

/** A refund notice triggers a list of the refunds of its transaction. Its amounts are not read. */
function readRefundNotice(data: Fields): { reference: string; domain: string } | undefined {
  const notice = decodeRefundNotice(data)
  return notice && { reference: notice.transaction_reference, domain: notice.domain }
}

/** The same for a dispute. */
function readDisputeNotice(data: Fields): { reference: string; domain: string } | undefined {
  const notice = decodeDisputeNotice(data)
  const reference = notice?.transaction ?? notice?.merchant_transaction_reference
  return notice && reference ? { reference, domain: notice.domain } : undefined
}
