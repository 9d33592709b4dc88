import { mustBeNone, printRows } from '../report.ts'
import type { Comparison } from './check.ts'
import type { CallOutcome } from './shop.ts'

export interface ProviderOutcome {
  provider: string
  seed: number
  payments: number
  tookSeconds: { paying: number; settling: number }
  rounds: number
  kills: number
  calls: Map<string, Record<CallOutcome, number>>
  /** The injected faults. */
  trouble: Map<string, number>
  notices: Record<string, number>
  heldBack: number
  webhooks: number
  books: Comparison
}

export const isClean = ({ books }: ProviderOutcome) => books.differences.length === 0

export function printProvider(outcome: ProviderOutcome): string {
  const { provider, seed, payments, tookSeconds, rounds, kills, calls, trouble, notices, heldBack, webhooks, books } =
    outcome
  const { taken, givenBack, differences } = books
  const rows: [string, string][] = [
    [
      'customers',
      `${payments}, paying for ${tookSeconds.paying} s; settled in ${rounds} rounds, ${tookSeconds.settling} s`,
    ],
    ...[...calls].map(([name, counts]): [string, string] => [`calls: ${name}`, listOf(Object.entries(counts))]),
    ...[...trouble].map(([name, count]): [string, string] => [`provider: ${name}`, String(count)]),
    ['kills', `${kills}`],
    ['breaker', `${heldBack} calls held back`],
    ['notices', listOf(Object.entries(notices))],
    ['payments', `${listOf(books.payments)}; ${books.late} of them late`],
    ['attempts', listOf(books.attempts)],
    ['attempts by channel', listOf(books.channels)],
    ['refunds', listOf(books.refunds)],
    ['disputes', listOf(books.disputes)],
    ['need review', `${books.needReview}`],
    ['webhooks heard', `${webhooks}`],
    ['taken', `${taken.entries} times, ${bothOf(taken)}`],
    ['refunded', `${givenBack.entries} times, ${bothOf(givenBack)}`],
    ['differences', mustBeNone(differences.length)],
  ]
  const printed = printRows(`provider chaos, ${provider}, seed ${seed}`, rows, differences)
  return [printed, ...books.explanation.map((line) => `  ${line}`), ''].join('\n')
}

function listOf(counts: Iterable<[string, number]>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
}

function bothOf({ ours, theirs }: { ours: number; theirs: number }): string {
  return `ours ${ours}, theirs ${theirs}, difference ${ours - theirs}`
}
