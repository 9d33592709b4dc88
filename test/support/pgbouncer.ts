import { spawn, spawnSync } from 'node:child_process'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { SESSION_LIMITS } from '../../src/database/pool.ts'
import { urlOfDatabase } from './database.ts'
import { freePort } from './free-port.ts'

const ROLE = 'pooled'
const PASSWORD = 'pooled'
/** Fewer than the connections of one service, so that these share sessions of PostgreSQL. */
const SESSIONS_PER_DATABASE = 6

/** PgBouncer ends with the pipe, and so with our process. */
const GUARDED = '"$0" "$1" & read -r _; kill -TERM $!; kill -INT $!; wait'

export interface PgBouncer {
  /** Of the same database as the server's URL. */
  url: string
  stop(): Promise<void>
}

/** For a test run: PgBouncer in transaction mode, with a role that has the settings of docs/operations/database.md. */
export async function startPgbouncer(program: string, serverUrl: string, folder: string): Promise<PgBouncer> {
  const unfit = whyUnfit(program)
  if (unfit) throw new Error(unfit)
  await makeRole(serverUrl)
  return openPgbouncer(program, serverUrl, folder)
}

/** Why this program cannot be used, if so. */
export function whyUnfit(program: string): string | undefined {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const version = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '')
  if (version && Number(version[1]) * 100 + Number(version[2]) >= 121) return undefined
  return (
    `${version?.[0] ?? `No PgBouncer (${program})`}: version 1.21 or newer is needed. ` +
    'Install it (Debian 13: apt-get install pgbouncer), or name the program: PGBOUNCER=/path/to/pgbouncer'
  )
}

/** Another one, with other settings. */
export async function openPgbouncer(
  program: string,
  serverUrl: string,
  folder: string,
  changes: Record<string, string | number> = {},
): Promise<PgBouncer> {
  const port = await freePort()
  const { hostname, port: serverPort } = new URL(serverUrl)
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users.txt'),
    pool_mode: 'transaction',
    max_prepared_statements: 200,
    default_pool_size: SESSIONS_PER_DATABASE,
    max_client_conn: 1_000,
    server_idle_timeout: 5,
    ...changes,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(folder, 'pgbouncer.ini')
  await mkdir(folder, { recursive: true })
  await writeFile(file, `[databases]\n* = host=${hostname} port=${serverPort}\n[pgbouncer]\n${lines.join('\n')}\n`)
  await writeFile(settings.auth_file, `"${ROLE}" "${PASSWORD}"\n`)
  const runAs = postgresUser()
  if (runAs) for (const each of [folder, file, settings.auth_file]) await chown(each, runAs.uid, runAs.gid)
  const child = spawn('/bin/sh', ['-c', GUARDED, program, file], { stdio: 'pipe', cwd: '/', ...runAs })
  child.stdout.resume()
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = new URL(serverUrl)
  url.username = ROLE
  url.password = PASSWORD
  url.port = String(port)
  const stop = async () => {
    child.stdin.end()
    await exited
  }
  const deadline = Date.now() + 10_000
  while (!(await answers(url.href))) {
    if (Date.now() < deadline) continue
    await stop()
    throw new Error(`PgBouncer did not start: ${output}`)
  }
  return { url: url.href, stop }
}

/** PgBouncer refuses to run as root. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: ask('-u'), gid: ask('-g') }
}

async function makeRole(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOfDatabase(serverUrl, 'postgres') })
  await client.connect()
  await client.query(`create role ${ROLE} superuser login password '${PASSWORD}'`)
  for (const [name, limitMs] of Object.entries(SESSION_LIMITS))
    await client.query(`alter role ${ROLE} set ${name} = ${limitMs}`)
  await client.end()
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 50))
    return false
  }
}
