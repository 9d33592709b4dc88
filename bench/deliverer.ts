import { Agent, request } from 'node:http'
import { pino } from 'pino'
import { connect } from '../src/database/database.ts'
import { listen } from '../src/database/listen.ts'
import { DELIVERIES_CHANNEL } from '../src/events/outbox-store.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { secretBox } from '../src/kernel/secret-box.ts'
import { webhookHttp } from '../src/outbound/webhook-http.ts'
import { startDelivering } from '../src/webhooks/delivery-loop.ts'

/**
 * A process that sends deliveries, by Manilla or by a job library: one POST for each. The libraries are tuned as their
 * manuals say. They do not sign, record tries or check addresses, which is to their advantage.
 */
const url = process.env.DATABASE_URL ?? ''
const CONCURRENCY = 64

// Without types: the libraries are installed for the benchmark only.
const load = (name: string) => import(name)

const STARTERS: Record<string, () => Promise<void>> = {
  async manilla() {
    const database = connect({ url })
    const engine = startDelivering({
      database,
      clock: systemClock,
      log: pino({ level: 'warn' }),
      secrets: secretBox(Buffer.alloc(32)),
      http: webhookHttp(),
      allowPrivate: () => true,
    })
    listen(url, { [DELIVERIES_CHANNEL]: { heard: engine.wake, missed: engine.wake } })
  },
  async 'graphile-worker'() {
    const { Logger, run } = await load('graphile-worker')
    await run({
      connectionString: url,
      concurrency: CONCURRENCY,
      maxPoolSize: 10,
      noHandleSignals: true,
      preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      logger: new Logger(() => () => {}),
      taskList: { post: (job: Job) => post(job) },
    })
  },
  async 'pg-boss'() {
    const { PgBoss } = await load('pg-boss')
    const boss = new PgBoss({
      connectionString: url,
      max: 10,
      supervise: false,
      schedule: false,
      useListenNotify: true,
    })
    await boss.start()
    await boss.work(
      'post',
      { batchSize: CONCURRENCY, localConcurrency: 4, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
      async (jobs: { data: Job }[]) => void (await Promise.all(jobs.map(({ data }) => post(data)))),
    )
  },
}

interface Job {
  port: number
  body: string
}

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY / 8 })

/** A minimal POST over kept connections. */
function post({ port, body }: Job): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const call = request({ host: '127.0.0.1', port, path: '/hook', method: 'POST', headers, agent }, (response) => {
      response.resume()
      response.once('end', () => resolve())
    })
    call.once('error', reject)
    call.end(body)
  })
}

process.on('disconnect', () => process.exit())
const start = STARTERS[process.env.SYSTEM ?? '']
if (!start) throw new Error(`SYSTEM must be one of ${Object.keys(STARTERS).join(', ')}`)
await start()
process.send?.({ port: 1 }) // ready; it listens nowhere
