import { batch } from '../../database/batch.ts'
import { type Database, pauseAfterConflict } from '../../database/database.ts'
import { isBadRow, isTransactionConflict, isUniqueViolation, lostConnection } from '../../database/failure.ts'
import { unavailable } from '../../database/pool.ts'
import { canTake, describeIntegrations, type Integration } from '../../integrations/integration.ts'
import type { IntegrationCache } from '../../integrations/integration-cache.ts'
import { listEnabledIntegrations } from '../../integrations/integration-store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type LinkId, newId, newReference, newShortCode, type PaymentId } from '../../kernel/ids.ts'
import { groupByPlace, type Place } from '../../kernel/place.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Owner, Scope } from '../../kernel/scope.ts'
import type { Payment, PaymentRequest } from '../state/payment.ts'
import { findConflicting, insertPayment, insertPayments, type NewPayment } from '../store/payments.ts'

export interface CreatePayment {
  caller: Scope
  request: PaymentRequest
  /** The reusable link that the customer came from. */
  link?: LinkId
  reference: string | undefined
  expiresInSeconds: number
  idempotency: { key: string; digest: Buffer } | undefined
}

/** The part of a new payment that the merchant needs to redirect the customer. */
export interface PaymentTicket {
  id: PaymentId
  shortCode: string
  reference: string
  amount: number
}

export interface Created {
  ticket: PaymentTicket
  /** An earlier request with this idempotency key created the payment. */
  replayed: boolean
}

/** The reference is in use. The API shows the ticket of its payment as `existing`. */
export class DuplicateReference extends Error {
  readonly existing: PaymentTicket
  constructor(existing: PaymentTicket) {
    super(
      `The reference ${existing.reference} is already used by one of your payments, shown as "existing". Use another reference for a new payment.`,
    )
    this.name = 'DuplicateReference'
    this.existing = existing
  }
}

const MAX_BATCH_ITEMS = 256
const MAX_WAITING = 4_096
const MAX_TRIES = 3

/** Inserts the payments that arrive at the same time in one statement, which costs one commit. */
export interface PaymentBatch {
  /** False when the reference, the idempotency key or the short code is in use. */
  insert(payment: NewPayment): Promise<boolean>
}

export function paymentBatch(database: Database): PaymentBatch {
  const insert = batch<NewPayment, boolean>({
    name: 'create payments',
    write: (payments) => insertTogether(database, payments),
    maxItems: MAX_BATCH_ITEMS,
    maxWaiting: MAX_WAITING,
    failsAll: (error) => error instanceof Problem && error.code === 'unavailable',
    // Backpressure: refuse instead of queueing without bound.
    tooMany: () =>
      new Problem('unavailable', 'More payments are being created than can be written right now. Try again shortly.', {
        retryAfterSeconds: 1,
      }),
  })
  return { insert }
}

export interface CreateDeps {
  database: Database
  clock: Clock
  integrationCache: IntegrationCache
  paymentBatch: PaymentBatch
}

/**
 * Creates a payment. The same idempotency key and body return the first payment; a used reference throws
 * DuplicateReference.
 */
export async function createPayment(deps: CreateDeps, wanted: CreatePayment): Promise<Created> {
  const { database, clock } = deps
  const refusal = await findRefusal(deps, wanted.caller, wanted.request)
  if (refusal) {
    // A payment that this key created before the integrations changed is still returned.
    const existing = wanted.idempotency && (await findExisting(database, newPayment(wanted, clock.now())))
    if (existing) return existing
    throw refusal
  }
  for (let tries = 1; ; tries++) {
    const made = newPayment(wanted, clock.now())
    if (await deps.paymentBatch.insert(made)) return { ticket: ticketOf(made.payment), replayed: false }
    const existing = await findExisting(database, made)
    if (existing) return existing
    // The short code is in use. The probability is 10^-13 per payment in the same second.
    if (tries === MAX_TRIES) throw new Error(`no free short code in ${MAX_TRIES} tries`)
  }
}

type Asked = Pick<PaymentRequest, 'country' | 'currency'>

/** No link is made to a page that cannot be paid. */
export async function assertPayable(deps: Omit<CreateDeps, 'paymentBatch'>, owner: Owner, asked: Asked): Promise<void> {
  const refusal = await findRefusal(deps, owner, asked)
  if (refusal) throw refusal
}

/** The cache may be older than an integration that was just set up, so a refusal is checked against the database. */
async function findRefusal(
  { database, integrationCache }: Omit<CreateDeps, 'paymentBatch'>,
  owner: Owner,
  asked: Asked,
): Promise<Problem | undefined> {
  return (
    whyUnpayable(owner, asked, await integrationCache.get(owner)) &&
    whyUnpayable(owner, asked, await listEnabledIntegrations(database, owner))
  )
}

