import { parseArgs } from 'node:util'
import { OperatorError } from '../kernel/operator-error.ts'

/** A command of the `manilla` command line. */
export interface Command {
  /** As typed: `credential create`. */
  name: string
  summary: string
  options: Record<string, Option>
  /** The option that may be given as a positional argument: `payment show order-1`. */
  word?: string
  run(options: Options): Promise<void>
}

export interface Option {
  /** Placeholder of the value in the help; absent for a flag. */
  value?: string
  summary: string
  required?: boolean
  /** May be given more than once. */
  repeats?: boolean
}

type Given = Record<string, string | boolean | string[] | undefined>

export class Options {
  readonly #given: Given
  constructor(given: Given) {
    this.#given = given
  }

  text(name: string): string | undefined {
    const value = this.#given[name]
    return typeof value === 'string' ? value : undefined
  }

  /** The values of an option that may be repeated. */
  texts(name: string): string[] {
    const value = this.#given[name]
    return Array.isArray(value) ? value : []
  }

  required(name: string): string {
    const value = this.text(name)
    if (value === undefined || value.trim() === '') throw new UsageError(`--${name} is missing.`)
    return value
  }

  /** Whether a flag was given. */
  on(name: string): boolean {
    return this.#given[name] === true
  }

  get json(): boolean {
    return this.#given.json === true
  }
}

/** A mistake in the arguments. Its message says how to correct it. */
export class UsageError extends OperatorError {}

const JSON_OPTION: Option = { summary: 'Print JSON' }

export function parseOptions(command: Command, args: string[]): Options {
  const [first] = args
  if (command.word && first !== undefined && !first.startsWith('-')) {
    return parseOptions(command, [`--${command.word}=${first}`, ...args.slice(1)])
  }
  const known = Object.entries({ ...command.options, json: JSON_OPTION })
  try {
    const { values } = parseArgs({
      args,
      options: Object.fromEntries(
        known.map(([name, { value, repeats = false }]) => [
          name,
          { type: value ? 'string' : 'boolean', multiple: repeats },
        ]),
      ),
      strict: true,
    })
    return new Options(values as Given)
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('. To specify')[0]}. See: manilla ${command.name} --help`)
  }
}

export function helpOf(command: Command): string {
  const options = Object.entries({ ...command.options, json: JSON_OPTION })
  const left = options.map(([name, { value }]) => `--${name}${value ? ` ${value}` : ''}`)
  const width = Math.max(...left.map(({ length }) => length))
  const lines = options.map(
    ([, { summary, required }], index) => `  ${left[index]?.padEnd(width)}  ${summary}${required ? ' (required)' : ''}`,
  )
  return `${command.summary}\n\nUsage: manilla ${command.name}${command.word ? ` <${command.word}>` : ''} [options]\n\n${lines.join('\n')}\n`
}

export function helpOfAll(commands: Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return `Manilla: payments you run yourself.\n\nUsage: manilla <command> [options]\n\n${lines.join('\n')}\n\nEvery command has --help. Settings are environment variables; see docs/settings.md.\n`
}
