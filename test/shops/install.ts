import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const NODE = join(ROOT, 'node_modules/.bin/node')
const CLIENT = join(ROOT, 'clients/typescript')
/** `SHOPS_FOLDER`: keeps the installed shops, so that the next run takes a minute instead of some. */
const { SHOPS_FOLDER } = process.env

type ShopSystem = 'vendure' | 'medusa'

/**
 * A shop from npm in a temporary folder, with our plug-in as a merchant gets it: packed. The plug-in is built against the types of that
 * shop. No install script of any package runs.
 */
export async function installShop(name: ShopSystem): Promise<string> {
  const folder = SHOPS_FOLDER ? join(SHOPS_FOLDER, name) : await mkdtemp(join(tmpdir(), `manilla-${name}-`))
  if (!SHOPS_FOLDER) after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(folder, { recursive: true })
  const isInstalled = existsSync(join(folder, 'node_modules'))
  if (!isInstalled) await cp(join(import.meta.dirname, name, 'package.json'), join(folder, 'package.json'))
  await install(folder, await pack('client', CLIENT, folder))
  const source = join(folder, 'plugin')
  await rm(source, { recursive: true, force: true })
  const filter = (path: string) => !['node_modules', 'dist'].includes(basename(path))
  await cp(join(ROOT, 'clients', name), source, { recursive: true, filter })
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', source], folder)
  await install(folder, await pack(name, source, folder, '--ignore-scripts'))
  // After the packages, so that a file of ours is never older than the plug-in that it uses.
  await cp(join(import.meta.dirname, name), folder, {
    recursive: true,
    filter: (path) => !path.endsWith('package.json'),
  })
  return folder
}

export async function versionOf(folder: string, name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return `${name} ${version}`
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
  const child = spawn(NODE, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  after(() => child.kill('SIGKILL'))
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
