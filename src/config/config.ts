import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { isWebhookSecret } from '../events/webhook-secret.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { LEAST_DAYS } from '../kernel/retention.ts'

/** Every setting, read once from the environment. docs/settings.md lists them. */
export interface Config {
  port: number
  /** PORT was given: a busy port is an error. Otherwise the next free port is used. */
  portIsFixed: boolean
  host: string
  /** `{base_url}` of every link; absent: http://localhost:{port}. */
  publicUrl: string | undefined
  databaseUrl: string | undefined
  /** PostgreSQL itself, where DATABASE_URL leads to a pooler: for LISTEN, migrations and advisory locks. */
  databaseDirectUrl: string | undefined
  /** A streaming replica, for lists, charts and exports. */
  databaseReadUrl: string | undefined
  /** Connections of a process, without those for exports (2) and LISTEN (1). */
  databasePool: number
  dataDir: string
  sandboxClientId: string | undefined
  sandboxClientSecret: string | undefined
  sandboxWebhookSecret: string | undefined
  secretKey: Buffer | undefined
  /** Of a rotation: decrypts what is not yet encrypted with SECRET_KEY. */
  previousSecretKey: Buffer | undefined
  role: 'all' | 'api' | 'worker'
  /** Processes that share the port. */
  workers: number
  rateLimit: boolean
  /** The demo shop at /demo. By default on a developer's machine only. */
  demo: boolean
  /**
   * Modes in which webhooks and provider base URLs may lead to private addresses (SSRF). By default `sandbox` on a
   * developer's machine, else `never`.
   */
  webhookAllowPrivate: 'never' | 'sandbox' | 'always'
  logLevel: LogLevel
  /** Sends receipts, alerts, invitations and links for a new password. Absent: no mail, and links are only shown. */
  smtpUrl: string | undefined
  smtpFrom: string | undefined
  /** Gets the alerts of all merchants, signed with the secret. Absent: only members get them, by mail. */
  alertsUrl: string | undefined
  alertsSecret: string | undefined
  /** Base URL of an OpenTelemetry collector. Absent: no traces. */
  otlpEndpoint: string | undefined
  /** Proxies whose X-Forwarded-For header is trusted. */
  trustProxy: string[]
  /** The hour of the day, in UTC, at which the sandbox provider settles. */
  sandboxSettlesAt: number
  /** Days after which rows are deleted; undefined: never. See docs/operations/retention.md. */
  retention: { transportDays: number | undefined; sandboxDays: number | undefined; moneyDays: number | undefined }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

export class ConfigError extends OperatorError {
  readonly mistakes: string[]
  constructor(mistakes: string[]) {
    super(
      `The settings have ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((m) => `  ${m}`).join('\n')}`,
    )
    this.mistakes = mistakes
  }
}

const WEBHOOK_SECRET_RULE =
  'must be whsec_ and 24 to 64 bytes in base64 (create one with: echo whsec_$(openssl rand -base64 32))'

/** Parses the environment. Throws one error that lists all mistakes. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const mistakes: string[] = []
  const given = (name: string) => (env[name]?.trim() ? env[name].trim() : undefined)
  const wrong = (name: string, what: string) => {
    mistakes.push(`${name}: ${what}`)
    return undefined
  }

  function oneOf<Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
    const value = given(name)
    if (value === undefined) return fallback
    if (choices.includes(value as Choice)) return value as Choice
    wrong(name, `"${value}" is not one of ${choices.join(', ')}`)
    return fallback
  }

  function url(name: string, protocols: string[]): URL | undefined {
    const value = given(name)
    if (value === undefined) return undefined
    const parsed = URL.parse(value)
    if (parsed && protocols.includes(parsed.protocol)) return parsed
    return wrong(name, `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`)
  }

  /** `off` is undefined. */
  function days(name: string, fallback: string, least: number, because: string): number | undefined {
    const value = given(name) ?? fallback
    if (value === 'off') return undefined
    if (/^\d{1,5}$/.test(value) && Number(value) >= least) return Number(value)
    return wrong(name, `"${value}" is neither off nor a number of days from ${least}: ${because}`)
  }

  const port = given('PORT') ?? '3000'
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    wrong('PORT', `"${port}" is not a port: 0 (any free one) to 65535`)

