// `npm test`: format, lint, types and tests, on a PostgreSQL of its own. `npm test -- src/kernel/ids.test.ts` runs
// those files only. The folders that are left out are gates: test/gates/gates.ts has the list.
// RETRY_FAILED_FILES=1, as CI sets it: each file that failed runs once more. One that passes then is reported as flaky.
// PGBOUNCER names the program that the database is reached through. TEST_ROLES=apart runs the worker in a process of
// its own where a test needs one.
import { spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../src/database/embedded.ts'
import { migrate } from '../src/database/migrate.ts'
import { TEMPLATE, urlOfDatabase } from './support/database.ts'
import { startPgbouncer } from './support/pgbouncer.ts'

const root = join(import.meta.dirname, '..')
const { PGBOUNCER } = process.env
const chosen = process.argv.slice(2).map((file) => relative(root, resolve(file)))
/**
 * The tests beside the code share three processes: most take milliseconds, and loading the code takes a second. Those
 * of the providers, which wait for servers in trouble, take half of the time each.
 */
const UNIT_TESTS = [/^src\/(?!providers\/)/, /^src\/providers\/[a-n]/, /^src\/providers\/[o-z]/]
const THOROUGH = /^test\/(\w+\/thorough|clients|pgbouncer|processes|scale|shops)\//
const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root }).sort()
const files = chosen.length > 0 ? chosen : all.filter((file) => !THOROUGH.test(file))

async function main(): Promise<number> {
  if (chosen.length === 0) {
    const checks = await Promise.all([
      run('biome', ['check', '--error-on-warnings', '.']),
      run('tsc', ['--noEmit']),
      run('tsc', ['--noEmit', '-p', 'web']),
      run('tsc', ['--noEmit', '-p', 'clients/typescript']),
    ])
    if (checks.some((status) => status !== 0)) return 1
  }
  const folder = await mkdtemp(join(tmpdir(), 'manilla-test-'))
  // Four files at once have up to 20 connections each, and each process of unit tests keeps 20 until its end.
  const server = await startEmbedded({ dataDir: folder, purpose: 'own', connections: 300 })
  const pooler = PGBOUNCER ? await startPgbouncer(PGBOUNCER, server.url, join(folder, 'pgbouncer')) : undefined
  if (pooler) process.env.TEST_POOLER_URL = pooler.url
  try {
    await makeTemplate(server.url)
    const failed = await runTests(server.url, folder, files)
    if (failed.length === 0) return 0
    if (!process.env.RETRY_FAILED_FILES) return 1
    process.stdout.write(`\nRunning ${failed.length} failed file(s) once more: ${failed.join(' ')}\n`)
    const failedAgain = await runTests(server.url, folder, failed)
    const flaky = failed.filter((file) => !failedAgain.includes(file))
    for (const file of flaky) process.stdout.write(`FLAKY: ${file} failed, then passed. Find the cause.\n`)
    return failedAgain.length === 0 ? 0 : 1
  } finally {
    await pooler?.stop()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the files that did not pass. */
async function runTests(databaseUrl: string, folder: string, files: string[]): Promise<string[]> {
  const groups = UNIT_TESTS.map((pattern, number) => ({
    files: files.filter((file) => pattern.test(file)),
    name: `unit-tests-${number}`,
  })).filter((group) => group.files.length > 0)
  const others = files.filter((file) => !file.startsWith('src/'))
  const isAlone = groups.length + Math.min(1, others.length) === 1
  const outputOf = ({ name }: { name: string }) => (isAlone ? undefined : join(folder, name))
  const failed = await Promise.all([
    runFiles(databaseUrl, join(folder, 'passed-files'), others, concurrencyOf(others)),
    ...groups.map((group) => {
      const list = join(folder, `passed-${group.name}`)
      return runFiles(databaseUrl, list, group.files, ['--test-isolation=none'], outputOf(group))
    }),
  ])
  // Printed after the others: two reports at once cannot be read.
  for (const output of groups.map(outputOf)) if (output) process.stdout.write(await readFile(output))
  return failed.flat()
}

const isThorough = (files: string[]) => files.some((file) => THOROUGH.test(file))

/** Quick tests wait a third of their time. Thorough ones are busy: browsers, several processes. */
const concurrencyOf = (files: string[]) => [`--test-concurrency=${isThorough(files) ? 2 : 4}`]

async function runFiles(
  databaseUrl: string,
  list: string,
  files: string[],
  options: string[],
  output?: string,
): Promise<string[]> {
  if (files.length === 0) return []
  await rm(list, { force: true })
  const args = [
    `--import=${join(root, 'test/support/blocking-output.ts')}`,
    // The limit is for a whole file, and a thorough one may take minutes.
    ...['--test', `--test-timeout=${isThorough(files) ? 600_000 : 120_000}`, '--test-force-exit', ...options],
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[
      `--test-reporter=${join(root, 'test/support/passed-files-reporter.ts')}`,
      `--test-reporter-destination=${list}`,
    ],
    ...files,
  ]
  // A process for each file, and more within: compiling the same modules each time would be a fifth of all the work.
  const NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/node')
  const status = await run('node', args, { env: { TEST_DATABASE_URL: databaseUrl, NODE_COMPILE_CACHE }, output })
  // The exit code alone does not tell: the runner once ended with 0 and had lost the report of a file.
  const listed = existsSync(list) ? (await readFile(list, 'utf8')).split('\n').filter(Boolean) : []
  const passed = new Set(listed.map((file) => relative(root, file)))
  const failed = files.filter((file) => !passed.has(file))
  for (const file of status === 0 ? failed : []) process.stdout.write(`No report of ${file}\n`)
  // The runner itself failed: nothing is known to have passed.
  return status !== 0 && failed.length === 0 ? files : failed
}

/**
 * Migrated once; each test file gets a copy of it. A power cut may cost the tests their data, so nothing waits for the
 * disk.
 */
async function makeTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('alter system set fsync = off')
  await client.query('alter system set full_page_writes = off')
  await client.query('select pg_reload_conf()')
  await client.query(`create database ${TEMPLATE}`)
  await client.end()
  await migrate(urlOfDatabase(url, TEMPLATE))
}

/** `output`: a file for what it prints. */
async function run(
  command: string,
  args: string[],
  { env = {}, output }: { env?: Record<string, string>; output?: string | undefined } = {},
): Promise<number> {
  const file = output ? await open(output, 'w') : undefined
  const child = spawn(join(root, 'node_modules/.bin', command), args, {
    cwd: root,
    stdio: ['inherit', file?.fd ?? 'inherit', file?.fd ?? 'inherit'],
    env: { ...process.env, ...env },
  })
  const status = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(1))
    child.once('exit', (code) => resolve(code ?? 1))
  })
  await file?.close()
  return status
}

process.exitCode = await main()
