// `npm run gate -- restore-drill`: follows docs/operations/backup.md. Customers pay while a base backup is taken; then
// the database is destroyed and restored to a moment before the last payments and refunds. `manilla audit --provider
// --repair` must find all of them, and after the lost payments are adopted, our records must equal the provider's
// ledger. --payments 10 of each kind; --seed N to repeat a run.
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { numbersFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { manilla } from '../manilla.ts'
import { mustBeNone } from '../report.ts'
import { postgresTools, requireTools } from '../tools.ts'
import { openMarket } from '../whole-payments/market.ts'
import { freePort, Processes } from '../whole-payments/processes.ts'
import { compareWithLedger } from './compare.ts'
import { adopt, repair } from './repair.ts'
import { ArchivingServer } from './server.ts'
import { payAfter, payBefore } from './trade.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/operations/backup.md'), 'utf8')

/** The script and the lines of postgresql.conf that the page tells the operator to write. */
function textOf(step: 'script' | 'archive' | 'restore'): string {
  const block = new RegExp(`<!-- used by the gate restore-drill: ${step} -->\\n *\`\`\`\\w+\\n([^\`]+)\`\`\``).exec(
    PAGE,
  )?.[1]
  if (!block) throw new Error(`docs/operations/backup.md has no text for "${step}"`)
  return block.replaceAll(/^ +/gm, '')
}

async function drill(payments: number, seed: number): Promise<{ lines: string[]; differences: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-restore-'))
  await chmod(folder, 0o711) // PostgreSQL may run as another user
  const server = new ArchivingServer(join(folder, 'postgres'), await freePort())
  const processes = await Processes.on(server.url, folder)
  const ends: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true }), () => server.stop()]
  try {
    await server.create(textOf('archive'), textOf('script'))
    await server.start()
    ends.push(() => processes.end())
    await processes.start('worker', 'api')
    const market = await openMarket(processes, seed)
    ends.push(() => market.close())

    const before = await payBefore(market, payments, () => server.baseBackup('1'))
    const at: Date = (await server.ask('select clock_timestamp() as at'))?.at
    const lost = await payAfter(market, payments, before)
    await server.archiveAll()
    await processes.end()
    await server.destroy()

    const restoredAt = performance.now()
    await server.restore(
      textOf('restore').replace(/'2026-[^']+'/, `'${at.toISOString().replace('T', ' ').replace('Z', '+00')}'`),
    )
    await server.archiveAll() // by the restored server
    server.baseBackup('2')
    const archived = [await server.archive('X', 'a'), await server.archive('X', 'a'), await server.archive('X', 'b')]
    if (archived.join() !== 'true,true,false') throw new Error(`the archive script answered ${archived}`)
    await processes.start('worker')
    const restoredSeconds = Math.round((performance.now() - restoredAt) / 1_000)
    const repaired = await repair(processes)
    await processes.start('api')
    const adopted = await adopt(processes, market, lost)
    const differences = [...(await compareWithLedger(market, processes)), ...repaired.left, ...adopted.left]
    if (adopted.count !== payments) differences.push(`${payments} payments were lost, ${adopted.count} are unmatched`)
    const { counts } = repaired
    // The worker makes some of the checks by its own schedule, before the repair asks for them.
    const found = `${counts.transactions} transactions and ${counts.refunds} refunds differed, ${adopted.count} adopted`
    const { out } = await manilla(processes, ['audit'])
    return {
      lines: [
        `restore point    ${at.toISOString()}, restored and running after ${restoredSeconds} s`,
        `repaired         ${found}, in ${repaired.rounds} rounds`,
        `audit            ${out.trim().split('\n').at(-1)}`,
      ],
      differences,
    }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

requireTools(postgresTools())
const { payments, seed } = numbersFrom({ payments: 10 })
process.stdout.write(`restore drill, seed ${seed}\n`)
const { lines, differences } = await drill(payments, seed)
for (const line of lines) process.stdout.write(`  ${line}\n`)
process.stdout.write(`  differences      ${mustBeNone(differences.length)}\n`)
for (const difference of differences.slice(0, 30)) process.stdout.write(`  FAILED  ${difference}\n`)
recordFigures({ restores: 1, differences: differences.length })
process.exitCode = differences.length === 0 ? 0 : 1
