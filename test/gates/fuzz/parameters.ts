import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { connect } from '../../../src/database/database.ts'
import type { ServiceProcess } from '../../support/process.ts'
import { endNow, loopbackOf, startWithin } from '../processes.ts'
import { newSeed } from '../random.ts'
import { withServer } from '../server.ts'
import { casesOf, type KnownObjects, type ParameterCase } from './parameter-cases.ts'
import { makeObjects, makeRoles, type Role } from './parameter-roles.ts'
import type { Route } from './route-table.ts'
import { printable } from './wire.ts'

const WITHIN_MS = 5_000
/** After so many requests that the process did not survive, the run ends. */
const MAX_RESTARTS = 5
/** Roles that send a share of the cases send one of so many. */
const SHARE = 12

export interface ParameterOptions {
  /** One case of so many, besides those that stopped the service before. */
  every?: number
  /** Chooses which cases those are. */
  seed?: number
  /** Only routes whose URL has this text. */
  route?: string | undefined
  concurrency?: number
}

export interface ParameterReport {
  requests: number
  routes: Route[]
  failures: string[]
  text: string
}

/** Extreme and malformed values for each parameter of every route, as each role, to the real program. */
export function parameters({
  every = 1,
  seed = newSeed(),
  route: text = '',
  concurrency = 8,
}: ParameterOptions = {}): Promise<ParameterReport> {
  return withServer('parameters', async ({ folder, databaseUrl }) => {
    const database = connect({ url: databaseUrl, connections: 2 })
    const table = join(folder, 'routes.json')
    const env = {
      ...{ DATABASE_URL: databaseUrl, DATA_DIR: join(folder, 'keys'), ROUTE_TABLE: table },
      ...{ SECRET_KEY: randomBytes(32).toString('base64'), RATE_LIMIT: 'off', LOG_LEVEL: 'error' },
      NODE_OPTIONS: `--import=${new URL('route-table.ts', import.meta.url)}`,
    }
    const run = new Run(() => startWithin(env))
    try {
      const service = await run.start()
      const all: Route[] = JSON.parse(await readFile(table, 'utf8'))
      const routes = all.filter(({ url }) => url.includes(text))
      const roles = await makeRoles(database, service)
      const objects = await makeObjects(service)
      const startedAt = performance.now()
      const work = [...routes]
      const hand = async () => {
        for (let route = work.shift(); route && !run.isOver; route = work.shift())
          await sendAll(run, route, roles, { objects, every, seed })
      }
      await Promise.all(Array.from({ length: concurrency }, hand))
      await run.checkHealth()
      return reportOf(run, { seed, routes, roles: roles.length, seconds: (performance.now() - startedAt) / 1_000 })
    } finally {
      await run.end()
      await database.close()
    }
  })
}

/**
 * The first role that the route admits sends all cases, and each other one a share. Known killers are no part of a
 * share.
 */
async function sendAll(run: Run, route: Route, roles: Role[], { objects, every, seed }: Sending): Promise<void> {
  const [first, ...cases] = casesOf(route, route.method === 'GET' ? objects : withoutObjects(objects))
  let isTaken = false
  for (const [place, { name: role, headers: headersOf }] of roles.entries()) {
    const headers = await headersOf()
    if (!first || run.isOver) return
    const status = await run.send({ ...first, role, headers })
    const isAdmitted = status !== 401 && status !== 403
    const isFirst = isAdmitted && !isTaken
    const share = every * (isFirst ? 1 : SHARE)
    isTaken ||= isAdmitted
    const isSent = ({ isKnownKiller }: ParameterCase, index: number) =>
      (isFirst && isKnownKiller) || (index + place + seed) % share === 0
    for (const each of cases.filter(isSent)) {
      if (run.isOver) return
      await run.send({ ...each, role, headers })
    }
  }
}

interface Sending {
  objects: KnownObjects
  every: number
  seed: number
}

/** What a change names must not exist, or the next requests would find nothing. */
function withoutObjects({ merchant = '', mode = '' }: KnownObjects): KnownObjects {
  return { merchant, mode }
}

interface Sent extends ParameterCase {
  role: string
  headers: Record<string, string>
}

type Outcome = { status: number; tookMs: number } | { because: string }

/** The service, and what was found. A request that fails is sent once more, alone, so that it answers for itself. */
class Run {
  readonly #startService: () => Promise<ServiceProcess>
  readonly #agent = new Agent({ keepAlive: true })
  #service: ServiceProcess | undefined
  #restarts = 0
  /** Requests wait while another one is repeated alone. */
  #alone: Promise<unknown> = Promise.resolve()
  readonly #underWay = new Set<Promise<Outcome>>()
  readonly #failures = new Map<string, { shown: string; count: number }>()
  readonly statuses = new Map<string, number>()
  requests = 0
  slowestMs = 0

