import { createHash } from 'node:crypto'
import type { Transaction } from '../../../database/database.ts'
import { type MobileNetwork, PAID_FROM_MENU } from '../../../kernel/mobile-networks.ts'
import type { Chance } from './faults.ts'
import { type Books, booksOf, type LedgerDeps } from './ledger.ts'
import { findCard, findPayment, insertPayment, lockPayment, savePayment } from './ledger-store.ts'
import { newPageToken } from './new-id.ts'
import { placeOfMerchant } from './place.ts'
import { behaviourOf, decidesAt, type Prompt } from './prompts.ts'
import type { Channel } from './record.ts'
import { Refusal } from './refusal.ts'
import { chargeInside } from './take-money.ts'

export interface PaymentRequest {
  reference: string
  channel: Channel
  amount: number
  currency: string
  email: string
  name: string | null
  merchantName: string
  returnURL: string
  expiresAt: Date
  savedCard: string | null
  /** For every channel but card and transfer. Absent there: a repeat must be the same request after an update. */
  customer?: { phoneNumber: string | null; network: MobileNetwork | null; bank: string | null }
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
  const { amount: requested, savedCard: offeredCard, customer: _, ...asked } = request
  const prompt = promptOf(request)
  if (prompt?.acts === 'subscriber_unknown') {
    throw new Refusal(422, 'subscriber_unknown', 'This phone number has no mobile money account.')
  }
  const isPaidFromMenu = prompt !== null && prompt.network !== null && PAID_FROM_MENU.has(prompt.network)
  const { hasPage } = FACTS[request.channel]
  const requestDigest = createHash('sha256')
    .update(JSON.stringify([purpose, request]))
    .digest()
  return database.transaction(async (tx) => {
    if (offeredCard !== null && !(await findCard(tx, merchantUuid, offeredCard))) {
      throw new Refusal(422, 'invalid_token', 'There is no saved card with this token.')
    }
    const pageToken = hasPage ? newPageToken(clock.now(), placeOfMerchant(merchantUuid)) : null
    const hasAccount = !hasPage || isPaidFromMenu
    const key = await insertPayment(tx, {
      ...{ ...asked, merchantUuid, requested, offeredCard, requestDigest, pageToken, hasAccount, prompt },
    })
    if (key) {
      const opened = await lockPayment(tx, key)
      // Nobody says no to a number that can be paid to.
      const payment = prompt && !hasAccount ? { ...opened, decidesAt: decidesAt(prompt.acts, opened) } : opened
      if (payment !== opened) await savePayment(tx, payment)
      return { isNew: true, books: await andThen(tx, { payment, transactions: [] }) }
    }
    const existing = await findPayment(tx, merchantUuid, request.reference)
    if (!existing?.requestDigest.equals(requestDigest)) {
      throw new Refusal(409, 'duplicate_reference', 'This reference was used for another payment.')
    }
    return { isNew: false, books: await booksOf(tx, existing) }
  })
}

/**
 * `hasPage`: not only for customers, as on that of a phone a tester acts for the customer. `saysWhenOver`: the provider
 * says that nobody has approved in time; a link merely ends.
 */
const FACTS: Record<Channel, { hasPage: boolean; saysWhenOver: boolean }> = {
  card: { hasPage: true, saysWhenOver: false },
  transfer: { hasPage: false, saysWhenOver: false },
  'mobile-money': { hasPage: true, saysWhenOver: true },
  ussd: { hasPage: true, saysWhenOver: true },
  bank: { hasPage: true, saysWhenOver: false },
  qr: { hasPage: true, saysWhenOver: true },
}

function promptOf({ channel, customer }: PaymentRequest): Prompt | null {
  if (!customer) return null
  const { phoneNumber, network, bank } = customer
  const acts = FACTS[channel].saysWhenOver ? behaviourOf(phoneNumber) : 'never answers'
  const code = { kind: network === 'telecel' ? ('voucher' as const) : ('otp' as const), wrong: 0 }
  return { acts, network, bank, code: acts === 'gives a code' ? code : null }
}
