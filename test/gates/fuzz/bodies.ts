import type { Random } from '../random.ts'
import type { Body } from './checkouts.ts'

/** Bodies that are not JSON, or unusual JSON. */
export interface DamagedText {
  text: string | Buffer
  expected: readonly number[]
  /** What the body means to us when it is accepted. */
  means?: Body
}

type Spoil = (random: Random, good: Body) => DamagedText

const refused = (text: string | Buffer): DamagedText => ({ text, expected: [400] })

const NOT_UTF8 = ['ff', 'c080', 'eda080', 'f4908080', 'c3', 'fe80', '80'].map((hex) => Buffer.from(hex, 'hex'))

export const SPOILT_TEXT: Record<string, Spoil> = {
  'not UTF-8': (random, good) => {
    const [before = '', after = ''] = JSON.stringify({ ...good, unheardOf: 'HERE' }).split('HERE')
    return refused(Buffer.concat([Buffer.from(before), random.pick(NOT_UTF8), Buffer.from(after)]))
  },

  'deep nesting': (random, good) => {
    const depth = random.pick([10, 11, 200, 30_000])
    const [open, close] = random.pick([
      ['[', ']'],
      ['{"a":', '}'],
    ] as const)
    const levels = Math.min(depth, Math.floor(60_000 / (open.length + close.length)))
    const deep = `${open.repeat(levels)}1${close.repeat(levels)}`
    return refused(JSON.stringify(good).replace('{', `{"unheardOf":${deep},`))
  },

  'duplicate keys': (random, good) => {
    const text = JSON.stringify(good)
    if (random.chance(0.5)) return refused(`${text.slice(0, -1)},"amount":"5"}`)
    // The last one counts, in every check and in what is stored.
    const means = { ...good, amount: 77 }
    return { text: `${text.slice(0, -1)},"amount":77}`, expected: [201], means }
  },

  'cut JSON': (random, good) => {
    const bytes = Buffer.from(JSON.stringify(good))
    return refused(bytes.subarray(0, random.between(1, bytes.length - 1)))
  },

  'not an object': (random) =>
    refused(
      random.pick(['null', '[]', '5', '"a"', 'true', '{}', '[{}]', ' ', '{', '{"a":}', 'NaN', "{'a':1}", '\ufeff{}']),
    ),

  'random bytes': (random) => refused(random.bytes(random.between(1, 400))),
}
