import type { Channel } from '../../src/kernel/channel.ts'
import type { Capabilities } from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'

const START = '<!-- providers: written by `npm run readme` -->'
const END = '<!-- /providers -->'

/** The README with its table of providers as their capabilities say. */
export function withProviderTable(readme: string): string {
  const [before, rest] = readme.split(START)
  const [, after] = (rest ?? '').split(END)
  if (before === undefined || after === undefined) throw new Error(`README.md needs ${START} and ${END}`)
  return `${before}${START}\n${providerTable()}\n${END}${after}`
}

function providerTable(): string {
  const rows = PROVIDERS.map(({ capabilities }) => capabilities)
    .toSorted((a, b) => Number(a.sandboxOnly) - Number(b.sandboxOnly))
    .map((capabilities) => `| ${[nameOf(capabilities), ...cellsOf(capabilities)].join(' | ')} |`)
  return ['| | `provider` | cards | account numbers | countries |', '|---|---|---|---|---|', ...rows].join('\n')
}

function nameOf({ name, title, sandboxOnly }: Capabilities): string {
  return sandboxOnly ? `${title}, play money` : `[${title}](docs/providers/${name}.md)`
}

function cellsOf(capabilities: Capabilities): string[] {
  const { name, countries } = capabilities
  return [
    `\`${name}\``,
    currenciesOf(capabilities, 'card'),
    currenciesOf(capabilities, 'virtual-bank-account'),
    few(countries),
  ]
}

function currenciesOf({ channels, fees }: Capabilities, channel: Channel): string {
  return channels.includes(channel) ? Object.keys(fees[channel]).join(', ') : 'no'
}

function few(countries: string[]): string {
  return countries.length <= 5
    ? countries.join(', ')
    : `${countries.slice(0, 5).join(', ')} and ${countries.length - 5} more`
}
