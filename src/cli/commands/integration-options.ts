import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { IntegrationChanges } from '../../integrations/integration-changes.ts'
import { type Options, UsageError } from '../command.ts'

/** Parses the options. `applyChanges` checks whether the provider supports the values. */
export async function readChanges(options: Options): Promise<IntegrationChanges> {
  const mistakes: string[] = []
  const settings = await readSettings(options.texts('setting'), mistakes)
  const baseURL = options.text('base-url')?.trim()
  const priority = options.text('priority')?.trim()
  if (priority !== undefined && !/^\d{1,9}$/.test(priority)) mistakes.push('--priority must be a whole number.')
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'))
  return {
    settings,
    ...(baseURL !== undefined && { baseURL: baseURL === 'none' ? '' : baseURL }),
    ...(priority !== undefined && { priority: Number(priority) }),
    ...listOption(options, 'channels'),
    ...listOption(options, 'countries'),
    ...listOption(options, 'currencies'),
  }
}

function listOption(options: Options, name: 'channels' | 'countries' | 'currencies'): IntegrationChanges {
  const given = options.text(name)?.trim()
  if (given === undefined) return {}
  return { [name]: given === 'all' ? [] : given.split(',').map((each) => each.trim()) }
}

/** Error messages never contain a value: it may be a secret. */
async function readSettings(given: string[], mistakes: string[]): Promise<Record<string, string>> {
  const settings = new Map<string, string>()
  let stdinIsTaken = false
  for (const each of given) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(each) ?? []
    if (name === undefined || value === undefined) {
      mistakes.push('--setting must be NAME=VALUE, NAME=@FILE or NAME=-.')
    } else if (value === '-') {
      if (stdinIsTaken) mistakes.push('Only one --setting can be read from standard input. Read the others from files.')
      else settings.set(name, withoutLineEnd(await readAll(process.stdin)))
      stdinIsTaken = true
    } else if (value.startsWith('@')) {
      try {
        settings.set(name, withoutLineEnd(await readFile(value.slice(1), 'utf8')))
      } catch (error) {
        mistakes.push(`--setting ${name}: its file cannot be read (${(error as NodeJS.ErrnoException).code}).`)
      }
    } else settings.set(name, value)
  }
  return Object.fromEntries(settings)
}

/** Editors and `echo` add a final line break. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '')
}
