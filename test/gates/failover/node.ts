import { type ChildProcess, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { signal } from '../../../src/database/os-process.ts'
import { endChild } from '../processes.ts'
import { databaseUser, postgresFolder } from '../tools.ts'
import { connectNode, processesOn } from './network.ts'

const OPS = join(import.meta.dirname, '../../../ops/patroni')
const GONE_WITHIN_MS = 60_000

export interface Passwords {
  superuser: string
  replication: string
}

/** A machine of the database: etcd, Patroni and PostgreSQL, in a network namespace of its own. */
export class DatabaseNode {
  readonly name: string
  readonly address: string
  readonly #folder: string
  readonly #passwords: Passwords
  #patroni: ChildProcess | undefined

  constructor(name: string, number: number, folder: string, passwords: Passwords) {
    this.name = name
    this.address = `10.0.0.${number}`
    this.#folder = join(folder, name)
    this.#passwords = passwords
  }

  async create(): Promise<void> {
    const user = databaseUser()
    for (const folder of [this.#folder, join(this.#folder, 'etcd')]) {
      await mkdir(folder, { mode: 0o700 })
      if (user) await chown(folder, user.uid, user.gid)
    }
    const settings = await readFile(join(OPS, 'patroni.yml'), 'utf8')
    const changed = settings
      .replace(/data_dir: .*/, `data_dir: ${this.#folder}/data`)
      .replace(/bin_dir: .*/, `bin_dir: ${postgresFolder()}`)
      // By default, all nodes on one machine would share the folder of sockets and the file with passwords.
      .concat(`  pgpass: ${this.#folder}/pgpass\n`)
      .concat(`  parameters:\n    unix_socket_directories: ${this.#folder}\n    shared_buffers: 32MB\n`)
    await writeFile(this.#settings, changed, { mode: 0o644 })
  }

  start(): void {
    this.#run('etcd', [
      ...['--name', this.name, '--data-dir', join(this.#folder, 'etcd')],
      ...['--listen-client-urls', 'http://0.0.0.0:2379', '--advertise-client-urls', `http://${this.address}:2379`],
      ...['--listen-peer-urls', 'http://0.0.0.0:2380', '--initial-advertise-peer-urls', `http://${this.address}:2380`],
      ...['--initial-cluster', [1, 2, 3].map((n) => `pg${n}=http://10.0.0.${n}:2380`).join(), '--log-level', 'warn'],
      ...['--enable-v2', '--heartbeat-interval', '200', '--election-timeout', '1500'],
    ])
    this.#patroni = this.#run('patroni', [this.#settings])
  }

  /** `kill -9` of everything on it, as a power failure does. */
  kill(): void {
    this.#signalAll('SIGKILL')
  }

  /** Everything on it stops and keeps its connections, as a machine whose disk or hypervisor hangs. */
  freeze(): void {
    this.#signalAll('SIGSTOP')
  }

  thaw(): void {
    this.#signalAll('SIGCONT')
  }

  cutOff(): void {
    connectNode(this.name, false)
  }

  connect(): void {
    connectNode(this.name, true)
  }

  /** Patroni stops PostgreSQL and hands the leadership over, as `systemctl stop patroni` does. */
  async stop(): Promise<void> {
    await endChild(this.#patroni, 'SIGTERM')
    this.#signalAll('SIGKILL')
    for (const deadline = performance.now() + GONE_WITHIN_MS; processesOn(this.name).length > 0; await pause(100))
      if (performance.now() > deadline) throw new Error(`${this.name} did not stop`)
  }

  get #settings(): string {
    return join(this.#folder, 'patroni.yml')
  }

  #signalAll(name: NodeJS.Signals): void {
    for (const pid of processesOn(this.name)) signal(pid, name)
  }

  #run(program: string, args: string[]): ChildProcess {
    const log = openSync(join(this.#folder, `${program}.log`), 'a')
    const asUser = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', program, ...args]
    const { superuser, replication } = this.#passwords
    return spawn('ip', ['netns', 'exec', this.name, ...asUser], {
      cwd: this.#folder,
      stdio: ['ignore', log, log],
      env: {
        PATH: process.env.PATH,
        LANG: 'C.UTF-8',
        PATRONI_NAME: this.name,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `${this.address}:8008`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${this.address}:5432`,
        PATRONI_SUPERUSER_USERNAME: 'postgres',
        PATRONI_SUPERUSER_PASSWORD: superuser,
        PATRONI_REPLICATION_USERNAME: 'replicator',
        PATRONI_REPLICATION_PASSWORD: replication,
      },
    })
  }
}
