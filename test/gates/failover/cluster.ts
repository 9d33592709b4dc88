import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { pause } from '../chaos/door.ts'
import { layNetwork } from './network.ts'
import { DatabaseNode } from './node.ts'

const NAMES = ['pg1', 'pg2', 'pg3']
const HAPROXY = join(import.meta.dirname, '../../../ops/patroni/haproxy.cfg')
const HEALTHY_WITHIN_MS = 180_000

interface Member {
  name: string
  role: string
  state: string
}

/** Three nodes as docs/operations/failover.md describes them, and HAProxy on the machine of Manilla. */
export class Cluster {
  readonly url: string
  readonly nodes: DatabaseNode[]
  readonly #folder: string
  readonly #admin: string

  constructor(folder: string) {
    const newPassword = () => randomBytes(16).toString('hex')
    const passwords = { superuser: newPassword(), replication: newPassword() }
    this.#folder = folder
    this.nodes = NAMES.map((name, index) => new DatabaseNode(name, index + 1, folder, passwords))
    this.#admin = `postgres://postgres:${passwords.superuser}@127.0.0.1:5000/postgres`
    this.url = `postgres://manilla:${newPassword()}@127.0.0.1:5000/manilla`
  }

  async start(): Promise<void> {
    layNetwork(NAMES)
    for (const node of this.nodes) await node.create()
    for (const node of this.nodes) node.start()
    const log = openSync(join(this.#folder, 'haproxy.log'), 'a')
    spawn('haproxy', ['-db', '-f', HAPROXY], { stdio: ['ignore', log, log] })
    await this.untilHealthy()
    await this.#createDatabase()
  }

  /** The node that all others follow. */
  async leader(): Promise<DatabaseNode> {
    const name = (await this.#members()).find(({ role }) => role === 'leader')?.name
    const node = this.nodes.find((each) => each.name === name)
    if (!node) throw new Error('the cluster has no leader')
    return node
  }

  /**
   * Until both others follow the leader, one of them synchronously. Returns how long it took. The primary is asked, because a node that
   * comes back may still be listed with its former state.
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
    await client.query(`create database manilla owner ${username}`)
    await client.end()
  }
}
