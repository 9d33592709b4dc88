import {
  guessNetwork,
  isMobileNetwork,
  MOBILE_NETWORKS,
  type MobileNetwork,
  PAID_FROM_MENU,
} from '../../kernel/mobile-networks.ts'
import { dialPrefix, parsePhoneNumber } from '../../kernel/phone-number.ts'
import { type Mistake, Problem, refuse } from '../../kernel/problem.ts'
import type { Offer } from '../../providers/capabilities.ts'
import type { ChannelInput } from '../../providers/provider.ts'

/** What a merchant or a customer gave for the channel, as it was typed. */
export interface GivenInput {
  phoneNumber?: string | undefined
  network?: string | undefined
  bank?: string | undefined
  preAuthorisationCode?: string | undefined
}

/**
 * What the offer needs of it. Throws a Problem that says what is missing or wrong, and what there is to choose from.
 */
export function channelInputOf(given: GivenInput, offer: Offer, country: string): ChannelInput {
  const networks = offer.networks?.[country]
  if (offer.networks && !networks)
    throw new Problem('no_integration_available', `There is no mobile network for ${country}.`)
  const input = { ...(networks && mobileInput(given, networks, country)), ...(offer.banks && bankInput(given, offer)) }
  const code = given.preAuthorisationCode?.trim()
  const { network } = input
  if (network && !code && offer.codeBeforehand?.[country]?.includes(network)) throw codeMissing(network, offer, country)
  return { ...input, ...(networks && code && { preAuthorisationCode: code }) }
}

type Networks = NonNullable<Offer['networks']>[string]

function mobileInput(given: GivenInput, networks: Networks, country: string): ChannelInput {
  const typed = given.phoneNumber?.trim()
  const number = typed ? parsePhoneNumber(typed, country) : undefined
  const wanted = given.network?.trim().toLowerCase()
  const guessed = number && guessNetwork(country, number.national)
  const network = wanted || (networks.length === 1 ? networks[0] : guessed)
  // The mistake is in the number: it would have told the network.
  if (typed && !number && !network) throw refuse([badNumber(typed, country)])
  if (!network || !isMobileNetwork(network) || !networks.includes(network))
    throw unknownNetwork(wanted, networks, number ? [] : [badNumber(typed, country)])
  if (PAID_FROM_MENU.has(network)) return { network }
  if (!number) throw refuse([badNumber(typed, country)])
  return { phoneNumber: number.international, network }
}

function unknownNetwork(wanted: string | undefined, networks: Networks, more: Mistake[]): Problem {
  const list = networks.map((each) => `${each} (${MOBILE_NETWORKS[each]})`).join(', ')
  const what = wanted ? `"${wanted}" is not one of the networks.` : 'network is required: the number does not tell it.'
  const message = `${what} Send one of ${list}.`
  const code = wanted ? 'unknown_network' : 'required'
  return new Problem('unknown_network', message, { mistakes: [{ pointer: '/network', code, message }, ...more] })
}

function badNumber(typed: string | undefined, country: string): Mistake {
  const prefix = dialPrefix(country)
  const looks = `It looks like ${prefix ? `${prefix}…` : '+…'}, with the prefix of the country, or as people dial it at home.`
  return typed
    ? { pointer: '/phoneNumber', code: 'invalid_format', message: `phoneNumber is not one of ${country}. ${looks}` }
    : { pointer: '/phoneNumber', code: 'required', message: `phoneNumber is required. ${looks}` }
}

function codeMissing(network: MobileNetwork, { codeHelp }: Offer, country: string): Problem {
  const what = `preAuthorisationCode is required with ${network}: a code that the customer makes on the phone first.`
  const message = [what, codeHelp?.[country]].filter(Boolean).join(' ')
  return refuse([{ pointer: '/preAuthorisationCode', code: 'required', message }])
}

function bankInput(given: GivenInput, { banks = [] }: Offer): ChannelInput {
  const wanted = given.bank?.trim()
  const bank = wanted ? banks.find(({ code }) => code === wanted) : banks.length === 1 ? banks[0] : undefined
  if (bank) return { bank: bank.code }
  const list = banks.map(({ code, name }) => `${code} (${name})`).join(', ')
  const what = wanted ? 'bank is not one of the codes of the provider.' : 'bank is required.'
  const message = `${what} Send one of ${list}.`
  throw refuse([{ pointer: '/bank', code: wanted ? 'unknown_bank' : 'required', message }])
}

/** Whether the customer would be asked for the same. Codes are not compared: they are not stored. */
export function isSameInput(one: ChannelInput | null, other: ChannelInput | null): boolean {
  const { phoneNumber, network, bank } = one ?? {}
  return phoneNumber === other?.phoneNumber && network === other?.network && bank === other?.bank
}
