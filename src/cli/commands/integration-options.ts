import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { IntegrationChanges } from '../../integrations/integration-changes.ts'
import { type Options, UsageError } from '../command.ts'

/** What is asked for. Whether a provider can do it is the provider's to say; here only what is no option at all is told. */
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

/** No mistake quotes what was given: it may be a secret. */
async function readSettings(given: string[], mistakes: string[]): Promise<Record<string, string>> {
  const settings = new Map<string, string>()
  let stdinIsTaken = false
  for (const each of given) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(each) ?? []
    if (name === undefined || value === undefined) {
      mistakes.push('--setting must be NAME=VALUE, NAME=@FILE or NAME=-.')
    } else if (value === '-') {
      if (stdinIsTaken) mistakes.push('Standard input can give one --setting only; read the others from files.')
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

/** Editors and `echo` end a file with one. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '')
}