  constructor(startService: () => Promise<ServiceProcess>) {
    this.#startService = startService
  }

  get isOver(): boolean {
    return this.#restarts >= MAX_RESTARTS
  }

  get failures(): string[] {
    return [...this.#failures.values()].map(({ shown, count }) => `${shown} (×${count})`)
  }

  async start(): Promise<ServiceProcess> {
    this.#service = await this.#startService()
    return this.#service
  }

  async end(): Promise<void> {
    this.#agent.destroy()
    if (this.#service) await endNow(this.#service)
  }

  /** Its status; 0 when it was not answered. */
  async send(sent: Sent): Promise<number> {
    await this.#alone
    const asking = this.#ask(sent)
    this.#underWay.add(asking)
    const outcome = await asking.finally(() => this.#underWay.delete(asking))
    this.requests++
    const status = 'status' in outcome ? outcome.status : 0
    this.statuses.set(`${status}`, (this.statuses.get(`${status}`) ?? 0) + 1)
    if ('tookMs' in outcome) this.slowestMs = Math.max(this.slowestMs, outcome.tookMs)
    if (faultOf(outcome)) {
      const repeated = this.#alone.then(() => this.#repeat(sent))
      this.#alone = repeated
      await repeated
    }
    return status
  }

  async checkHealth(): Promise<void> {
    const fault = await this.#healthFault()
    if (fault) this.#fail(`at the end, /healthz: ${fault}`, 'the run')
  }

  async #repeat(sent: Sent): Promise<void> {
    if (this.isOver) return
    await Promise.all(this.#underWay)
    if (await this.#healthFault()) await this.#restart()
    const fault = faultOf(await this.#ask(sent))
    const dead = await this.#healthFault()
    if (dead) await this.#restart()
    if (!fault && !dead) return
    const found = [fault, dead && `afterwards the process is not healthy: ${dead}`].filter(Boolean).join('; ')
    this.#fail(
      `${sent.role}: ${sent.method} ${printable(Buffer.from(sent.target), 300)}: ${found}`,
      sent.route + sent.names,
    )
  }

  async #healthFault(): Promise<string | undefined> {
    return faultOf(await this.#ask({ method: 'GET', target: '/healthz', headers: {} }))
  }

  async #restart(): Promise<void> {
    this.#restarts++
    if (this.#service) await endNow(this.#service)
    await this.start()
  }

  /** Each kind of failure is shown once, with its first case. */
  #fail(shown: string, kind: string): void {
    const known = this.#failures.get(kind)
    if (known) known.count++
    else this.#failures.set(kind, { shown, count: 1 })
  }

  /** Until the beginning of an answer, because streams of events do not end. */
  #ask({ method, target, headers }: Pick<Sent, 'method' | 'target' | 'headers'>): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const startedAt = performance.now()
    const body = method === 'GET' ? undefined : '{}'
    const asked = request({
      ...loopbackOf(this.#service?.baseUrl ?? ''),
      ...{ method, path: target, agent: this.#agent },
      headers: { ...headers, ...(body && { 'content-type': 'application/json', 'content-length': body.length }) },
    })
    const timer = setTimeout(() => asked.destroy(new Error(`no answer within ${WITHIN_MS} ms`)), WITHIN_MS)
    asked.on('error', (error) => resolve({ because: error.message }))
    asked.on('close', () => clearTimeout(timer))
    asked.on('response', (answer) => {
      resolve({ status: answer.statusCode ?? 0, tookMs: performance.now() - startedAt })
      answer.on('error', () => {})
      if (answer.headers['content-type']?.startsWith('text/event-stream')) answer.destroy()
      else answer.resume()
    })
    asked.end(body)
    return promise
  }
}

function faultOf(outcome: Outcome): string | undefined {
  if ('because' in outcome) return outcome.because
  return outcome.status >= 500 ? `status ${outcome.status}` : undefined
}

interface Finished {
  seed: number
  routes: Route[]
  roles: number
  seconds: number
}

function reportOf(run: Run, { seed, routes, roles, seconds }: Finished): ParameterReport {
  const { requests, failures, statuses, slowestMs } = run
  const counts = [...statuses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([status, count]) => `${status} ×${count}`)
  const text = [
    `parameters, seed ${seed}`,
    '',
    `  routes     ${routes.length}, each as ${roles} roles`,
    `  requests   ${requests} in ${seconds.toFixed(0)} s: ${counts.join('  ')}`,
    `  slowest    ${slowestMs.toFixed(0)} ms`,
    `  failures   ${failures.length}`,
    ...failures.map((failure) => `  FAILED  ${failure}`),
    '',
  ].join('\n')
  return { requests, routes, failures, text }
}
