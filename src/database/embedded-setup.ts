import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { environment, explain, type Home } from './embedded-home.ts'

/** Creates password and data files on the first start and returns the password. The caller holds the start lock. */
export async function setUp(home: Home): Promise<string> {
  try {
    const password = await ensurePassword(home)
    await ensureCluster(home, password)
    return password
  } catch (error) {
    throw error instanceof OperatorError
      ? error
      : explain('The embedded PostgreSQL could not be set up', home, String(error))
  }
}

async function ensurePassword(home: Home): Promise<string> {
  const file = join(home.dataDir, 'postgres-password')
  const known = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (known) return known
  const made = randomBytes(24).toString('base64url')
  // Written atomically: a partial password would make the data files unusable.
  await writeFile(`${file}.new`, made, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  return made
}

/**
 * Creates the data files under a temporary name and renames them when complete, so that an interrupted start leaves no
 * partial files.
 */
async function ensureCluster(home: Home, password: string): Promise<void> {
  await removeHalves(home)
  if (existsSync(join(home.cluster, 'PG_VERSION'))) return
  // A unique name: the initdb of a killed start may still be writing to another.
  const half = `${home.cluster}.new-${process.pid}`
  const passwordFile = `${half}.password`
  await mkdir(half, { recursive: true, mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (home.runAs) {
    await chown(half, home.runAs.uid, home.runAs.gid)
    await chown(passwordFile, home.runAs.uid, home.runAs.gid)
  }
  const { status, stdout, stderr, error } = spawnSync(
    home.binaries.initdb,
    [
      '-D',
      half,
      '-U',
      'manilla',
      '-A',
      'scram-sha-256',
      '--pwfile',
      passwordFile,
      '-E',
      'UTF8',
      '--locale=C',
      '--no-instructions',
    ],
    { encoding: 'utf8', env: environment(), cwd: half, ...home.runAs },
  )
  await rm(passwordFile, { force: true })
  if (status !== 0) {
    await rm(half, { recursive: true, force: true })
    throw explain('The embedded PostgreSQL could not be set up', home, `${stdout}${stderr}${error?.message ?? ''}`)
  }
  await rename(half, home.cluster)
}

/**
 * Removes the files of interrupted starts. Their initdb may still be writing; such files are left to the next start.
 */
async function removeHalves({ cluster }: Home): Promise<void> {
  const folder = dirname(cluster)
  const halves = (await readdir(folder)).filter((name) => name.startsWith(`${basename(cluster)}.new-`))
  await Promise.allSettled(halves.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}
