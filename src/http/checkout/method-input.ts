import type { Channel } from '../../kernel/channel.ts'
import { guessNetwork, type MobileNetwork, PAID_FROM_MENU } from '../../kernel/mobile-networks.ts'
import { parsePhoneNumber } from '../../kernel/phone-number.ts'
import type { ChannelInput } from '../../providers/provider.ts'
import type { Method } from './screen.ts'

/** The fields of a method's form, as the customer filled them in. */
export type MethodValues = Record<MethodField, string>
export type MethodField = 'phoneNumber' | 'network' | 'bank' | 'code'

export interface MethodMistake {
  field: MethodField
  why: 'missing' | 'phone number' | 'network' | 'looks like' | 'bank' | 'code refused' | 'not sent' | 'too many'
  /** The network that the number looks like. */
  network?: MobileNetwork
}

/** A form that was sent and has mistakes. It is shown again as it was. */
export interface Typed {
  /** Undefined: the form of a code. */
  channel?: Channel
  values: MethodValues
  mistakes: MethodMistake[]
}

const MAX_LENGTH = 64

export function methodValues(form: URLSearchParams): MethodValues {
  const value = (name: string) => (form.get(name) ?? '').trim().normalize('NFC').slice(0, MAX_LENGTH)
  return { phoneNumber: value('phoneNumber'), network: value('network'), bank: value('bank'), code: value('code') }
}

/**
 * What the provider needs of it. `guess`: the network that the form had guessed. When it still stands there, and the
 * number looks like another network, the customer is asked: nobody may have looked at it.
 */
export function readMethodForm(
  method: Method,
  values: MethodValues,
  country: string,
  guess: string,
): { input: ChannelInput; mistakes: MethodMistake[] } {
  switch (method.channel) {
    case 'card':
    case 'virtual-bank-account':
    case 'qr':
      return { input: {}, mistakes: [] }
    case 'ussd':
    case 'bank':
      return readBank(method, values)
    case 'mobile-money':
      return readMobileMoney(method, values, country, guess)
  }
}

function readBank({ banks = [] }: Method, { bank }: MethodValues): { input: ChannelInput; mistakes: MethodMistake[] } {
  if (banks.length === 0) return { input: {}, mistakes: [] }
  const chosen = banks.length === 1 ? banks[0] : banks.find(({ code }) => code === bank)
  return chosen
    ? { input: { bank: chosen.code }, mistakes: [] }
    : { input: {}, mistakes: [{ field: 'bank', why: 'bank' }] }
}

function readMobileMoney(
  { networks: all = [], codeBeforehand = [], closed = [] }: Method,
  values: MethodValues,
  country: string,
  guess: string,
): { input: ChannelInput; mistakes: MethodMistake[] } {
  const mistakes: MethodMistake[] = []
  const networks = all.filter((each) => !closed.includes(each))
  const number = parsePhoneNumber(values.phoneNumber, country)
  const guessed = number && guessNetwork(country, number.national)
  const chosen = networks.find((each) => each === values.network)
  const only = all.length === 1 ? networks[0] : undefined
  const isClosed = closed.some((each) => each === values.network)
  const network = only ?? chosen ?? (isClosed ? undefined : networks.find((each) => each === guessed))
  const needsNumber = !network || !PAID_FROM_MENU.has(network)
  if (needsNumber && values.phoneNumber === '') mistakes.push({ field: 'phoneNumber', why: 'missing' })
  else if (needsNumber && !number) mistakes.push({ field: 'phoneNumber', why: 'phone number' })
  else if (!network) mistakes.push({ field: 'network', why: 'network' })
  else if (needsNumber && guessed && networks.includes(guessed) && network === guess && guessed !== network)
    mistakes.push({ field: 'network', why: 'looks like', network: guessed })
  if (network && codeBeforehand.includes(network) && values.code === '')
    mistakes.push({ field: 'code', why: 'missing' })
  if (mistakes.length > 0 || !network) return { input: {}, mistakes }
  const code = codeBeforehand.includes(network) ? { preAuthorisationCode: values.code } : {}
  return { input: { network, ...(needsNumber && number && { phoneNumber: number.international }), ...code }, mistakes }
}
