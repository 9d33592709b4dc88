import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { CHANNELS } from '../src/kernel/channel.ts'
import { isMobileNetwork } from '../src/kernel/mobile-networks.ts'
import { GATES } from './gates/gates.ts'

/** The dependency rules, each with its reason. ARCHITECTURE.md draws the picture; this test keeps it true. */
const ROOT = join(import.meta.dirname, '..')
const ENTRY_POINTS = ['http', 'worker', 'cli']
/**
 * A folder imports itself and the folders before it, so there are no cycles, and a change affects only what comes
 * after.
 */
const ORDER = [
  ...['kernel', 'metrics', 'database', 'tracing', 'outbound', 'events', 'merchants', 'members', 'config'],
  ...['providers', 'integrations', 'payments', 'reconciliation', 'webhooks', 'mails', 'keys', 'status', 'demo-data'],
  ...ENTRY_POINTS,
]
/**
 * The rooms of two folders, in the same way. What lies beside the rooms of payments/ is shared by them; what lies in
 * http/ itself uses them all.
 */
const ROOMS: Record<string, string[]> = {
  'src/payments': ['state', 'store', '', 'refunds', 'settlements', 'settle', 'transfers', 'start', 'upkeep'],
  'src/http': ['contract', 'server', 'checkout', 'api', 'dashboard', 'guides', ''],
}
/** The port, which is the first two, and what all adapters use. */
const SHARED = ['provider', 'capabilities', 'json-parsers', 'failure', 'settlement-difference', 'spread-reversed'].map(
  (name) => `src/providers/${name}.ts`,
)

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

test(`a folder imports only folders before it: ${ORDER.join(', ')}`, () => {
  assert.deepEqual(
    offenders(({ from, to }) => {
      if (layer(from) === -1 || layer(to) === -1) return true // compose, log and demo have rules of their own
      return moduleOf(from) === moduleOf(to) || layer(to) < layer(from)
    }),
    [],
  )
})

for (const [folder, rooms] of Object.entries(ROOMS)) {
  test(`in ${folder}, a room imports only rooms before it: ${rooms.join(', ')}`, () => {
    const roomOf = (file: string) => (file.slice(folder.length + 1).match(/^[^/]+(?=\/)/) ?? [''])[0]
    const isInside = (file: string) => file.startsWith(`${folder}/`)
    const inside = sources.filter(isInside).map(roomOf)
    assert.deepEqual([...new Set(inside)].sort(), [...rooms].sort())
    assert.deepEqual(
      offenders(({ from, to }) => {
        if (!isInside(from) || !isInside(to)) return true
        return rooms.indexOf(roomOf(to)) <= rooms.indexOf(roomOf(from))
      }),
      [],
    )
  })
}

test('only compose.ts imports an entry point, to start it', () => {
  const isEntryPoint = (file: string) => ENTRY_POINTS.includes(moduleOf(file))
  assert.deepEqual(
    offenders(({ from, to }) => !isEntryPoint(to) || moduleOf(from) === moduleOf(to) || from === 'src/compose.ts'),
    [],
  )
})

