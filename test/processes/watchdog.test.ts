import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/paying.ts'
import { type ServiceProcess, startForTest } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-watchdog-'))
after(() => rm(folder, { recursive: true, force: true }))

/** SIGUSR2 blocks the event loop of a process of this service. */
async function startBlockable(env: Record<string, string> = {}): Promise<ServiceProcess> {
  const { url } = await createDatabase()
  return startForTest({
    DATABASE_URL: url,
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    DATA_DIR: await mkdtemp(join(folder, 'data-')),
    NODE_OPTIONS: `--import=${join(import.meta.dirname, '../support/block-on-signal.ts')}`,
    ...env,
  })
}

interface LogLine {
  level: string
  pid: number
  msg: string
  err?: { stack: string; message: string }
}

const linesOf = (service: ServiceProcess): LogLine[] =>
  service
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{"level"') && line.endsWith('}'))
    .map((line) => JSON.parse(line))

function assertNamesTheCode(service: ServiceProcess, pid: number): void {
  const line = linesOf(service).find(({ msg }) => msg.startsWith('blocked'))
  assert.equal(line?.level, 'fatal')
  assert.equal(line.pid, pid)
  assert.match(line.err?.message ?? '', /has not turned for 10 s/)
  assert.match(line.err?.stack ?? '', /at blocksForEver \(file:.+block-on-signal\.ts:\d+:\d+\)/)
}

const answers = async (baseUrl: string) =>
  (await fetch(`${baseUrl}/healthz`, { headers: { connection: 'close' } })).status === 200

describe('the watchdog', { concurrency: true }, () => {
  test('E3: a process whose event loop is blocked ends within 20 s, and its last log line has the stack', async () => {
    const notified = join(folder, 'notified')
    // Stands in for the program of systemd, which needs a systemd that listens.
    await writeFile(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$@ $NOTIFY_SOCKET" >> ${notified}\n`)
    await chmod(join(folder, 'systemd-notify'), 0o755)
    const systemd = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '1500000', PATH: `${folder}:${process.env.PATH}` }
    const service = await startBlockable(systemd)
    const messages = async () => (await readFile(notified, 'utf8').catch(() => '')).trim().split('\n')
    const before = await eventually(messages, (sent) => sent.length >= 4)
    assert.equal(before[0], 'READY=1 /run/notify')
    assert.deepEqual(new Set(before.slice(1)), new Set(['WATCHDOG=1 /run/notify']))

    const closed = once(service.child, 'close', { signal: AbortSignal.timeout(30_000) })
    service.child.kill('SIGUSR2')
    const blockedAt = performance.now()
    const [code, signal] = await closed
    const tookMs = performance.now() - blockedAt
    assert.ok(tookMs > 8_000 && tookMs < 20_000, `it took ${tookMs} ms`)
    assert.deepEqual([code, signal], [null, 'SIGKILL'])
    assertNamesTheCode(service, service.pid)
    const after = await messages()
    assert.ok(after.length <= before.length + 3, 'systemd hears nothing from a blocked event loop')
  })

  test('E3: of several processes, the one that is blocked ends and is replaced', async () => {
    const service = await startBlockable({ WORKERS: '2' })
    const started = () => linesOf(service).filter(({ msg }) => msg === 'listening')
    const [blocked] = await eventually(
      async () => started(),
      (lines) => lines.length === 2,
    )
    process.kill(blocked?.pid as number, 'SIGUSR2')
    await eventually(
      async () => started(),
      (lines) => lines.length === 3,
      30_000,
    )
    assertNamesTheCode(service, blocked?.pid as number)
    assert.throws(() => process.kill(blocked?.pid as number, 0), { code: 'ESRCH' })
    assert.match(service.output(), new RegExp(`worker ${blocked?.pid} ended unexpectedly`))
    assert.ok(await answers(service.baseUrl))
  })

  test('E3: a blocked process ends when nobody reads its log, too', async () => {
    const child = startSpinning([process.execPath])
    assert.deepEqual(await once(child, 'exit', { signal: AbortSignal.timeout(25_000) }), [null, 'SIGKILL'])
  })

  test('E3: a blocked process ends as process 1 of a container, which no signal of the container can end', async (t) => {
    const unshare = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child']
    const [supported] = await once(spawn(unshare[0] as string, [...unshare.slice(1), 'true']), 'exit').catch(() => [1])
    if (supported !== 0) return t.skip('unshare makes no namespaces here')
    const child = startSpinning([...unshare, process.execPath])
    child.stderr.resume()
    assert.deepEqual(await once(child, 'exit', { signal: AbortSignal.timeout(25_000) }), [1, null])
  })

  test('E3: a process that was suspended, and one under a debugger, are not ended', async () => {
    const [suspended, debugged] = await Promise.all([
      startBlockable(),
      startBlockable({ NODE_OPTIONS: '--inspect=127.0.0.1:0' }),
    ])
    const isPaused = await pauseInDebugger(debugged)
    suspended.child.kill('SIGSTOP')
    // There is no event for "nothing happened": longer than the watchdog waits.
    await new Promise((resolve) => setTimeout(resolve, 13_000))
    suspended.child.kill('SIGCONT')
    assert.ok(await answers(suspended.baseUrl))
    assert.ok(isPaused())
    await isPaused.resume()
    assert.ok(await answers(debugged.baseUrl))
  })
})

/** Blocks its event loop with a full pipe at stderr, of which nothing is read until the test does. */
function startSpinning([command, ...args]: string[]) {
  const code = `
    import { startWatchdog } from '${new URL('../../src/cli/watchdog.ts', import.meta.url)}'
    import { write } from 'node:fs'
    startWatchdog({ error: console.error })
    write(2, 'x'.repeat(200_000), () => {})
    setTimeout(() => { for (;;); }, 1_000)`
  const child = spawn(command as string, [...args, '--input-type=module', '--eval', code], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  after(() => child.kill('SIGKILL'))
  return child
}

/** Stops the process as a breakpoint does. */
async function pauseInDebugger(service: ServiceProcess) {
  const [, address] = await eventually(
    async () => /Debugger listening on (ws:\S+)/.exec(service.output()) ?? [],
    ([found]) => found !== undefined,
  )
  const socket = new WebSocket(address as string)
  await once(socket, 'open')
  const seen: string[] = []
  socket.addEventListener('message', ({ data }) => seen.push(JSON.parse(String(data)).method))
  const send = (id: number, method: string) => socket.send(JSON.stringify({ id, method }))
  const saw = (method: string) =>
    eventually(
      async () => seen.includes(method),
      (isSeen) => isSeen,
    )
  send(1, 'Debugger.enable')
  send(2, 'Debugger.pause')
  await saw('Debugger.paused')
  const isPaused = () => !seen.includes('Debugger.resumed')
  return Object.assign(isPaused, {
    async resume() {
      send(3, 'Debugger.resume')
      await saw('Debugger.resumed')
      socket.close()
    },
  })
}
