import type { Channel } from '../kernel/channel.ts'
import { parseCountry } from '../kernel/country.ts'
import { isMisspellingOf } from '../kernel/misspelling.ts'
import type { Mode } from '../kernel/mode.ts'
import { parseCurrency } from '../kernel/money.ts'
import { type Mistake, pointerPart } from '../kernel/problem.ts'
import { isWebAddress } from '../kernel/web-address.ts'
import { parseTarget } from '../outbound/request-target.ts'
import type { Setting } from '../providers/capabilities.ts'
import { channelsOf } from '../providers/capabilities.ts'
import type { Provider } from '../providers/provider.ts'
import { DEFAULT_PRIORITY, type IntegrationRecord, MAX_PRIORITY } from './integration.ts'

/**
 * A request to create or change an integration. An absent or null field keeps its value; a new integration gets the
 * default. A field of the wrong type is skipped: the schema validation of the route has reported it.
 */
export interface IntegrationChanges {
  /** An empty string removes an optional setting. */
  settings?: Record<string, string | null> | null
  /** An empty string restores the provider's own URL. */
  baseURL?: string | null
  /** An empty list means all that the provider supports. */
  channels?: string[] | null
  countries?: string[] | null
  currencies?: string[] | null
  priority?: number | null
}

export type WantedIntegration = Omit<
  IntegrationRecord,
  'keysVersion' | 'version' | 'offers' | 'createdAt' | 'updatedAt'
>

interface Context {
  mode: Mode
  /** Whether the base URL may point to a private network. */
  allowPrivate: boolean
}

/** The integration after the changes, and all mistakes in them. The result is valid only without mistakes. */
export function applyChanges(
  provider: Provider,
  changes: IntegrationChanges,
  before: IntegrationRecord | undefined,
  context: Context,
): { after: WantedIntegration; mistakes: Mistake[] } {
  const { name, countries, currencies, offersOfAccount } = provider.capabilities
  const mistakes: Mistake[] = []
  const baseURL = applyBaseURL(provider, changes.baseURL, before, context, mistakes)
  // Keys are sent only to the URL they were set with. Otherwise a new baseURL could send them to an attacker's server.
  const keepsSecrets = baseURL === null || baseURL === before?.baseURL
  const subset = (field: 'channels' | 'countries' | 'currencies', all: string[] | null, parse: Parse) =>
    applyList({ field, value: changes[field], all, parse, before: before?.[field], provider: name }, mistakes)
  const after = {
    provider: name,
    settings: applySettings(provider, changes.settings, before?.settings ?? {}, { ...context, keepsSecrets }, mistakes),
    baseURL,
    channels: subset('channels', channelsOf(provider.capabilities), (text) => text as Channel),
    // The account may be able to do tomorrow what it cannot do today.
    countries: subset('countries', offersOfAccount ? null : countries, parseCountry),
    currencies: subset('currencies', offersOfAccount ? null : currencies, parseCurrency),
    priority: applyPriority(changes.priority, before, mistakes),
    enabled: true,
  } as WantedIntegration
  return { after, mistakes }
}

// Settings become HTTP headers, so their length is bounded and control characters are refused.
const MAX_SETTING_LENGTH = 2_000
const CONTROL_CHARACTER = /\p{Cc}/u
// Bounds the size of the response: a small request can contain thousands of mistakes.
const MAX_REPORTED = 10

