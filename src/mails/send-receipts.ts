import type { Logger } from 'pino'
import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import { MailRefused, type SendMail } from '../members/mail.ts'
import { findBranding } from '../merchants/branding-store.ts'
import type { Links } from '../payments/links.ts'
import { isErased } from '../payments/state/personal-data.ts'
import {
  claimDueReceipts,
  type DueReceipt,
  findReceiptOf,
  type ReceiptEnd,
  readReceiptSends,
  recordReceipt,
} from '../payments/store/customer-receipts.ts'
import { findPaymentStateById } from '../payments/store/payment-states.ts'
import { refundsOf } from '../payments/store/refunds.ts'
import { countMail, endOfWindow } from './mail-count-store.ts'
import { receiptMail } from './receipt.ts'

export interface MailDeps {
  database: Database
  clock: Clock
  log: Logger
  links: Links
  /** Absent without SMTP_URL. */
  sendMail?: SendMail | undefined
}

/** Mails that are sent at the same time. */
const BATCH = 5
/** Longer than the mail server may take. A process that was killed leaves a mail that is due again after it. */
const LEASE_MINUTES = 5
const MINUTE_MS = 60_000
/** Minutes until the next try. With the last one, a mail server may be away for two days and a half. */
export const WAITS_MINUTES = [1, 5, 15, 60, 120, 240, 480, 720, 720, 720, 720]

/**
 * Limits against abuse as a mail relay. In live mode each receipt needs money that has arrived. In the sandbox money is
 * free, so few mails are enough.
 */
export const RECEIPTS_AN_HOUR = { live: 5_000, sandbox: 30 }
export const RECEIPTS_OF_ADDRESS_A_DAY = 20

/** Sends the next receipts. Returns true when there may be more. Several processes may run it. */
export async function sendDueReceipts(deps: MailDeps): Promise<boolean> {
  const due = await claimDueReceipts(deps.database, BATCH, LEASE_MINUTES)
  await Promise.all(
    due.map(async (receipt) => {
      const end = await send(deps, receipt).catch((err): ReceiptEnd => {
        deps.log.warn({ err, paymentId: receipt.paymentId }, 'a receipt could not be sent; retrying')
        return retry(receipt, deps.clock.now())
      })
      await recordReceipt(deps.database, receipt, end)
    }),
  )
  return due.length === BATCH
}

/** Everything is read now: the customer may have been erased since, or more may have been refunded. */
async function send({ database, clock, links, sendMail }: MailDeps, receipt: DueReceipt): Promise<ReceiptEnd> {
  const { kind, paymentId, place, merchantId, mode } = receipt
  const dropped = (note: string): ReceiptEnd => ({ state: 'dropped', note })
  const [state, refunds, page, branding, sends] = await Promise.all([
    findPaymentStateById(database, paymentId),
    refundsOf(database, paymentId),
    findReceiptOf(database, paymentId),
    findBranding(database, merchantId, mode),
    readReceiptSends(database, receipt),
  ])
  if (!state || !page || !branding) return dropped('the payment is gone')
  const { payment } = state
  if (sends === 'never') return dropped('receipts were turned off')
  if (branding.suspended) return dropped('the merchant is suspended')
  if (isErased(payment.user)) return dropped('the customer is erased')
  if (kind === 'partial_refund' && payment.amountRefunded >= payment.amountPaid)
    return dropped('all was refunded since')
  if (!sendMail) throw new Error('SMTP_URL is not set')
  const now = clock.now()
  const to = receipt.address ?? payment.user.email
  const perAddress = {
    what: `address ${merchantId} ${to.toLowerCase()}`,
    window: 'day',
    limit: RECEIPTS_OF_ADDRESS_A_DAY,
  } as const
  const perMerchant = { what: `merchant ${merchantId} ${mode}`, window: 'hour', limit: RECEIPTS_AN_HOUR[mode] } as const
  if (!(await countMail(database, place, perMerchant, now)))
    return { state: 'waiting', dueAt: endOfWindow('hour', now), wasTried: false }
  if (!(await countMail(database, place, perAddress, now))) return dropped('this address had too many mails today')
  const language = receipt.language ?? branding.brand.language ?? 'en'
  const mail = receiptMail({ payment, refunds, branding, language }, kind, links.receipt(page.code))
  try {
    await sendMail({ ...mail, to, id: `${kind}.${paymentId}` })
  } catch (error) {
    if (error instanceof MailRefused) return { state: 'refused', note: error.message }
    throw error
  }
  return { state: 'sent', at: clock.now() }
}

function retry({ tries }: DueReceipt, now: Date): ReceiptEnd {
  const wait = WAITS_MINUTES[tries - 1]
  if (wait === undefined) return { state: 'dropped', note: 'the mail server took no mail for too long' }
  return { state: 'waiting', dueAt: new Date(now.getTime() + wait * MINUTE_MS), wasTried: true }
}
