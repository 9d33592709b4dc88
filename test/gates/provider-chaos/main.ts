// `npm run gate -- provider-chaos`: customers pay through each provider, which times out, fails, refuses calls and goes
// down, while its notices are lost, doubled and reordered. Then our records must equal its ledger, entry by entry. The
// real providers are strict fakes; two copies of the service are killed in the middle of refunds, and the merchant
// changes to another account. The sandbox provider (`gateway`) runs in two processes of the real program, which are
// killed, takes wrong amounts, and the clocks may jump. Refunds and disputes are made at each provider.
// --payments 500 with each, --clients 32, --kills 6; --provider NAME for one alone; --seed N to repeat the plan.
// Then, with each, as many payments over --days 60 of simulated time (weeks/): lists that lag and contradict, long
// outages, refused keys, late refunds and disputes. --only minutes or weeks: one of the two.
// --hours 24, with the sandbox provider alone: of simulated time, in jumps of the clocks (needs libfaketime).
import { gateway } from '../../../src/providers/gateway/adapter.ts'
import { FAKES } from '../../fakes/index.ts'
import { numbersFrom, wordFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { requireTools } from '../tools.ts'
import { CLOCK_TOOL } from './clocks.ts'
import { isClean, type ProviderOutcome, printProvider } from './report.ts'
import { fakeChaos } from './run.ts'
import { sandboxChaos } from './run-sandbox.ts'
import { failuresOf, printWeeks } from './weeks/report.ts'
import { type WeeksOutcome, weeksOf } from './weeks/run.ts'

const SANDBOX = gateway.capabilities.name
const names = [SANDBOX, ...FAKES.map(({ provider }) => provider.capabilities.name)]
const { word, rest } = wordFrom('provider', names)
const { word: only, rest: numbers } = wordFrom('only', ['minutes', 'weeks'], rest)
const options = numbersFrom({ payments: 500, clients: 32, kills: 6, hours: 0, days: 60 }, numbers)
const chosen = word ? [word] : options.hours > 0 ? [SANDBOX] : names
if (options.hours > 0 && chosen[0] !== SANDBOX) throw new Error(`--hours is for --provider ${SANDBOX}`)
if (options.hours > 0) requireTools([CLOCK_TOOL])
process.stdout.write(`seed ${options.seed}\n`)
const outcomes: ProviderOutcome[] = []
for (const provider of only === 'weeks' ? [] : chosen) {
  const outcome = await (provider === SANDBOX ? sandboxChaos(options) : fakeChaos({ ...options, provider }))
  process.stdout.write(`${printProvider(outcome)}\n`)
  outcomes.push(outcome)
}
const weeks: WeeksOutcome[] = []
for (const provider of only === 'minutes' || options.hours > 0 ? [] : chosen) {
  const outcome = await weeksOf({ ...options, provider })
  process.stdout.write(`${printWeeks(outcome)}\n`)
  weeks.push(outcome)
}
const sum = (of: (outcome: ProviderOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
const sumOfWeeks = (of: (outcome: WeeksOutcome) => number) => weeks.reduce((total, outcome) => total + of(outcome), 0)
recordFigures({
  payments: sum(({ payments }) => payments) + sumOfWeeks(({ payments }) => payments),
  'simulated hours': options.hours,
  'simulated days': sumOfWeeks(({ days }) => days),
  'kill -9': sum(({ kills }) => kills),
  'charges at the providers': sum(({ books }) => books.taken.entries),
  'refunds at the providers': sum(({ books }) => books.givenBack.entries),
  'webhooks heard': sum(({ webhooks }) => webhooks),
  differences: sum(({ books }) => books.differences.length) + sumOfWeeks(failuresOf),
})
process.exitCode = outcomes.every(isClean) && sumOfWeeks(failuresOf) === 0 ? 0 : 1
