import type { ChildProcess } from 'node:child_process'
import { cpuMsOf, cpuMsWithChildren } from './cpu.ts'
import type { Errand, LoadOrder, LoadReport, LoadResult } from './load.ts'
import { CREDENTIAL, forkTracked, type Subject } from './subjects.ts'

/** One server under load for a few seconds. */
export interface Measurement {
  subject: string
  connections: number
  rate: number
  p50Ms: number
  p99Ms: number
  /** Of the server's process and of all of PostgreSQL, per answer. NaN where the counters cannot be read. */
  serverCpuUs: number
  postgresCpuUs: number
  cpuUs: number
  answered: number
}

export interface Duration {
  warmUpMs: number
  measureMs: number
}

// The example of the API's description.
const BODY = JSON.stringify({
  amount: 1_250_000,
  country: 'NG',
  user: { email: 'customer-CUSTOMER@example.com', name: 'Ada' },
  redirectURL: 'https://shop.example/thanks',
})

const CREATE: Errand = {
  method: 'POST',
  paths: ['/payments/v1/checkouts'],
  headers: {
    'client-id': CREDENTIAL.clientId,
    'client-secret': CREDENTIAL.clientSecret,
    'content-type': 'application/json',
  },
  body: BODY,
  status: 201,
}

export class Gauge {
  readonly #load: ChildProcess = forkTracked('load.ts')
  readonly #postmaster: number

  constructor(postmaster: number) {
    this.#postmaster = postmaster
  }

  async measure(subject: Subject, connections: number, duration: Duration, errand = CREATE): Promise<Measurement> {
    const { warmUpMs, measureMs } = duration
    const order: LoadOrder = { ...errand, port: subject.port, connections, warmUpMs, measureMs }
    const before = { server: Number.NaN, postgres: Number.NaN }
    const result = await this.#run(subject, order, () => {
      before.server = cpuMsOf(subject.pid)
      before.postgres = cpuMsWithChildren(this.#postmaster)
    })
    const perAnswerUs = (ms: number) => (ms * 1_000) / result.measured
    const serverCpuUs = perAnswerUs(cpuMsOf(subject.pid) - before.server)
    const postgresCpuUs = perAnswerUs(cpuMsWithChildren(this.#postmaster) - before.postgres)
    return {
      subject: subject.name,
      connections,
      rate: result.measured / result.seconds,
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      serverCpuUs,
      postgresCpuUs,
      cpuUs: serverCpuUs + postgresCpuUs,
      answered: result.answered,
    }
  }

  #run(subject: Subject, order: LoadOrder, onWarm: () => void): Promise<LoadResult> {
    return new Promise((resolve, reject) => {
      const onExit = () => done(() => reject(new Error('the load generator ended')))
      const onReport = (report: LoadReport) => {
        if (report.kind === 'warm') onWarm()
        if (report.kind === 'done') done(() => resolve(report.result))
        if (report.kind === 'failed') done(() => reject(new Error(`${subject.name}: ${report.reason}`)))
      }
      const done = (settle: () => void) => {
        this.#load.off('message', onReport).off('exit', onExit)
        settle()
      }
      this.#load.on('message', onReport).once('exit', onExit)
      this.#load.send(order)
    })
  }
}
