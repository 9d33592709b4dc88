import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '../support/paying.ts'
import { startForTest, startProcess } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-workers-'))
after(() => rm(folder, { recursive: true, force: true }))

/** The workers that answered, by the pid in their log lines. */
const pidsIn = (output: string) =>
  [...output.matchAll(/"pid":(\d+),"port":\d+,"msg":"listening"/g)].map(([, pid]) => Number(pid))

test('WORKERS=2 serves one port with two processes, sums their metrics, and replaces one that was killed', async () => {
  const service = await startForTest({ DATA_DIR: folder, WORKERS: '2', RATE_LIMIT: 'off' })
  const { baseUrl, headers } = service
  const listening = (count: number) =>
    eventually(
      async () => pidsIn(service.output()),
      (pids) => pids.length === count,
      30_000,
    )
  const workers = await listening(2)
  assert.ok(!workers.includes(service.pid), 'the primary process serves nothing itself')

  const create = () =>
    fetch(`${baseUrl}/payments/v1/checkouts`, {
      method: 'POST',
      headers: { ...headers, connection: 'close' },
      body: JSON.stringify({ amount: 1_000, country: 'NG', user: { email: 'ada@example.com' } }),
    })
  const answers = await Promise.all(Array.from({ length: 20 }, create))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))

  const metrics = await (await fetch(`${baseUrl}/metrics`)).text()
  const counted = /manilla_http_request_seconds_count\{[^}]*checkouts[^}]*\} (\d+)/.exec(metrics)?.[1]
  assert.equal(Number(counted), 20, 'both processes together')

  process.kill(workers[0] as number, 'SIGKILL')
  await listening(3)
  assert.equal((await create()).status, 201)

  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  for (const pid of pidsIn(service.output())) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

test('a worker that hangs is killed when the service stops', async () => {
  const service = await startForTest({ DATA_DIR: folder, WORKERS: '2' })
  const [hanging] = pidsIn(service.output())
  process.kill(hanging as number, 'SIGSTOP')
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  assert.throws(() => process.kill(hanging as number, 0), { code: 'ESRCH' })
})

test('a worker that cannot start ends the primary process with its message', async () => {
  const wrong = { DATA_DIR: folder, WORKERS: '2', HOST: '192.0.2.1' }
  await assert.rejects(startProcess(wrong), ({ output, code }) => {
    assert.match(output, /HOST=192\.0\.2\.1 is not an address of this machine/)
    return code === 1
  })
})
