import type { Transaction } from '../../../database/database.ts'
import type { FailureCode } from '../../provider.ts'
import { type Card, outcomeOf } from './cards.ts'
import { amountTaken, type Chance } from './faults.ts'
import { type Books, changeBooks, type LedgerDeps } from './ledger.ts'
import {
  findPaymentByAccount,
  insertCard,
  insertTransaction,
  type NewTransaction,
  savePayment,
} from './ledger-store.ts'
import { newId } from './new-id.ts'
import { queueNotice } from './notices.ts'
import { type AwaitingCode, isSilent, type Payment, type PaymentKey } from './record.ts'
import { invalid, notFound, Refusal } from './refusal.ts'

export interface ChargeWish {
  /** Without one: the card that a code is awaited for, else the saved card that the payment was opened with. */
  card?: Card
  code?: string
  save?: boolean
  /** On the hosted page nothing goes wrong by design. */
  exact?: boolean
}

export interface Charged {
  books: Books
  result: 'paid' | 'failed' | 'otp_required' | 'pending'
  failure?: FailureCode
}

/** For how long the provider says nothing of a charge whose answer got lost. */
export const SILENCE_MS = 8_000

export function chargeCard(deps: LedgerDeps, chance: Chance, key: PaymentKey, wish: ChargeWish): Promise<Charged> {
  return changeBooks(deps, key, (tx, books) => chargeInside(tx, deps, chance, books, wish))
}

/** Charges, with the payment's row locked by the caller. A second charge finds it finished. */
export async function chargeInside(
  tx: Transaction,
  deps: LedgerDeps,
  chance: Chance,
  books: Books,
  wish: ChargeWish,
): Promise<Charged> {
  const { payment } = books
  if (payment.prompt || payment.accountNumber !== null) throw invalid('This payment is not made by card.')
  refuseFinished(books)
  const card = wish.card ?? (wish.code === undefined ? null : payment.awaitingCode) ?? payment.offeredCard
  if (!card) throw invalid('Name a card: this payment was opened without a saved one.')
  const outcome = outcomeOf(card.behaviour, wish.code)
  switch (outcome.kind) {
    case 'code_required': {
      const changed = { ...payment, awaitingCode: { ...memoryOf(card), save: wishesToSave(card, wish) } }
      await savePayment(tx, changed)
      return { books: { ...books, payment: changed }, result: 'otp_required' }
    }
    case 'failed': {
      const changed = { ...payment, awaitingCode: wish.card ? null : payment.awaitingCode }
      const entry = { kind: 'charge' as const, amount: payment.requested, failureCode: outcome.code }
      const failed = await enter(tx, { ...books, payment: changed }, entry)
      await savePayment(tx, changed)
      await queueNotice(tx, deps, { chance, books: failed, type: 'payment.failed' })
      return { books: failed, result: 'failed', failure: outcome.code }
    }
    case 'paid':
    case 'silent': {
      const amount = wish.exact ? payment.requested : amountTaken(chance, payment.requested)
      const silence = outcome.kind === 'silent' ? { silentForMs: SILENCE_MS } : {}
      const keptCard = wishesToSave(card, wish) ? { ...memoryOf(card), token: newId('gct_', deps.clock.now()) } : null
      if (keptCard) await insertCard(tx, payment.merchantUuid, keptCard)
      const changed = { ...payment, taken: amount, keptCard, awaitingCode: null }
      const paid = await enter(tx, { ...books, payment: changed }, { kind: 'charge', amount, ...silence })
      await savePayment(tx, changed)
      if (outcome.kind === 'paid') {
        await queueNotice(tx, deps, { chance, books: paid, type: 'payment.paid' })
        return { books: paid, result: 'paid' }
      }
      await queueNotice(tx, deps, { chance, books: paid, type: 'payment.processing' })
      const until = paid.transactions.at(-1)?.settlesAt as Date
      await queueNotice(tx, deps, { chance, books: paid, type: 'payment.paid', heldFor: { ms: SILENCE_MS, until } })
      return { books: paid, result: 'pending' }
    }
  }
}

/** Money arrives when it arrives: too little, too much, twice or too late, it is counted. */
export async function receiveTransfer(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  { accountNumber, amount }: { accountNumber: string; amount: number },
): Promise<Books> {
  const found = await findPaymentByAccount(deps.database, merchantUuid, accountNumber)
  if (!found) throw notFound('There is no account with this number.')
  return changeBooks(deps, found, async (tx, books) => {
    const taken = books.payment.taken + amount
    if (!Number.isSafeInteger(taken)) throw invalid('That is more money than the books can hold.')
    const payment = { ...books.payment, taken }
    const received = await enter(tx, { ...books, payment }, { kind: 'transfer', amount })
    await savePayment(tx, payment)
    await queueNotice(tx, deps, { chance, books: received, type: 'transfer.received' })
    return received
  })
}

/** The customer has said no. Too late for that, and the books stay as they are. */
export function cancelPayment(deps: LedgerDeps, chance: Chance, key: PaymentKey): Promise<Books> {
  return changeBooks(deps, key, async (tx, books) => {
    if (isFinished(books.payment)) return books
    const payment = { ...books.payment, cancelledAt: books.payment.readAt, awaitingCode: null }
    const failureCode = 'customer_cancelled'
    const cancelled = await enter(tx, { ...books, payment }, { kind: 'charge', amount: payment.requested, failureCode })
    await savePayment(tx, payment)
    await queueNotice(tx, deps, { chance, books: cancelled, type: 'payment.failed' })
    return cancelled
  })
}

/** Back to the choice of a card: the one that a code was asked for is forgotten. */
export function forgetAwaitedCard(deps: LedgerDeps, key: PaymentKey): Promise<void> {
  return changeBooks(deps, key, (tx, { payment }) => savePayment(tx, { ...payment, awaitingCode: null }))
}

export const isExpired = ({ expiresAt, readAt }: Payment) => expiresAt <= readAt

function isFinished(payment: Payment): boolean {
  return payment.taken > 0 || payment.cancelledAt !== null || isExpired(payment)
}

function refuseFinished({ payment, transactions }: Books): void {
  if (!isFinished(payment)) return
  if (payment.taken > 0) {
    const how = isSilent(payment, transactions) ? 'is being processed' : 'is already paid'
    throw new Refusal(409, 'payment_finished', `This payment ${how}.`)
  }
  if (payment.cancelledAt) throw new Refusal(409, 'payment_finished', 'This payment was cancelled.')
  throw new Refusal(409, 'link_expired', 'The link of this payment has expired.')
}

export async function enter(tx: Transaction, { payment, transactions }: Books, entry: NewTransaction): Promise<Books> {
  const entered = await insertTransaction(tx, payment, entry)
  return { payment, transactions: entered ? [...transactions, entered] : transactions }
}

/** A card that is saved already is not saved again. */
function wishesToSave(card: Card | AwaitingCode, { save = false }: ChargeWish): boolean {
  if ('token' in card) return false
  return save || ('save' in card && card.save)
}

function memoryOf({ behaviour, brand, last4, expiryMonth, expiryYear }: Card): Card {
  return { behaviour, brand, last4, expiryMonth, expiryYear }
}
