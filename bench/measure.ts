import type { ChildProcess } from 'node:child_process'
import { cpuMsOf, cpuMsWithChildren } from './cpu.ts'
import type { Errand, LoadOrder, LoadReport, LoadResult } from './load.ts'
import { forkTracked, type Subject } from './subjects.ts'

/** One server under load for a few seconds. */
export interface Measurement {
  subject: string
  /** Connections or customers. */
  clients: number
  rate: number
  p50Ms: number
  p99Ms: number
  /** Of the server's process and of all of PostgreSQL, per answer or payment. NaN where the counters cannot be read. */
  serverCpuMs: number
  postgresCpuMs: number
}

export interface Duration {
  warmUpMs: number
  measureMs: number
}

export class Gauge {
  readonly #load: ChildProcess = forkTracked('load.ts')
  readonly #postmaster: number

  constructor(postmaster: number) {
    this.#postmaster = postmaster
  }

  /** `answered`: all answers, with those of the warm-up. */
  async measure(
    subject: Subject,
    clients: number,
    { warmUpMs, measureMs }: Duration,
    errand: Errand,
  ): Promise<Measurement & { answered: number }> {
    const order: LoadOrder = { ...errand, port: subject.port, connections: clients, warmUpMs, measureMs }
    const readCpu = () => [cpuMsOf(subject.pid), cpuMsWithChildren(this.#postmaster)] as const
    let before = readCpu()
    const result = await this.#run(subject, order, () => {
      before = readCpu()
    })
    const [serverMs, postgresMs] = readCpu()
    return {
      ...{ subject: subject.name, clients, answered: result.answered },
      ...{ rate: result.measured / result.seconds, p50Ms: result.p50Ms, p99Ms: result.p99Ms },
      serverCpuMs: (serverMs - before[0]) / result.measured,
      postgresCpuMs: (postgresMs - before[1]) / result.measured,
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
