// `npm run gate -- fuzz`: broken, hostile and odd requests to the real program over real sockets, mixed with valid ones
// so that there is data to damage. --requests 20000, --seed N to repeat a run, --only INDEX to send a single case of
// that seed.
// Then the parameters: extreme and malformed values for every parameter of every route, as each role. --only parameters
// runs it alone, with --route TEXT for the routes whose URL has this text.
// Then the abuse part: unauthenticated traffic on every public path. --only abuse runs it alone, --rate N is its speed
// per second, and --rate 0 leaves it out.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { idOf } from '../../../src/kernel/ids.ts'
import { gatewayKeys } from '../../../src/providers/gateway/keys.ts'
import type { ServiceProcess } from '../../support/process.ts'
import { numbersFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { loopbackOf, residentMiB, withService } from '../processes.ts'
import { type Address, NoAnswer, type RawAnswer, RawClient } from '../raw-http.ts'
import { abuse } from './abuse.ts'
import type { Body } from './checkouts.ts'
import { faultsOf, readBackFaults } from './checks.ts'
import { parameters } from './parameters.ts'
import { FuzzReport } from './report.ts'
import { type FuzzCase, FuzzCases, type Known, type ProviderAccount } from './requests.ts'
import { bytesOf } from './wire.ts'

export interface FuzzOptions {
  requests: number
  seed: number
  concurrency?: number
  /** No answer may take longer. */
  maxMs?: number
  only?: number | undefined
}

// With a large heap V8 delays garbage collection, and RSS grows for tens of thousands of requests without a leak
// (measured: 194 to 296 MiB, against 157 to 168 with a small heap). A small heap grows only by a leak.
const SMALL_HEAP = '--max-semi-space-size=4 --max-old-space-size=128'

interface Run {
  report: FuzzReport
  address: Address
  service: ServiceProcess
  known: Known
  created: Map<string, { sent: FuzzCase; body: Body; promised: Record<string, unknown> }>
}

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { requests, seed, concurrency = 32, maxMs = 1_000, only } = options
  const report = new FuzzReport(seed, maxMs)
  const secretKey = randomBytes(32) // known to us, so that notices can be signed
  const dataDir = await mkdtemp(join(tmpdir(), 'manilla-fuzz-'))
  try {
    const env = {
      DATA_DIR: dataDir,
      RATE_LIMIT: 'off',
      LOG_LEVEL: 'warn',
      NODE_OPTIONS: SMALL_HEAP,
      SECRET_KEY: secretKey.toString('base64'),
    }
    await withService(env, async (service) => {
      const address = loopbackOf(service.baseUrl)
      const known: Known = { ids: [], codes: [], account: await warmUp(address, service, secretKey) }
      const run: Run = { report, address, service, known, created: new Map() }
      const { 'content-type': _, ...credentials } = service.headers
      const cases = new FuzzCases(seed, credentials, known)
      if (only === undefined) await sendAll(run, cases, requests, concurrency)
      else await sendOne(run, cases, only)
      await readAllBack(run, concurrency)
      await checkAlive(run)
    })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
  if (report.slow > 0) report.fail(`${report.slow} answers took longer than ${maxMs} ms`)
  return report
}

/**
 * The first calls of a new process compile code, so the limit of a second does not apply to them. One of them returns
 * the id of our merchant.
 */
async function warmUp(address: Address, service: ServiceProcess, masterKey: Buffer): Promise<ProviderAccount> {
  const client = new RawClient(address)
  const headers = Object.entries(service.headers)
  const post = (path: string, body: object) =>
    client.ask([bytesOf({ method: 'POST', target: `/payments/v1${path}`, headers, body: JSON.stringify(body) })], {
      method: 'POST',
    })
  const user = { email: 'warm@example.com' }
  await post('/checkouts', { amount: 1, country: 'NG', user })
  const { body } = await post('/payments/initialize', { provider: 'gateway', amount: 1, user })
  await client.ask([bytesOf({ method: 'GET', target: '/openapi.json' })])
  client.close()
  const { publicKey, reference } = JSON.parse(body).data.data as Record<string, string>
  const merchantUuid = String(publicKey).replace(/^gpk_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const { secretKey } = gatewayKeys(masterKey, merchantUuid)
  return { merchantId: idOf('merchant', merchantUuid), secretKey, orders: [String(reference)] }
}

async function sendAll(run: Run, cases: FuzzCases, requests: number, concurrency: number): Promise<void> {
  const { report, service } = run
  let left = requests
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      const client = new RawClient(run.address)
      while (left-- > 0) {
        if (left === Math.floor((requests * 2) / 3)) report.rssMiB.warm = residentMiB(service.pid)
        await send(run, client, cases.next())
      }
      client.close()
    }),
  )
  const { warm } = report.rssMiB
  const end = residentMiB(service.pid)
  report.rssMiB.end = end
  if (end > warm * 1.3 + 30) report.fail(`RSS grew from ${warm.toFixed(0)} to ${end.toFixed(0)} MiB`)
}

async function sendOne(run: Run, cases: FuzzCases, index: number): Promise<void> {
  for (let skipped = 0; skipped < index; skipped++) cases.next()
  const client = new RawClient(run.address)
  await send(run, client, cases.next())
  client.close()
}

