import { batch } from '../database/batch.ts'
import { type Database, pauseAfterLostRace, unavailable } from '../database/database.ts'
import { isBadRow, lostARace, lostConnection } from '../database/failure.ts'
import { canTake, describeIntegrations, type Integration } from '../integrations/integration.ts'
import type { IntegrationCache } from '../integrations/integration-cache.ts'
import { listEnabledIntegrations } from '../integrations/integration-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId, newReference, newShortCode, type PaymentId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { Caller } from '../merchants/merchant.ts'
import type { PaymentRequest } from './state/payment.ts'
import { findRivals, insertPayment, insertPayments, type NewPayment } from './store/payments.ts'

export interface CreatePayment {
  caller: Caller
  request: PaymentRequest
  reference: string | undefined
  expiresInSeconds: number
  idempotency: { key: string; digest: Buffer } | undefined
}

/** What the merchant needs to send a customer to the payment. */
export interface PaymentTicket {
  id: PaymentId
  shortCode: string
  reference: string
  amount: number
}

export interface Created {
  ticket: PaymentTicket
  /** The key had made this payment before; nothing was written now. */
  replayed: boolean
}

/** Someone else's words for a used reference: the doors show its ticket as `existing`. */
export class DuplicateReference extends Error {
  readonly existing: PaymentTicket
  constructor(existing: PaymentTicket) {
    super(
      `The reference ${existing.reference} is already used by a payment of yours. Use another one for a new payment; "existing" is the one that has it.`,
    )
    this.name = 'DuplicateReference'
    this.existing = existing
  }
}

const MAX_ITEMS = 256
const MAX_WAITING = 4_096
const TRIES = 3

interface CreatorDependencies {
  database: Database
  clock: Clock
  integrationCache: IntegrationCache
}

export type PaymentCreator = (wanted: CreatePayment) => Promise<Created>

export function paymentCreator({ database, clock, integrationCache }: CreatorDependencies): PaymentCreator {
  const insert = batch<NewPayment, boolean>({
    write: (payments) => insertTogether(database, payments),
    maxItems: MAX_ITEMS,
    maxWaiting: MAX_WAITING,
    failsAll: (error) => error instanceof Problem && error.code === 'unavailable',
    tooMany: () =>
      new Problem('unavailable', 'More payments are being created than can be written right now. Try again shortly.', {
        retryAfterSeconds: 1,
      }),
  })

  return async (wanted) => {
    // The cache may be older than an integration that was just set up, so a refusal is checked against the database.
    const refusal =
      whyUnpayable(wanted, await integrationCache.get(wanted.caller)) &&
      whyUnpayable(wanted, await listEnabledIntegrations(database, wanted.caller))
    if (refusal) {
      // What was promised under this key before the integrations changed still stands.
      const answer = wanted.idempotency && (await findAnswer(database, prepare(wanted, clock.now())))
      if (answer) return answer
      throw refusal
    }
    for (let tries = 1; ; tries++) {
      const payment = prepare(wanted, clock.now())
      if (await insert(payment)) return { ticket: newTicket(payment), replayed: false }
      const answer = await findAnswer(database, payment)
      if (answer) return answer
      // Nothing stands in the way by name, so it was the short code: one chance in 10^13 per payment of that second.
      if (tries === TRIES) throw new Error('no free short code in three tries')
    }
  }
}

/** No link is made to a page that cannot be paid. */
function whyUnpayable(
  { caller, request: { country, currency } }: CreatePayment,
  integrations: Integration[],
): Problem | undefined {
  if (integrations.some((integration) => canTake(integration, country, currency))) return undefined
  return new Problem(
    'no_integration_available',
    `Nothing you have set up takes ${currency} in ${country} (${caller.mode} mode). ${describeIntegrations(integrations)}`,
  )
}

function prepare(wanted: CreatePayment, now: Date): NewPayment {
  return {
    id: newId('payment', now),
    merchantId: wanted.caller.merchantId,
    mode: wanted.caller.mode,
    reference: wanted.reference ?? newReference(now),
    shortCode: newShortCode(now),
    request: wanted.request,
    expiresInSeconds: wanted.expiresInSeconds,
    idempotency: wanted.idempotency,
  }
}

/** One statement for all; for each whether it was new. */
async function insertTogether(database: Database, payments: NewPayment[]): Promise<(boolean | Error)[]> {
  const [only, ...others] = payments
  for (let tries = 1; ; tries++) {
    try {
      return only && others.length === 0
        ? [await insertPayment(database, only)]
        : await insertPayments(database, payments)
    } catch (error) {
      // After a broken connection the rows may be there or not. The ids are ours, so the same statement again settles it.
      if (lostConnection(error) && tries < TRIES) continue
      if (lostARace(error)) {
        if (tries === TRIES) throw unavailable(error)
        await pauseAfterLostRace(tries)
        continue
      }
      // One bad row must not cost its neighbours their payment.
      if (isBadRow(error) && payments.length > 1) return insertOneByOne(database, payments)
      throw error
    }
  }
}

async function insertOneByOne(database: Database, payments: NewPayment[]): Promise<(boolean | Error)[]> {
  const results: (boolean | Error)[] = []
  for (const payment of payments) {
    try {
      results.push(await insertPayment(database, payment))
    } catch (error) {
      results.push(error as Error)
    }
  }
  return results
}

/** Why the payment was not written: the same request before, another request with its key, or a used reference. */
async function findAnswer(database: Database, wanted: NewPayment): Promise<Created | undefined> {
  const rivals = await findRivals(database, wanted)
  const { idempotency } = wanted
  // Ours: the connection broke after the commit, and the statement was sent a second time.
  if (rivals.some(({ payment }) => payment.id === wanted.id)) return { ticket: newTicket(wanted), replayed: false }
  const sameKey = idempotency && rivals.find((rival) => rival.idempotencyKey === idempotency.key)
  if (sameKey) {
    if (sameKey.requestDigest?.equals(idempotency.digest)) return { ticket: ticketOf(sameKey.payment), replayed: true }
    throw new Problem(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body. Use a new key for a new request, or send the first body again.',
    )
  }
  const sameReference = rivals.find(({ payment }) => payment.reference === wanted.reference)
  if (sameReference) throw new DuplicateReference(ticketOf(sameReference.payment))
  return undefined
}

function newTicket(payment: NewPayment): PaymentTicket {
  return ticketOf({ ...payment, amount: payment.request.amount })
}

function ticketOf({ id, shortCode, reference, amount }: PaymentTicket): PaymentTicket {
  return { id, shortCode, reference, amount }
}
