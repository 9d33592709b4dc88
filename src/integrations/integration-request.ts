import type { Channel } from '../kernel/channel.ts'
import { parseCountry } from '../kernel/country.ts'
import type { Mode } from '../kernel/mode.ts'
import { parseCurrency } from '../kernel/money.ts'
import { type Mistake, pointerPart } from '../kernel/problem.ts'
import { resembles } from '../kernel/resembles.ts'
import { isWebAddress } from '../kernel/web-address.ts'
import { isWebPort, leadsInside } from '../outbound/public-address.ts'
import type { Provider, Setting } from '../providers/provider.ts'
import { DEFAULT_PRIORITY, type IntegrationRecord, MAX_PRIORITY } from './integration.ts'

/**
 * What somebody asks an integration to be. What is absent or null stays as it is; when there is nothing yet, the default. What has the
 * wrong type altogether is passed over: the door has told already.
 */
export interface IntegrationWish {
  /** An empty text takes an optional one away. */
  settings?: Record<string, string | null> | null
  /** An empty text: the provider's own again. */
  baseURL?: string | null
  /** An empty list: all that the provider can do. */
  channels?: string[] | null
  countries?: string[] | null
  currencies?: string[] | null
  priority?: number | null
}

export type WantedIntegration = Omit<IntegrationRecord, 'account' | 'version' | 'createdAt' | 'updatedAt'>

interface Terms {
  mode: Mode
  /** Whether its address may lead into a private network. */
  allowPrivate: boolean
}

/** What comes of it, and every mistake in it. With mistakes it is nothing to go by. */
export function fulfil(
  provider: Provider,
  wish: IntegrationWish,
  before: IntegrationRecord | undefined,
  terms: Terms,
): { after: WantedIntegration; mistakes: Mistake[] } {
  const { name, channels, countries, currencies } = provider.capabilities
  const mistakes: Mistake[] = []
  const baseURL = fulfilBaseURL(provider, wish.baseURL, before, terms, mistakes)
  // Keys go to the address they were set with. Else whoever may change the address could have them sent to a server of their own.
  const keepsSecrets = baseURL === null || baseURL === before?.baseURL
  const subset = (field: 'channels' | 'countries' | 'currencies', all: string[], parse: Parse) =>
    fulfilList({ field, value: wish[field], all, parse, before: before?.[field], taker: name }, mistakes)
  const after = {
    provider: name,
    settings: fulfilSettings(provider, wish.settings, before?.settings ?? {}, { ...terms, keepsSecrets }, mistakes),
    baseURL,
    channels: subset('channels', channels, (text) => text as Channel),
    countries: subset('countries', countries, parseCountry),
    currencies: subset('currencies', currencies, parseCurrency),
    priority: fulfilPriority(wish.priority, before, mistakes),
    enabled: true,
  } as WantedIntegration
  return { after, mistakes }
}

// No key is as long; and whatever a pattern lets through ends up in a header.
const MAX_SETTING_LENGTH = 2_000
const UNFIT = /\p{Cc}/u
// Nobody misspells that many; telling of each would make an answer many times the size of the request.
const MOST_TOLD = 10

