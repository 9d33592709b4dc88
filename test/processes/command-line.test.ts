import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { createDatabase } from '../support/database.ts'
import { startForTest } from '../support/process.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = await mkdtemp(join(tmpdir(), 'manilla-cli-'))
after(() => rm(folder, { recursive: true, force: true }))
const { url } = await createDatabase()
const env = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), DATA_DIR: folder }

function manilla(
  args: string[],
  settings: Record<string, string> = env,
): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      join(ROOT, 'node_modules/.bin/node'),
      [join(ROOT, 'src/cli/main.ts'), ...args],
      { env: { PATH: process.env.PATH, ...settings } },
      (error, out, err) => resolve({ code: error ? Number(error.code) : 0, out, err }),
    )
  })
}

const json = async (...args: string[]) => JSON.parse((await manilla([...args, '--json'])).out)

test('without arguments and with --help it prints the commands', async () => {
  for (const args of [[], ['--help'], ['credential', '--help']]) {
    const { code, out } = await manilla(args)
    assert.equal(code, 0)
    assert.match(out, /credential create/)
  }
  for (const command of [
    'serve',
    'migrate',
    'doctor',
    'merchant create',
    'merchant list',
    'credential create',
    'credential list',
    'credential revoke',
  ]) {
    const { code, out } = await manilla([...command.split(' '), '--help'])
    assert.equal(code, 0)
    assert.match(out, new RegExp(`Usage: manilla ${command}`))
  }
})

test('an unknown command or option is named, with exit code 2 and without a stack trace', async () => {
  for (const args of [
    ['dance'],
    ['merchant', 'creat'],
    ['merchant', 'create'],
    ['merchant', 'create', '--name', 'X', '--country', 'Narnia'],
    ['merchant', 'create', '--nam', 'X'],
    ['credential', 'create', '--merchant', 'x', '--mode', 'live'],
  ]) {
    const { code, err } = await manilla(args)
    assert.equal(code, 2, args.join(' '))
    assert.doesNotMatch(err, /\bat .*\.ts:/)
  }
})

test('a new merchant can use its new credential on the running service until it is revoked', async () => {
  const service = await startForTest(env)
  const merchant = await json('merchant', 'create', '--name', 'Second Shop', '--country', 'Nigeria')
  assert.match(merchant.id, /^mer_/)
  for (const mode of ['sandbox', 'live']) assert.match(merchant.webhookSecrets[mode], /^whsec_/, mode)
  const credential = await json('credential', 'create', '--merchant', merchant.id, '--mode', 'sandbox')
  assert.match(credential.clientId, /^cid_sandbox_/)
  const list = () =>
    fetch(`${service.baseUrl}/payments/v1/payments`, {
      headers: { 'client-id': credential.clientId, 'client-secret': credential.clientSecret },
    })
  assert.equal((await list()).status, 200)
  const made = await fetch(`${service.baseUrl}/payments/v1/checkouts`, {
    method: 'POST',
    headers: {
      'client-id': credential.clientId,
      'client-secret': credential.clientSecret,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ amount: 100, country: 'NG', user: { email: 'ada@example.com' } }),
  })
  assert.equal(made.status, 201, 'its sandbox takes payments from the first moment')

  const known = await json('credential', 'list', '--merchant', merchant.id)
  assert.deepEqual(
    known.map(({ clientId, revokedAt }: Record<string, unknown>) => [clientId, revokedAt]),
    [[credential.clientId, null]],
  )
  assert.ok(!JSON.stringify(known).includes(credential.clientSecret))

  assert.equal((await manilla(['credential', 'revoke', '--client-id', credential.clientId])).code, 0)
  const revokedMs = performance.now()
  while ((await list()).status !== 401) assert.ok(performance.now() - revokedMs < 2_100, 'refused within 2 s')
  const again = await manilla(['credential', 'revoke', '--client-id', credential.clientId])
  assert.equal(again.code, 1)
  assert.match(again.err, /There is no live credential/)

  assert.match((await manilla(['merchant', 'suspend', '--merchant', merchant.id])).out, /suspended/)
  assert.match((await manilla(['merchant', 'list'])).out, /Second Shop\s+NG\s+suspended/)
})

