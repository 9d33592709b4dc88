import { mustBeNone, printRows } from '../../report.ts'
import type { Difference } from './books.ts'
import type { WeeksOutcome } from './run.ts'

const withoutCase = ({ books }: WeeksOutcome) => books.differences.filter(({ openCase }) => openCase === undefined)

export const failuresOf = (outcome: WeeksOutcome) =>
  withoutCase(outcome).length + outcome.books.lost.length + outcome.settlements.found.length

export function printWeeks(outcome: WeeksOutcome): string {
  const { provider, seed, payments, days, steps, calls, tookSeconds, faults, notices, books, settlements } = outcome
  const rows: [string, string | number][] = [
    ['time', `${days} days in ${steps} steps, ${tookSeconds} s; ${calls} calls of the provider`],
    ...[...faults].map(([name, count]): [string, string] => [`fault: ${name}`, String(count)]),
    ['notices', listOf(Object.entries(notices))],
    ['payments', `${payments}: ${listOf(books.payments)}`],
    ...[...books.byFault].map(([fault, { payments: of, differences, withoutCase: silent }]): [string, string] => [
      fault,
      `${of} payments, ${differences} differences, ${silent} without a case`,
    ]),
    ['payments of another shop', books.ofOtherShop],
    ['open cases', books.openCases],
    ['refunded without a person', `${books.automatic.refunds} times, ${books.automatic.amount}`],
    ['differences without a case', mustBeNone(withoutCase(outcome).length)],
    ['settlements', `${settlements.settlements} with ${settlements.lines} lines, ${settlements.openCases} open cases`],
    ['settlements that do not add up', mustBeNone(settlements.found.length)],
    ['money that was not owed', mustBeNone(books.lost.length)],
  ]
  const failed = [...[...books.lost, ...withoutCase(outcome)].map(lineOf), ...settlements.found]
  return `${printRows(`provider chaos over weeks, ${provider}, seed ${seed}`, rows, failed, failed.length)}\n`
}

const lineOf = ({ payment, fault, text }: Difference) => `${payment} (${fault}): ${text}`

function listOf(counts: Iterable<[string, number]>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
}
