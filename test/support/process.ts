import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

export interface ServiceProcess {
  child: ChildProcess
  pid: number
  baseUrl: string
  headers: { 'client-id': string; 'client-secret': string; 'content-type': string }
  /** Its output so far. */
  output(): string
  exited: Promise<number | null>
}

export class DidNotStart extends Error {
  readonly output: string
  readonly code: number | null
  constructor(output: string, code: number | null) {
    super(`the service did not start (exit code ${code}):\n${output}`)
    this.output = output
    this.code = code
  }
}

/** The real program, as `npm start` runs it, on its own port. The caller must stop it. */
export async function startProcess(
  env: Record<string, string>,
  { root = ROOT, cwd = root }: { root?: string; cwd?: string } = {},
): Promise<ServiceProcess> {
  const child = spawn(join(root, 'node_modules/.bin/node'), [join(root, 'src/cli/main.ts'), 'serve'], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (output.includes('Ctrl-C stops it.')) resolve()
      })
    }
  })
  const early = await Promise.race([ready, exited.then((code) => ({ code }))])
  if (early) throw new DidNotStart(output, early.code)
  const read = (label: string) => new RegExp(`${label}\\s+(\\S+)`).exec(output)?.[1] ?? ''
  return {
    child,
    pid: child.pid as number,
    baseUrl: read('Base URL'),
    headers: {
      'client-id': read('client-id'),
      'client-secret': read('client-secret'),
      'content-type': 'application/json',
    },
    output: () => output,
    exited,
  }
}

/** For a test: the process is stopped at its end. */
export async function startForTest(env: Record<string, string>): Promise<ServiceProcess> {
  const service = await startProcess(env)
  after(() => service.child.kill('SIGKILL'))
  return service
}
