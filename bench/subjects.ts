import { type ChildProcess, fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Version } from './against.ts'

/** A server that is measured, in its own process. */
export interface Subject {
  name: string
  pid: number
  port: number
  child: ChildProcess
}

const ROOT = join(import.meta.dirname, '..')

// As in production: a proxy in front of the service already logs each request.
export const LOG_LEVEL = 'warn'

// As many as the service has. 5, 10, 20 and 40 were tried at concurrency 64 on 2 cores: 10 was best in the calmest run
// (3 314 creates a second against 3 106 with 20), 20 in two runs with other load (2 241 and 2 563 against 1 748 and 2
// 198).
export const FLOOR_CONNECTIONS = 10

const SECRET_KEY = randomBytes(32).toString('base64')

export const CREDENTIAL = {
  clientId: 'bench-client-id',
  clientSecret: randomBytes(24).toString('base64url'),
}

const environment = (databaseUrl: string) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  DATABASE_URL: databaseUrl,
  LOG_LEVEL,
})

/** The real program, as `npm start` runs it; or an older version of it, by its own command line. */
export async function startManilla(databaseUrl: string, version?: Version): Promise<Subject> {
  const root = version?.root ?? ROOT
  const child = spawn(process.execPath, [join(root, 'src/cli/main.ts'), 'serve'], {
    cwd: root,
    env: {
      ...environment(databaseUrl),
      PORT: '0',
      SECRET_KEY,
      SANDBOX_CLIENT_ID: CREDENTIAL.clientId,
      SANDBOX_CLIENT_SECRET: CREDENTIAL.clientSecret,
      RATE_LIMIT: 'off',
      WEBHOOK_ALLOW_PRIVATE: 'sandbox', // provider and merchant are on this machine
      DEMO: 'off',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  track(child)
  let said = ''
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the service ended with ${code} before it was ready:\n${said}`)))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const found = /Base URL\s+http:\/\/localhost:(\d+)/.exec(said)?.[1]
      if (found && said.includes('Ctrl-C stops it.')) resolve(Number(found))
    })
  })
  return { name: version?.name ?? 'manilla', pid: child.pid as number, port, child }
}

export const originOf = ({ port }: Subject) => `http://127.0.0.1:${port}`

export const headersOf = ({ clientId, clientSecret }: typeof CREDENTIAL) => ({
  'client-id': clientId,
  'client-secret': clientSecret,
})

/** One call by a merchant. Throws unless the answer is 2xx. */
export async function callManilla(
  subject: Subject,
  path: string,
  body: unknown,
  { method = 'POST', headers = headersOf(CREDENTIAL) } = {},
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the shape of the answer
): Promise<any> {
  const response = await fetch(originOf(subject) + path, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text.slice(0, 600)}`)
  return JSON.parse(text)
}

/** `providerUrl`: not needed for creates. */
export function startFloor(databaseUrl: string, providerUrl = ''): Promise<Subject> {
  const env = { FLOOR_CONNECTIONS: String(FLOOR_CONNECTIONS), PROVIDER_URL: providerUrl }
  return startForked('floor', 'payments/floor.ts', { ...environment(databaseUrl), ...env })
}

export function startProvider(): Promise<Subject> {
  return startForked('provider', 'payments/provider.ts', { PATH: process.env.PATH })
}

/** With a large young generation: its short-lived strings would otherwise take the cores from what is measured. */
export function startCustomers(): Promise<Subject> {
  return startForked('customers', 'payments/customers.ts', { PATH: process.env.PATH }, ['--max-semi-space-size=32'])
}

/** A process that sends deliveries. It does not listen. */
export function startDeliverer(system: string, databaseUrl: string): Promise<Subject> {
  return startForked(system, 'deliverer.ts', { ...environment(databaseUrl), SYSTEM: system })
}

async function startForked(
  name: string,
  file: string,
  env: NodeJS.ProcessEnv,
  nodeOptions: string[] = [],
): Promise<Subject> {
  const child = forkTracked(file, env, nodeOptions)
  const ready = await Promise.race([once(child, 'message'), once(child, 'exit')])
  const { port } = (ready[0] ?? {}) as { port?: number }
  if (!port) throw new Error(`${file} ended before it was ready`)
  return { name, pid: child.pid as number, port, child }
}

export function forkTracked(
  file: string,
  env: NodeJS.ProcessEnv = process.env,
  nodeOptions: string[] = [],
): ChildProcess {
  const child = fork(join(import.meta.dirname, file), { env, execArgv: nodeOptions })
  track(child)
  return child
}

const running = new Set<ChildProcess>()

function track(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGINT') // the service: "at once", without the wait for clients to notice
  const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exited
  clearTimeout(timer)
}

/** Every process that this run started and that still runs. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map(stop))
}