function fulfilSettings(
  { settings, capabilities }: Provider,
  wish: unknown,
  before: Record<string, string>,
  { mode, keepsSecrets }: { mode: Mode; keepsSecrets: boolean },
  mistakes: Mistake[],
): Record<string, string> | null {
  const given = new Map(typeof wish === 'object' && wish !== null ? Object.entries(wish) : [])
  const after: Record<string, string> = {}
  for (const setting of settings) {
    const { name, secret, optional } = setting
    const value: unknown = given.get(name)
    const earlier = Object.hasOwn(before, name) ? before[name] : undefined
    const wrong = (code: string, what: string) =>
      mistakes.push({ pointer: `/settings/${pointerPart(name)}`, code, message: `settings.${name} ${what}` })

    if (typeof value === 'string' && value !== '') {
      const mistake = findMistake(setting, value, mode)
      if (mistake) wrong(...mistake)
      else after[name] = value
    } else if (value === undefined || value === null) {
      if (earlier === undefined) {
        if (!optional) wrong('required', `is required (${setting.looksLike[mode]}): ${sentence(setting.about)}`)
      } else if (secret && !keepsSecrets) {
        wrong('required', 'must be sent again with a new baseURL: a key is only sent where its owner meant it to go.')
      } else after[name] = earlier
    } else if (value === '' && !optional) {
      wrong('required', `must not be empty, but look like ${setting.looksLike[mode]}.`)
    }
  }

  const names = settings.map(({ name }) => name)
  const unknown = [...given.keys()].filter((name) => !names.includes(name))
  for (const name of unknown.slice(0, MOST_TOLD)) {
    const meant = names.find((known) => resembles(name, known))
    const there = names.length > 0 ? `its settings are ${names.join(', ')}` : 'it has nothing to set'
    mistakes.push({
      pointer: `/settings/${pointerPart(name)}`,
      code: 'unknown_setting',
      message: `${capabilities.name} has no such setting${meant ? `; did you mean \`${meant}\`?` : `: ${there}.`}`,
    })
  }
  return settings.length > 0 ? after : null
}

/** Never with the value: whoever reads over a shoulder, or a log, learns nothing. */
function findMistake({ about, pattern, looksLike }: Setting, value: string, mode: Mode): [string, string] | undefined {
  const other = mode === 'live' ? 'sandbox' : 'live'
  const isSound = value.length <= MAX_SETTING_LENGTH && !UNFIT.test(value)
  if (isSound && pattern[mode].test(value)) return undefined
  if (isSound && pattern[other].test(value))
    return ['wrong_mode', `belongs to ${other} mode. In ${mode} mode it looks like ${looksLike[mode]}.`]
  return ['invalid_format', `must look like ${looksLike[mode]}, without blanks around it: ${sentence(about)}`]
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

function fulfilBaseURL(
  provider: Provider,
  wish: unknown,
  before: IntegrationRecord | undefined,
  { mode, allowPrivate }: Terms,
  mistakes: Mistake[],
): string | null {
  const earlier = before?.baseURL ?? null
  if (typeof wish !== 'string') return earlier
  if (wish === '') return null
  const wrong = (code: string, message: string) => {
    mistakes.push({ pointer: '/baseURL', code, message: `baseURL ${message}` })
    return earlier
  }
  const { baseURL: own, capabilities } = provider
  if (own === null) return wrong('not_supported', `cannot be chosen: ${capabilities.name} is part of this service.`)
  const url = isWebAddress(wish) && !/[?#]/.test(wish) ? URL.parse(wish) : null
  if (!url)
    return wrong(
      'invalid_format',
      `must be an absolute http or https URL of at most 2048 characters, without user:password, query and fragment, like ${own[mode]}.`,
    )
  if (!allowPrivate) {
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
    if (leadsInside(url.hostname))
      return wrong('blocked_address', 'must not lead into a private network, this machine included.')
    if (!isWebPort(port)) return wrong('invalid_format', `must not use port ${port}.`)
    if (mode === 'live' && url.protocol !== 'https:') return wrong('https_required', 'must be https in live mode.')
  }
  const plain = withoutSlash(url.origin + url.pathname)
  return plain === withoutSlash(own[mode]) ? null : plain
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

type Parse = (text: string) => string | undefined

interface List {
  field: string
  value: unknown
  all: string[]
  parse: Parse
  before: string[] | undefined
  taker: string
}

/** In the provider's own order, each once. */
function fulfilList({ field, value, all, parse, before, taker }: List, mistakes: Mistake[]): string[] {
  if (!Array.isArray(value)) return before ?? all
  if (value.length === 0) return all
  const chosen = value.map((each) => (typeof each === 'string' ? parse(each) : undefined))
  const wrong = [...chosen.keys()].filter((index) => !all.includes(chosen[index] ?? ''))
  for (const index of wrong.slice(0, MOST_TOLD)) {
    mistakes.push({
      pointer: `/${field}/${index}`,
      code: 'not_supported',
      message: `${field}.${index} must be one that ${taker} takes: ${all.join(', ')}.`,
    })
  }
  return all.filter((each) => chosen.includes(each))
}

function fulfilPriority(value: unknown, before: IntegrationRecord | undefined, mistakes: Mistake[]): number {
  const earlier = before?.priority ?? DEFAULT_PRIORITY
  if (typeof value !== 'number') return earlier
  if (Number.isInteger(value) && value >= 0 && value <= MAX_PRIORITY) return value
  const message = `priority must be a whole number from 0 to ${MAX_PRIORITY}; the lower one is asked first.`
  mistakes.push({ pointer: '/priority', code: 'out_of_range', message })
  return earlier
}
