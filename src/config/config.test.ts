import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from './config.ts'

const KEY = Buffer.alloc(32, 1).toString('base64')

function mistakesOf(env: Record<string, string>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.mistakes
  }
}

test('with nothing set there is a default for everything', () => {
  const config = readConfig({})
  assert.deepEqual(
    { ...config },
    {
      port: 3000,
      portIsFixed: false,
      host: '127.0.0.1',
      publicUrl: undefined,
      databaseUrl: undefined,
      databaseDirectUrl: undefined,
      databaseReadUrl: undefined,
      databasePool: 10,
      dataDir: '.data',
      sandboxClientId: undefined,
      sandboxClientSecret: undefined,
      sandboxWebhookSecret: undefined,
      sandboxSettlesAt: 5,
      secretKey: undefined,
      previousSecretKey: undefined,
      role: 'all',
      workers: 1,
      rateLimit: true,
      demo: true,
      webhookAllowPrivate: 'sandbox',
      logLevel: 'info',
      smtpUrl: undefined,
      smtpFrom: undefined,
      alertsUrl: undefined,
      alertsSecret: undefined,
      otlpEndpoint: undefined,
      trustProxy: [],
      retention: { transportDays: 90, sandboxDays: 90, moneyDays: undefined },
    },
  )
})

test('private webhook addresses are refused by default with DATABASE_URL or a HOST that is not loopback', () => {
  const allowed = (env: Record<string, string>) => readConfig(env).webhookAllowPrivate
  const own = { DATABASE_URL: 'postgres://localhost/manilla', SECRET_KEY: KEY }
  for (const HOST of ['127.0.0.1', '127.0.0.2', 'localhost', '::1']) assert.equal(allowed({ HOST }), 'sandbox', HOST)
  for (const HOST of ['0.0.0.0', '::', '10.0.0.5', 'pay.example.com', '127.example.com'])
    assert.equal(allowed({ HOST }), 'never', HOST)
  assert.equal(allowed(own), 'never')
  assert.equal(allowed({ ...own, WEBHOOK_ALLOW_PRIVATE: 'sandbox' }), 'sandbox')
  assert.equal(allowed({ HOST: '0.0.0.0', WEBHOOK_ALLOW_PRIVATE: 'always' }), 'always')
})

test('every mistake is named at once', () => {
  const mistakes = mistakesOf({
    PORT: '70000',
    PUBLIC_URL: 'pay.example.com',
    DATABASE_URL: 'mysql://x',
    SECRET_KEY: 'short',
    ROLE: 'boss',
    SMTP_URL: 'mail.example.com',
    SMTP_FROM: 'nobody',
    ALERTS_URL: 'https://ops.example.com/alerts',
    RATE_LIMIT: 'no',
    DEMO: 'maybe',
    LOG_LEVEL: 'loud',
    SANDBOX_CLIENT_ID: 'with space inside',
    TRUST_PROXY: '10.0.0.0/8, everyone',
    SANDBOX_WEBHOOK_SECRET: 'whsec_short',
    WEBHOOK_ALLOW_PRIVATE: 'yes',
  })
  for (const name of [
    'SANDBOX_WEBHOOK_SECRET',
    'WEBHOOK_ALLOW_PRIVATE',
    'PORT',
    'PUBLIC_URL',
    'DATABASE_URL',
    'SECRET_KEY',
    'ROLE',
    'SMTP_URL',
    'SMTP_FROM',
    'ALERTS_SECRET',
    'RATE_LIMIT',
    'DEMO',
    'LOG_LEVEL',
    'SANDBOX_CLIENT_ID',
    'SANDBOX_CLIENT_SECRET',
    'TRUST_PROXY',
  ]) {
    assert.ok(
      mistakes.some((mistake) => mistake.startsWith(`${name}:`)),
      name,
    )
  }
})

test('retention is off or a number of days that leaves open work alone, and the message says why', () => {
  const { retention } = readConfig({ RETENTION_SANDBOX_DAYS: 'off', RETENTION_MONEY_DAYS: '2557' })
  assert.deepEqual(retention, { transportDays: 90, sandboxDays: undefined, moneyDays: 2557 })
  const short = { RETENTION_TRANSPORT_DAYS: '29', RETENTION_SANDBOX_DAYS: '39', RETENTION_MONEY_DAYS: '729' }
  const others: Record<string, string>[] = [{ RETENTION_TRANSPORT_DAYS: '90.5' }, { RETENTION_MONEY_DAYS: 'never' }]
  for (const wrong of [short, ...others]) assert.equal(mistakesOf(wrong).length, Object.keys(wrong).length)
  assert.equal(
    mistakesOf(short)[1],
    'RETENTION_SANDBOX_DAYS: "39" is neither off nor a number of days from 40: a link lives for 30 days, an unknown outcome for 7 more',
  )
})

