import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { SANDBOX_MERCHANT_ID, seedSandbox } from '../../src/integrations/create-merchant.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { newCredential } from '../../src/merchants/credential.ts'
import { KEYS, startAcme } from '../support/acme.ts'
import { createDatabase } from '../support/database.ts'
import { addMerchant } from '../support/service.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = await mkdtemp(join(tmpdir(), 'manilla-integrations-'))
after(() => rm(folder, { recursive: true, force: true }))
const { url, database } = await createDatabase()
const { upstream } = await startAcme({ after })
await seedSandbox(database, newCredential('sandbox'), [])
const env = {
  PATH: process.env.PATH,
  DATABASE_URL: url,
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  DATA_DIR: folder,
  ACME_URL: upstream.url,
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
}
const { secretKey, publicKey } = KEYS.sandbox

interface Said {
  code: number
  out: string
  err: string
}

function run(
  args: string[],
  { input = '', script = 'test/support/manilla-with-acme.ts', settings = {} } = {},
): Promise<Said> {
  return new Promise((resolve) => {
    const child = execFile(
      join(ROOT, 'node_modules/.bin/node'),
      [join(ROOT, script), 'integration', ...args],
      { env: { ...env, ...settings } },
      (error, out, err) => resolve({ code: error ? Number(error.code) : 0, out, err }),
    )
    child.stdin?.end(input)
  })
}

test('a provider is set up with a secret from standard input or a file, listed, checked and removed, and no secret is printed', async () => {
  const seen: Said[] = []
  const see = async (...args: Parameters<typeof run>) => {
    const said = await run(...args)
    seen.push(said)
    return said
  }
  const key = join(folder, 'key')
  await writeFile(key, `${secretKey}\n`)
  const made = await see(
    [
      'set',
      'acme',
      '--setting',
      'secretKey=-',
      '--setting',
      `publicKey=${publicKey}`,
      '--currencies',
      'ngn',
      '--priority',
      '7',
    ],
    { input: `${secretKey}\n`, settings: { PUBLIC_URL: 'https://pay.example' } },
  )
  assert.equal(made.code, 0, made.err)
  assert.match(made.out, new RegExp(`notice URL +https://pay.example/notices/acme/sandbox/${SANDBOX_MERCHANT_ID}\n`))
  assert.match(made.out, /secrets set +secretKey\n/)
  assert.match(made.out, /Next: manilla integration check acme/)
  const checked = await see(['check', 'acme'])
  assert.deepEqual([checked.code, checked.out], [0, 'acme accepts the sandbox keys.\n'])

  const changed = JSON.parse(
    (await see(['set', 'acme', '--setting', `secretKey=@${key}`, '--currencies', 'all', '--json'])).out,
  )
  assert.deepEqual([changed.secretsSet, changed.currencies, changed.priority], [['secretKey'], ['NGN', 'GHS'], 7])
  assert.match((await see(['list'])).out, /acme +in use +7 +card +NGN GHS +NG GH +publicKey secretKey\n/)
  assert.equal(changed.warning, null)
  const refused = await see(['set', 'acme', '--setting', 'secretKey=sk_test_revoked'])
  assert.match(refused.out, /Warning: acme refused the sandbox keys: it refused the key\. They are saved\.\n/)
  const bad = await see(['check', 'acme'])
  assert.deepEqual([bad.code, bad.out], [1, 'acme refuses the sandbox keys: it refused the key.\n'])

  const removed = await see(['remove', 'acme'])
  assert.match(removed.out, /takes no new payments in sandbox mode.*\n.*encrypted keys are kept/)
  assert.equal(JSON.parse((await see(['list', '--json'])).out)[0].enabled, false)
  const printed = JSON.stringify(seen)
  for (const secret of [secretKey, 'sk_test_revoked']) assert.ok(!printed.includes(secret))
  const acts = await database.rows<{ actor: string; act: string }>(sql`
    select actor, act from audit_log
     where merchant_id = ${uuidOf(SANDBOX_MERCHANT_ID)} and act like 'integration.%' order by id`)
  assert.deepEqual(
    acts.map(({ act }) => act),
    ['integration.created', 'integration.changed', 'integration.changed', 'integration.removed'],
  )
  assert.match(acts[0]?.actor ?? '', /^cli:/)
})

test('all mistakes are reported in sentences, with exit code 2 and without the values', async () => {
  const live = await addMerchant(database, { mode: 'live' })
  const owner = ['--merchant', live.merchantId, '--mode', 'live']
  const cases: [string[], RegExp][] = [
    [['set', 'nobody'], /There is no provider "nobody"\. Providers: .*acme\./],
    [['set'], /--provider is missing/],
    [['set', 'acme', '--mode', 'test'], /--mode must be sandbox or live/],
    [
      ['set', 'acme', '--setting', 'hunter2', '--setting', 'a=@/nowhere', '--priority', 'high'],
      /NAME=@FILE or NAME=-\.\n--setting a: its file cannot be read \(ENOENT\)\.\n--priority must be a whole number\./,
    ],
    [
      ['set', 'acme', ...owner, '--setting', 'secretKey=sk_test_hunter2', '--setting', 'publickey=hunter2'],
      /secretKey belongs to sandbox mode\. .*sk_live_….\nsettings\.publicKey is required.*\n.*did you mean `publicKey`/,
    ],
    [
      ['set', 'acme', ...owner, '--setting', 'secretKey=-', '--setting', 'publicKey=-'],
      /Only one --setting can be read from standard input/,
    ],
  ]
  for (const [args, expected] of cases) {
    const { code, err } = await run(args)
    assert.equal(code, 2, args.join(' '))
    assert.match(err, expected)
    assert.doesNotMatch(err, /hunter2|\bat .*\.ts:/)
  }
  const stranger = await run(['remove', 'acme', ...owner])
  assert.deepEqual([stranger.code, stranger.err], [1, 'acme is not set up in live mode.\n'])
})

test('the help lists these commands, and how to keep a secret out of the shell history', async () => {
  const script = 'src/cli/main.ts'
  for (const verb of ['set', 'check', 'list', 'remove']) {
    const { code, out } = await run([verb, '--help'], { script })
    assert.equal(code, 0)
    assert.match(out, new RegExp(`Usage: manilla integration ${verb}`))
    if (verb === 'set') assert.match(out, /NAME=@FILE .*NAME=- .*history/)
  }
  assert.match((await run(['list'], { script })).out, /Not set up: /)
})
