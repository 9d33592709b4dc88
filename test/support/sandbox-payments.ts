import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import type { AttemptId } from '../../src/kernel/ids.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import { eventually, type Shop } from './paying.ts'
import type { Json } from './payment-records.ts'
import { CARD } from './simulator.ts'

/** The default of `shop.initialize`. */
export const AMOUNT = 1_250_000
export const TRANSFER = { provider: 'gateway-virtual-bank-account' }

export interface Started {
  payment: Json
  attempt: Json
  /** Our reference at the provider. */
  order: string
  /** Of an attempt by transfer. */
  accountNumber: string
}

/** Starts an attempt at the sandbox provider. */
export async function start(shop: Shop, changes: Record<string, unknown> = {}): Promise<Started> {
  const { status, body } = await shop.initialize(changes)
  assert.equal(status, 200, JSON.stringify(body))
  const { reference, data } = body.data
  const payment = await shop.payment(reference)
  const attempt = payment.attempts.at(-1)
  return { payment, attempt, order: attempt.providerReference, accountNumber: data.accountNumber }
}

/** The same, with the attempt as our own code reads it. */
export async function startAttempt(
  database: Database,
  shop: Shop,
  changes: Record<string, unknown> = {},
): Promise<{ payment: Json; attempt: Attempt }> {
  const { payment, attempt } = await start(shop, changes)
  return { payment, attempt: (await findAttempt(database, attempt.id as AttemptId)) ?? assert.fail() }
}

/** A card is entered on the provider's page. */
export async function charge(shop: Shop, order: string, card: string = CARD.pays, more: object = {}): Promise<Json> {
  const { status, body } = await shop.call('POST', `/sandbox/gateway/charges/${order}`, { card, ...more })
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}

/** A bank sends money to an account of the provider. */
export async function transfer(shop: Pick<Shop, 'call'>, accountNumber: string, amount: number): Promise<Json> {
  const { status, body } = await shop.call('POST', '/sandbox/gateway/transfers', { accountNumber, amount })
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}

/** The provider's record of an order. */
export async function ledger(shop: Shop, order: string): Promise<Json> {
  return (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data
}

/** Drops the provider's notices from now on. */
export async function loseNotices(shop: Shop): Promise<void> {
  await shop.call('PUT', '/sandbox/gateway/faults', { seed: 1, lost: 1 })
}

export function becomes(shop: Shop, { id }: Json, isSo: (payment: Json) => boolean): Promise<Json> {
  return eventually(() => shop.payment(id), isSo)
}

export const isPaid = ({ status }: Json) => status === 'successful'

/**
 * A whole payment by card, until the payment or its attempt has the status `ends`. With `saveCard` the card is saved.
 */
export async function payByCard(
  shop: Shop,
  changes: Record<string, unknown> = {},
  card: string = CARD.pays,
  ends = 'successful',
): Promise<Started> {
  const started = await start(shop, changes)
  await charge(shop, started.order, card, changes.saveCard === true ? { save: true } : {})
  const payment = await becomes(
    shop,
    started.payment,
    ({ status, attempts }) => status === ends || attempts[0].status === ends,
  )
  return { ...started, payment, attempt: payment.attempts[0] }
}

export interface Paid {
  id: string
  reference: string
  /** Our reference at the provider. */
  order: string
}

/** The ids of a card payment that is successful. */
export async function paid(shop: Shop, changes: Record<string, unknown> = {}): Promise<Paid> {
  const { payment, order } = await payByCard(shop, changes)
  return { id: payment.id, reference: payment.reference, order }
}
