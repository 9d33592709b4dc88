import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

function run(folder: string, command: string, args: string[]): Promise<{ code: number; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(join(ROOT, 'node_modules/.bin', command), args, { cwd: folder, env }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, output: out + err }),
    )
  })
}

test('a new provider compiles, is registered and passes the conformance tests that need no API', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-new-provider-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  for (const name of [
    'src',
    'test/fakes',
    'test/new-provider',
    'docs/providers',
    'package.json',
    'tsconfig.json',
    'biome.json',
  ]) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const create = (...args: string[]) => run(folder, 'node', ['test/new-provider/main.ts', ...args])

  assert.equal((await create()).code, 2)
  assert.equal((await create('--name', '../x')).code, 2)
  const made = await create('--name', 'acme-pay')
  assert.deepEqual([made.code, made.output.match(/^wrote /gm)?.length], [0, 9], made.output)
  assert.equal((await create('--name', 'acme-pay')).code, 1, 'nothing is overwritten')

  assert.match(await readFile(join(folder, 'src/providers/registry.ts'), 'utf8'), /, acmePay\]/)
  const files = ['src/providers/acme-pay', 'test/fakes/acme-pay', 'src/providers/registry.ts']
  const formatted = await run(folder, 'biome', ['check', '--write', '--error-on-warnings', ...files])
  assert.equal(formatted.code, 0, formatted.output)
  const adapterTest = 'src/providers/acme-pay/adapter.test.ts'
  const compiled = await run(folder, 'tsc', ['--noEmit', '--ignoreConfig', ...COMPILER_OPTIONS, adapterTest])
  assert.equal(compiled.code, 0, compiled.output)
  const tested = await run(folder, 'node', ['--test', '--test-reporter=tap', adapterTest])
  assert.equal(tested.code, 0, tested.output)
  assert.match(tested.output, /^# pass 8$/m)
})

const COMPILER_OPTIONS = [
  ...['--target', 'esnext', '--module', 'nodenext', '--types', 'node', '--strict', '--skipLibCheck'],
  ...['--allowImportingTsExtensions', '--erasableSyntaxOnly', '--noUnusedLocals', '--noUncheckedIndexedAccess'],
]
