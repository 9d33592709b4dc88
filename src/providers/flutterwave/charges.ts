import {
  type Declined,
  notOffered,
  type Order,
  type ProviderAnswer,
  type Start,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { MOBILE_MONEY, PROMPT_SECONDS, USSD_BANKS } from './capabilities.ts'
import { isDuplicate, mismatch, outcomeOf, refused, stateOf } from './mapping.ts'
import { type Envelope, majorOf, readAccount, readAuthorization, readEnvelope, readTransaction } from './wire.ts'

// Charges without their payment page: the body of each, and what its answer gives the customer.

export interface Charge {
  /** In `POST /charges?type=`. */
  type: string
  body: object
}

/** Counted from `startedAt` and not from now, so that a repeat of the call sends the same body. */
export const secondsOf = ({ startedAt, expiresAt }: Order) =>
  Math.floor((expiresAt.getTime() - startedAt.getTime()) / 1000)

/** Undefined for a country or a network that is not offered, and without a phone number. */
export function mobileMoney(order: Order): Charge | undefined {
  const { reference, amount, country, input, returnURL } = order
  const { phoneNumber, network, preAuthorisationCode: voucher } = input
  const served = Object.hasOwn(MOBILE_MONEY, country) ? MOBILE_MONEY[country] : undefined
  const theirNetwork = network && served?.networks[network]
  if (served?.currency !== amount.currency || theirNetwork === undefined || !phoneNumber) return undefined
  const body = {
    ...common(order),
    phone_number: digitsOf(phoneNumber),
    ...(theirNetwork !== null && { network: theirNetwork }),
    ...(served.wantsCountry && { country }),
    ...(served.wantsOrderId && { order_id: reference }),
    ...(voucher && { voucher }),
    redirect_url: returnURL,
  }
  return { type: served.type, body }
}

/** Undefined for a bank that is not offered. */
export function ussd(order: Order): Charge | undefined {
  const bank = bankOf(order)
  return bank && { type: 'ussd', body: { ...common(order), account_bank: bank.code } }
}

/** The customer chooses the bank on the page. */
export function payWithBank(order: Order): Charge {
  return { type: 'mono', body: { ...common(order), redirect_url: order.returnURL } }
}

export function bankTransfer(order: Order): Charge {
  const expires = Math.max(60, secondsOf(order))
  const details: Record<string, object> = {
    NGN: { narration: order.merchantName, expires, is_permanent: false },
    // The page about Ghana has it here.
    GHS: { bank_transfer_options: { expires } },
  }
  return { type: 'bank_transfer', body: { ...common(order), ...details[order.amount.currency] } }
}

function common({ reference, amount, customer }: Order): object {
  // As a shop has it. What is no number to them is left out, for they would refuse the charge.
  const phoneNumber = customer.phoneNumber?.replaceAll(/[\s().-]/g, '') ?? ''
  return {
    tx_ref: reference,
    amount: majorOf(amount),
    currency: amount.currency,
    email: customer.email,
    ...(customer.name !== null && { fullname: customer.name.slice(0, 100).toWellFormed() }),
    ...(/^\+?\d{5,50}$/.test(phoneNumber) && { phone_number: phoneNumber }),
  }
}

/** With the country's prefix, and without the plus: so are the numbers in their samples. */
const digitsOf = (phoneNumber: string) => phoneNumber.replace(/^\+/, '')

const bankOf = ({ input }: Order) => USSD_BANKS.find(({ code }) => code === input.bank)

/** Their good answer to a start, or why there is none. `card`: a card was to be charged. */
export function started(
  answer: ProviderAnswer,
  charged: 'card' | 'other' = 'other',
): (Envelope & { status: number }) | Declined | Unknown {
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  const envelope = readEnvelope(text)
  if (!envelope) return unreadable(status)
  if (envelope.isSuccess) return status === 200 || status === 201 ? { ...envelope, status } : unreadable(status)
  if (isDuplicate(envelope.message)) return unknown('it knows this reference already')
  return [400, 401, 403, 404, 422].includes(status) ? refused(status, envelope.message, charged) : unreadable(status)
}

export type StartAnswer = ReturnType<typeof started>

/** Starts a charge, or says that there is no such one. */
export async function startCharge(
  post: (path: string, body: object) => Promise<ProviderAnswer>,
  charge: Charge | undefined,
  order: Order,
  read: (said: Envelope & { status: number }, order: Order) => Start,
): Promise<Start> {
  if (!charge) return notOffered(order.channel)
  const said = started(await post(`/charges?type=${charge.type}`, charge.body))
  return 'kind' in said ? said : read(said, order)
}

type Said = Envelope & { status: number }

/**
 * A page of theirs, where the customer types a code; else the network asks on the phone. `processor_response` says
 * "Successful" while the customer is still being asked, so only the status counts.
 */
export const pageOrPrompt =
  (publicKey: string) =>
  (said: Said, order: Order): Start => {
    const begun = beginningOf(said, order)
    if ('kind' in begun) return begun
    const { mode, link } = readAuthorization(said)
    if (link) return { kind: 'link', link, publicKey, ...begun.started }
    if (mode !== null && mode !== 'callback') return unknown('it asks for a step that is new to us')
    if (!begun.isOnRecord) return unreadable(said.status)
    const { expiresAt, ...started } = begun.started
    const ends = order.startedAt.getTime() + PROMPT_SECONDS * 1_000
    return { kind: 'prompt', ...started, expiresAt: new Date(Math.min(ends, expiresAt.getTime())) }
  }

export function dial(said: Said, order: Order): Start {
  const begun = beginningOf(said, order)
  if ('kind' in begun) return begun
  const code = readAuthorization(said).note?.replaceAll(/\s/g, '')
  if (!code || !/^[*#][\d*#]{2,60}$/.test(code)) return unknown('it gave no code to dial')
  return { kind: 'dial', code, bankName: bankOf(order)?.name ?? null, ...begun.started }
}

/** Some answers have no transaction yet: it comes when the customer is on the page. */
function beginningOf(
  said: Said,
  order: Order,
): { started: { providerReference: string; expiresAt: Date }; isOnRecord: boolean } | Start {
  const { reference, startedAt, expiresAt } = order
  // A name of its own tells a charge that was started from one that they never heard of: see checkOrder.
  const unnamed = { providerReference: `charge-${reference}`, expiresAt }
  if (said.data == null) return { started: unnamed, isOnRecord: false }
  const transaction = readTransaction(said.data, startedAt)
  if (!transaction) return unreadable(said.status)
  const wrong = mismatch(transaction, order)
  if (wrong) return unknown(wrong)
  if (stateOf(transaction) !== 'pending') return outcomeOf([transaction], order)
  const { flwRef } = transaction
  return { started: flwRef ? { providerReference: flwRef, expiresAt } : unnamed, isOnRecord: true }
}

export function account(said: Said, { reference, amount, expiresAt }: Order): Start {
  const account = readAccount(said.meta, amount.currency)
  if (!account) return unreadable(said.status)
  // More is the fee, when the merchant has told them that customers bear it; less would leave the order unpaid.
  if (account.amount < amount.amount) return unknown('it answered with another amount')
  return {
    kind: 'account',
    accountName: null,
    accountNumber: account.number,
    bankName: account.bank,
    amountToTransfer: account.amount,
    expiresAt: account.expiresAt ?? expiresAt,
    providerReference: account.transferReference ?? `account-${reference}`,
  }
}