  const publicUrl = url('PUBLIC_URL', ['http:', 'https:'])
  if (publicUrl && (publicUrl.search || publicUrl.hash || publicUrl.username)) {
    wrong('PUBLIC_URL', 'must be a plain address like https://pay.example.com, without user, query or fragment')
  }

  const databaseUrl = url('DATABASE_URL', ['postgres:', 'postgresql:'])
  for (const name of ['DATABASE_DIRECT_URL', 'DATABASE_READ_URL']) {
    url(name, ['postgres:', 'postgresql:'])
    if (given(name) !== undefined && given('DATABASE_URL') === undefined) wrong(name, 'needs DATABASE_URL')
  }
  const pool = given('DATABASE_POOL') ?? '10'
  if (!/^\d{1,3}$/.test(pool) || Number(pool) < 2)
    wrong('DATABASE_POOL', `"${pool}" is not a number of connections from 2 to 999`)
  const secretKey = given('SECRET_KEY')
  if (secretKey !== undefined && !isKey(secretKey)) {
    wrong('SECRET_KEY', 'must be 32 bytes in base64 (create one with: openssl rand -base64 32)')
  }
  if (databaseUrl && secretKey === undefined) {
    wrong(
      'SECRET_KEY',
      'is required with DATABASE_URL, because it encrypts stored secrets (create one with: openssl rand -base64 32)',
    )
  }
  const previousKey = given('SECRET_KEY_PREVIOUS')
  if (previousKey !== undefined) {
    if (!isKey(previousKey))
      wrong('SECRET_KEY_PREVIOUS', 'must be 32 bytes in base64: the SECRET_KEY that was used before')
    if (secretKey === undefined) wrong('SECRET_KEY_PREVIOUS', 'needs SECRET_KEY')
    if (previousKey === secretKey) wrong('SECRET_KEY_PREVIOUS', 'must not be the same as SECRET_KEY')
  }

  const clientId = given('SANDBOX_CLIENT_ID')
  const clientSecret = given('SANDBOX_CLIENT_SECRET')
  if ((clientId === undefined) !== (clientSecret === undefined)) {
    wrong(clientId === undefined ? 'SANDBOX_CLIENT_ID' : 'SANDBOX_CLIENT_SECRET', 'is missing: set both, or neither')
  }
  for (const [name, value] of Object.entries({ SANDBOX_CLIENT_ID: clientId, SANDBOX_CLIENT_SECRET: clientSecret })) {
    if (value !== undefined && !/^[\x21-\x7e]{8,200}$/.test(value)) {
      wrong(name, 'must be 8 to 200 printable characters without spaces, because it is sent in a header')
    }
  }

  const webhookSecret = given('SANDBOX_WEBHOOK_SECRET')
  if (webhookSecret !== undefined && !isWebhookSecret(webhookSecret)) {
    wrong('SANDBOX_WEBHOOK_SECRET', WEBHOOK_SECRET_RULE)
  }

  const smtpUrl = url('SMTP_URL', ['smtp:', 'smtps:'])
  const smtpFrom = given('SMTP_FROM')
  if (smtpFrom !== undefined && !/^[^\r\n]*@[^\r\n]+$/.test(smtpFrom))
    wrong('SMTP_FROM', 'must be an address like no-reply@example.com, or Manilla <no-reply@example.com>')

  const alertsUrl = url('ALERTS_URL', ['http:', 'https:'])
  const alertsSecret = given('ALERTS_SECRET')
  if ((alertsUrl === undefined) !== (alertsSecret === undefined))
    wrong(alertsUrl ? 'ALERTS_SECRET' : 'ALERTS_URL', 'is missing: set both, or neither')
  if (alertsSecret !== undefined && !isWebhookSecret(alertsSecret)) wrong('ALERTS_SECRET', WEBHOOK_SECRET_RULE)

  const otlpEndpoint = url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:'])

  const trustProxy = (given('TRUST_PROXY') ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)
  for (const entry of trustProxy) {
    const [address, bits] = entry.split('/')
    const family = isIP(address ?? '')
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
    if (family === 0 || !fits) {
      wrong('TRUST_PROXY', `"${entry}" is not an address or a range like 192.0.2.0/28`)
    }
  }

