import { parseArgs } from 'node:util'
import { newSeed } from './random.ts'

/** `--kills 20 --seed 7` as numbers; what was not given keeps its default, and a seed is made up. */
export function numbersFrom<Name extends string>(defaults: Record<Name, number | undefined>) {
  const names = ['seed', ...Object.keys(defaults)]
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  const { values } = parseArgs({ options })
  const given = Object.entries(values).map(([name, text]) => {
    const number = Number(text)
    if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number, not "${text}"`)
    return [name, number]
  })
  return { seed: newSeed(), ...defaults, ...Object.fromEntries(given) } as Record<Name, number> & { seed: number }
}
