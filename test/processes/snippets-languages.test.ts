import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { ensureDefaultSecret, findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { hasLanguage } from '../support/client-drivers.ts'
import { freePort } from '../support/free-port.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'
import { blocksOf, ROOT, read, run, runTypeScript } from '../support/snippets.ts'

const { baseUrl, addShop, database, parts } = await startPaying({ deliver: true })
const shop = await addShop()
const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
await ensureDefaultSecret(database, parts.secrets, owner)
const env = {
  PATH: process.env.PATH ?? '',
  ...{ CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] },
  WEBHOOK_SECRET: (await findDefaultSecret(database, parts.secrets, owner)) as string,
  PYTHONPATH: join(ROOT, 'clients/python/src'),
  PYTHONDONTWRITEBYTECODE: '1',
}
const folder = await mkdtemp(join(tmpdir(), 'manilla-snippets-'))
after(() => rm(folder, { recursive: true, force: true }))

const LANGUAGES = [
  {
    language: 'php',
    program: 'php',
    orders: ['ORD-1005', 'ORD-1007'],
    serve: (port: number) => ['-S', `127.0.0.1:${port}`],
  },
  { language: 'python', program: 'python3', orders: ['ORD-1006', 'ORD-1008'], serve: () => [] },
]

const filled = (text: string, port: number) =>
  text
    .replaceAll("getenv('HOME') . '/manilla/clients", `'${ROOT}' . '/clients`)
    .replaceAll('http://localhost:3000', baseUrl)
    .replaceAll('http://localhost:8080', `http://127.0.0.1:${port}`)
    .replaceAll('8080', String(port))

for (const { language, program, orders, serve } of LANGUAGES.filter((each) => hasLanguage(each.program)))
  test(`the quickstart, the shop and the migration from Paystack work in ${language}`, async () => {
    const [setUp = '', receiver = '', create = '', retrieve = '', refund = '', direct = '', ...others] = blocksOf(
      'docs/quickstart.md',
      language,
    )
    assert.deepEqual(others, [])
    const port = await freePort()
    const file = join(folder, `webhooks.${language}`)
    await writeFile(file, filled(receiver, port))
    const server = spawn(program, [...serve(port), file], { env })
    after(() => server.kill('SIGKILL'))
    let output = ''
    for (const stream of [server.stdout, server.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    await eventually(
      () =>
        fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST' }).then(
          ({ status }) => status,
          () => output,
        ),
      (status) => status === 401,
    )
    const runBlocks = async (...blocks: string[]) => {
      const steps = join(folder, `pay.${language}`)
      await writeFile(steps, filled([setUp, ...blocks].join('\n'), port))
      const { stdout } = await promisify(execFile)(program, [steps], { env })
      return stdout.trim().split('\n')
    }
    const [url = ''] = await runBlocks(create)
    assert.match(url, /\/pay\/chk_/)
    const [order = ''] = orders
    const { body } = await shop.initialize({ reference: order })
    await charge(shop, body.data.data.reference)
    await eventually(() => shop.payment(order), isPaid)
    await eventually(
      async () => output,
      (said) => said.includes(`${order} is paid`),
    )
    const [status, refunded, bank] = await runBlocks(retrieve, refund, direct)
    assert.equal(status, 'successful 1250000')
    assert.match(refunded ?? '', /^(pending|successful)$/)
    assert.match(bank ?? '', /^\S.* \d{10}$/)
    const [made, outcome, migrated, ...more] = await runBlocks(
      ...blocksOf('docs/shops.md', language),
      ...blocksOf('docs/migrate-from-paystack.md', language),
    )
    assert.match(made ?? '', /\/pay\/chk_/)
    assert.equal(outcome, 'pending')
    assert.match(migrated ?? '', /\/pay\/chk_/)
    assert.deepEqual(more, [])
  })

test('docs/shops.md works with curl and in TypeScript', async () => {
  const curl = blocksOf('docs/shops.md', 'sh').map((each) => filled(each, 8080))
  const [made, payment] = await Promise.all([run(curl[0] ?? '', env)]).then(async ([first = '']) => [
    JSON.parse(first).data,
    JSON.parse(await run(curl[1] ?? '', env)).data,
  ])
  assert.deepEqual([payment.id, payment.status], [made.id, 'pending'])
  const [setUp = ''] = blocksOf('docs/quickstart.md', 'ts')
  const program = filled([setUp, ...blocksOf('docs/shops.md', 'ts')].join('\n'), 8080)
  assert.match(await runTypeScript(program, env), /\/pay\/chk_\w+\npending\n$/)
})

test('each snippet in PHP and Python is run by a test, but for those that show a part of a framework', () => {
  const pages = ['docs/quickstart.md', 'docs/shops.md', 'docs/migrate-from-paystack.md', 'clients/php/README.md']
  for (const page of pages)
    for (const [, before] of read(page).matchAll(/^(.*)\n```(?:php|python)\n/gm))
      assert.match(before ?? '', /^<!-- run by test\/\S+ -->$/, page)
})
