import { parseArgs } from 'node:util'
import { newSeed } from './random.ts'

/** `--kills 20 --seed 7` as numbers; absent ones keep their default, and a missing seed is random. */
export function numbersFrom<Name extends string>(
  defaults: Record<Name, number | undefined>,
  args: string[] = process.argv.slice(2),
) {
  const names = ['seed', ...Object.keys(defaults)]
  const values = valuesOf(names, defaults, args)
  const given = Object.entries(values).map(([name, text]) => {
    const number = Number(text)
    if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number, not "${text}"`)
    return [name, number]
  })
  return { seed: newSeed(), ...defaults, ...Object.fromEntries(given) } as Record<Name, number> & { seed: number }
}

/** Ends the process with the list of options when one is unknown, and for `--help`. */
function valuesOf(names: string[], defaults: Record<string, number | undefined>, args: string[]) {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  try {
    return parseArgs({ options, args }).values
  } catch (error) {
    const listed = names.map((name) =>
      defaults[name] === undefined ? `--${name} N` : `--${name} N (${defaults[name]})`,
    )
    const isHelp = args.includes('--help')
    process.stderr.write(`${isHelp ? '' : `${(error as Error).message}\n`}Options: ${listed.join(', ')}\n`)
    process.exit(isHelp ? 0 : 2)
  }
}

/** `--provider paystack`: one of those words, and the other arguments. */
export function wordFrom(
  name: string,
  words: string[],
  args: string[] = process.argv.slice(2),
): { word: string | undefined; rest: string[] } {
  const place = args.indexOf(`--${name}`)
  if (place === -1) return { word: undefined, rest: args }
  const word = args[place + 1]
  if (!word || !words.includes(word)) throw new Error(`--${name} must be one of ${words.join(', ')}`)
  return { word, rest: args.toSpliced(place, 2) }
}