test('a credential for an unknown merchant is refused with a sentence', async () => {
  const { code, err } = await manilla([
    'credential',
    'create',
    '--merchant',
    'mer_1CC4iq7WDcVYjpyJcoHTNR',
    '--mode',
    'live',
  ])
  assert.equal(code, 1)
  assert.match(err, /There is no merchant/)
})

test('a credential has scopes, an end and an allow list; doctor names one that expires soon', async () => {
  const merchant = await json('merchant', 'create', '--name', 'Third Shop', '--country', 'NG')
  const create = ['credential', 'create', '--merchant', merchant.id, '--mode', 'live']
  const expires = new Date(Date.now() + 5 * 86_400_000).toISOString()
  const limits = ['--scope', 'payments:read', '--scope', 'refunds', '--expires', expires, '--allow', '203.0.113.0/24']
  const { clientId } = await json(...create, ...limits)
  const [listed] = await json('credential', 'list', '--merchant', merchant.id)
  assert.deepEqual(
    [listed.clientId, listed.scopes, listed.expiresAt, listed.allowedAddresses],
    [clientId, ['payments:read', 'refunds'], expires, ['203.0.113.0/24']],
  )
  assert.match((await manilla(['credential', 'list'])).out, /payments:read refunds +203\.0\.113\.0\/24/)
  for (const wrong of [
    ['--scope', 'all'],
    ['--expires', '2020-01-01'],
    ['--allow', 'shop.example'],
  ]) {
    const { code, err } = await manilla([...create, ...wrong])
    assert.equal(code, 1)
    assert.match(err, /^(scopes|expiresAt|allowedAddresses) /)
  }
  const { code, out } = await manilla(['doctor'])
  assert.equal(code, 1)
  assert.match(out, new RegExp(`✗ credentials +${clientId} of Third Shop expires at`))
  await manilla(['credential', 'revoke', '--client-id', clientId])
})

test('migrate reports what it did, and nothing to do the second time', async () => {
  const fresh = await createDatabase({ empty: true })
  const settings = { ...env, DATABASE_URL: fresh.url }
  assert.match((await manilla(['migrate'], settings)).out, /Applied: 0001_schema/)
  assert.match((await manilla(['migrate'], settings)).out, /up to date/)
})

test('doctor reports a healthy installation as healthy, and that no service answers', async () => {
  const { code, out } = await manilla(['doctor'])
  assert.equal(code, 0, out)
  const parts = ['settings', 'data folder', 'database', 'migrations', 'clock', 'keys', 'work', 'credentials']
  for (const what of parts) assert.match(out, new RegExp(`✓ ${what}`))
  assert.match(out, /– service +none answers at/)
})

test('doctor warns of a range in TRUST_PROXY that is wider than the addresses of a proxy', async () => {
  const proxies = '192.0.2.0/24, 10.0.0.0/8, 2001:db8::/64, 2001:db8::/48, 203.0.113.7, 2001:db8::1'
  const { code, out } = await manilla(['doctor'], { ...env, TRUST_PROXY: proxies })
  assert.match(out, /– proxies +TRUST_PROXY covers 10\.0\.0\.0\/8, 2001:db8::\/48: /)
  assert.equal(code, 0, 'a warning')
  const narrow = await manilla(['doctor'], { ...env, TRUST_PROXY: '192.0.2.0/24' })
  assert.doesNotMatch(narrow.out, /proxies/)
})