async function send(run: Run, keptAlive: RawClient, sent: FuzzCase): Promise<void> {
  const { report } = run
  const client = sent.how === 'whole' && !sent.alone ? keptAlive : new RawClient(run.address)
  try {
    if (sent.how === 'cut') {
      await client.cut(Buffer.concat(sent.pieces))
      return report.count(sent, 'cut', 0)
    }
    const answer = await client.ask(sent.pieces, { method: sent.method, hangUp: sent.how === 'broken' })
    report.count(sent, String(answer.status), answer.tookMs)
    const dependable = sent.buildsOn === undefined || run.created.has(sent.buildsOn)
    for (const fault of faultsOf(sent, answer, dependable)) report.fail(fault, sent, shown(answer))
    if (answer.status === 201) remember(run, sent, answer)
    if (sent.kind === 'start payment' && answer.status === 200) rememberOrder(run, answer)
  } catch (error) {
    report.count(sent, error instanceof NoAnswer ? 'closed' : 'no connection', 0)
    if (sent.how === 'whole' || !(error instanceof NoAnswer))
      report.fail(`no answer: ${(error as Error).message}`, sent)
  } finally {
    if (client !== keptAlive) client.close()
  }
}

function remember({ report, known, created }: Run, sent: FuzzCase, answer: RawAnswer): void {
  const promised = JSON.parse(answer.body).data as Record<string, string>
  known.ids.push(String(promised.id))
  known.codes.push(String(promised.shortURL).split('/').at(-1) ?? '')
  const first = created.get(String(promised.reference))
  if (first && first.promised.id !== promised.id) report.fail('one reference, two payments', sent, shown(answer))
  if (sent.checkout) created.set(String(promised.reference), { sent, body: sent.checkout, promised })
}

/** Payments for the notices to refer to. */
function rememberOrder({ known }: Run, answer: RawAnswer): void {
  const { reference } = JSON.parse(answer.body).data.data as { reference?: string }
  if (reference && known.account.orders.length < 200) known.account.orders.push(reference)
}

/** Every payment that was answered with 201 exists as requested. */
async function readAllBack({ report, address, service, created }: Run, concurrency: number): Promise<void> {
  const { 'content-type': _, ...credentials } = service.headers
  const left = [...created.values()]
  report.created = left.length
  const read = async () => {
    const client = new RawClient(address)
    for (let next = left.pop(); next; next = left.pop()) {
      const target = `/payments/v1/payments/${encodeURIComponent(String(next.promised.reference))}`
      const answer = await client.ask([bytesOf({ method: 'GET', target, headers: Object.entries(credentials) })])
      if (answer.status !== 200) report.fail(`read back: ${answer.status}`, next.sent, shown(answer))
      else {
        report.readBack++
        const faults = readBackFaults(next.body, next.promised, JSON.parse(answer.body).data)
        for (const fault of faults) report.fail(fault, next.sent, answer.body)
      }
    }
    client.close()
  }
  await Promise.all(Array.from({ length: concurrency }, read))
}

async function checkAlive({ report, address, service }: Run): Promise<void> {
  if (service.child.exitCode !== null || service.child.signalCode !== null) {
    return report.fail('the process ended', undefined, service.output().slice(-2_000))
  }
  // A notice whose processing fails would be retried forever.
  const stuck = /.*(processing a notice failed|adapter failed).*/.exec(service.output())
  if (stuck) report.fail('a notice is stuck', undefined, stuck[0])
  const client = new RawClient(address)
  const { status } = await client.ask([bytesOf({ method: 'GET', target: '/healthz' })])
  client.close()
  if (status !== 200) report.fail(`/healthz answered ${status} at the end`)
}

function shown({ status, headers, body }: RawAnswer): string {
  return `${status} ${headers.get('content-type') ?? ''} ${body}`
}

if (import.meta.main) {
  const { word: part, args: others } = takeOption('only', process.argv.slice(2), ['abuse', 'parameters'])
  const { word: route, args } = takeOption('route', others)
  const defaults = { requests: 20_000, only: undefined, rate: 400 }
  const { requests, seed, only, rate } = numbersFrom(defaults, args)
  process.stdout.write(`seed ${seed}\n`)
  const isAll = part === undefined && only === undefined
  let failed = false
  if (part === undefined) {
    const report = await fuzz({ requests, seed, only })
    process.stdout.write(report.print())
    failed = report.failures.length > 0
    recordFigures(report.figures)
  }
  if (part === 'parameters' || isAll) {
    const { text, failures } = await parameters({ route, seed })
    process.stdout.write(text)
    failed ||= failures.length > 0
  }
  if ((part === 'abuse' || isAll) && rate > 0) {
    const { text, failures } = await abuse({
      requests: part === 'abuse' ? requests : 20_000,
      perSecond: rate,
      seed,
      baselineMs: 20_000,
    })
    process.stdout.write(text)
    failed ||= failures.length > 0
  }
  process.exitCode = failed ? 1 : 0
}

/** An option with a word as its value, and the other arguments. `--only 7` is a case and no word. */
function takeOption(name: string, args: string[], words?: string[]): { word: string | undefined; args: string[] } {
  const place = args.indexOf(`--${name}`)
  const word = place === -1 ? undefined : args[place + 1]
  const isTaken = word !== undefined && (words?.includes(word) ?? true)
  return isTaken ? { word, args: args.toSpliced(place, 2) } : { word: undefined, args }
}
