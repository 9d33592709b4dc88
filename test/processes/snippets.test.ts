import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { integrationCommands } from '../../src/cli/commands/integration.ts'
import { merchantBrand } from '../../src/cli/commands/merchant-brand.ts'
import { readConfig } from '../../src/config/config.ts'
import { ensureDefaultSecret, findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { readWidgetToken } from '../../src/http/checkout/embed.ts'
import { IntegrationRequest } from '../../src/http/contract/integration.ts'
import { LinkRequest } from '../../src/http/contract/link.ts'
import { findBranding } from '../../src/merchants/branding-store.ts'
import { logoOf } from '../../src/merchants/logo.ts'
import { capabilities } from '../../src/providers/gateway/capabilities.ts'
import { TEST_CARDS } from '../../src/providers/gateway/simulator/cards.ts'
import { FAULT_KINDS } from '../../src/providers/gateway/simulator/faults.ts'
import { TEST_NUMBERS } from '../../src/providers/gateway/simulator/prompts.ts'
import { WIDGET_VERSION } from '../../web/build.ts'
import { openBrowser } from '../support/browser.ts'
import { createDatabase } from '../support/database.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { PNG } from '../support/picture.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'
import { blocksOf, CLIENT, ROOT, read, run, runTypeScript, startHandler } from '../support/snippets.ts'
import { openWidgetShop } from '../support/widget-shop.ts'

const pages = globSync(['*.md', 'docs/**/*.md', 'clients/*/README.md'], { cwd: ROOT })

test('each curl of the README works as described', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const env = { CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] }
  const script = blocksOf('README.md', 'sh').join('\n').replaceAll('http://localhost:3000', baseUrl)
  const lines = (await run(script.replaceAll(/\ncurl/g, '\necho\ncurl'), env)).split('\n').filter(Boolean)
  const [made, payment, ...others] = lines.map((line) => JSON.parse(line))
  assert.equal(others.length, 0)
  assert.deepEqual(Object.keys(made.data), ['id', 'url', 'shortURL', 'reference', 'amount'])
  assert.deepEqual([made.data.reference, made.data.amount], ['ORD-20931', 1_250_000])
  assert.equal(payment.data.id, made.data.id)
})

test('each curl of docs/integrations.md works, and its table lists each option', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const env = { CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] }
  const script = blocksOf('docs/integrations.md', 'sh').join('\n').replaceAll('http://localhost:3000', baseUrl)
  const lines = (await run(script.replaceAll(/\ncurl/g, '\necho\ncurl'), env)).split('\n').filter(Boolean)
  const [listed, one, checked, changed, removed, ...others] = lines.map((line) => JSON.parse(line))
  assert.equal(others.length, 0)
  assert.equal(listed.data[0].priority, 1_000)
  assert.equal(one.data.noticeURL, `${baseUrl}/notices/gateway/sandbox/${shop.merchantId}`)
  assert.deepEqual(checked.data, { keys: 'good', reason: null })
  assert.equal(changed.data.priority, 500)
  assert.equal(removed.data.enabled, false)
  const rows = [...read('docs/integrations.md').matchAll(/^\| `(\w+)` \| `--([a-z-]+)`/gm)]
  const [set] = integrationCommands([])
  assert.deepEqual(
    rows.map(([, member]) => member),
    Object.keys(IntegrationRequest.properties),
  )
  assert.deepEqual(
    ['provider', 'merchant', 'mode', ...rows.map(([, , option]) => option)],
    Object.keys(set?.options ?? {}),
  )
})

