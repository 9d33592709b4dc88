// `npm run gate -- upgrade`: an old version and the working tree on one database, under load. Each process is replaced
// in turn, to the new version and back to the old one; no request may fail, and every payment must be paid once. The
// old version is the last released tag, and before there is one the commit that will be the first release. If that is
// this commit, the test shows that a restart loses nothing.
// --from <commit>: another old version, for example one without the newest migration.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connect } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { type ServiceProcess, startProcess } from '../../support/process.ts'
import { withServer } from '../server.ts'
import { UpgradeLoad } from './load.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FIRST_MIGRATION = 'migrations/0001_schema.sql'
const CLIENTS = 4
/** Between two replacements. */
const PAYMENTS_BETWEEN = 20

function oldCommit(): string {
  const { values } = parseArgs({ options: { from: { type: 'string' } } })
  if (values.from) return values.from
  const { status, stdout } = spawnSync('git', ['describe', '--tags', '--abbrev=0'], { cwd: ROOT, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : firstRelease()
}

/**
 * The first commit with the first migration as it is now: databases of older ones cannot be upgraded. No later
 * migration may be there.
 */
function firstRelease(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  if (git('status', '--porcelain', '--', FIRST_MIGRATION))
    throw new Error(`Commit the change of ${FIRST_MIGRATION} first.`)
  const commit = git('log', '-1', '--format=%h', '--', FIRST_MIGRATION)
  const migrations = git('ls-tree', '--name-only', commit, 'migrations/')
  if (migrations !== FIRST_MIGRATION)
    throw new Error(
      `${commit} changes ${FIRST_MIGRATION} beside later migrations. Name an old version with --from <commit>.`,
    )
  return commit
}

/** The old version in a folder of its own, with its own dependencies if they differ. */
async function checkOut(commit: string, folder: string): Promise<string> {
  const root = join(folder, 'old')
  await mkdir(root)
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x'], { cwd: root, input: archive })
  const [theirs, ours] = await Promise.all(
    [root, ROOT].map((each) => readFile(join(each, 'package-lock.json'), 'utf8')),
  )
  if (theirs === ours) await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  else {
    // Old versions got their Node from an install script.
    const flags = ['--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', ['ci', ...flags], { cwd: root, stdio: 'inherit' })
  }
  return root
}

async function upgrade(commit: string, folder: string, databaseUrl: string): Promise<boolean> {
  const roots = { old: await checkOut(commit, folder), new: ROOT }
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: folder,
    SANDBOX_CLIENT_ID: 'upgrade-client',
    SANDBOX_CLIENT_SECRET: 'upgrade-secret',
    RATE_LIMIT: 'off',
    DEMO: 'off',
    LOG_LEVEL: 'warn',
  }
  const running: ServiceProcess[] = []
  const start = async (version: 'old' | 'new') => void running.push(await startProcess(env, { root: roots[version] }))
  /** The new process takes requests before the first one stops, as behind a load balancer. */
  const replaceFirst = async (version: 'old' | 'new') => {
    await start(version)
    const first = running.shift()
    first?.child.kill('SIGTERM')
    const code = await first?.exited
    if (code !== 0) throw new Error(`a process ended with ${code}:\n${first?.output()}`)
  }
  try {
    await start('old')
    await start('old')
    const load = new UpgradeLoad(() => running.map(({ baseUrl, headers }) => ({ baseUrl, headers })), CLIENTS)
    try {
      for (const version of ['new', 'new', 'old', 'old', 'new', 'new'] as const) {
        await load.paid(PAYMENTS_BETWEEN)
        await replaceFirst(version)
        process.stdout.write(`replaced by the ${version} version, ${load.count} payments\n`)
      }
      await load.paid(PAYMENTS_BETWEEN)
    } finally {
      await load.stop()
    }
    const database = connect({ url: databaseUrl })
    const doubled = await database.rows(sql`
      select payment_id from events where place between 0 and 1023 and type = 'payment.successful'
       group by payment_id having count(*) > 1`)
    await database.close()
    const { count, failures } = load
    process.stdout.write(`${count} payments from ${commit} to the working tree and back: ${failures.length} failures\n`)
    for (const failure of failures.slice(0, 10)) process.stdout.write(`  ${failure}\n`)
    if (doubled.length > 0) process.stdout.write(`${doubled.length} payments succeeded twice\n`)
    return failures.length === 0 && doubled.length === 0
  } finally {
    for (const { child } of running) child.kill('SIGKILL')
    await Promise.all(running.map(({ exited }) => exited))
  }
}

try {
  const commit = oldCommit()
  const isRight = await withServer('upgrade', ({ folder, databaseUrl }) => upgrade(commit, folder, databaseUrl))
  process.exitCode = isRight ? 0 : 1
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
