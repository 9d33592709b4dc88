import type { Transaction } from '../../../database/database.ts'
import type { FailureCode } from '../../provider.ts'
import type { Dice } from './dice.ts'
import { amountTaken, type Chance } from './faults.ts'
import type { CustomerAnswer } from './input.ts'
import { type Books, booksOf, changeBooks, type LedgerDeps } from './ledger.ts'
import { findUndecided, savePayment } from './ledger-store.ts'
import { queueNotice } from './notices.ts'
import { type Decision, decidesAt, decisionOf, RIGHT_CODE, WRONG_CODES_ALLOWED } from './prompts.ts'
import type { Payment, PaymentKey } from './record.ts'
import { invalid, Refusal } from './refusal.ts'
import { enter } from './take-money.ts'

/** Payments by phone, from a bank and by QR code: what the customer does, and what the time decides. */

/** `exact`: on the hosted page nothing goes wrong by design. */
interface Answering {
  chance: Chance
  exact?: boolean
}

/** The customer approves or says no, or the time is over. An approval is taken after that, too. */
export function answerPrompt(
  deps: LedgerDeps,
  key: PaymentKey,
  answer: CustomerAnswer,
  answering: Answering,
): Promise<Books> {
  return changeBooks(deps, key, async (tx, before) => {
    const books = await decideWhatIsDue(tx, deps, before, answering)
    const { payment } = books
    if (!payment.prompt) throw invalid('Nobody asks the customer to approve this payment.')
    refuseFinished(books)
    switch (answer) {
      case 'approve':
        if (payment.prompt.code) throw new Refusal(409, 'code_wanted', 'The customer has to give a code first.')
        return decide(tx, deps, books, { kind: 'approve', copies: 1 }, answering)
      case 'refuse':
        return decide(tx, deps, books, { kind: 'fail', code: 'customer_cancelled' }, answering)
      case 'expire': {
        const ended = { ...payment, expiresAt: payment.readAt }
        const expired = payment.decidesAt && { ...ended, decidesAt: decidesAt(payment.prompt.acts, ended) }
        await savePayment(tx, expired ?? ended)
        return decideWhatIsDue(tx, deps, { ...books, payment: expired ?? ended }, answering)
      }
    }
  })
}

/** A code that was wrong too often ends the payment. Asked again after the right one, the answer is the same. */
export async function giveCode(deps: LedgerDeps, key: PaymentKey, code: string, chance: Chance): Promise<Books> {
  const { books, isWrong } = await changeBooks(deps, key, async (tx, before) => {
    const now = await decideWhatIsDue(tx, deps, before, { chance })
    const { payment } = now
    if (!payment.prompt || !hasAskedForCode(payment)) {
      throw new Refusal(409, 'input_not_expected', 'Nothing asks for a code.')
    }
    if (isFinished(now) || !payment.prompt.code) return { books: now, isWrong: false }
    const wrong = payment.prompt.code.wrong + (code.replaceAll(' ', '') === RIGHT_CODE ? 0 : 1)
    const isWrong = wrong > payment.prompt.code.wrong
    const prompt = { ...payment.prompt, code: isWrong ? { ...payment.prompt.code, wrong } : null }
    const books = { ...now, payment: { ...payment, prompt } }
    if (!isWrong) return { books: await decide(tx, deps, books, { kind: 'approve', copies: 1 }, { chance }), isWrong }
    if (wrong > WRONG_CODES_ALLOWED) {
      const failed = await decide(tx, deps, books, { kind: 'fail', code: 'incorrect_otp' }, { chance })
      return { books: failed, isWrong: false }
    }
    await savePayment(tx, books.payment)
    return { books, isWrong }
  })
  if (isWrong) throw new Refusal(422, 'incorrect_otp', 'This code is not right. Try again.')
  return books
}

/** The books of a payment by now. What its customer did by themselves meanwhile is written down first. */
export async function booksByNow(deps: LedgerDeps, payment: Payment, dice: Dice): Promise<Books> {
  if (!isDue(payment)) return booksOf(deps.database, payment)
  const chance = await dice(payment.merchantUuid)
  return changeBooks(deps, payment, (tx, books) => decideWhatIsDue(tx, deps, books, { chance }))
}

/** Up to `limit` payments whose customer has acted by now, or whose time is over. Returns how many. */
export async function decideDuePayments(deps: LedgerDeps, dice: Dice, limit: number): Promise<number> {
  const due = await findUndecided(deps.database, limit)
  for (const { merchantUuid, ...key } of due) {
    const chance = await dice(merchantUuid)
    await changeBooks(deps, key, (tx, books) => decideWhatIsDue(tx, deps, books, { chance }))
  }
  return due.length
}

const isDue = ({ decidesAt, readAt }: Payment) => decidesAt !== null && decidesAt <= readAt

const hasAskedForCode = ({ prompt }: Payment) => prompt?.acts === 'gives a code'

async function decideWhatIsDue(tx: Transaction, deps: LedgerDeps, books: Books, answering: Answering): Promise<Books> {
  const { prompt } = books.payment
  return prompt && isDue(books.payment) ? decide(tx, deps, books, decisionOf(prompt.acts), answering) : books
}

async function decide(
  tx: Transaction,
  deps: LedgerDeps,
  { payment, transactions }: Books,
  decision: Decision,
  { chance, exact = false }: Answering,
): Promise<Books> {
  const decided = { ...payment, decidesAt: null }
  switch (decision.kind) {
    case 'approve': {
      const due = payment.requested - payment.taken
      const amount = exact ? due : amountTaken(chance, due)
      const paid = { ...decided, taken: payment.taken + amount }
      // Into an account number any amount may come, so its money is a transfer.
      const kind = payment.accountNumber === null ? ('charge' as const) : ('transfer' as const)
      const books = await enter(tx, { payment: paid, transactions }, { kind, amount })
      await savePayment(tx, paid)
      const type = kind === 'charge' ? ('payment.paid' as const) : ('transfer.received' as const)
      await queueNotice(tx, deps, { chance, books, type, copies: decision.copies })
      return books
    }
    case 'fail': {
      const entry = { kind: 'charge' as const, amount: payment.requested, failureCode: decision.code }
      const books = await enter(tx, { payment: decided, transactions }, entry)
      await savePayment(tx, decided)
      await queueNotice(tx, deps, { chance, books, type: 'payment.failed' })
      return books
    }
  }
}

/** Why it failed for good; undefined while the customer can still approve, even when the time is over. */
export function failureOfPrompt({ transactions }: Books): FailureCode | undefined {
  const last = transactions.findLast(({ kind }) => kind === 'charge')?.failureCode
  return last && last !== 'prompt_expired' ? last : undefined
}

/** Money comes in one piece, but for a number that any amount can be paid to. */
export function isPaid({ taken, requested, accountNumber }: Payment): boolean {
  return accountNumber === null ? taken > 0 : taken >= requested
}

function isFinished(books: Books): boolean {
  return isPaid(books.payment) || failureOfPrompt(books) !== undefined
}

function refuseFinished(books: Books): void {
  if (!isFinished(books)) return
  const how = books.payment.taken > 0 ? 'is already paid' : 'has failed'
  throw new Refusal(409, 'payment_finished', `This payment ${how}.`)
}
