import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Command, Reply } from '../../clients/conformance/protocol.ts'
import type { Heard, Manner, Server } from '../../clients/conformance/world.ts'

const ROOT = join(import.meta.dirname, '../..')
const DRIVERS = join(ROOT, 'clients/conformance/drivers')

export interface Language {
  name: string
  command: [string, ...string[]]
}

const LANGUAGES: readonly Language[] = [
  { name: 'TypeScript', command: [process.execPath, `${DRIVERS}/driver.ts`] },
  { name: 'PHP', command: ['php', `${DRIVERS}/driver.php`] },
  { name: 'Python', command: ['python3', `${DRIVERS}/driver.py`] },
  { name: 'Python with asyncio', command: ['python3', `${DRIVERS}/driver.py`, 'asyncio'] },
]

/** Those that this machine has. With ALL_LANGUAGES=1, as the gate `clients` sets it, each must be there. */
export function languages(): readonly Language[] {
  if (process.env.ALL_LANGUAGES) return LANGUAGES
  return LANGUAGES.filter(({ command: [program] }) => hasLanguage(program))
}

export const hasLanguage = (program: string) =>
  Boolean(process.env.ALL_LANGUAGES) || spawnSync(program, ['--version']).status === 0

export interface Driver {
  send(command: Command): Promise<Reply>
  stop(): void
}

export function startDriver({ command: [program, ...args] }: Language): Driver {
  const child: ChildProcess = spawn(program, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting: ((reply: Reply) => void)[] = []
  let ended = false
  let rest = ''
  // Not with readline: it also ends a line at U+2028.
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) waiting.shift()?.(JSON.parse(line))
  })
  child.once('close', () => {
    ended = true
    for (const answer of waiting) answer({ error: { kind: 'client', message: 'the driver has ended', dump: '' } })
  })
  return {
    send(command) {
      assert.ok(!ended, `${program} has ended`)
      child.stdin?.write(`${JSON.stringify(command)}\n`)
      return new Promise((resolve) => waiting.push(resolve))
    },
    stop: () => void child.kill('SIGKILL'),
  }
}

/** A server for a client. The caller must close it. */
export async function openServer(answer: Manner = (_, response) => response.end('{"data":{}}')): Promise<Server> {
  const heard: Heard[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one = { method, url, headers, body: Buffer.concat(chunks).toString(), at: performance.now() }
      heard.push(one)
      opened.answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const opened: Server = {
    origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    heard,
    answer,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return opened
}

/** Passes each request on to the service, and breaks the connections of the first ones when the answer has come. */
export function relayTo(baseUrl: string, loses: number): Promise<Server> {
  let left = loses
  return openServer(async ({ method, url, headers, body }, response) => {
    const { host: _, connection: __, 'content-length': ___, ...others } = headers
    const answer = await fetch(baseUrl + url, {
      ...{ method, headers: others as Record<string, string> },
      ...(body !== '' && { body }),
    })
    const text = await answer.text()
    if (left-- > 0) response.socket?.resetAndDestroy()
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  })
}
