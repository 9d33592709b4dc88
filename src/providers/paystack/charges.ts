import type { MobileNetwork } from '../../kernel/mobile-networks.ts'
import type { Mode } from '../../kernel/mode.ts'
import { parsePhoneNumber } from '../../kernel/phone-number.ts'
import { decoderOf, digitsOf, Lenient, line, Required, webAddress, word } from '../json-parsers.ts'
import {
  type AccountStart,
  type Declined,
  type Order,
  type OrderHandle,
  type Outcome,
  type ProviderAnswer,
  type Start,
  type Started,
  type Submitted,
  type Unknown,
  unknown,
} from '../provider.ts'
import { USSD_BANKS } from './capabilities.ts'
import { accountTerms, declined, failedCharge, mismatch, outcomeOf, refusalOf, withoutFees } from './mapping.ts'
import { readAccount, readData, readError, readFailedCharge, readTransaction, toHundredths } from './wire.ts'

/** All that is asked for by `POST /charge`: what the customer pays with is a member of it, and decides the answer. */

export interface Way {
  mode: Mode
  publicKey: string
  /** The merchant has seen what Paystack makes of an amount in XOF: see `factorOf` in wire.ts. */
  hasConfirmedFrancs: boolean
  post(path: string, body: object): Promise<ProviderAnswer>
}

/** What a network gives the customer to approve on the phone. Their page "Payment channels" says 180 seconds. */
const PROMPT_SECONDS = 180

const NETWORKS: Partial<Record<MobileNetwork, string>> = {
  mtn: 'mtn',
  telecel: 'vod', // it was Vodafone
  at: 'atl',
  airtel: 'atl',
  mpesa: 'mpesa',
  'mpesa-paybill': 'mpesa_offline',
  orange: 'orange',
  wave: 'wave',
}

/** What the customers of a bank dial. By the code of the bank, as every provider in Nigeria has it. */
const USSD_TYPES = new Map([
  ['058', '737'],
  ['033', '919'],
  ['232', '822'],
  ['057', '966'],
])

/** One way to pay by a charge. */
interface Method {
  body: object
  /** What the customer does elsewhere; undefined when the answer lacks what it takes. */
  offline(charge: PaystackCharge, from: StartedFrom): Started | undefined
  /** It goes on without anything to show. */
  waitsUnseen?: true
  /** What a code that they ask for is. Absent: nobody can be asked for one. */
  code?: 'otp' | 'voucher'
}

interface StartedFrom {
  providerReference: string
  expiresAt: Date
}

type About = Pick<OrderHandle, 'reference' | 'amount' | 'channel'> & { expiresAt: Date }

