import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { runCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'
import { startPaying } from '../support/paying.ts'
import { PNG } from '../support/picture.ts'

const { url, database } = await createDatabase()
const { baseUrl, addShop } = await startPaying({ database })
const folder = await mkdtemp(join(tmpdir(), 'manilla-brand-'))
after(() => rm(folder, { recursive: true, force: true }))
const env = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), DATA_DIR: folder }
const brand = (...args: string[]) => runCommand(['merchant', 'brand', ...args], env)
const json = async (...args: string[]) => JSON.parse((await brand(...args, '--json')).output)
const file = async (name: string, bytes: string | Buffer) => {
  await writeFile(join(folder, name), bytes)
  return join(folder, name)
}

test('a brand is set in one go, served, changed and taken back', async () => {
  const { merchantId } = await addShop()
  const asked = [
    ...['--merchant', merchantId, '--name', 'Adaeze & Sons', '--colour', '0B6E4F', '--corners', 'pill'],
    ...['--language', 'fr', '--logo', await file('logo.png', PNG), '--return-after', '0'],
    ...['--origins', 'https://Shop.example/, http://localhost:*,https://shop.example'],
    ...['--widget', 'strict'],
  ]
  const set = await json(...asked)
  const { version } = set.logo
  assert.deepEqual(set, {
    merchantId,
    name: 'Adaeze & Sons',
    origins: ['https://shop.example', 'http://localhost:*'],
    widget: 'strict',
    colour: '#0b6e4f',
    corners: 'pill',
    language: 'fr',
    logo: { version },
    returnAfterSeconds: 0,
  })

  const address = `${baseUrl}/logo/${merchantId}/${version}`
  const served = await fetch(address)
  assert.equal(served.status, 200)
  assert.deepEqual(Buffer.from(await served.arrayBuffer()), PNG)
  assert.deepEqual(
    ['content-type', 'cache-control', 'x-content-type-options', 'content-security-policy', 'set-cookie'].map((name) =>
      served.headers.get(name),
    ),
    ['image/png', 'public, max-age=31536000, immutable', 'nosniff', "default-src 'none'; sandbox", null],
  )

  const { output } = await brand(
    '--merchant',
    merchantId,
    '--logo',
    'none',
    '--return-after',
    'off',
    '--origins',
    'none',
    '--widget',
    'open',
  )
  for (const line of [
    /name +Adaeze & Sons/,
    /colour +#0b6e4f/,
    /logo +none/,
    /return after +off/,
    /origins +none/,
    /widget +open: a reference opens it/,
    /within 2 s/,
  ])
    assert.match(output, line)
  const gone = await fetch(address)
  assert.deepEqual([gone.status, gone.headers.get('cache-control')], [404, 'no-store'])

  const shown = await json('--merchant', merchantId)
  assert.deepEqual([shown.logo, shown.returnAfterSeconds, shown.origins, shown.widget], [null, null, [], 'open'])
  assert.equal(shown.corners, 'pill')
  const acts = await database.rows<{ actor: string }>(sql`select actor from audit_log where act = 'merchant.branded'`)
  assert.equal(acts.length, 2, 'looking is no act')
  assert.match(acts[0]?.actor ?? '', /^cli:/)
})

test('all mistakes are reported at once, each with its remedy, and nothing is changed', async () => {
  const { merchantId } = await addShop()
  const wrong = [
    ...['--name', ' ', '--colour', 'green', '--corners', 'round', '--language', 'de', '--return-after', '61'],
    ...['--widget', 'closed'],
    ...[
      '--origins',
      'https://shop.example/pay,http://shop.example',
      '--logo',
      await file('big.png', Buffer.concat([PNG, Buffer.alloc(10_240)])),
    ],
  ]
  const { code, output } = await brand('--merchant', 'mer_1', ...wrong)
  assert.equal(code, 2)
  const lines = output.trim().split('\n')
  for (const [index, line] of [
    /^--merchant must be an id like mer_…/,
    /^--name must have 1 to 200 characters/,
    /^--colour must be six hexadecimal digits, like #0b6e4f, or none\.$/,
    /^--corners must be one of square, rounded, pill\.$/,
    /^--language must be one of en, fr, ar, sw, or none\.$/,
    /^--return-after must be a whole number of seconds from 0 to 60, or off\.$/,
    /^--origins: "https:\/\/shop\.example\/pay" must be an origin, like https:/,
    /^--origins: "http:\/\/shop\.example" must be an origin/,
    /^--widget must be one of open, strict\.$/,
    /^--logo: .*big\.png has 11 KB; the maximum is 10 KB.*cwebp/,
  ].entries())
    assert.match(lines[index] ?? '', line)
  assert.equal(lines.length, 10)
  const good = ['--merchant', merchantId, '--name', 'Changed']
  for (const [name, bytes, expected] of [
    [
      'logo.svg',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
      /can contain scripts: save it as PNG/,
    ],
    ['fake.png', '<html>', /is not a PNG, JPEG or WebP/],
  ] as const) {
    const refused = await brand(...good, '--logo', await file(name, bytes))
    assert.equal(refused.code, 2)
    assert.match(refused.output, expected)
  }
  assert.match(
    (await brand(...good, '--logo', join(folder, 'nowhere.png'))).output,
    /nowhere\.png cannot be read \(ENOENT/,
  )
  assert.equal((await json('--merchant', merchantId)).name, 'Adaeze Kitchen')
})

test('a merchant that is not there is named in a sentence', async () => {
  const { code, output } = await brand('--merchant', 'mer_1CC4iq7WDcVYjpyJcoHTNR', '--colour', '#fff')
  assert.equal(code, 1)
  assert.match(output, /^There is no merchant mer_1CC4iq7WDcVYjpyJcoHTNR/)
})

test('an address that never was a logo is a plain 404', async () => {
  const { merchantId } = await addShop()
  for (const path of [
    `${merchantId}/0123456789abcdef`,
    'mer_1CC4iq7WDcVYjpyJcoHTNR/0123456789abcdef',
    'x/y',
    '..%2f/x',
  ]) {
    const answer = await fetch(`${baseUrl}/logo/${path}`)
    assert.equal(answer.status, 404, path)
    assert.match(answer.headers.get('content-type') ?? '', /problem\+json/)
  }
  assert.equal((await fetch(`${baseUrl}/logo/${merchantId}/x`, { method: 'POST' })).status, 405)
})
