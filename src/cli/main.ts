#!/usr/bin/env node
import { ConfigError } from '../config/config.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { Problem } from '../kernel/problem.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { type Command, helpOf, helpOfAll, parseOptions, UsageError } from './command.ts'
import { audit } from './commands/audit.ts'
import { credentialCreate, credentialList, credentialRevoke } from './commands/credential.ts'
import { dashboardLink } from './commands/dashboard-link.ts'
import { demoData } from './commands/demo-data.ts'
import { doctor } from './commands/doctor.ts'
import { integrationCommands } from './commands/integration.ts'
import { keysStatus } from './commands/keys-status.ts'
import { memberInvite, memberList, memberOperator, memberRemove } from './commands/member.ts'
import { merchantCreate, merchantList, merchantResume, merchantSuspend } from './commands/merchant.ts'
import { merchantBrand } from './commands/merchant-brand.ts'
import { migrateCommand } from './commands/migrate.ts'
import { openapi } from './commands/openapi.ts'
import { paymentResync, paymentShow, paymentTimeline } from './commands/payment.ts'
import { serve } from './commands/serve.ts'
import { unmatchedList, unmatchedMatch } from './commands/unmatched.ts'
import { webhooksListen } from './commands/webhooks-listen.ts'
import { webhooksSecret } from './commands/webhooks-secret.ts'
import { webhooksTrigger } from './commands/webhooks-trigger.ts'
import { webhooksVerify } from './commands/webhooks-verify.ts'

const COMMANDS: Command[] = [
  serve,
  migrateCommand,
  doctor,
  merchantCreate,
  merchantList,
  merchantSuspend,
  merchantResume,
  merchantBrand,
  credentialCreate,
  credentialList,
  credentialRevoke,
  keysStatus,
  dashboardLink,
  memberList,
  memberInvite,
  memberRemove,
  memberOperator,
  ...integrationCommands(PROVIDERS),
  paymentShow,
  paymentTimeline,
  paymentResync,
  unmatchedList,
  unmatchedMatch,
  webhooksListen,
  webhooksTrigger,
  webhooksVerify,
  webhooksSecret,
  audit,
  demoData,
  openapi,
]

async function main(args: string[]): Promise<void> {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'))
  const words = firstOption === -1 ? args : args.slice(0, firstOption)
  const wantsHelp = args.includes('--help') || args.includes('-h')
  const command = COMMANDS.find(({ name, word }) => (word ? matches(words, name) : name === words.join(' ')))
  if (!command) {
    if (words.length === 0) return void process.stdout.write(helpOfAll(COMMANDS))
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
    if (wantsHelp && group.length > 0) return void process.stdout.write(helpOfAll(group))
    throw new UsageError(`Unknown command "${words.join(' ')}".\n\n${helpOfAll(group.length > 0 ? group : COMMANDS)}`)
  }
  if (wantsHelp) return void process.stdout.write(helpOf(command))
  await command.run(parseOptions(command, args.slice(command.name.split(' ').length)))
}

/** Whether the words are the command's name, with at most one positional argument. */
function matches(words: string[], name: string): boolean {
  const own = name.split(' ')
  return words.length - own.length <= 1 && own.every((word, index) => words[index] === word)
}

main(process.argv.slice(2)).catch((error: unknown) => {
  // Errors that a user can fix are printed without a stack.
  const isExpected = error instanceof OperatorError || error instanceof Problem
  const { message, stack } = error as Error
  const code = error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  // Ends even if something is still open: a service that did not start must not stay half alive.
  process.stderr.write(`${isExpected ? message : stack}\n`, () => process.exit(code))
})
