import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { eventually, startPaying } from './support/paying.ts'
import type { Answer } from './support/service.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT })

function run(script: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('sh', ['-euc', script], { env: { PATH: process.env.PATH, ...env } }, (error, out) =>
      error ? reject(error) : resolve(out),
    )
  })
}

test('every curl of the README does what the README says', async () => {
  const { baseUrl, addShop } = await startPaying()
  const shop = await addShop()
  const blocks = [...read('README.md').matchAll(/<!-- run by test\/docs\.test\.ts -->\n```sh\n([\s\S]*?)```/g)].map(
    (match) => match[1] as string,
  )
  const env: Record<string, string> = {
    CLIENT_ID: shop.headers['client-id'],
    CLIENT_SECRET: shop.headers['client-secret'],
  }
  const answers: Answer['body'][] = []
  for (const block of blocks) {
    const script = block.replaceAll('http://localhost:3000', baseUrl).replaceAll(/\ncurl/g, '\necho\ncurl')
    for (const line of (await run(script, env)).split('\n').filter(Boolean)) answers.push(JSON.parse(line))
    // What the README tells a reader to take from an answer for the next call.
    const { reference, accountNumber } = answers.at(-1).data.data ?? {}
    if (reference) env.PROVIDER_REFERENCE = reference
    if (accountNumber) env.ACCOUNT_NUMBER = accountNumber
    if (block.includes('/charges/')) await eventually(() => shop.payment('ORD-20932'), isPaid)
  }
  const [made, payment, list, cancelled, card, charged, timeline, account, transferred, refund] = answers
  assert.equal(answers.length, 10)
  assert.deepEqual(Object.keys(made.data), ['id', 'url', 'shortURL', 'reference', 'amount'])
  assert.deepEqual([made.data.reference, made.data.amount], ['ORD-20931', 1_250_000])
  assert.equal(payment.data.id, made.data.id)
  assert.equal(list.data[0].id, made.data.id)
  assert.equal(cancelled.data.status, 'cancelled')
  assert.deepEqual(Object.keys(card.data.data), ['message', 'link', 'reference', 'publicKey'])
  assert.equal(charged.data.result, 'paid')
  assert.equal(timeline.data[0].what, 'payment created')
  assert.equal(account.data.data.amountToTransfer, 500_000)
  assert.equal(transferred.data.status, 'paid')
  await eventually(() => shop.payment('ORD-20933'), isPaid)
  assert.equal(refund.data.amount, 250_000)
})

const isPaid = ({ status }: { status: string }) => status === 'successful'

test('every command that the docs name is there', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const cli = read('src/cli/main.ts') + globSync('src/cli/commands/*.ts', { cwd: ROOT }).map(read).join('')
  for (const page of pages) {
    for (const [, script] of read(page).matchAll(/npm run ([a-z]+)/g))
      assert.ok(scripts[script as string], `${page}: npm run ${script}`)
    for (const [, noun, verb] of read(page).matchAll(/manilla -- (\w+) (\w+)/g))
      assert.ok(cli.includes(`'${noun} ${verb}'`), `${page}: ${noun} ${verb}`)
  }
})

test('the table of settings names every setting, and nothing else', () => {
  const table = read('README.md').split('## Settings')[1]?.split('## ')[0] ?? ''
  const documented = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) =>
    [...(cell as string).matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name as string),
  )
  const asked = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void asked.add(String(name)) }))
  assert.deepEqual(new Set(documented), asked)
})

test('every link between the docs leads somewhere, and so does every file that they name', () => {
  for (const page of pages) {
    for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)|src="([^"]+)"/g)) {
      if (target) assert.ok(existsSync(join(ROOT, dirname(page), target)), `${page}: ${target}`)
    }
    for (const [, file] of read(page).matchAll(/`((?:src|test|bin|migrations|bench)\/[\w./-]+\.(?:ts|sql|mjs))`/g)) {
      const planned = page === 'ARCHITECTURE.md' && file === 'src/http/routes/notices.ts'
      assert.ok(planned || existsSync(join(ROOT, file as string)), `${page}: ${file}`)
    }
  }
})