function whyUnpayable(owner: Owner, { country, currency }: Asked, integrations: Integration[]): Problem | undefined {
  if (integrations.some((integration) => canTake(integration, country, currency))) return undefined
  return new Problem(
    'no_integration_available',
    `Nothing you have set up takes ${currency} in ${country} (${owner.mode} mode). ${describeIntegrations(integrations)}`,
  )
}

export function newPayment(wanted: CreatePayment, now: Date): NewPayment {
  const { place, merchantId, mode } = wanted.caller
  const payment: Payment = {
    ...wanted.request,
    id: newId('payment', now, place),
    place,
    merchantId,
    mode,
    reference: wanted.reference ?? newReference(now, place),
    shortCode: newShortCode(now, place),
    link: wanted.link ?? null,
    status: 'pending',
    late: false,
    amountPaid: 0,
    amountRefunded: 0,
    sequence: 0,
    version: 0,
    createdAt: now,
    expiresAt: new Date(now.getTime() + wanted.expiresInSeconds * 1_000),
    completedAt: null,
  }
  return { payment, idempotency: wanted.idempotency }
}

/**
 * Inserts the payments of each place in one statement, with one commit. For each: true if it is new, or its error. A
 * place that fails does not fail the others; only when all of them fail, it throws.
 */
async function insertTogether(database: Database, payments: NewPayment[]): Promise<(boolean | Error)[]> {
  const results = new Map<NewPayment, boolean | Error>()
  const groups = groupByPlace(payments, ({ payment }) => payment.place)
  const writes = groups.map(async ([place, group]) => {
    const inserted = await insertOfPlace(database, place, group)
    for (const [index, payment] of group.entries()) results.set(payment, inserted[index] ?? false)
  })
  const failures = (await Promise.allSettled(writes)).map((write) =>
    write.status === 'rejected' ? write.reason : null,
  )
  if (failures.every((failure) => failure !== null)) throw failures[0]
  for (const [index, failure] of failures.entries())
    if (failure !== null) for (const payment of groups[index]?.[1] ?? []) results.set(payment, failure)
  return payments.map((payment) => results.get(payment) ?? false)
}

async function insertOfPlace(database: Database, place: Place, payments: NewPayment[]): Promise<(boolean | Error)[]> {
  const [first, second] = payments
  for (let tries = 1; ; tries++) {
    try {
      if (first && !second) return [await insertOne(database, first)]
      return await insertPayments(database, place, payments)
    } catch (error) {
      // After a lost connection the commit is uncertain. The ids were chosen here, so repeating the statement is safe.
      if (lostConnection(error) && tries < MAX_TRIES) continue
      if (isTransactionConflict(error)) {
        if (tries === MAX_TRIES) throw unavailable(error)
        await pauseAfterConflict(tries)
        continue
      }
      // One invalid row must not fail the other payments of the batch.
      if (isBadRow(error) && payments.length > 1) return insertOneByOne(database, payments)
      throw error
    }
  }
}

/** False if its reference, key or short code is in use. */
async function insertOne(database: Database, payment: NewPayment): Promise<boolean> {
  try {
    await database.rows(insertPayment(payment))
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

async function insertOneByOne(database: Database, payments: NewPayment[]): Promise<(boolean | Error)[]> {
  const results: (boolean | Error)[] = []
  for (const payment of payments) {
    try {
      results.push(await insertOne(database, payment))
    } catch (error) {
      results.push(error as Error)
    }
  }
  return results
}

/**
 * Finds the payment that prevented the insert. Returns it for the same request; throws for another request with the
 * same key, and for a used reference.
 */
async function findExisting(database: Database, wanted: NewPayment): Promise<Created | undefined> {
  const conflicting = await findConflicting(database, wanted)
  const { payment, idempotency } = wanted
  // The connection broke after the commit, and the statement was sent again.
  if (conflicting.some((other) => other.payment.id === payment.id))
    return { ticket: ticketOf(payment), replayed: false }
  const sameKey = idempotency && conflicting.find((other) => other.idempotencyKey === idempotency.key)
  if (sameKey) {
    if (sameKey.requestDigest?.equals(idempotency.digest)) return { ticket: ticketOf(sameKey.payment), replayed: true }
    throw new Problem(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body. Use a new key for a new request, or send the first body again.',
    )
  }
  const sameReference = conflicting.find((other) => other.payment.reference === payment.reference)
  if (sameReference) throw new DuplicateReference(ticketOf(sameReference.payment))
  return undefined
}

function ticketOf({ id, shortCode, reference, amount }: PaymentTicket): PaymentTicket {
  return { id, shortCode, reference, amount }
}