test('doctor names each defect and its remedy, and exits with 1', async () => {
  const fresh = await createDatabase({ empty: true })
  const cases: [Record<string, string>, RegExp][] = [
    [{ ...env, PORT: 'x', LOG_LEVEL: 'y' }, /✗ settings .*PORT.*LOG_LEVEL/],
    [{ ...env, DATABASE_URL: 'postgres://x:hunter2@127.0.0.1:1/x' }, /✗ database .*check DATABASE_URL/],
    [{ ...env, DATABASE_URL: fresh.url }, /✗ migrations .*run manilla migrate/],
    [{ ...env, SECRET_KEY: Buffer.alloc(32, 9).toString('base64') }, /✗ keys .*SECRET_KEY is not the one/],
    [
      { ...env, DATABASE_READ_URL: 'postgres://x:hunter2@127.0.0.1:1/x' },
      /✗ replica .*Lists are read from the primary/,
    ],
    [{ ...env, DATABASE_READ_URL: url }, /✓ work [\s\S]*✗ replica .*follows no other one/],
  ]
  for (const [settings, expected] of cases) {
    const { code, out } = await manilla(['doctor'], settings)
    assert.equal(code, 1, out)
    assert.match(out, expected)
    assert.doesNotMatch(out, /hunter2/)
  }
})

test('a command without the settings of the service does not report on an empty database', async () => {
  const settings = { DATA_DIR: join(folder, 'elsewhere') }
  assert.match((await manilla(['doctor'], settings)).out, /✗ database +none yet/)
  for (const command of [['migrate'], ['audit'], ['unmatched', 'list'], ['payment', 'show', 'ORD-1']]) {
    const { code, err } = await manilla(command, settings)
    assert.equal(code, 1, command.join(' '))
    assert.match(err, /There is no database in .*elsewhere\. Start the service once/)
  }
})

test('commands work on the embedded database, while the service runs and while it does not', async () => {
  const settings = { DATA_DIR: join(folder, 'embedded') }
  assert.match(
    (await manilla(['merchant', 'create', '--name', 'Before', '--country', 'NG'], settings)).out,
    /Created merchant/,
  )
  const service = await startForTest(settings)
  assert.match(
    (await manilla(['merchant', 'create', '--name', 'During', '--country', 'NG'], settings)).out,
    /Created merchant[\s\S]*webhook secret \(sandbox\) +whsec_[\s\S]*webhook secret \(live\) +whsec_/,
  )
  const { out } = await manilla(['merchant', 'list'], settings)
  for (const name of ['Before', 'During', 'Demo Store']) assert.ok(out.includes(name), name)
  assert.equal((await fetch(`${service.baseUrl}/readyz`)).status, 200, 'the service did not notice')
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
})

test('SECRET_KEY is rotated: the worker encrypts all values again, and keys status says so', async () => {
  const fresh = await createDatabase()
  const [old, next] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string]
  const settings = (keys: Record<string, string>) => ({ DATABASE_URL: fresh.url, DATA_DIR: folder, ...keys })
  const stop = async (service: Awaited<ReturnType<typeof startForTest>>) => {
    service.child.kill('SIGTERM')
    assert.equal(await service.exited, 0)
  }
  await stop(await startForTest(settings({ SECRET_KEY: old })))
  const refused = await manilla(['keys', 'status'], settings({ SECRET_KEY: next }))
  assert.match(refused.err, /SECRET_KEY is not the one.*SECRET_KEY_PREVIOUS/)

  const rotating = settings({ SECRET_KEY: next, SECRET_KEY_PREVIOUS: old })
  const { out } = await manilla(['keys', 'status'], rotating)
  assert.match(out, /SECRET_KEY_PREVIOUS is needed: \d+ value/) // the webhook secret of the sandbox merchant
  const service = await startForTest(rotating)
  while (/is needed/.test((await manilla(['keys', 'status'], rotating)).out));
  assert.match((await manilla(['keys', 'status'], rotating)).out, /can be removed from 20/)
  await fresh.database.rows(sql`update secret_keys set added_at = now() - interval '25 hours'`)
  assert.match((await manilla(['keys', 'status'], rotating)).out, /can be removed\.$/m)
  await stop(service)
  await stop(await startForTest(settings({ SECRET_KEY: next })))
  assert.match((await manilla(['keys', 'status'], settings({ SECRET_KEY: next }))).out, /no rotation is under way/)
})
