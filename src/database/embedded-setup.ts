import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { environment, explain, type Home } from './embedded-home.ts'

/** The password and the files, made on the first start; returns the password. Only for whoever has its turn. */
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
  // Whole or not at all: half a password would lock us out of the files that it was made for.
  await writeFile(`${file}.new`, made, { mode: 0o600, flush: true })
  await rename(`${file}.new`, file)
  return made
}

/** Makes the database files. They get their name only when complete, so a start that was cut off leaves no half of them. */
async function ensureCluster(home: Home, password: string): Promise<void> {
  await removeHalves(home)
  if (existsSync(join(home.cluster, 'PG_VERSION'))) return
  // A name of our own: the initdb of a start that was killed may still be busy with another.
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

/** What starts that were cut off left. Their initdb may still be writing: what cannot be removed yet waits for the next start. */
async function removeHalves({ cluster }: Home): Promise<void> {
  const folder = dirname(cluster)
  const halves = (await readdir(folder)).filter((name) => name.startsWith(`${basename(cluster)}.new-`))
  await Promise.allSettled(halves.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}
