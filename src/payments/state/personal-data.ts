/** Personal data of one customer, in all the ways that they were written. */
export interface PersonalData {
  emails: string[]
  names: string[]
  phoneNumbers: string[]
  userIds: string[]
  /** Names of metadata that the customer filled in on the page of a link. */
  answers: string[]
}

export const ERASED = 'erased'

/** The address of an erased customer. */
export const pseudonymOf = (random: Buffer): string => `${ERASED}-${random.toString('hex')}@customer.invalid`
/**
 * A regular expression for JavaScript and PostgreSQL. The domain `.invalid` is reserved, so no customer has such an
 * address.
 */
export const PSEUDONYM = `^${ERASED}-[0-9a-f]{16}@customer[.]invalid$`
export const isErased = ({ email }: { email: string }): boolean => new RegExp(PSEUDONYM).test(email)

/** Removes the personal data of one customer from texts and JSON. */
export interface Eraser {
  /** Replaces the customer of the payments, so that they can still be listed together. */
  email: string
  text(text: string): string
  /** Only in texts that people or providers write, and in the names of metadata. Ids, references and amounts stay. */
  json<Value>(value: Value): Value
  /** For `regexp_replace` of PostgreSQL, with the flags `gi`. */
  pattern: string
}

/** Members of events, bodies and stored answers whose texts come from people or providers. */
const FREE_TEXT = new Set([
  'accountName',
  'again',
  'because',
  'detail',
  'failure',
  'link',
  'message',
  'needsReview',
  'note',
  'phoneNumber',
  'providerCode',
  'reason',
  'redirectURL',
  'summary',
  'webhook',
])

/** A shorter id of a customer, such as 42, is an ordinary word in other texts. */
const MIN_ID_LENGTH = 6

export function eraserOf({ emails, names, phoneNumbers, userIds, answers }: PersonalData, email: string): Eraser {
  const ids = userIds.filter(({ length }) => length >= MIN_ID_LENGTH)
  const values = [...emails, ...names, ...phoneNumbers, ...ids].map((value) => value.trim()).filter(Boolean)
  const forms = [...new Set(values.flatMap((value) => [value, encodeURIComponent(value), inQuery(value)]))]
    // The longest first: a name may be a part of the address.
    .sort((a, b) => b.length - a.length)
  const masks = [...new Set(phoneNumbers.flatMap(masksOf))]
  const escaped = [...forms.map((form) => form.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')), ...masks].join('|')
  // Not inside a longer word.
  const expression = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${[...forms.map(escapeForScript), ...masks].join('|')})(?![\\p{L}\\p{N}])`,
    'giu',
  )
  const text = (original: string) => original.replaceAll(expression, ERASED)

  function everyText(value: unknown): unknown {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map(everyText)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, everyText(each)]))
  }
  /** Its names are the merchant's, and may hold an address, too. Names that become the same are numbered. */
  function metadataOf(metadata: unknown): unknown {
    const erased = new Map<string, unknown>()
    for (const [key, value] of Object.entries(metadata ?? {})) {
      const base = text(key)
      let name = base
      for (let number = 2; erased.has(name); number++) name = `${base}-${number}`
      erased.set(name, answers.includes(key) ? ERASED : everyText(value))
    }
    return Object.fromEntries(erased)
  }
  function json(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(json)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => {
        if (key === 'user' && isUser(each)) return [key, { ...each, id: null, email, phoneNumber: null, name: null }]
        if (key === 'metadata') return [key, metadataOf(each)]
        // The failure of a refund is a text; that of an attempt has a code of ours, which stays.
        const isFreeText = FREE_TEXT.has(key) && !(key === 'failure' && typeof each === 'object')
        return [key, isFreeText ? everyText(each) : json(each)]
      }),
    )
  }
  return {
    email,
    text,
    json: <Value>(value: Value) => json(value) as Value,
    pattern: `(?<![[:alnum:]])(?:${escaped})(?![[:alnum:]])`,
  }
}

/**
 * Providers write a number with masks of their own: 055****987, +23355•••••. Expressions for JavaScript and PostgreSQL,
 * of what such a text shows: the last digits, or the first ones. Another number can look the same; it is erased, too.
 */
function masksOf(phoneNumber: string): string[] {
  const digits = phoneNumber.replaceAll(/\D/g, '')
  if (digits.length < 7 || phoneNumber.includes('•')) return []
  const ends = [5, 4, 3, 2].map((length) => digits.slice(-length)).join('|')
  return [`[+]?[0-9]{0,9}[ -]?[*•xX#·]{2,}[ -]?(?:${ends})`, `[+]?${digits.slice(0, 4)}[0-9]{0,6}[ -]?[*•xX#·]{3,}`]
}

/** As a form writes it into an address. */
function inQuery(value: string): string {
  return new URLSearchParams([['', value]]).toString().slice(1)
}

function escapeForScript(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function isUser(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && 'email' in value
}
