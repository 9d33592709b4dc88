import type { Random } from '../random.ts'
import {
  LINE_BREAKS,
  NOT_TEXT,
  numberAsWritten,
  OTHER_TYPES,
  PAYLOADS,
  unicode,
  WRONG_ADDRESSES,
  WRONG_AMOUNTS,
} from './values.ts'

/** Bodies of POST /checkouts: a good one, and every way we know to spoil it. */
export type Body = Record<string, unknown>

export function goodCheckout(random: Random, index: number, seed: number): Body {
  const odd = random.pick(['', '', '<script>alert(1)</script>', `'--`, '%2F..%2f', 'a/b?c#d&e=f', '+%25;\\"', '=1+1|'])
  const sometimes = (value: () => unknown) => (random.chance(0.3) ? value() : undefined)
  return {
    amount: random.pick([1, 999_999_999_999, numberAsWritten('1.5e3'), random.between(1, 999_999_999_999)]),
    country: random.pick(['NG', 'ng', 'NGA', 'Nigeria']),
    reference: `fz${seed.toString(36)}-${index}${odd}`,
    user: {
      email: random.pick([`ada${index}@example.com`, `Ada+${index}@EXAMPLE.com`, `ådá@exämple.ng`, `'--@x.y`]),
      name: sometimes(() => random.pick(PAYLOADS)),
      id: sometimes(() => random.pick(['customer-1', 'a:b_c.d@e', 'x'.repeat(64), null])),
      phoneNumber: sometimes(() => random.pick(['+2348012345678', '=1+1', null])),
    },
    currency: random.pick(['NGN', 'ngn', '', null, undefined]),
    redirectURL: sometimes(() => random.pick(['https://shop.example/?a=1#b', 'http://localhost:1/é', null])),
    webhook: sometimes(() => random.pick(['https://shop.example/hook', null])),
    customerBearsCharge: sometimes(() => random.pick([true, false, null])),
    expiresIn: sometimes(() => random.pick([900, 2_592_000, null])),
    metadata: sometimes(() => metadata(random)),
  }
}

function metadata(random: Random): Record<string, string> {
  const name = () =>
    Array.from(random.chance(0.5) ? random.pick(PAYLOADS) : unicode(random, 20))
      .slice(0, 40)
      .join('')
  const entries = Array.from({ length: random.between(0, 6) }, () => [name(), unicode(random, random.between(0, 120))])
  return Object.fromEntries(entries)
}

export interface Damage {
  body: Body
  expected: readonly number[]
}

type Spoil = (random: Random, good: Body) => Damage

const refused = (body: Body): Damage => ({ body, expected: [400] })
const withUser = (good: Body, changes: Body): Body => ({ ...good, user: { ...(good.user as Body), ...changes } })

const FIELD_TYPES = [
  ['reference', 'string'],
  ['currency', 'string'],
  ['country', 'string'],
  ['redirectURL', 'string'],
  ['webhook', 'string'],
  ['customerBearsCharge', 'boolean'],
  ['metadata', 'object'],
  ['expiresIn', 'integer'],
  ['user', 'object'],
] as const

/** Puts a text where text is expected, one place at random. */
function place(random: Random, good: Body, text: string): Body {
  return random.pick([
    () => ({ ...good, reference: text }),
    () => ({ ...good, country: text }),
    () => ({ ...good, redirectURL: `https://shop.example/${text}` }),
    () => withUser(good, { name: text }),
    () => withUser(good, { phoneNumber: text }),
    () => withUser(good, { email: `a${text}@example.com` }),
  ])()
}

export const SPOILT: Record<string, Spoil> = {
  amount: (random, good) => refused({ ...good, amount: random.pick(WRONG_AMOUNTS) }),

  'wrong type': (random, good) => {
    if (random.chance(0.3)) {
      return refused(
        withUser(good, { [random.pick(['email', 'name', 'phoneNumber'])]: random.pick(OTHER_TYPES.string) }),
      )
    }
    if (random.chance(0.2)) return refused({ ...good, metadata: { a: random.pick(OTHER_TYPES.string) } })
    if (random.chance(0.1)) return refused({ ...good, [random.pick(['country', 'user', 'amount'])]: undefined })
    const [field, type] = random.pick(FIELD_TYPES)
    return refused({ ...good, [field]: random.pick<unknown>(OTHER_TYPES[type]) })
  },

  'not text': (random, good) => {
    const text = random.pick(NOT_TEXT)
    if (random.chance(0.3)) return refused({ ...good, metadata: random.pick([{ a: text }, { [text]: 'a' }]) })
    if (random.chance(0.2)) return refused({ ...good, unheardOf: random.pick([text, [text], { [text]: 1 }]) })
    return refused(place(random, good, text))
  },

  'line break': (random, good) => {
    const text = random.pick(LINE_BREAKS)
    // Metadata may hold them or not; what was taken must come back.
    if (random.chance(0.4)) return { body: { ...good, metadata: { a: text, [text]: 'b' } }, expected: [201, 400] }
    return refused(place(random, good, text))
  },

  'web address': (random, good) =>
    refused({ ...good, [random.pick(['redirectURL', 'webhook'])]: random.pick(WRONG_ADDRESSES) }),

  'too long': (random, good) => {
    const text = random.pick(['x', 'é', '😀']).repeat(random.pick([2_049, 12_000]))
    const keys = (count: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [index.toString(36), value]))
    return refused(
      random.pick<() => Body>([
        () => place(random, good, text),
        () => ({ ...good, reference: 'r'.repeat(101) }),
        () => withUser(good, { name: 'n'.repeat(201) }),
        () => withUser(good, { phoneNumber: '1'.repeat(33) }),
        () => withUser(good, { email: `${'a'.repeat(250)}@example.com` }),
        () => ({ ...good, metadata: { a: text } }),
        () => ({ ...good, metadata: { a: 'v'.repeat(501) } }),
        () => ({ ...good, metadata: { [`k${text}`]: 'a' } }),
        () => ({ ...good, metadata: keys(51, 'a') }),
        // As many mistakes as fit into a body: reporting them must not delay other requests.
        () => ({ ...good, metadata: keys(random.pick([500, 7_000]), 1) }),
      ])(),
    )
  },

  'odd key': (random, good) => {
    // Own properties, as JSON.parse makes them; an object literal would set the prototype.
    const odd = (key: string, value: unknown) => Object.fromEntries([[key, value]])
    const reaching = random.pick(['__proto__', 'constructor', 'prototype'])
    return random.pick<() => Damage>([
      () => refused({ ...good, a: odd(reaching, { polluted: true }) }),
      () => refused(withUser(good, { a: [odd(reaching, 1)] })),
      () => refused({ ...good, metadata: odd(reaching, 'a') }),
      () => refused({ ...good, [random.pick(['redirectUrl', 'redirect_url', 'customerBearCharge', 'amonut'])]: 'a' }),
      () => refused(withUser(good, { phone_number: '1' })),
      () => ({ body: { ...good, unheardOf: unicode(random, 50), toString: 'a', hasOwnProperty: 1 }, expected: [201] }),
    ])()
  },
}