test('each curl of docs/links.md works, and its table lists each field', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const env: Record<string, string> = {
    CLIENT_ID: shop.headers['client-id'],
    CLIENT_SECRET: shop.headers['client-secret'],
  }
  const [make = '', use = ''] = blocksOf('docs/links.md', 'sh').map((block) =>
    block.replaceAll('http://localhost:3000', baseUrl).replaceAll(/\ncurl/g, '\necho\ncurl'),
  )
  const made = JSON.parse(await run(make, env)).data
  assert.equal((await fetch(made.url)).status, 200)
  const lines = (await run(use, { ...env, LINK_ID: made.id })).split('\n').filter(Boolean)
  const [one, list, changed] = lines.map((line) => JSON.parse(line))
  assert.deepEqual([one.data, list.data], [made, [made]])
  assert.deepEqual([changed.data.maxPayments, changed.data.status], [null, 'inactive'])
  assert.equal((await fetch(made.url)).status, 410)
  assert.deepEqual(
    [...read('docs/links.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name).slice(0, -5),
    Object.keys(LinkRequest.properties),
  )
})

test('each command of docs/branding.md works as described', async () => {
  const { url, database } = await createDatabase()
  const { addShop } = await startPaying({ database })
  const { merchantId } = await addShop('A name to be changed')
  const folder = await mkdtemp(join(tmpdir(), 'manilla-branding-'))
  after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'logo.png'), PNG)
  const env = {
    MERCHANT_ID: merchantId,
    DATABASE_URL: url,
    SECRET_KEY: Buffer.alloc(32).toString('base64'),
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
  }
  const command = `"${join(ROOT, 'node_modules/.bin/node')}" "${join(ROOT, 'src/cli/main.ts')}"`
  const script = blocksOf('docs/branding.md', 'sh').join('\n').replaceAll('npm run manilla --', command)
  await run(`cd "${folder}"\n${script}`, env)
  const branding = (await findBranding(database, merchantId, 'live')) ?? assert.fail()
  assert.equal(branding.name, 'Adaeze Kitchen')
  assert.deepEqual(branding.brand, {
    colour: '#0b6e4f',
    corners: 'pill',
    language: 'fr',
    logo: { version: logoOf(PNG)?.version },
    returnAfterSeconds: 10,
  })
  assert.deepEqual(branding.origins, ['https://shop.example', 'https://www.shop.example'])
  assert.equal(branding.widget, 'strict')
  const options = [...read('docs/branding.md').matchAll(/^\| `--([a-z-]+)`/gm)].map(([, option]) => option)
  assert.deepEqual(['merchant', ...options], Object.keys(merchantBrand.options), 'the table names every option')
})

test('each snippet of docs/widget.md and of the migration from Paystack opens the payment page', async () => {
  const { baseUrl, addShop, parts } = await startPaying()
  const shop = await addShop()
  const { body } = await shop.call('POST', '/payments/v1/checkouts', {
    reference: 'ORD-20931',
    amount: 1_250_000,
    country: 'NG',
    user: { email: 'ada@example.com' },
  })
  const clientId = shop.headers['client-id']
  const fill = (text: string) =>
    text
      .replaceAll('http://localhost:3000', baseUrl)
      .replaceAll('cid_sandbox_…', clientId)
      .replaceAll('chk_…', body.data.id)
  const { stock } = await openWidgetShop(baseUrl)
  const snippets = ['docs/widget.md', 'docs/migrate-from-paystack.md'].flatMap((page) => blocksOf(page, 'html'))
  assert.equal(snippets.length, 4)
  const browser = await openBrowser()
  for (const [index, snippet] of snippets.entries()) {
    const page = await browser.newPage()
    await page.goto(stock(`/${index}`, `<!doctype html><title>Shop</title>${fill(snippet)}`, {}))
    await page.locator('button, a').click()
    await page.frameLocator('dialog iframe').getByText('Reference ORD-20931').waitFor()
    await page.close()
  }

  const env = { CLIENT_ID: clientId, CLIENT_SECRET: shop.headers['client-secret'] }
  const script = fill(blocksOf('docs/widget.md', 'sh').join('\n')).replaceAll(/\ncurl/g, '\necho\ncurl')
  const answers = (await run(script, env)).split('\n').filter(Boolean)
  const [payment, made, ...others] = answers.map((line) => JSON.parse(line))
  assert.equal(others.length, 0)
  assert.equal(payment.data.status, 'pending')
  assert.equal(readWidgetToken(parts.secrets, made.data.token, parts.clock.now()), body.data.id)
  for (const name of ['load_timeout', 'not_found', 'origin_not_allowed', 'unknown'])
    assert.ok(read('docs/widget.md').includes(`\`${name}\``))
  assert.ok(read('docs/widget.md').includes(`/widget/v${WIDGET_VERSION}.js`))
})

const SHOPS = [
  { page: 'docs/returning.md', language: 'js' },
  { page: 'docs/accept-a-payment.md', language: 'ts' },
]

