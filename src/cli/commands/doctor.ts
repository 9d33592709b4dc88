import { access, constants, stat, statfs } from 'node:fs/promises'
import { isIP } from 'node:net'
import pg from 'pg'
import { type CommandDeps, openDeps, ownDatabase } from '../../compose.ts'
import { type Config, ConfigError, readConfig } from '../../config/config.ts'
import { knownKeys } from '../../config/generated-keys.ts'
import { findSecretKeyMistake } from '../../database/check-secret-key.ts'
import { checkSessions, withSession } from '../../database/check-sessions.ts'
import type { Queries } from '../../database/database.ts'
import { currentMigration, readMigrations } from '../../database/migrate.ts'
import { secretBox } from '../../kernel/secret-box.ts'
import { EXPIRES_SOON_DAYS } from '../../merchants/credential-limits.ts'
import { listCredentials } from '../../merchants/credential-store.ts'
import { findingsOf, processFindings } from '../../status/findings.ts'
import { readStatus } from '../../status/read-status.ts'
import { readMetrics } from '../api.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { findServiceUrls } from '../running-service.ts'
import { hasDatabase } from '../with-database.ts'

const MAX_COUNTED = 1_000

interface Finding {
  what: string
  ok: boolean
  says: string
  /** Neither well nor a problem. */
  isUnknown?: true
}

const signOf = ({ ok, isUnknown }: Finding) => (isUnknown ? '–' : ok ? '✓' : '✗')

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check settings, data folder, database, migrations, clock, waiting work and the running service',
  options: {},
  async run(options) {
    const findings = await examine()
    const healthy = findings.every(({ ok }) => ok)
    const lines = findings.map((finding) => `${signOf(finding)} ${finding.what.padEnd(12)} ${finding.says}`)
    print(
      options.json,
      { healthy, findings },
      `${lines.join('\n')}\n\n${healthy ? 'No problems found.' : 'Fix the lines marked ✗, then run doctor again.'}`,
    )
    if (!healthy) process.exitCode = 1
  },
}

async function examine(): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [{ what: 'settings', ok: false, says: error.mistakes.join('; ') }]
  }
  const findings = [
    {
      what: 'settings',
      ok: true,
      says: config.databaseUrl ? 'DATABASE_URL is set' : 'no DATABASE_URL: the embedded PostgreSQL is used',
    },
  ]
  findings.push(...proxies(config), await dataFolder(config))
  if (!hasDatabase(config)) {
    const says = 'none yet: start the service once, or set DATABASE_URL or DATA_DIR as for the service'
    return [...findings, { what: 'database', ok: false, says }]
  }

  let deps: CommandDeps
  try {
    deps = await openDeps(config, 'join')
  } catch (error) {
    return [...findings, { what: 'database', ok: false, says: (error as Error).message }]
  }
  try {
    const found = [...(await database(deps.directUrl)), ...(await sessions(config))]
    findings.push(...found)
    if (found.every(({ ok }) => ok))
      findings.push(
        ...(await keys(config, deps.database)),
        ...(await work(deps.database)),
        ...(await credentials(deps.database)),
      )
    findings.push(...(await replica(config)))
  } finally {
    await deps.close()
  }
  return [...findings, ...(await runningService(config))]
}

/** A wide range is not a problem where only proxies have its addresses, which cannot be seen from here. */
function proxies({ trustProxy }: Config): Finding[] {
  const wide = trustProxy.filter((entry) => {
    const [address = '', bits] = entry.split('/')
    return bits !== undefined && Number(bits) < (isIP(address) === 4 ? 24 : 64)
  })
  if (wide.length === 0) return []
  const says = `TRUST_PROXY covers ${wide.join(', ')}: each machine there can pretend another address. Name proxies only`
  return [{ what: 'proxies', ok: true, isUnknown: true, says }]
}

/** With a wrong key no process starts. */
async function keys(config: Config, db: Queries): Promise<Finding[]> {
  const what = 'keys'
  try {
    const { secretKey } = await knownKeys(config)
    if (!secretKey)
      return [{ what, ok: true, isUnknown: true, says: `no SECRET_KEY, and ${config.dataDir} has no generated one` }]
    const mistake = await findSecretKeyMistake(db, secretBox(secretKey, config.previousSecretKey))
    return [{ what, ok: mistake === undefined, says: mistake ?? 'SECRET_KEY can read this database' }]
  } catch (error) {
    return [{ what, ok: false, says: (error as Error).message }]
  }
}

/** What the alerts report, as far as the database tells. */
async function work(db: Queries): Promise<Finding[]> {
  const what = 'work'
  const found = findingsOf(await readStatus(db, MAX_COUNTED), new Date())
  if (found.length === 0) return [{ what, ok: true, says: 'nothing is late, and nothing needs a person' }]
  return found.map(({ alert, says }) => ({ what, ok: false, says: `${says} (${incident(alert)})` }))
}

