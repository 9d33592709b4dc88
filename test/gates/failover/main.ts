// `npm run gate -- failover`: three PostgreSQL nodes with Patroni and etcd, HAProxy, and two processes of Manilla
// (`ROLE=api`, `ROLE=worker`), as docs/operations/failover.md describes them. Customers pay while the primary is
// killed, frozen and cut off from the network, and while each node is restarted. Nothing acknowledged may be lost or
// doubled, and writes must be back within 30 s without a restart of Manilla. PGBOUNCER=pgbouncer, or the path of
// another one: with PgBouncer in the path.
// --rounds 20, one fault each; --fault freeze for one kind only; --clients 3; --seed N to repeat the plan.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whyUnfit } from '../../support/pgbouncer.ts'
import { numbersFrom, wordFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { compare } from '../provider-chaos/check.ts'
import { mustBeNone } from '../report.ts'
import { CANNOT_RUN, postgresTools, requireTools, type Tool } from '../tools.ts'
import { type Market, openMarket, untilSettled } from '../whole-payments/market.ts'
import { Processes } from '../whole-payments/processes.ts'
import { Cluster } from './cluster.ts'
import { FAULTS, type Fault } from './faults.ts'
import { Load } from './load.ts'
import { enterNamespaces } from './network.ts'

const { PGBOUNCER } = process.env
const BACK_WITHIN_MS = 30_000
const SETTLED_WITHIN_MS = 180_000

const TOOLS: Tool[] = [
  ...postgresTools(),
  { name: 'patroni', path: '/usr/bin/patroni', package: 'patroni' },
  { name: 'python3-etcd', path: '/usr/lib/python3/dist-packages/etcd/__init__.py', package: 'python3-etcd' },
  { name: 'etcd', path: '/usr/bin/etcd', package: 'etcd-server' },
  { name: 'haproxy', path: '/usr/sbin/haproxy', package: 'haproxy' },
  { name: 'ip', path: '/usr/sbin/ip', package: 'iproute2' },
  { name: 'unshare', path: '/usr/bin/unshare', package: 'util-linux' },
]

const say = (line: string) => process.stdout.write(`${line}\n`)

async function failover(faults: Fault[], rounds: number, clients: number, seed: number): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-failover-'))
  await chmod(folder, 0o711) // PostgreSQL runs as another user
  const cluster = new Cluster(folder, PGBOUNCER)
  const processes = await Processes.on(cluster.url, folder, cluster.directUrl)
  let market: Market | undefined
  let load: Load | undefined
  try {
    await cluster.start()
    await processes.start('worker', 'api')
    market = await openMarket(processes, seed)
    load = new Load(market, seed, clients)
    await load.untilWriting(performance.now())
    const startedAt = performance.now()
    const slow: string[] = []
    for (let round = 0; round < rounds; round++) slow.push(...(await runRound(round, faults, cluster, load)))
    const longestMs = Math.round(load.longestGapMs(startedAt))
    await load.stop()
    recordFigures({
      faults: rounds,
      'through PgBouncer': PGBOUNCER ? rounds : 0,
      payments: load.payments,
      'longest time without writes, ms': longestMs,
    })
    return [...slow, ...processes.ended(), ...(await examine(market, load))]
  } finally {
    await load?.stop()
    await processes.end()
    await market?.close()
    for (const node of cluster.nodes) node.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

async function runRound(round: number, faults: Fault[], cluster: Cluster, load: Load): Promise<string[]> {
  const fault = faults[round % faults.length] as Fault
  const leader = await cluster.leader()
  const before = load.payments
  const startedAt = performance.now()
  const end = await fault.begin(leader, cluster)
  await load.untilWriting(startedAt)
  const successor = await cluster.leader()
  await end()
  const healthyMs = await cluster.untilHealthy()
  await load.untilWriting(performance.now())
  const gapMs = load.longestGapMs(startedAt)
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const what = `${fault.name.padEnd(12)} ${leader.name}, then ${successor.name}`
  say(
    `  ${String(round + 1).padStart(2)}  ${what}: no writes for ${seconds(gapMs)}; healthy ${seconds(healthyMs)} after the fault; ${load.payments - before} payments`,
  )
  return [
    ...(gapMs > BACK_WITHIN_MS ? [`round ${round + 1}: no writes for ${seconds(gapMs)}`] : []),
    ...(fault.replacesLeader && successor === leader ? [`round ${round + 1}: ${leader.name} was not replaced`] : []),
  ]
}

/** The records of the clients and of the provider against the database, after everything has settled. */
async function examine(market: Market, load: Load): Promise<string[]> {
  const { world, fake, listener, courier, database } = market
  const open = await untilSettled(market, SETTLED_WITHIN_MS)
  const { taken, givenBack, differences } = await compare(database, fake, world.told, listener.heard, courier.refused)
  say(`  ${load.payments} customers, ${world.told.payments.length} acknowledged calls that made a payment`)
  say(`  taken ${taken.entries} times, ${taken.ours} here and ${taken.theirs} at the provider`)
  say(`  refunded ${givenBack.entries} times, ${givenBack.ours} here and ${givenBack.theirs} at the provider`)
  return [...open, ...differences]
}

requireTools(TOOLS)
const unfit = PGBOUNCER && whyUnfit(PGBOUNCER)
if (unfit) {
  process.stderr.write(`${unfit}\n`)
  process.exit(CANNOT_RUN)
}
enterNamespaces()
const { word, rest } = wordFrom(
  'fault',
  FAULTS.map(({ name }) => name),
)
const { rounds, clients, seed } = numbersFrom({ rounds: 20, clients: 3 }, rest)
say(`failover ${PGBOUNCER ? 'through' : 'without'} PgBouncer, seed ${seed}`)
const differences = await failover(word ? FAULTS.filter(({ name }) => name === word) : FAULTS, rounds, clients, seed)
say(`  differences ${mustBeNone(differences.length)}`)
for (const difference of differences.slice(0, 30)) say(`  FAILED  ${difference}`)
process.exit(differences.length === 0 ? 0 : 1)
