// The commands about integrations as `manilla` runs them, with one more provider, whose address is ACME_URL.
import { parseOptions, UsageError } from '../../src/cli/command.ts'
import { integrationCommands } from '../../src/cli/commands/integration.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { acmeAt } from './acme.ts'

const [noun, verb, ...args] = process.argv.slice(2)
const commands = integrationCommands([...PROVIDERS, acmeAt(process.env.ACME_URL ?? '')])
const command = commands.find(({ name }) => name === `${noun} ${verb}`)
if (!command) throw new Error(`there is no ${noun} ${verb}`)
try {
  await command.run(parseOptions(command, args))
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
