// `npm run provider-chaos`: customers pay through a strict fake of each real provider, which times out, fails, refuses calls and
// goes down, while its notices are lost, doubled and reordered. Then our records must equal its ledger, entry by entry.
// Two copies of the service are killed in the middle of refunds, the merchant changes to another account, and refunds and disputes are made
// at the provider. --payments 500 with each, --clients 32, --kills 6; --provider NAME for one alone; --seed N to repeat the plan.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../../src/database/embedded.ts'
import { migrate } from '../../../src/database/migrate.ts'
import { FAKES } from '../../fakes/index.ts'
import { numbersFrom, wordFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { isClean, type ProviderOutcome, printProvider } from './report.ts'
import { providerChaos } from './run.ts'

interface Wanted {
  payments: number
  clients: number
  kills: number
  seed: number
}

/** On a PostgreSQL of its own. */
async function runOne(provider: string, wanted: Wanted): Promise<ProviderOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-provider-chaos-'))
  const server = await startEmbedded({ dataDir: folder, purpose: 'own' })
  try {
    await migrate(server.url)
    const outcome = await providerChaos({ ...wanted, provider, databaseUrl: server.url })
    process.stdout.write(`${printProvider(outcome)}\n`)
    return outcome
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const names = FAKES.map(({ provider }) => provider.capabilities.name)
const { word, rest } = wordFrom('provider', names)
const wanted = numbersFrom({ payments: 500, clients: 32, kills: 6 }, rest)
process.stdout.write(`seed ${wanted.seed}\n`)
const outcomes: ProviderOutcome[] = []
for (const name of word ? [word] : names) outcomes.push(await runOne(name, wanted))
const sum = (of: (outcome: ProviderOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
recordFigures({
  payments: sum(({ payments }) => payments),
  'kill -9': sum(({ kills }) => kills),
  'charges at the providers': sum(({ books }) => books.taken.entries),
  'refunds at the providers': sum(({ books }) => books.givenBack.entries),
  'webhooks heard': sum(({ webhooks }) => webhooks),
  differences: sum(({ books }) => books.differences.length),
})
process.exitCode = outcomes.every(isClean) ? 0 : 1