test('only the command line imports compose.ts, and only the command line reads the environment', () => {
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

test('an adapter sees the kernel and the port: no database, no framework, no other adapter', () => {
  const adapterOf = (file: string) => (file.startsWith('src/providers/') ? file.split('/').slice(2, -1)[0] : undefined)
  assert.deepEqual(
    offenders(({ from, to }) => {
      const adapter = adapterOf(from)
      if (!adapter) return true
      // A simulator plays the provider itself, which has books of its own.
      if (isSimulator(from) && moduleOf(to) === 'database') return true
      return moduleOf(to) === 'kernel' || SHARED.includes(to) || adapterOf(to) === adapter
    }),
    [],
  )
})

test('every provider folder has the same files', () => {
  const REQUIRED = [
    'README.md',
    'adapter.test.ts',
    'adapter.ts',
    'capabilities.ts',
    'mapping.ts',
    'notices.ts',
    'wire.ts',
  ]
  // `api.ts`: HTTP helpers that several files share. `charges.ts`: the starts without a payment page. `keys.ts` and
  // `simulator`: the sandbox provider is part of the service.
  const OPTIONAL = ['api.ts', 'charges.ts', 'keys.ts', 'refunds.ts', 'reversals.ts', 'settlements.ts', 'simulator']
  for (const name of providers) {
    const files = readdirSync(join(ROOT, 'src/providers', name))
    assert.deepEqual(
      REQUIRED.filter((file) => !files.includes(file)),
      [],
      `${name} lacks files`,
    )
    const others = files.filter((file) => !REQUIRED.includes(file) && !OPTIONAL.includes(file) && !isTest(file))
    assert.deepEqual(others, [], `${name} has other files`)
  }
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

test('the demo shop is a merchant: it has the client library, shares only the kernel, and nothing else uses either', () => {
  const isDemo = (file: string) => moduleOf(file) === 'demo'
  const isClient = (file: string) => file.startsWith('clients/')
  assert.deepEqual(
    offenders(({ from, to }) => !isDemo(from) || isDemo(to) || moduleOf(to) === 'kernel' || isClient(to)),
    [],
  )
  assert.deepEqual(
    offenders(({ from, to }) => !isClient(to) || (isDemo(from) && to === 'clients/typescript/src/index.ts')),
    [],
  )
  assert.deepEqual(
    offenders(({ from, to }) => !isDemo(to) || isDemo(from) || from === 'src/compose.ts'),
    [],
  )
})

test("no provider's name is known outside providers/", () => {
  // A mobile network may have the name of its own provider.
  const names = providers.filter((name) => !isMobileNetwork(name))
  const named = new RegExp(`['"\`](${names.join('|')})(-[a-z-]+)?['"\`]`)
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

/** Callers of `fetch`: none takes its URL from a merchant or a provider. */
const OWN_FETCH: Record<string, string> = {
  'src/providers/gateway/simulator/send-notices.ts': "the simulator calls this service's own notice route",
  'src/demo/payments-api.ts': "the demo shop calls this service's API",
  'src/cli/api.ts': 'the operator names the running service',
  'src/cli/commands/webhooks-verify.ts': 'the operator names the handler',
  'src/cli/grade-shop.ts': 'The shop that the operator names, as its customer.',
}

test('HTTP requests go through outbound/, which prevents SSRF and bounds them; `fetch` has five callers', () => {
  const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')
  assert.deepEqual(sources.filter((file) => /\bfetch\(/.test(textOf(file))).sort(), Object.keys(OWN_FETCH).sort())
  assert.deepEqual(
    sources.filter((file) => /from '(undici|node:https)'/.test(textOf(file)) && moduleOf(file) !== 'outbound'),
    [],
  )
})

/** Who needs a whole address: the audit log, and the addresses that a credential allows. */
const WHOLE_ADDRESS = ['src/http/dashboard/guard.ts', 'src/merchants/credential-limits.ts']

test('a limit per address counts by networkOf, so that the addresses of one IPv6 network share it', () => {
  const readers = sources.filter((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/networkOf\([\w.]+\.ip\)/g, '')
    return /\.ip\b|\bremoteAddress\b/.test(text)
  })
  assert.deepEqual(readers.sort(), WHOLE_ADDRESS)
})

const isStore = (file: string) => file.startsWith('src/payments/store/') || file.endsWith('-store.ts')

test('payments/state is a pure state machine: it imports no database, no store and no operation', () => {
  const isState = (file: string) => file.startsWith('src/payments/state/')
  const ALLOWED = ['kernel', 'events', 'merchants', 'providers', 'integrations']
  assert.deepEqual(
    offenders(({ from, to }) => !isState(from) || isState(to) || (ALLOWED.includes(moduleOf(to)) && !isStore(to))),
    [],
  )
})

test('a store imports no operation: it reads and writes what it is given', () => {
  const isOperation = (file: string) => /^src\/payments\/(?!state\/|store\/)/.test(file)
  assert.deepEqual(
    offenders(({ from, to }) => !isStore(from) || !isOperation(to)),
    [],
  )
})

test('SQL is written in stores and in database/ alone', () => {
  const saysSql = sources.filter((file) => /\bsql`|\.query\(/.test(readFileSync(join(ROOT, file), 'utf8')))
  const allowed = (file: string) =>
    isStore(file) || moduleOf(file) === 'database' || file === 'src/cli/commands/doctor.ts'
  assert.deepEqual(
    saysSql.filter((file) => !allowed(file)),
    [],
  )
})

test('what differs between channels is in the table or in an exhaustive switch: no comparison with the name of one', () => {
  const names = CHANNELS.map((channel) => `'${channel}'`).join('|')
  const comparison = new RegExp(
    `[cC]hannel\\w*\\)? *[=!]== *'|(?:${names}) *[=!]==|\\bchannels\\w*\\.includes\\((?:${names})\\)`,
  )
  const files = globSync('{src,web,clients/*/src}/**/*.{ts,tsx}', { cwd: ROOT }).filter((file) => !isTest(file))
  assert.ok(comparison.test("a.channel === 'card' ? 1 : 2") && comparison.test("'card' !== x"), 'it sees one')
  assert.deepEqual(
    files.filter((file) => file !== 'src/kernel/channel.ts' && comparison.test(readFileSync(join(ROOT, file), 'utf8'))),
    [],
  )
})

test('a package that only tests import is a development dependency: production does not install it', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const files = [...sources, ...globSync('{web,clients/*/src}/**/*.{ts,tsx}', { cwd: ROOT })]
  const text = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
  const unused = Object.keys(dependencies).filter((name) => !new RegExp(`['"]${name}['"/]`).test(text))
  assert.deepEqual(unused, [])
})

test('the rules see an import however it is written', () => {
  const text =
    "import a from './a.ts'\nimport {\n  b,\n} from '../b/b.ts'\nexport { c } from './c.ts'\nconst d = await import('./d.ts')\nimport type { E } from \"./e.ts\"\nimport './f.ts'"
  assert.deepEqual(
    importsOf('src/x/x.ts', text).map(({ to }) => to),
    ['src/x/a.ts', 'src/b/b.ts', 'src/x/c.ts', 'src/x/d.ts', 'src/x/e.ts', 'src/x/f.ts'],
  )
})

const { scripts, dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** The npm packages that a file imports, by name. SQL has `is distinct from 'failed'`. */
function packagesOf(text: string): string[] {
  const name =
    /(?:(?<!distinct )\bfrom|\bimport|\bimport\.meta\.resolve|\brequire)\s*\(?\s*'((?:@[\w-]+\/)?[\w-]+)[\w./-]*'/g
  return [...text.matchAll(name)].map((match) => match[1] as string)
}

test('what `npm start` runs imports no development package', () => {
  const rest = globSync('{src,bin,web}/**/*.{ts,tsx,mjs}', { cwd: ROOT }).filter((file) => !isTest(file))
  const seen = new Set<string>()
  const needed = new Map<string, string>()
  for (let file = rest.pop(); file !== undefined; file = rest.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const text = readFileSync(join(ROOT, file), 'utf8')
    for (const { to } of importsOf(file, text)) if (/\.(ts|tsx|mjs)$/.test(to)) rest.push(to)
    for (const name of packagesOf(text)) needed.set(name, file)
  }
  assert.ok(needed.has('fastify') && needed.has('esbuild') && needed.has('preact'), 'the reader of imports works')
  const installed = { ...dependencies, ...optionalDependencies }
  assert.deepEqual(
    [...needed].filter(([name]) => !(name in installed)),
    [],
  )
})

test('an npm script installs what it needs first, and only the service does without development packages', () => {
  for (const [name, script] of Object.entries<string>(scripts)) {
    const [, purpose] = script.match(/^node bin\/bootstrap\.mjs (start|dev|test) && /) ?? []
    assert.ok(purpose, `${name} begins with bin/bootstrap.mjs`)
    assert.equal(purpose === 'start', / src\/cli\/main\.ts\b/.test(script), name)
  }
  assert.match(scripts.gate, /^node bin\/bootstrap\.mjs dev && .*node test\/gates\/main\.ts$/)
})

test('a gate runs files that exist, installs a browser for tests, and is no npm script', () => {
  for (const { name, runs, needs } of GATES) {
    for (const each of runs) assert.ok(globSync(each, { cwd: ROOT }).length > 0, `${name}: ${each}`)
    assert.equal(needs === 'test', runs[0] === 'test/run.ts', `${name} runs tests`)
    assert.ok(!(name in scripts), name)
  }
  assert.equal(new Set(GATES.map(({ name }) => name)).size, GATES.length)
})