for (const { page, language } of SHOPS)
  test(`the shop of ${page} creates a checkout, verifies the webhook and shows the result`, async () => {
    const { baseUrl, addShop, database, parts } = await startPaying({ deliver: true })
    const shop = await addShop()
    const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
    await ensureDefaultSecret(database, parts.secrets, owner)
    const [program = '', ...others] = blocksOf(page, language)
    assert.equal(others.length, 0)
    const handler = await startHandler(
      { language, program },
      {
        ...{ CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'], MANILLA: baseUrl },
        WEBHOOK_SECRET: (await findDefaultSecret(database, parts.secrets, owner)) as string,
      },
    )
    for (const path of ['/thanks', '/thanks?reference=none'])
      assert.equal((await fetch(new URL(path, handler.url))).status, 500, handler.output())
    const bought = await fetch(new URL('/buy', handler.url), { method: 'POST', redirect: 'manual' })
    assert.equal(bought.status, 303)
    const [, id] = (bought.headers.get('location') ?? '').split('/pay/')
    const { reference, amount, user } = await shop.payment(id as string)
    const thanks = new URL(`/thanks?status=successful&reference=${reference}`, handler.url)
    assert.equal(await (await fetch(thanks)).text(), 'Your payment is pending.', 'a forged return proves nothing')
    const { body } = await shop.initialize({ reference, amount, user: { email: user.email } })
    await charge(shop, body.data.data.reference)
    await eventually(
      async () => handler.output(),
      (output) => output.includes(`${reference} is paid`),
    )
    assert.equal(await (await fetch(thanks)).text(), 'Thank you!')
    assert.equal(handler.output().match(/is paid/g)?.length, 1)
  })

test('each curl of docs/sandbox.md works, and its tables list each card, number, network and fault', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const card = (await shop.initialize({ reference: 'ORD-1' })).body.data.data
  const account = (await shop.initialize({ provider: 'gateway-virtual-bank-account', reference: 'ORD-2' })).body.data
    .data
  const byPhone = { provider: 'gateway-mobile-money', currency: 'GHS', country: 'GH', phoneNumber: '0551234000' }
  await shop.initialize({ ...byPhone, reference: 'ORD-3' })
  const [prompt] = (await shop.payment('ORD-3')).attempts
  const env = {
    ...{ CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] },
    PROMPT_REFERENCE: prompt.providerReference,
    ...{ PROVIDER_REFERENCE: card.reference, ACCOUNT_NUMBER: account.accountNumber },
  }
  const script = blocksOf('docs/sandbox.md', 'sh').join('\n').replaceAll('http://localhost:3000', baseUrl)
  const lines = (await run(script.replaceAll(/\ncurl/g, '\necho\ncurl'), env)).split('\n').filter(Boolean)
  const [approved, charged, transferred, ledger, set, shown, cleared, ...others] = lines.map(
    (line) => JSON.parse(line).data,
  )
  assert.equal(others.length, 0)
  assert.equal(approved.status, 'paid')
  assert.equal(charged.result, 'paid')
  assert.equal(transferred.amount, 500_000)
  assert.equal(ledger.status, 'paid')
  assert.deepEqual([set.seed, set.timeout, set.lost, set.doubled, set.late], [7, 0.1, 0.2, 0.3, 0])
  assert.deepEqual(shown, set)
  assert.deepEqual(Object.values(cleared), Object.values(cleared).fill(0))
  const page = read('docs/sandbox.md')
  for (const { number } of TEST_CARDS) assert.ok(page.includes(`| \`${number}\` |`), number)
  for (const { ends } of TEST_NUMBERS) assert.ok(page.includes(`| \`${ends}\` |`), ends)
  for (const [currency, { networks = {} }] of Object.entries(capabilities.offers['mobile-money'])) {
    for (const names of Object.values(networks)) {
      assert.ok(page.includes(`| ${currency} | ${names.map((name) => `\`${name}\``).join(', ')} |`), currency)
    }
  }
  for (const fault of FAULT_KINDS) assert.ok(page.includes(`| \`${fault}\` |`), fault)
})

test('the curl of docs/exports.md writes a file', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const folder = await mkdtemp(join(tmpdir(), 'manilla-'))
  after(() => rm(folder, { recursive: true }))
  const env = { CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] }
  const script = blocksOf('docs/exports.md', 'sh').join('\n').replaceAll('http://localhost:3000', baseUrl)
  await run(`cd ${folder}\n${script}`, env)
  const [file = '', ...others] = globSync('*', { cwd: folder })
  assert.match(file, /^payments-sandbox-\d{4}-\d\d-\d\d\.csv$/)
  assert.deepEqual(others, [])
  assert.equal(readFileSync(join(folder, file), 'utf8'), 'reference,amount,currency,createdAt\r\n')
})

test('each curl of docs/settlements.md works', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const script = blocksOf('docs/settlements.md', 'sh').join('\n').replaceAll('http://localhost:3000', baseUrl)
  const env = { CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] }
  const answers = (await run(script.replaceAll(/^curl/gm, 'echo\ncurl'), env)).split('\n').filter(Boolean)
  const [list, sums, fees, uploaded, credits] = answers.map((line) => JSON.parse(line).data)
  assert.deepEqual([list, sums, fees], [[], [], []])
  assert.deepEqual([uploaded.added, credits[0].amount], [1, 1_221_250])
})