/** Live credentials that expire soon. */
async function credentials(db: Queries): Promise<Finding[]> {
  const what = 'credentials'
  const expiring = (await listCredentials(db, undefined)).filter(
    ({ mode, expiresSoon }) => mode === 'live' && expiresSoon,
  )
  if (expiring.length === 0)
    return [{ what, ok: true, says: `no live one expires in the next ${EXPIRES_SOON_DAYS} days` }]
  return expiring.map(({ clientId, merchantName, expiresAt }) => ({
    what,
    ok: false,
    says: `${clientId} of ${merchantName} expires at ${expiresAt?.toISOString()}: make another, then revoke it`,
  }))
}

/** What the alerts report, as far as the running service tells in its metrics. */
async function runningService(config: Config): Promise<Finding[]> {
  const what = 'service'
  const { serverUrl } = await findServiceUrls(config)
  const metrics = await readMetrics(serverUrl)
  if (metrics === undefined) {
    const says = `none answers at ${serverUrl}: it is not running, or runs with another DATA_DIR or on another machine`
    return [{ what, ok: true, isUnknown: true, says }]
  }
  const findings = processFindings(metrics)
  if (findings.length === 0) return [{ what, ok: true, says: `answers at ${serverUrl}` }]
  return findings.map(({ alert, says }) => ({ what, ok: false, says: `${says} (${incident(alert)})` }))
}

const incident = (alert: string) => `see ${alert} in docs/operations/incidents.md`

async function dataFolder({ dataDir }: Config): Promise<Finding> {
  const what = 'data folder'
  const known = await stat(dataDir).catch(() => undefined)
  if (!known) return { what, ok: true, says: `${dataDir} does not exist yet; the first start creates it` }
  const writable = await access(dataDir, constants.W_OK).then(
    () => true,
    () => false,
  )
  if (!writable)
    return { what, ok: false, says: `${dataDir} is not writable for this user: change its owner, or set DATA_DIR` }
  const { bavail, bsize } = await statfs(dataDir)
  const freeMib = Math.floor((bavail * bsize) / 2 ** 20)
  if (freeMib < 500)
    return { what, ok: false, says: `only ${freeMib} MiB free on the disk of ${dataDir}: make room, or set DATA_DIR` }
  return { what, ok: true, says: `${dataDir}, ${freeMib} MiB free` }
}

async function database(url: string): Promise<Finding[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    return [
      {
        what: 'database',
        ok: false,
        says: `cannot be reached (${(error as Error).message || 'refused'}): check DATABASE_URL, and that PostgreSQL is up`,
      },
    ]
  }
  try {
    return [await version(client), await migrations(client), await clock(client)]
  } finally {
    await client.end()
  }
}

/** Only asked where PostgreSQL answers: a server that is down has a finding already. */
async function sessions(config: Config): Promise<Finding[]> {
  const own = ownDatabase(config)
  if (!own) return []
  const what = 'connections'
  return checkSessions(own).then(
    () => [{ what, ok: true, says: 'timeouts and durable commits are in force' }],
    (error: Error) => [{ what, ok: false, says: error.message }],
  )
}

/** The service runs without it, so nothing else depends on this finding. */
async function replica({ databaseReadUrl: url }: Config): Promise<Finding[]> {
  if (url === undefined) return []
  const what = 'replica'
  const instead = 'Lists are read from the primary.'
  try {
    const isReplica = await withSession('DATABASE_READ_URL', { connectionString: url }, async (client) => {
      const { rows } = await client.query('select pg_is_in_recovery() as is')
      return rows[0].is as boolean
    })
    if (isReplica)
      return [{ what, ok: true, says: 'answers; lists are read from it while it is 5 seconds behind at most' }]
    return [{ what, ok: false, says: `DATABASE_READ_URL leads to a server that follows no other one. ${instead}` }]
  } catch (error) {
    return [{ what, ok: false, says: `${(error as Error).message} ${instead}` }]
  }
}

async function version(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query(
    "select current_setting('server_version_num')::int as number, current_setting('server_version') as text",
  )
  const ok = rows[0].number >= 150_000
  return {
    what: 'database',
    ok,
    says: ok ? `PostgreSQL ${rows[0].text}` : `PostgreSQL ${rows[0].text} is too old: 15 or newer is needed`,
  }
}

async function migrations(client: pg.Client): Promise<Finding> {
  const known = (await readMigrations()).length
  const current = await currentMigration(client).catch(() => 0)
  const says =
    current === known
      ? `${current} of ${known} applied`
      : current < known
        ? `${current} of ${known} applied: run manilla migrate, or start the service`
        : `the database is at ${current}, this version knows ${known}: use the newer version`
  return { what: 'migrations', ok: current === known || current === known + 1, says }
}

async function clock(client: pg.Client): Promise<Finding> {
  const before = Date.now()
  const { rows } = await client.query('select extract(epoch from clock_timestamp()) * 1000 as now')
  const apartMs = Math.round(Math.abs(Number(rows[0].now) - (before + Date.now()) / 2))
  const ok = apartMs < 2_000
  return {
    what: 'clock',
    ok,
    says: ok ? `${apartMs} ms from the database's` : `${apartMs} ms from the database's: run NTP on both machines`,
  }
}
