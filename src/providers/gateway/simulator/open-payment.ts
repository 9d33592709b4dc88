import { createHash } from 'node:crypto'
import type { Transaction } from '../../../database/database.ts'
import type { Chance } from './faults.ts'
import { type Books, booksOf, type LedgerDeps } from './ledger.ts'
import { findCard, findPayment, insertPayment, lockPayment } from './ledger-store.ts'
import { newPageToken } from './new-id.ts'
import { placeOfMerchant } from './place.ts'
import { Refusal } from './refusal.ts'
import { chargeInside } from './take-money.ts'

export interface PaymentRequest {
  reference: string
  channel: 'card' | 'transfer'
  amount: number
  currency: string
  email: string
  name: string | null
  merchantName: string
  returnURL: string
  expiresAt: Date
  savedCard: string | null
}

export interface Opened {
  isNew: boolean
  books: Books
}

/** A page or an account number for the customer. Asked again with the same words, it is the same one. */
export function openPayment(deps: LedgerDeps, merchantUuid: string, request: PaymentRequest): Promise<Opened> {
  return open(deps, merchantUuid, request, 'payment', async (_, books) => books)
}

/** Opens a payment and charges the saved card in the same transaction, so that a repeat finds both or neither. */
export async function openAndCharge(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  request: PaymentRequest,
): Promise<Opened> {
  const opened = await open(deps, merchantUuid, request, 'charge', async (tx, books) => {
    return (await chargeInside(tx, deps, chance, books, {})).books
  })
  deps.wake()
  return opened
}

function open(
  { database, clock }: LedgerDeps,
  merchantUuid: string,
  request: PaymentRequest,
  purpose: 'payment' | 'charge',
  andThen: (tx: Transaction, books: Books) => Promise<Books>,
): Promise<Opened> {
  const { amount: requested, savedCard: offeredCard, ...asked } = request
  const requestDigest = createHash('sha256')
    .update(JSON.stringify([purpose, request]))
    .digest()
  return database.transaction(async (tx) => {
    if (offeredCard !== null && !(await findCard(tx, merchantUuid, offeredCard))) {
      throw new Refusal(422, 'invalid_token', 'There is no saved card with this token.')
    }
    const pageToken = request.channel === 'card' ? newPageToken(clock.now(), placeOfMerchant(merchantUuid)) : null
    const key = await insertPayment(tx, { ...asked, merchantUuid, requested, offeredCard, requestDigest, pageToken })
    if (key) {
      const books = { payment: await lockPayment(tx, key), transactions: [] }
      return { isNew: true, books: await andThen(tx, books) }
    }
    const existing = await findPayment(tx, merchantUuid, request.reference)
    if (!existing?.requestDigest.equals(requestDigest)) {
      throw new Refusal(409, 'duplicate_reference', 'This reference was used for another payment.')
    }
    return { isNew: false, books: await booksOf(tx, existing) }
  })
}
