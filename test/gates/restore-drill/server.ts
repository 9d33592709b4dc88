import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync } from 'node:fs'
import { appendFile, chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { endChild } from '../processes.ts'
import { databaseUser, postgresFolder } from '../tools.ts'

const START_WITHIN_MS = 60_000

/** A PostgreSQL with continuous archiving, made of the server programs of this machine. */
export class ArchivingServer {
  readonly url: string
  readonly #folder: string
  readonly #port: number
  readonly #password = randomBytes(16).toString('hex')
  readonly #bin = postgresFolder()
  readonly #user = databaseUser()
  #child: ChildProcess | undefined

  constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
    this.url = `postgres://manilla:${this.#password}@127.0.0.1:${port}/postgres`
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  /**
   * `settings`: lines of postgresql.conf. `script` archives a segment. Both name `/srv/backup` as the place of the
   * backup.
   */
  async create(settings: string, script: string): Promise<void> {
    for (const name of ['', 'data', 'backup', 'backup/wal', 'backup/base']) await this.#makeFolder(name)
    await chmod(await this.#write('archive-wal', this.#placed(script)), 0o700)
    const password = await this.#write('password', this.#password)
    this.#run('initdb', ['-D', this.#data, '--username=manilla', '--auth=scram-sha-256', `--pwfile=${password}`])
    await this.#configure(
      `port = ${this.#port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n${settings}`,
    )
  }

  async start(): Promise<void> {
    const log = openSync(join(this.#folder, 'postgres.log'), 'a')
    const child = spawn(join(this.#bin, 'postgres'), ['-D', this.#data], {
      cwd: this.#folder,
      stdio: ['ignore', log, log],
      ...this.#user,
    })
    this.#child = child
    for (const deadline = performance.now() + START_WITHIN_MS; ; await pause(100)) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended: ${await this.#log()}`)
      // It answers read-only queries before the recovery has ended.
      if ((await this.ask('select not pg_is_in_recovery() as done').catch(() => undefined))?.done) return
      if (performance.now() > deadline) throw new Error(`PostgreSQL did not start: ${await this.#log()}`)
    }
  }

  baseBackup(name: string): void {
    const folder = join(this.#folder, 'backup/base', name)
    this.#run('pg_basebackup', ['--dbname', this.url, '--pgdata', folder, '--checkpoint=fast'])
  }

  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the columns
  async ask(query: string): Promise<Record<string, any> | undefined> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {}) // the query reports it
    try {
      await client.connect()
      return (await client.query(query)).rows[0]
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Resolves when everything up to now is in the archive. */
  async archiveAll(): Promise<void> {
    const segment = (await this.ask('select pg_walfile_name(pg_current_wal_lsn()) as name'))?.name
    await this.ask('select pg_switch_wal()')
    for (const deadline = performance.now() + START_WITHIN_MS; performance.now() < deadline; await pause(200)) {
      const last = (await this.ask('select last_archived_wal as name from pg_stat_archiver'))?.name
      if (last >= segment) return
    }
    throw new Error(`${segment} was not archived`)
  }

  /** `kill -9`, and the data folder is gone. */
  async destroy(): Promise<void> {
    await this.stop('SIGKILL')
    await rm(this.#data, { recursive: true, force: true })
  }

  /**
   * Copies the base backup to the data folder. `settings`: lines of postgresql.conf for the recovery, which are removed
   * after it.
   */
  async restore(settings: string): Promise<void> {
    this.#run('/bin/cp', ['-a', join(this.#folder, 'backup/base/1'), this.#data])
    const before = await readFile(join(this.#data, 'postgresql.conf'), 'utf8')
    await this.#configure(settings)
    await this.#write('data/recovery.signal', '')
    await this.start()
    await this.#write('data/postgresql.conf', before)
    await this.stop()
    await this.start()
  }

  /** Archives a text in place of a segment. Returns whether the script succeeded. */
  async archive(name: string, text: string): Promise<boolean> {
    const file = await this.#write('segment', text)
    return spawnSync(join(this.#folder, 'archive-wal'), [file, name], { cwd: this.#folder, ...this.#user }).status === 0
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    await endChild(child, signal)
  }

  async #configure(settings: string): Promise<void> {
    await appendFile(join(this.#data, 'postgresql.conf'), `\n${this.#placed(settings)}\n`)
  }

  /** With the folders of this server in place of those of the page. */
  #placed(text: string): string {
    return text
      .replaceAll('/srv/backup', join(this.#folder, 'backup'))
      .replaceAll('/usr/local/bin/archive-wal', join(this.#folder, 'archive-wal'))
  }

  async #write(name: string, text: string): Promise<string> {
    const file = join(this.#folder, name)
    await writeFile(file, text, { mode: 0o600 })
    if (this.#user) await chown(file, this.#user.uid, this.#user.gid)
    return file
  }

  async #log(): Promise<string> {
    return (await readFile(join(this.#folder, 'postgres.log'), 'utf8')).slice(-2_000)
  }

  async #makeFolder(name: string): Promise<void> {
    const folder = join(this.#folder, name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (this.#user) await chown(folder, this.#user.uid, this.#user.gid)
  }

  #run(program: string, args: string[]): void {
    const path = program.startsWith('/') ? program : join(this.#bin, program)
    const { status, stderr } = spawnSync(path, args, { cwd: this.#folder, encoding: 'utf8', ...this.#user })
    if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
  }
}
