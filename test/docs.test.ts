import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { addMerchant, startService } from './support/service.ts'

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
  const { app, database } = await startService()
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const shop = await addMerchant(database)
  const blocks = [...read('README.md').matchAll(/<!-- run by test\/docs\.test\.ts -->\n```sh\n([\s\S]*?)```/g)].map(
    (match) => match[1] as string,
  )
  assert.equal(blocks.length, 2)
  const env = { CLIENT_ID: shop.clientId, CLIENT_SECRET: shop.clientSecret }
  const answers = []
  for (const block of blocks) {
    const out = await run(
      block.replaceAll('http://localhost:3000', `http://127.0.0.1:${port}`).replaceAll(/\ncurl/g, '\necho\ncurl'),
      env,
    )
    answers.push(
      ...out
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    )
  }
  const [made, payment, list, cancelled] = answers
  assert.deepEqual(Object.keys(made.data), ['id', 'url', 'shortURL', 'reference', 'amount'])
  assert.deepEqual([made.data.reference, made.data.amount], ['ORD-20931', 1_250_000])
  assert.equal(payment.data.id, made.data.id)
  assert.equal(list.data[0].id, made.data.id)
  assert.equal(cancelled.data.status, 'cancelled')
})

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
