#!/usr/bin/env node
import { ConfigError } from '../config/config.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { Problem } from '../kernel/problem.ts'
import { helpOf, helpOfAll, parseOptions, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'

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
