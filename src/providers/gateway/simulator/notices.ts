import { createHmac } from 'node:crypto'
import type { Transaction } from '../../../database/database.ts'
import { type Chance, noticeDelaysMs } from './faults.ts'
import type { Books, LedgerDeps } from './ledger.ts'
import { newId } from './new-id.ts'
import { insertNotice } from './notice-store.ts'
import { recordOf } from './record.ts'

export type NoticeType =
  | 'payment.paid'
  | 'payment.failed'
  | 'payment.processing'
  | 'transfer.received'
  | 'refund.successful'
  | 'dispute.opened'
  | 'dispute.updated'
  | 'dispute.closed'

interface QueuedNotice {
  chance: Chance
  books: Books
  type: NoticeType
  refund?: { id: string; amount: number; currency: string }
  dispute?: object
  /** The same notice so often, whatever the faults make of each. */
  copies?: number
  /** What will be true then is told then. */
  heldFor?: { ms: number; until: Date }
}

/** Tells of a change, in the transaction that made it; the faults decide what becomes of it on the way. */
export async function queueNotice(
  tx: Transaction,
  { clock, publicUrl }: Pick<LedgerDeps, 'clock' | 'publicUrl'>,
  { chance, books: { payment, transactions }, type, refund, dispute, copies = 1, heldFor }: QueuedNotice,
): Promise<void> {
  const createdAt = heldFor?.until ?? clock.now()
  const body = JSON.stringify({
    id: newId('ntc_', createdAt),
    type,
    reference: payment.reference,
    createdAt: createdAt.toISOString(),
    data: recordOf(payment, transactions, publicUrl(), heldFor?.until),
    ...(refund && { refund }),
    ...(dispute && { dispute }),
  })
  const now = payment.readAt
  const delaysMs = Array.from({ length: copies }, () => noticeDelaysMs(chance)).flat()
  if (delaysMs.length === 0) await insertNotice(tx, payment.merchantUuid, body, { now, delayMs: null })
  for (const delayMs of delaysMs)
    await insertNotice(tx, payment.merchantUuid, body, { now, delayMs: delayMs + (heldFor?.ms ?? 0) })
}

/** The value of `gateway-signature`. The time is signed too, so that an old notice cannot be played again. */
export function signNotice(secretKey: string, body: string, at: Date): string {
  const seconds = Math.floor(at.getTime() / 1000)
  return `t=${seconds},v1=${createHmac('sha256', secretKey).update(`${seconds}.${body}`).digest('hex')}`
}