export function charges({ mode, publicKey, hasConfirmedFrancs, post }: Way) {
  async function charge(order: Order, method: Method | Declined): Promise<Start> {
    if ('kind' in method) return method
    const { reference, amount, customer } = order
    const answer = await post('/charge', {
      email: customer.email,
      amount: toHundredths(amount),
      currency: amount.currency,
      reference,
      ...method.body,
    })
    return startOf(answer, order, method)
  }

  function startOf(answer: ProviderAnswer, about: About, method: Method): Start {
    const accepted = read(answer, 'prompt')
    if ('kind' in accepted) return accepted
    const { reference, channel } = about
    const failed = readFailedCharge(accepted.data)
    if (failed?.reference === reference) return failedCharge(failed, channel)
    const charge = readCharge(accepted.data)
    if (!charge) return unreadable(answer)
    if (charge.reference !== reference) return unknown('it answered about another order')
    const from = { providerReference: reference, expiresAt: about.expiresAt }
    switch (charge.status) {
      case 'success':
        return paidAtOnce(accepted.data, about) ?? unreadable(answer)
      case 'pay_offline':
        return method.offline(charge, from) ?? unreadable(answer)
      case 'pending':
        // Where there is something to show, the customer has not seen it, so no money can move.
        return (method.waitsUnseen && method.offline({ ...charge, display_text: null }, from)) ?? declined('pending')
      case 'open_url': {
        const { url: link } = charge
        return link ? { kind: 'link', link, publicKey, paidOnce: true, ...from } : unreadable(answer)
      }
      case 'send_otp':
        if (!method.code) return declined('send_otp')
        return { kind: 'code wanted', code: method.code, message: charge.display_text ?? '', ...from }
      case 'send_pin':
      case 'send_phone':
      case 'send_birthday':
      case 'send_address':
        // No page of ours asks for it, and without it the charge does not go on.
        return declined(charge.status)
      default:
        return unknown('it says a status that is new to us')
    }
  }

  function paidAtOnce(data: unknown, { reference, amount, channel }: About): Outcome | undefined {
    const transaction = readTransaction(data)
    if (!transaction) return undefined
    const forOrder = amount ? withoutFees(transaction, amount) : transaction
    const wrong = mismatch(forOrder, mode, { reference, amount: amount ?? forOrder.amount })
    return wrong ? unknown(wrong) : outcomeOf(forOrder, channel)
  }

  async function openAccount(order: Order): Promise<Start> {
    const { reference, amount, customer } = order
    const terms = accountTerms(order)
    if (!terms) return declined('currency_not_supported')
    const answer = await post('/charge', {
      email: customer.email,
      amount: toHundredths(amount),
      // Without it, an integration in Kenya would ask for as many shillings.
      currency: amount.currency,
      reference,
      bank_transfer: { account_expires_at: terms.expiresAt.toISOString() },
    })
    const accepted = read(answer, 'start')
    if ('kind' in accepted) return accepted
    const failed = readFailedCharge(accepted.data)
    if (failed?.reference === reference) return failedCharge(failed, order.channel)
    const account = readAccount(accepted.data)
    if (account?.status !== 'pending_bank_transfer') return unreadable(answer)
    if (account.reference !== reference) return unknown('it answered about another order')
    const { narration } = account
    // The customer has not seen the account number, so no money can arrive. In naira a narration means that the account
    // is one in shillings; in shillings they cannot match a transfer without one.
    if (narration !== null && !terms.hasNarration) return declined('currency_not_supported')
    if (narration === null && terms.hasNarration) return declined('narration_missing')
    if (account.hundredths !== null && account.hundredths !== toHundredths(amount)) {
      return unknown('it answered with another amount')
    }
    const start: AccountStart = {
      kind: 'account',
      accountName: account.name,
      accountNumber: account.number,
      bankName: account.bank,
      amountToTransfer: amount.amount,
      expiresAt: account.expiresAt ?? terms.expiresAt,
      providerReference: reference,
    }
    return narration === null ? start : { ...start, narration }
  }

  return {
    openAccount,
    payByPhone: (order: Order) => charge(order, byPhone(order, hasConfirmedFrancs)),
    dial: (order: Order) => charge(order, byDialling(order)),
    scan: (order: Order) => charge(order, BY_SCANNING),

    /** A code of the customer's. The answer is one of those to a charge. */
    async submit(order: OrderHandle, code: string): Promise<Submitted> {
      const answer = await post('/charge/submit_otp', { otp: code, reference: order.reference })
      // The charge is there, whatever they say to this call: a refusal is no outcome of it.
      if (answer.kind !== 'unknown' && answer.status >= 400) return isCodeRefused(answer) ? REFUSED : unreadable(answer)
      const expiresAt = new Date(Date.now() + PROMPT_SECONDS * 1_000)
      const started = startOf(answer, { ...order, expiresAt }, AFTER_CODE)
      return started.kind === 'code wanted' ? { ...REFUSED, because: started.message || REFUSED.because } : started
    },
  }
}

const AFTER_CODE: Method = { body: {}, offline: promptOf, waitsUnseen: true, code: 'otp' }
const REFUSED = { kind: 'code refused', because: 'Paystack did not take the code' } as const

/** "The otp provided is incorrect" (seen). "Transaction reference is invalid": no charge waits for a code. */
function isCodeRefused({ status, text }: { status: number; text: string }): boolean {
  const error = status === 400 || status === 422 ? readError(text) : undefined
  return error !== undefined && error.type !== 'processor_error' && !/reference/i.test(error.message)
}