function applySettings(
  { settings, capabilities }: Provider,
  changes: unknown,
  before: Record<string, string>,
  { mode, keepsSecrets }: { mode: Mode; keepsSecrets: boolean },
  mistakes: Mistake[],
): Record<string, string> | null {
  const given = new Map(typeof changes === 'object' && changes !== null ? Object.entries(changes) : [])
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
        wrong('required', 'must be sent again with a new baseURL, so that a key is never sent to another server.')
      } else after[name] = earlier
    } else if (value === '' && !optional) {
      wrong('required', `must not be empty. It looks like ${setting.looksLike[mode]}.`)
    }
  }

  const names = settings.map(({ name }) => name)
  const unknown = [...given.keys()].filter((name) => !names.includes(name))
  for (const name of unknown.slice(0, MAX_REPORTED)) {
    const meant = names.find((known) => isMisspellingOf(name, known))
    const list = names.length > 0 ? `its settings are ${names.join(', ')}` : 'it has no settings'
    mistakes.push({
      pointer: `/settings/${pointerPart(name)}`,
      code: 'unknown_setting',
      message: `${capabilities.name} has no such setting${meant ? `; did you mean \`${meant}\`?` : `: ${list}.`}`,
    })
  }
  return settings.length > 0 ? after : null
}

/** The message never contains the value: it may be a secret. */
function findMistake({ about, pattern, looksLike }: Setting, value: string, mode: Mode): [string, string] | undefined {
  const other = mode === 'live' ? 'sandbox' : 'live'
  const isSound = value.length <= MAX_SETTING_LENGTH && !CONTROL_CHARACTER.test(value)
  if (isSound && pattern[mode].test(value)) return undefined
  if (isSound && pattern[other].test(value))
    return ['wrong_mode', `belongs to ${other} mode. In ${mode} mode it looks like ${looksLike[mode]}.`]
  return ['invalid_format', `must look like ${looksLike[mode]}, without spaces around it: ${sentence(about)}`]
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

function applyBaseURL(
  provider: Provider,
  value: unknown,
  before: IntegrationRecord | undefined,
  { mode, allowPrivate }: Context,
  mistakes: Mistake[],
): string | null {
  const earlier = before?.baseURL ?? null
  if (typeof value !== 'string') return earlier
  if (value === '') return null
  const wrong = (code: string, message: string) => {
    mistakes.push({ pointer: '/baseURL', code, message: `baseURL ${message}` })
    return earlier
  }
  const { baseURL: own, capabilities } = provider
  if (own === null) return wrong('not_supported', `cannot be set: ${capabilities.name} is part of this service.`)
  const url = isWebAddress(value) && !/[?#]/.test(value) ? URL.parse(value) : null
  if (!url)
    return wrong(
      'invalid_format',
      `must be an absolute http or https URL of at most 2048 characters, without user:password, query and fragment, like ${own[mode]}.`,
    )
  // SSRF check 1 of 3, when a base URL is saved, without DNS (2: outbound/request-target.ts, 3: outbound/connect.ts).
  const target = parseTarget(value, { allowPrivate })
  if ('because' in target) {
    if (target.because === 'blocked_address')
      return wrong('blocked_address', 'must not point to a private network or to this machine.')
    return wrong('invalid_format', `cannot be used: ${target.detail}.`)
  }
  if (!allowPrivate && mode === 'live' && target.protocol !== 'https:')
    return wrong('https_required', 'must be https in live mode.')
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
  /** Null: what there is depends on the account, and an empty list means all of it. */
  all: string[] | null
  parse: Parse
  before: string[] | undefined
  provider: string
}

/** In the order of the provider's capabilities, without duplicates. */
function applyList({ field, value, all, parse, before, provider }: List, mistakes: Mistake[]): string[] {
  if (!Array.isArray(value)) return before ?? all ?? []
  if (value.length === 0) return all ?? []
  const chosen = value.map((each) => (typeof each === 'string' ? parse(each) : undefined))
  const isKnown = (each: string | undefined) => each !== undefined && (all === null || all.includes(each))
  const wrong = [...chosen.keys()].filter((index) => !isKnown(chosen[index]))
  for (const index of wrong.slice(0, MAX_REPORTED)) {
    mistakes.push({
      pointer: `/${field}/${index}`,
      code: 'not_supported',
      message: `${field}.${index} must be ${all ? `one that ${provider} supports: ${all.join(', ')}` : 'an ISO code'}.`,
    })
  }
  return all?.filter((each) => chosen.includes(each)) ?? [...new Set(chosen)].filter((each) => each !== undefined)
}

function applyPriority(value: unknown, before: IntegrationRecord | undefined, mistakes: Mistake[]): number {
  const earlier = before?.priority ?? DEFAULT_PRIORITY
  if (typeof value !== 'number') return earlier
  if (Number.isInteger(value) && value >= 0 && value <= MAX_PRIORITY) return value
  const message = `priority must be a whole number from 0 to ${MAX_PRIORITY}. Lower numbers are used first.`
  mistakes.push({ pointer: '/priority', code: 'out_of_range', message })
  return earlier
}