test('with DATABASE_URL a SECRET_KEY is required, and the message says how to make one', () => {
  const [mistake] = mistakesOf({ DATABASE_URL: 'postgres://localhost/manilla' })
  assert.match(mistake ?? '', /SECRET_KEY: is required with DATABASE_URL.*openssl rand -base64 32/)
  assert.deepEqual(mistakesOf({ DATABASE_URL: 'postgres://localhost/manilla', SECRET_KEY: KEY }), [])
})

test('SECRET_KEY_PREVIOUS is another key beside SECRET_KEY', () => {
  const other = Buffer.alloc(32, 7).toString('base64')
  const { previousSecretKey } = readConfig({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: other })
  assert.deepEqual(previousSecretKey, Buffer.alloc(32, 7))
  assert.match(mistakesOf({ SECRET_KEY_PREVIOUS: other }).join(), /needs SECRET_KEY/)
  assert.match(mistakesOf({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: KEY }).join(), /not be the same/)
  assert.match(mistakesOf({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: 'short' }).join(), /32 bytes in base64/)
})

test('a mistake never repeats a secret', () => {
  const said = mistakesOf({
    DATABASE_URL: 'mysql://user:hunter2@x',
    SECRET_KEY: 'hunter3',
    SECRET_KEY_PREVIOUS: 'hunter5',
    SANDBOX_CLIENT_SECRET: 'hunter 4',
  }).join()
  assert.doesNotMatch(said, /hunter/)
})

test('PUBLIC_URL is a plain address; a slash at its end does not matter', () => {
  assert.equal(readConfig({ PUBLIC_URL: 'https://pay.example.com/' }).publicUrl, 'https://pay.example.com')
  assert.equal(readConfig({ PUBLIC_URL: 'https://example.com/pay/' }).publicUrl, 'https://example.com/pay')
  for (const PUBLIC_URL of ['https://u:p@x.example', 'https://x.example?y', 'https://x.example#z'])
    assert.equal(mistakesOf({ PUBLIC_URL }).length, 1)
})

test('empty means absent', () => {
  assert.equal(readConfig({ PORT: '', DATABASE_URL: ' ', SECRET_KEY: '' }).port, 3000)
})

test('the demo shop is on only while the base URL is local, unless DEMO=on', () => {
  const isOn = (env: Record<string, string>) => readConfig(env).demo
  for (const PUBLIC_URL of ['', 'http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])
    assert.equal(isOn({ PUBLIC_URL }), true, PUBLIC_URL)
  for (const PUBLIC_URL of ['https://pay.example.com', 'http://10.0.0.5:3000', 'http://localhost.example.com']) {
    assert.equal(isOn({ PUBLIC_URL }), false, PUBLIC_URL)
    assert.equal(isOn({ PUBLIC_URL, DEMO: 'on' }), true, PUBLIC_URL)
  }
  assert.equal(isOn({ DEMO: 'off' }), false)
})

test('WORKERS is a number of processes or auto, and the demo shop needs one process', () => {
  assert.equal(readConfig({ WORKERS: '4' }).workers, 4)
  assert.equal(readConfig({ WORKERS: '4' }).demo, false)
  assert.ok(readConfig({ WORKERS: 'auto' }).workers >= 1)
  for (const WORKERS of ['0', '-1', '1.5', 'all', '1000']) assert.equal(mistakesOf({ WORKERS }).length, 1, WORKERS)
  assert.match(mistakesOf({ WORKERS: '9' })[0] ?? '', /7 processes at most: set DATABASE_URL/)
  assert.match(mistakesOf({ DATABASE_POOL: '89' })[0] ?? '', /DATABASE_POOL.*88 at most/)
  assert.deepEqual(mistakesOf({ DATABASE_POOL: '88' }), [])
  assert.deepEqual(mistakesOf({ WORKERS: '9', DATABASE_URL: 'postgres://localhost/manilla', SECRET_KEY: KEY }), [])
  assert.match(mistakesOf({ WORKERS: '2', DEMO: 'on' })[0] ?? '', /DEMO.*WORKERS=1/)
})
