import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

/**
 * The rules of the house, each with its reason. ARCHITECTURE.md draws the picture; this keeps it true.
 */
const ROOT = join(import.meta.dirname, '..')
const DOORS = ['http', 'worker', 'cli']
// A module may use what stands before it. So no cycle can start, and a change is felt to the right only.
const ORDER = ['kernel', 'database', 'merchants', 'events', 'payments', 'attempts', 'webhooks', ...DOORS]
const PROVIDER_PORT = 'src/providers/provider.ts'

const isTest = (file: string) => file.endsWith('.test.ts')
const sources = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !isTest(file))
const providers = readdirSync(join(ROOT, 'src/providers'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

interface Import {
  from: string
  to: string
}

/** Every import of a file of ours by a file of ours. */
export function importsOf(file: string, text: string): Import[] {
  const specifiers = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(
    (match) => match[1] as string,
  )
  return specifiers.map((specifier) => ({ from: file, to: normalize(join(dirname(file), specifier)) }))
}

const imports = sources.flatMap((file) => importsOf(file, readFileSync(join(ROOT, file), 'utf8')))
const moduleOf = (file: string) => file.split('/')[1] ?? ''
const layer = (file: string) => ORDER.indexOf(moduleOf(file))

function offenders(rule: (edge: Import) => boolean): string[] {
  return imports.filter((edge) => !rule(edge)).map(({ from, to }) => `${from} imports ${to}`)
}

test('every import leads to a file that is there', () => {
  assert.ok(imports.length > 100, 'the reader of imports works')
  assert.deepEqual(
    offenders(({ to }) => existsSync(join(ROOT, to))),
    [],
  )
})

test('a module imports to its left only: kernel, database, merchants, events, payments, attempts, webhooks, doors', () => {
  assert.deepEqual(
    offenders(({ from, to }) => {
      if (layer(from) === -1 || layer(to) === -1) return true // providers, config and compose have rules of their own
      return moduleOf(from) === moduleOf(to) || layer(to) < layer(from)
    }),
    [],
  )
})

test('nothing imports a door, but compose.ts, which hands them their parts', () => {
  const isDoor = (file: string) => DOORS.includes(moduleOf(file))
  assert.deepEqual(
    offenders(({ from, to }) => !isDoor(to) || moduleOf(from) === moduleOf(to) || from === 'src/compose.ts'),
    [],
  )
})

test('only doors import compose.ts, and only the command line reads the environment', () => {
  assert.deepEqual(
    offenders(({ from, to }) => to !== 'src/compose.ts' || moduleOf(from) === 'cli'),
    [],
  )
  const readers = sources.filter((file) => /process\.env\b/.test(readFileSync(join(ROOT, file), 'utf8')))
  // The embedded server hands its own environment on, cleaned.
  assert.deepEqual(
    readers.filter((file) => moduleOf(file) !== 'cli' && file !== 'src/database/embedded-home.ts'),
    [],
  )
})

const SIMULATORS = 'src/providers/sandbox-servers.ts'
const isSimulator = (file: string) => /^src\/providers\/[^/]+\/simulator\//.test(file)
// A provider's server for tests, and what all of those share.
const isFake = (file: string) => /^src\/providers\/[^/]+\/fake(-[a-z]+)?\.ts$/.test(file)
const isFakeSupport = (file: string) => /^src\/providers\/(upstream|fake-[a-z-]+)\.ts$/.test(file)

test('an adapter sees the kernel and the port: no database, no framework, no other adapter', () => {
  const adapterOf = (file: string) => (file.startsWith('src/providers/') ? file.split('/').slice(2, -1)[0] : undefined)
  assert.deepEqual(
    offenders(({ from, to }) => {
      const adapter = adapterOf(from)
      if (!adapter) return true
      // A simulator plays the provider itself, which has books of its own.
      if (isSimulator(from) && moduleOf(to) === 'database') return true
      if (isFake(from) && isFakeSupport(to)) return true
      return moduleOf(to) === 'kernel' || to === PROVIDER_PORT || adapterOf(to) === adapter
    }),
    [],
  )
})

test('an adapter does not know that its provider is simulated', () => {
  assert.deepEqual(
    offenders(({ from, to }) => !isSimulator(to) || isSimulator(from) || from === SIMULATORS),
    [],
  )
})

test('an adapter is reached through the registry alone, and a simulator through the list of them', () => {
  const isAdapter = (file: string) => providers.some((name) => file.startsWith(`src/providers/${name}/`))
  const isOpening = ({ from, to }: Import) => from === SIMULATORS && to.endsWith('/simulator/simulator.ts')
  assert.deepEqual(
    offenders(
      (edge) =>
        !isAdapter(edge.to) || isAdapter(edge.from) || edge.from === 'src/providers/registry.ts' || isOpening(edge),
    ),
    [],
  )
})

test('the demo shop is a merchant: it knows the service over HTTP alone, and shares only the kernel', () => {
  const isDemo = (file: string) => moduleOf(file) === 'demo'
  assert.deepEqual(
    offenders(({ from, to }) => !isDemo(from) || isDemo(to) || moduleOf(to) === 'kernel'),
    [],
  )
  assert.deepEqual(
    offenders(({ from, to }) => !isDemo(to) || isDemo(from) || from === 'src/compose.ts'),
    [],
  )
})

test("no provider's name is known outside providers/", () => {
  const named = new RegExp(`['"\`](${providers.join('|')})(-[a-z-]+)?['"\`]`)
  const files = [
    // A merchant names the provider that it wants, and so does the demo shop.
    ...sources.filter((file) => !file.startsWith('src/providers/') && moduleOf(file) !== 'demo'),
    ...globSync('migrations/*.sql', { cwd: ROOT }),
  ]
  assert.deepEqual(
    files.filter((file) => named.test(readFileSync(join(ROOT, file), 'utf8'))),
    [],
  )
})

test('inside a module nouns know no store and no verb, and a store knows no verb', () => {
  const VERB =
    /^(audit|create|cancel|expire|verify|manage|seed|start|settle|check|deliver|announce|redeliver|try|initialize|receive|reconcile|refund|write|call|read|hold|note)-/
  const nameOf = (file: string) => file.split('/').at(-1) ?? ''
  const kind = (file: string) => (nameOf(file).endsWith('-store.ts') ? 1 : VERB.test(nameOf(file)) ? 2 : 0)
  const DOMAIN = ['merchants', 'events', 'payments', 'attempts', 'webhooks']
  assert.deepEqual(
    offenders(
      ({ from, to }) => !DOMAIN.includes(moduleOf(from)) || !DOMAIN.includes(moduleOf(to)) || kind(to) <= kind(from),
    ),
    [],
  )
})

test('SQL is written in stores and in database/ alone', () => {
  const saysSql = sources.filter((file) => /\bsql`|\.query\(/.test(readFileSync(join(ROOT, file), 'utf8')))
  const allowed = (file: string) =>
    file.endsWith('-store.ts') || moduleOf(file) === 'database' || file === 'src/cli/commands/doctor.ts'
  assert.deepEqual(
    saysSql.filter((file) => !allowed(file)),
    [],
  )
})

test('the rules see an import however it is written', () => {
  const text =
    "import a from './a.ts'\nimport {\n  b,\n} from '../b/b.ts'\nexport { c } from './c.ts'\nconst d = await import('./d.ts')\nimport type { E } from \"./e.ts\"\nimport './f.ts'"
  assert.deepEqual(
    importsOf('src/x/x.ts', text).map(({ to }) => to),
    ['src/x/a.ts', 'src/b/b.ts', 'src/x/c.ts', 'src/x/d.ts', 'src/x/e.ts', 'src/x/f.ts'],
  )
})