  const role = oneOf('ROLE', ['all', 'api', 'worker'], 'all')
  const rateLimit = oneOf('RATE_LIMIT', ['on', 'off'], 'on') === 'on'
  const workers = given('WORKERS') ?? '1'
  if (workers !== 'auto' && !/^[1-9]\d{0,2}$/.test(workers))
    wrong('WORKERS', `"${workers}" is not a number of processes from 1 to 999, or auto (one for each core)`)
  // The embedded PostgreSQL has 100 connections: 3 are for the superuser, 6 for its supervisor and for commands. A
  // process needs three beside its pool, for exports and LISTEN.
  const mostWorkers = given('DATABASE_URL') === undefined ? Math.floor(91 / (Number(pool) + 3)) : 999
  if (mostWorkers === 0) wrong('DATABASE_POOL', 'the embedded PostgreSQL serves 88 at most: set DATABASE_URL for more')
  else if (Number(workers) > mostWorkers && /^\d{1,3}$/.test(workers))
    wrong('WORKERS', `the embedded PostgreSQL serves ${mostWorkers} processes at most: set DATABASE_URL for more`)
  const isCluster = workers !== '1'
  // An installation for others does not begin with a shop in which anyone can order.
  const isLocal = publicUrl === undefined || isLoopback(publicUrl.hostname)
  const demo = oneOf('DEMO', ['on', 'off'], isLocal && !isCluster ? 'on' : 'off') === 'on'
  if (demo && isCluster) wrong('DEMO', 'the demo shop keeps its orders in memory: set WORKERS=1, or DEMO=off')
  const host = given('HOST') ?? '127.0.0.1'
  // SSRF guard: on a shared deployment, sandbox credentials must not reach the private network of the service.
  const isDevelopment = given('DATABASE_URL') === undefined && isLoopback(host)
  const webhookAllowPrivate = oneOf(
    'WEBHOOK_ALLOW_PRIVATE',
    ['never', 'sandbox', 'always'],
    isDevelopment ? 'sandbox' : 'never',
  )
  const logLevel = oneOf('LOG_LEVEL', LOG_LEVELS, 'info')
  const settlesAt = given('SANDBOX_SETTLES_AT') ?? '5'
  if (!/^(1?\d|2[0-3])$/.test(settlesAt)) wrong('SANDBOX_SETTLES_AT', `"${settlesAt}" is not an hour from 0 to 23`)
  const retention = {
    transportDays: days(
      'RETENTION_TRANSPORT_DAYS',
      '90',
      LEAST_DAYS.transport,
      'merchants send failed webhooks again for that long',
    ),
    sandboxDays: days(
      'RETENTION_SANDBOX_DAYS',
      '90',
      LEAST_DAYS.sandbox,
      'a link lives for 30 days, an unknown outcome for 7 more',
    ),
    moneyDays: days(
      'RETENTION_MONEY_DAYS',
      'off',
      LEAST_DAYS.live,
      'refunds and disputes of a payment may come for that long',
    ),
  }

  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return {
    port: Number(port),
    portIsFixed: given('PORT') !== undefined,
    host,
    publicUrl: publicUrl?.href.replace(/\/+$/, ''),
    databaseUrl: databaseUrl ? given('DATABASE_URL') : undefined,
    databaseDirectUrl: given('DATABASE_DIRECT_URL'),
    databaseReadUrl: given('DATABASE_READ_URL'),
    databasePool: Number(pool),
    dataDir: given('DATA_DIR') ?? '.data',
    sandboxClientId: clientId,
    sandboxClientSecret: clientSecret,
    sandboxWebhookSecret: webhookSecret,
    secretKey: secretKey === undefined ? undefined : Buffer.from(secretKey, 'base64'),
    previousSecretKey: previousKey === undefined ? undefined : Buffer.from(previousKey, 'base64'),
    role,
    workers: workers === 'auto' ? Math.min(availableParallelism(), mostWorkers) : Number(workers),
    rateLimit,
    demo,
    webhookAllowPrivate,
    logLevel,
    smtpUrl: smtpUrl?.href,
    smtpFrom,
    alertsUrl: alertsUrl?.href,
    alertsSecret,
    otlpEndpoint: otlpEndpoint?.href,
    trustProxy,
    sandboxSettlesAt: Number(settlesAt),
    retention,
  }
}

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text)
}

/** An installation for customers, not a developer's: its links have a certificate. */
export function isPublic({ publicUrl }: Pick<Config, 'publicUrl'>): boolean {
  return publicUrl?.startsWith('https:') ?? false
}

/** Of a socket or of a URL. */
function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || (isIP(host) === 4 && host.startsWith('127.'))
}
