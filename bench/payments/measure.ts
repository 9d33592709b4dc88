import type { ChildProcess } from 'node:child_process'
import { cpuMsOf, cpuMsWithChildren } from '../cpu.ts'
import type { Duration, Measurement } from '../measure.ts'
import { originOf, type Subject } from '../subjects.ts'
import type { CustomersOrder, CustomersReport, CustomersResult } from './customers.ts'
import type { Merchant } from './merchant.ts'

/** A server, and the merchants whose customers pay there. */
export interface Scenario {
  name: string
  server: Subject
  databaseUrl: string
  merchants: Merchant[]
}

/** Measures whole payments, each until its webhook has arrived. */
export class PaymentsGauge {
  readonly #postmaster: number
  readonly #provider: Subject
  readonly #customers: Subject
  /** Payments that an overloaded service refused to start, in all measurements. */
  refused = 0

  constructor(postmaster: number, provider: Subject, customers: Subject) {
    this.#postmaster = postmaster
    this.#provider = provider
    this.#customers = customers
  }

  /** `paid`: all payments, with those of the warm-up. */
  async measure(
    { name, server, merchants }: Scenario,
    customers: number,
    duration: Duration & Pick<CustomersOrder, 'perSecond'>,
  ): Promise<Measurement & { paid: number }> {
    const readCpu = () => [cpuMsOf(server.pid), cpuMsWithChildren(this.#postmaster)] as const
    let [from, to] = [readCpu(), readCpu()]
    const order = { ...duration, merchants, customers, server: originOf(server), provider: originOf(this.#provider) }
    const result = await this.#run(name, order, (moment) => {
      if (moment === 'warm') from = readCpu()
      else to = readCpu()
    })
    const { measured, seconds, p50Ms, p99Ms, paid, refused } = result
    this.refused += refused
    return {
      ...{ subject: name, clients: customers, rate: measured / seconds, p50Ms, p99Ms, paid },
      serverCpuMs: (to[0] - from[0]) / measured,
      postgresCpuMs: (to[1] - from[1]) / measured,
    }
  }

  #run(name: string, order: CustomersOrder, onMoment: (moment: 'warm' | 'measured') => void): Promise<CustomersResult> {
    const processes: [string, ChildProcess][] = [
      ['the customers', this.#customers.child],
      ['the provider', this.#provider.child],
    ]
    return new Promise((resolve, reject) => {
      const onReport = (report: CustomersReport) => {
        if (report.kind === 'done') done(() => resolve(report.result))
        else if (report.kind === 'failed') done(() => reject(new Error(`${name}: ${report.reason}`)))
        else onMoment(report.kind)
      }
      const exits = processes.map(([who, child]) => {
        const onExit = () => done(() => reject(new Error(`${name}: ${who} ended`)))
        child.once('exit', onExit)
        return () => child.off('exit', onExit)
      })
      const done = (settle: () => void) => {
        this.#customers.child.off('message', onReport)
        for (const forget of exits) forget()
        settle()
      }
      this.#customers.child.on('message', onReport)
      this.#customers.child.send(order)
    })
  }
}