test('each snippet of the quickstart, of idempotency and of the migrations works as described', async () => {
  const { baseUrl, addShop, database, parts } = await startPaying({ deliver: true })
  const shop = await addShop()
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
  await ensureDefaultSecret(database, parts.secrets, owner)
  const WEBHOOK_SECRET = (await findDefaultSecret(database, parts.secrets, owner)) as string
  const env = { CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] }
  const [setUp = '', receiver = '', createInTs = '', ...laterInTs] = blocksOf('docs/quickstart.md', 'ts')
  const { url: webhook, output: received } = await startHandler(
    { language: 'ts', program: receiver },
    { WEBHOOK_SECRET },
  )
  const filled = (text: string) =>
    text.replaceAll('http://localhost:3000', baseUrl).replaceAll('http://localhost:8080/webhooks', webhook)
  const answersOf = async (script: string) =>
    (await run(filled(script), env))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).data)
  const inTs = async (...blocks: string[]) =>
    (await runTypeScript(filled([setUp, ...blocks].join('\n')), env)).trim().split('\n')
  const pay = async (reference: string) => {
    const { body } = await shop.initialize({ reference })
    await charge(shop, body.data.data.reference)
    await eventually(() => shop.payment(reference), isPaid)
  }
  const [create = '', ...later] = blocksOf('docs/quickstart.md', 'sh')
  const [made] = await answersOf(create)
  const [url] = await inTs(createInTs)
  assert.match(url ?? '', /\/pay\/chk_/)
  await Promise.all([pay(made.reference), pay('ORD-1002')])
  await eventually(
    async () => received(),
    (said) => /ORD-1001 is paid/.test(said) && /ORD-1002 is paid/.test(said),
  )
  const answers = await answersOf(later.join('\n').replaceAll(/\ncurl/g, '\necho\ncurl'))
  const [payment, list, timeline, refund, account, cancelled, ...others] = answers
  assert.equal(others.length, 0)
  assert.deepEqual([payment.id, payment.status], [made.id, 'successful'])
  assert.ok(list.some(({ id }: { id: string }) => id === made.id))
  assert.equal(timeline[0].what, 'payment created')
  assert.equal(refund.amount, 250_000)
  assert.equal(account.data.amountToTransfer, 500_000)
  assert.equal(cancelled.status, 'cancelled')

  const [status, refunded, bank] = await inTs(...laterInTs)
  assert.equal(status, 'successful 1250000')
  assert.match(refunded ?? '', /^(pending|successful)$/)
  assert.match(bank ?? '', /^\S.* \d{10}$/)

  const [first, again] = await answersOf(blocksOf('docs/idempotency.md', 'sh').join('\n'))
  assert.deepEqual(again, first)
  const compared = ['docs/idempotency.md', 'docs/migrate-from-paystack.md', 'docs/migrate-from-stripe.md']
  const [same, ...urls] = await inTs(...compared.flatMap((page) => blocksOf(page, 'ts')))
  assert.equal(same, 'true')
  assert.equal(urls.filter((each) => /\/pay\/chk_/.test(each)).length, 2)
  for (const page of compared.slice(1)) {
    const [checkout] = await answersOf(blocksOf(page, 'sh').join('\n'))
    assert.match(checkout.url, /\/pay\/chk_/, page)
  }
})

test('every TypeScript snippet of the docs is run by a test and has the types of the client', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-snippets-'))
  after(() => rm(folder, { recursive: true }))
  const [setUp = ''] = blocksOf('docs/quickstart.md', 'ts')
  for (const page of pages) {
    const snippets = [...read(page).matchAll(/^(.*)\n```ts\n([\s\S]*?)```/gm)]
    for (const [, before] of snippets) assert.match(before ?? '', /^<!-- run by test\/\S+ -->$/, page)
    const program = snippets.map(([, , snippet]) => snippet).join('\n')
    // A page without a client of its own continues the quickstart.
    const whole = program.includes('new Manilla(') ? program : setUp + program
    if (snippets.length > 0) await writeFile(join(folder, `${page.replaceAll('/', '-')}.mts`), whole)
  }
  const compilerOptions = {
    ...{ noUnusedLocals: false, typeRoots: [join(ROOT, 'node_modules/@types')] },
    paths: Object.fromEntries(Object.entries(CLIENT).map(([name, file]) => [name, [file]])),
  }
  const settings = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*.mts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  await promisify(execFile)(tsc, ['-p', folder]).catch(({ stdout }) => assert.fail(stdout))
})

test('the settings of docs/operations/deployment.md are valid', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-'))
  after(() => rm(folder, { recursive: true }))
  await run(`cd ${folder}\n${blocksOf('docs/operations/deployment.md', 'sh').join('\n')}`, {})
  const lines = readFileSync(join(folder, 'manilla.env'), 'utf8').trim().split('\n')
  const config = readConfig(
    Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
  )
  assert.equal(config.publicUrl, 'https://pay.example.com')
})
