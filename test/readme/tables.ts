import { COMMANDS } from '../../src/cli/commands.ts'
import type { Channel } from '../../src/kernel/channel.ts'
import type { Capabilities } from '../../src/providers/capabilities.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { GATES } from '../gates/gates.ts'

/** The tables of the documents that follow from the code: by the name in their marks, with the page that has them. */
const TABLES: Record<string, { page: string; table(): string }> = {
  providers: { page: 'docs/integrations.md', table: providerTable },
  commands: { page: 'docs/cli.md', table: commandTable },
  gates: { page: 'CONTRIBUTING.md', table: gateTable },
}

export const PAGES_WITH_TABLES = Object.values(TABLES).map(({ page }) => page)

/** A page with its tables as the code says. */
export function withTables(page: string, text: string): string {
  return Object.entries(TABLES)
    .filter(([, table]) => table.page === page)
    .reduce((written, [name, { table }]) => replaced(written, name, table()), text)
}

function replaced(text: string, name: string, table: string): string {
  const start = `<!-- ${name}: written by \`npm run readme\` -->`
  const end = `<!-- /${name} -->`
  const [before, rest] = text.split(start)
  const [, after] = (rest ?? '').split(end)
  if (before === undefined || after === undefined) throw new Error(`The page needs ${start} and ${end}`)
  return `${before}${start}\n${table}\n${end}${after}`
}

function providerTable(): string {
  const rows = PROVIDERS.map(({ capabilities }) => capabilities)
    .toSorted((a, b) => Number(a.sandboxOnly) - Number(b.sandboxOnly))
    .map((capabilities) => `| ${[nameOf(capabilities), ...cellsOf(capabilities)].join(' | ')} |`)
  return ['| | `provider` | cards | account numbers | countries |', '|---|---|---|---|---|', ...rows].join('\n')
}

function nameOf({ name, title, sandboxOnly }: Capabilities): string {
  return sandboxOnly ? `${title}, play money` : `[${title}](providers/${name}.md)`
}

function cellsOf(capabilities: Capabilities): string[] {
  const { name, countries } = capabilities
  return [
    `\`${name}\``,
    currenciesOf(capabilities, 'card'),
    currenciesOf(capabilities, 'virtual-bank-account'),
    capabilities.offersOfAccount ? 'those of your account' : few(countries),
  ]
}

function currenciesOf({ offers }: Capabilities, channel: Channel): string {
  const currencies = Object.keys(offers[channel] ?? {})
  return currencies.length > 6 ? `${currencies.length} currencies` : currencies.join(', ') || 'no'
}

function few(countries: string[]): string {
  return countries.length <= 5
    ? countries.join(', ')
    : `${countries.slice(0, 5).join(', ')} and ${countries.length - 5} more`
}

function commandTable(): string {
  const rows = COMMANDS.map(({ name, summary }) => `| \`${name}\` | ${summary} |`)
  return ['| command | what it does |', '|---|---|', ...rows].join('\n')
}

function gateTable(): string {
  const rows = GATES.map(({ name, proves, takes }) => `| \`${name}\` | ${proves} | ${takes} |`)
  return ['| gate | what it proves | takes |', '|---|---|---|', ...rows].join('\n')
}
