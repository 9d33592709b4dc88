// `npm run gate -- webhooks`: all events are delivered while processes are killed and other endpoints fail.
// --kills 20 under a stream of payments; --endpoints 200, 30 % of them failing, with --events 5000; --seed N repeats
// the random choices.
import { numbersFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { randomOf } from '../random.ts'
import { crowdOfEndpoints } from './crowd.ts'
import { killsUnderStream } from './kills.ts'
import { type Part, printPart } from './report.ts'

export interface WebhooksReport {
  clean: boolean
  print(): string
}

export function reportOf(seed: number, parts: Part[]): WebhooksReport {
  return {
    clean: parts.every(({ clean }) => clean),
    print: () => [`webhooks, seed ${seed}`, ...parts.map(printPart), ''].join('\n\n'),
  }
}

if (import.meta.main) {
  const { kills, endpoints, events, seed } = numbersFrom({ kills: 20, endpoints: 200, events: 5_000 })
  process.stdout.write(`seed ${seed}\n`)
  // In sequence, because the second measures latency.
  const parts: Part[] = []
  if (kills > 0) parts.push(await killsUnderStream(randomOf(seed, 1), kills, { copies: 2, hasten: false }))
  if (events > 0) parts.push(await crowdOfEndpoints(randomOf(seed, 2), { endpoints, events }))
  const report = reportOf(seed, parts)
  process.stdout.write(report.print())
  recordFigures({ 'kill -9': kills, events: parts.reduce((sum, part) => sum + part.events, 0) })
  process.exitCode = report.clean ? 0 : 1
}
