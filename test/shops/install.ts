import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after } from 'node:test'
import pg from 'pg'

const ROOT = join(import.meta.dirname, '../..')
const NODE = join(ROOT, 'node_modules/.bin/node')
const CLIENT = join(ROOT, 'clients/typescript')
/** `SHOPS_FOLDER`: keeps the installed shops, so that the next run takes a minute instead of some. */
const { SHOPS_FOLDER } = process.env

type ShopSystem = 'vendure' | 'medusa'

/**
 * A shop from npm in a temporary folder, with our plug-in as a merchant gets it: packed. The plug-in is built against
 * the types of that shop. No install script of any package runs.
 */
export async function installShop(name: ShopSystem): Promise<string> {
  const folder = await openFolder(name)
  const isInstalled = existsSync(join(folder, 'node_modules'))
  if (!isInstalled) await cp(join(import.meta.dirname, name, 'package.json'), join(folder, 'package.json'))
  await install(folder, await packClient(folder))
  const source = join(folder, 'plugin')
  await rm(source, { recursive: true, force: true })
  await cp(join(ROOT, 'clients', name), source, { recursive: true, filter: isSource })
  await typeCheck(source)
  await install(folder, await pack(name, source, folder, '--ignore-scripts'))
  // After the packages, so that a file of ours is never older than the plug-in that it uses.
  await cp(join(import.meta.dirname, name), folder, {
    recursive: true,
    filter: (path) => !path.endsWith('package.json'),
  })
  return folder
}

/** A shop of `examples/` in a temporary folder, with the packed client instead of a link to it. */
export async function installExample(name: string): Promise<string> {
  const folder = await openFolder(name)
  await cp(join(ROOT, 'examples', name), folder, { recursive: true, filter: isSource })
  await install(folder, await packClient(folder))
  return folder
}

async function openFolder(name: string): Promise<string> {
  if (!SHOPS_FOLDER) {
    const folder = await mkdtemp(join(tmpdir(), `manilla-${name}-`))
    // After all hooks: the shop still writes into its folder until one of them ends it.
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    return folder
  }
  const folder = join(SHOPS_FOLDER, name)
  await mkdir(folder, { recursive: true })
  return folder
}

const isSource = (path: string) => !['node_modules', 'dist', '.next', 'package-lock.json'].includes(basename(path))

/** Runs the compiler of this repository. It writes what the folder's tsconfig.json says. */
export async function typeCheck(folder: string): Promise<void> {
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], folder)
}

export async function versionOf(folder: string, name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return `${name} ${version}`
}

/** `npm pack` builds in the folder of the client, so the tests do it one after the other. */
async function packClient(folder: string): Promise<string> {
  const database = new pg.Client(process.env.TEST_DATABASE_URL)
  await database.connect()
  try {
    await database.query("select pg_advisory_lock(hashtext('npm pack'))")
    return await pack('client', CLIENT, folder, '--ignore-scripts=false')
  } finally {
    await database.end()
  }
}

async function pack(name: string, source: string, folder: string, ...flags: string[]): Promise<string> {
  await run('npm', ['pack', '--loglevel=error', ...flags, '--pack-destination', folder, source], folder)
  return join(folder, `manilla-${name}-0.1.0.tgz`)
}

async function install(folder: string, packed: string): Promise<void> {
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', packed], folder)
}

export function run(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 }
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, out, complaints) =>
      error ? reject(new Error(`${command} ${args.join(' ')}\n${out}${complaints}`)) : resolve(out),
    )
  })
}

/** Starts the program of a shop and waits until its output has `ready`. It is killed at the end of the test. */
export async function startShop(
  args: string[],
  cwd: string,
  env: Record<string, string>,
  ready: string,
): Promise<{ output(): string }> {
  // A group of its own: a shop may start processes that would outlive it.
  const child = spawn(NODE, args, { cwd, env: { ...process.env, ...env }, detached: true })
  child.stdin.end()
  after(async () => {
    if (child.exitCode !== null || !child.pid) return
    process.kill(-child.pid, 'SIGKILL')
    await once(child, 'close')
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (output.includes(ready)) resolve()
      })
    }
    child.once('exit', (code) => reject(new Error(`the shop ended with ${code}:\n${output}`)))
  })
  return { output: () => output }
}
