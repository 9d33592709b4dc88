import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { databaseUser } from '../gates/tools.ts'
import { freePort } from './free-port.ts'
import { eventually } from './paying.ts'
import { ROOT } from './snippets.ts'

/** A shop of examples/ that Debian can run. */
interface Sample {
  name: string
  /** Starts it on a port. */
  command(port: number): [string, ...string[]]
  env(folder: string): Promise<Record<string, string>>
}

const python = (file: string, ...args: string[]): [string, ...string[]] => [
  // Debian's, which has Flask and Django; another one may come first in PATH.
  '/usr/bin/python3',
  join(ROOT, 'examples', file),
  ...args,
]

export const SAMPLES: readonly Sample[] = [
  {
    name: 'php',
    command: (port) => ['php', '-S', `127.0.0.1:${port}`, join(ROOT, 'examples/php/index.php')],
    env: startMariaDb,
  },
  {
    name: 'flask',
    command: () => python('flask/shop.py'),
    env: async (folder) => ({ DATABASE: join(folder, 'shop.db') }),
  },
  {
    name: 'django',
    command: (port) => python('django/shop.py', 'runserver', '--noreload', String(port)),
    env: async (folder) => ({ DATABASE: join(folder, 'shop.db') }),
  },
]

export interface RunningSample {
  url: string
  output(): string
}

/** For a test: it is stopped at its end. `settings`: the credentials, and MANILLA. */
export async function startSample(
  { name, command, env }: Sample,
  settings: Record<string, string>,
): Promise<RunningSample> {
  const folder = await mkdtemp(join(tmpdir(), `manilla-${name}-`))
  after(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const [program, ...args] = command(port)
  const child = spawn(program, args, {
    env: {
      ...{ PATH: process.env.PATH ?? '', PYTHONPATH: join(ROOT, 'clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' },
      // Its server has one process otherwise, and a return page asks Manilla while Manilla sends a webhook.
      PHP_CLI_SERVER_WORKERS: '4',
      ...{ SHOP: url, PORT: String(port), ...settings },
      ...(await env(folder)),
    },
    // The workers of PHP are processes of the same group.
    detached: true,
  })
  after(() => process.kill(-(child.pid as number), 'SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  await eventually(
    () =>
      fetch(url).then(
        (response) => response.text(),
        () => output,
      ),
    (page) => page.includes('Adire scarf'),
  )
  return { url, output: () => output }
}

/** A server of its own, on a socket in a temporary folder. As root it runs as another user. */
export async function startMariaDb(folder: string): Promise<Record<string, string>> {
  const user = databaseUser() ? 'mysql' : undefined
  chmodSync(folder, 0o777)
  const options = [`--datadir=${folder}/data`, ...(user ? [`--user=${user}`] : [])]
  const made = spawnSync('mariadb-install-db', [
    '--no-defaults',
    ...options,
    '--auth-root-authentication-method=normal',
  ])
  assert.equal(made.status, 0, String(made.stderr))
  const socket = join(folder, 'mysql.sock')
  const server = spawn('mariadbd', ['--no-defaults', ...options, `--socket=${socket}`, '--skip-networking'])
  after(() => server.kill('SIGKILL'))
  const sql = (input: string) =>
    spawnSync('mariadb', ['--no-defaults', '-u', 'root', `--socket=${socket}`], { input }).status
  const schema = readFileSync(join(ROOT, 'examples/php/schema.sql'), 'utf8')
  await eventually(
    async () => sql(`create database if not exists shop; use shop; ${schema}`),
    (status) => status === 0,
  )
  return { DATABASE_DSN: `mysql:unix_socket=${socket};dbname=shop;charset=utf8mb4`, DATABASE_USER: 'root' }
}
