import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync } from 'node:fs'
import { chown, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { SESSION_LIMITS } from '../../../src/database/pool.ts'
import { databaseUser, type OsUser } from '../tools.ts'
import { layNetwork } from './network.ts'
import { DatabaseNode } from './node.ts'

const NAMES = ['pg1', 'pg2', 'pg3']
const OPS = join(import.meta.dirname, '../../../ops')
const HAPROXY_PORT = 5_000
const PGBOUNCER_PORT = 6_432
const HEALTHY_WITHIN_MS = 180_000
const LISTENS_WITHIN_MS = 30_000

interface Member {
  name: string
  role: string
  state: string
}

/**
 * Three nodes as docs/operations/failover.md describes them; HAProxy, and PgBouncer if there is one, on the machine of
 * Manilla.
 */
export class Cluster {
  /** Through PgBouncer, if there is one. */
  readonly url: string
  readonly directUrl: string
  readonly nodes: DatabaseNode[]
  readonly #folder: string
  readonly #admin: string
  readonly #pgbouncer: string | undefined

  /** `pgbouncer`: the program. */
  constructor(folder: string, pgbouncer?: string) {
    const newPassword = () => randomBytes(16).toString('hex')
    const passwords = { superuser: newPassword(), replication: newPassword() }
    this.#folder = folder
    this.nodes = NAMES.map((name, index) => new DatabaseNode(name, index + 1, folder, passwords))
    this.#pgbouncer = pgbouncer
    this.#admin = `postgres://postgres:${passwords.superuser}@127.0.0.1:${HAPROXY_PORT}/postgres`
    const password = newPassword()
    const urlOf = (port: number) => `postgres://manilla:${password}@127.0.0.1:${port}/manilla`
    this.directUrl = urlOf(HAPROXY_PORT)
    this.url = urlOf(pgbouncer ? PGBOUNCER_PORT : HAPROXY_PORT)
  }

  async start(): Promise<void> {
    layNetwork(NAMES)
    for (const node of this.nodes) await node.create()
    for (const node of this.nodes) node.start()
    this.#run('haproxy', ['-db', '-f', join(OPS, 'patroni/haproxy.cfg')])
    await this.untilHealthy()
    await this.#createDatabase()
    if (this.#pgbouncer) await this.#startPgbouncer(this.#pgbouncer)
  }

  #run(program: string, args: string[], as?: OsUser): void {
    const log = openSync(join(this.#folder, `${basename(program)}.log`), 'a')
    spawn(program, args, { stdio: ['ignore', log, log], cwd: '/', ...as })
  }

  /** It refuses to run as root. */
  async #startPgbouncer(program: string): Promise<void> {
    const { username, password } = new URL(this.url)
    const users = join(this.#folder, 'userlist.txt')
    const file = join(this.#folder, 'pgbouncer.ini')
    const settings = await readFile(join(OPS, 'pgbouncer/pgbouncer.ini'), 'utf8')
    const changed = settings.replace(/auth_file = .*/, `auth_file = ${users}\nunix_socket_dir =`)
    await writeFile(file, changed, { mode: 0o644 })
    await writeFile(users, `"${username}" "${password}"\n`, { mode: 0o600 })
    const user = databaseUser()
    if (user) await chown(users, user.uid, user.gid)
    this.#run(program, [file], user)
    for (const deadline = performance.now() + LISTENS_WITHIN_MS; ; await pause(100)) {
      const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 })
      client.on('error', () => {}) // the query reports it
      try {
        await client.connect()
        return await client.end()
      } catch (error) {
        if (performance.now() > deadline) throw error
      }
    }
  }

  /** The node that all others follow. */
  async leader(): Promise<DatabaseNode> {
    const name = (await this.#members()).find(({ role }) => role === 'leader')?.name
    const node = this.nodes.find((each) => each.name === name)
    if (!node) throw new Error('the cluster has no leader')
    return node
  }

  /**
   * Until both others follow the leader, one of them synchronously. Returns how long it took. The primary is asked,
   * because a node that comes back may still be listed with its former state.
   */
  async untilHealthy(): Promise<number> {
    const startedAt = performance.now()
    let members: Member[] = []
    for (const deadline = startedAt + HEALTHY_WITHIN_MS; performance.now() < deadline; await pause(500)) {
      members = await this.#members()
      const roles = members.filter(({ state }) => state === 'running' || state === 'streaming').map(({ role }) => role)
      const isListed = roles.length === NAMES.length && roles.includes('leader') && roles.includes('sync_standby')
      if (isListed && (await this.#standbys()) === 'streaming 2, synchronous 1') return performance.now() - startedAt
    }
    throw new Error(`the cluster is not healthy after ${HEALTHY_WITHIN_MS} ms: ${JSON.stringify(members)}`)
  }

  async #standbys(): Promise<string | undefined> {
    const client = new pg.Client({
      connectionString: this.#admin,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
    })
    client.on('error', () => {}) // the query reports it
    try {
      await client.connect()
      const { rows } = await client.query(`
        select format('streaming %s, synchronous %s', count(*), count(*) filter (where sync_state = 'sync')) as found
          from pg_stat_replication where state = 'streaming'`)
      return rows[0].found
    } catch {
      return undefined // it is being replaced
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** As the first node that answers sees it; all have it from etcd. */
  async #members(): Promise<Member[]> {
    for (const { address } of this.nodes) {
      try {
        const response = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(2_000) })
        return ((await response.json()) as { members: Member[] }).members
      } catch {
        // It is down: ask the next one.
      }
    }
    return []
  }

  async #createDatabase(): Promise<void> {
    const { username, password } = new URL(this.url)
    const client = new pg.Client({ connectionString: this.#admin, connectionTimeoutMillis: 10_000 })
    await client.connect()
    await client.query(`create role ${username} login password '${password}'`)
    for (const [name, limitMs] of Object.entries(SESSION_LIMITS))
      await client.query(`alter role ${username} set ${name} = ${limitMs}`)
    await client.query(`create database manilla owner ${username}`)
    await client.end()
  }
}