function byPhone(order: Order, hasConfirmedFrancs: boolean): Method | Declined {
  const { network, phoneNumber } = order.input
  const provider = network && NETWORKS[network]
  if (!provider) return declined('network_not_supported')
  if (order.amount.currency === 'XOF' && !hasConfirmedFrancs) return declined('xof_amounts_not_confirmed')
  const phone = phoneFor(order, phoneNumber ?? order.customer.phoneNumber)
  const body = { mobile_money: { ...(phone && { phone }), provider } }
  if (network === 'mpesa-paybill') return { body, offline: payToOf }
  if (!phone) return declined('phone_number_missing')
  return {
    body,
    offline: (charge, from) => promptOf(charge, { ...from, expiresAt: atMostIn(PROMPT_SECONDS, from.expiresAt) }),
    waitsUnseen: true,
    code: network === 'telecel' ? 'voucher' : 'otp',
  }
}

/** As their samples write it: 0551234987 in Ghana, 0700000000 in Côte d’Ivoire, +254710000000 in Kenya. */
function phoneFor({ country }: Order, typed: string | null | undefined): string | undefined {
  const number = typed ? parsePhoneNumber(typed, country) : undefined
  if (!number) return undefined
  return country === 'KE' ? number.international : number.national.replace(/^0?/, '0')
}

function byDialling({ input }: Order): Method | Declined {
  const type = USSD_TYPES.get(input.bank ?? '')
  const bankName = USSD_BANKS.find(({ code }) => code === input.bank)?.name ?? null
  if (!type) return declined('bank_not_supported')
  return {
    body: { ussd: { type } },
    offline({ ussd_code: code, display_text: message }, from) {
      return code ? { kind: 'dial', code, bankName, ...(message && { message }), ...from } : undefined
    },
  }
}

const BY_SCANNING: Method = {
  body: { qr: { provider: 'scan-to-pay' } },
  offline: ({ qr_code: text }, from) => (text ? { kind: 'qr', text, ...from } : undefined),
}

function promptOf({ display_text: message }: PaystackCharge, from: StartedFrom): Started {
  return { kind: 'prompt', ...(message && { message }), ...from }
}

function payToOf(charge: PaystackCharge, from: StartedFrom): Started | undefined {
  const { account_number: number, account_reference: account } = charge
  return number && account ? { kind: 'pay to', number, account, ...from } : undefined
}

const atMostIn = (seconds: number, end: Date) => new Date(Math.min(Date.now() + seconds * 1_000, end.getTime()))

/** What they made of a request for money, or why there is nothing. */
export function read(
  answer: ProviderAnswer,
  call: 'charge' | 'start' | 'prompt',
): { data: unknown } | Declined | Unknown {
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  if (status === 200 || status === 201) return { data: readData(text) }
  const error = readError(text)
  if (!error || ![400, 401, 403, 404, 422].includes(status)) return unreadable(answer)
  // They never repeat a first answer. An earlier try of ours may live under this reference.
  if (error.code === 'duplicate_reference' || /duplicate.*reference/i.test(error.message)) {
    return unknown('it has this reference already')
  }
  // Something went wrong behind them, at a bank or a network that may have done its part.
  if (call !== 'start' && error.type === 'processor_error') return unknown('its processor failed')
  const keysRefused = (status === 401 || status === 403) && ({ keysRefused: true } as const)
  return { kind: 'declined', failure: refusalOf(error, status, call), tryId: null, ...keysRefused }
}

export const unreadable = (answer: ProviderAnswer): Unknown =>
  answer.kind === 'unknown' ? answer : unknown(`it answered ${answer.status} with what we cannot read`)

const Line = Lenient(line)
/** Some are numbers, and all are text for us. */
const Digits = Lenient((value) => line(digitsOf(value)))

type PaystackCharge = NonNullable<ReturnType<typeof readCharge>>

const readCharge = decoderOf({
  reference: Required((value) => word(value)),
  status: Required((value) => word(value)),
  display_text: Line,
  url: Lenient((value) => webAddress(value)),
  ussd_code: Line,
  qr_code: Line,
  account_number: Digits,
  account_reference: Digits,
})
