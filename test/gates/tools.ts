import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'

/** A program of the operating system that a gate runs, and the Debian package that has it. */
export interface Tool {
  name: string
  path: string
  package: string
}

export interface OsUser {
  uid: number
  gid: number
}

/** Exit code of a gate that cannot run on this machine. */
export const CANNOT_RUN = 2

/** Ends the process with the names of the missing packages. */
export function requireTools(tools: Tool[]): void {
  const missing = tools.filter(({ path }) => !existsSync(path))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  const packages = [...new Set(missing.map((tool) => tool.package))].join(' ')
  process.stderr.write(`Missing: ${names}. Install on Debian: apt-get install --no-install-recommends ${packages}\n`)
  process.exit(CANNOT_RUN)
}

/**
 * The folder with the programs of the newest PostgreSQL server of this machine. The embedded one has no pg_basebackup.
 */
export function postgresFolder(): string {
  const versions = globSync('/usr/lib/postgresql/*/bin/postgres').map((path) => Number(path.split('/')[4]))
  return `/usr/lib/postgresql/${Math.max(15, ...versions)}/bin`
}

export function postgresTools(): Tool[] {
  const bin = postgresFolder()
  const names = ['postgres', 'initdb', 'pg_basebackup']
  return names.map((name) => ({ name, path: `${bin}/${name}`, package: 'postgresql' }))
}

/** PostgreSQL refuses to run as root: under root it runs as `postgres`, else as this user. */
export function databaseUser(): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: ask('-u'), gid: ask('-g') }
}
