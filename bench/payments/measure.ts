import type { ChildProcess } from 'node:child_process'
import type { BenchDatabase } from '../bench-database.ts'
import { cpuMsOf, cpuMsWithChildren } from '../cpu.ts'
import type { Duration } from '../measure.ts'
import { CREDENTIAL, type Subject } from '../subjects.ts'
import { readCounts, type StatementCount, statementsBetween } from './counters.ts'
import type { CustomersOrder, CustomersReport, CustomersResult, LinksOrder } from './customers.ts'
import type { Timeline } from './provider-account.ts'
import { type StepTimes, stepTimes } from './steps.ts'
import type { Way } from './ways.ts'

/** A server and a way to pay with it. */
export interface Scenario {
  name: string
  way: Way
  server: Subject
  databaseUrl: string
  /** At the provider. */
  account: string
}

/** Whole payments, each until its webhook has arrived, for a few seconds. */
export interface PaymentsMeasurement {
  scenario: string
  customers: number
  rate: number
  /** The whole payment is the first. */
  steps: StepTimes[]
  p50Ms: number
  p99Ms: number
  /** Of the server's process and of all of PostgreSQL, per payment. NaN where the counters cannot be read. */
  serverCpuMs: number
  postgresCpuMs: number
  cpuMs: number
  /** Of customers, merchant and provider, which share the cores with what is measured. */
  othersCpuMs: number
  /** Per payment. */
  statements: number
  commits: number
  providerCalls: number
  /** Calls and time per payment. */
  byStatement: StatementCount[]
  paid: number
  /** Requests that were answered with 503 and repeated. */
  refused: number
}

const MEANS = [
  ...(['rate', 'p50Ms', 'p99Ms', 'serverCpuMs', 'postgresCpuMs', 'cpuMs', 'othersCpuMs'] as const),
  ...(['statements', 'commits', 'providerCalls'] as const),
]

/** Of one scenario and number of customers. The statements are those of the first. */
export function meanOf(one: PaymentsMeasurement, other: PaymentsMeasurement): PaymentsMeasurement {
  const mean = (a: number, b = Number.NaN) => (a + b) / 2
  return {
    ...one,
    ...(Object.fromEntries(MEANS.map((name) => [name, mean(one[name], other[name])])) as Pick<
      PaymentsMeasurement,
      (typeof MEANS)[number]
    >),
    steps: one.steps.map(({ name, p50Ms, p99Ms }, index) => ({
      name,
      p50Ms: mean(p50Ms, other.steps[index]?.p50Ms),
      p99Ms: mean(p99Ms, other.steps[index]?.p99Ms),
    })),
    paid: one.paid + other.paid,
    refused: one.refused + other.refused,
  }
}

/** Notifications take a transaction id and write no row; a worker renews its lease once a second, with or without payments. */
const callsOf = (statements: StatementCount[], text: RegExp) =>
  statements.reduce((sum, statement) => sum + (text.test(statement.text) ? statement.calls : 0), 0)

/** More than a machine with few cores opens. Without one left, a customer creates a link in the measured time. */
const LINKS_A_SECOND = 500

export class PaymentsGauge {
  readonly #database: BenchDatabase
  readonly #provider: Subject
  readonly #customers: Subject

  constructor(database: BenchDatabase, provider: Subject, customers: Subject) {
    this.#database = database
    this.#provider = provider
    this.#customers = customers
  }

  /** CPU is of the measured time; statements, commits and calls are of the whole run, because it is then that all its payments are done. */
  async measure(
    scenario: Scenario,
    customers: number,
    { warmUpMs, measureMs, perSecond }: Duration & Pick<CustomersOrder, 'perSecond'>,
  ): Promise<PaymentsMeasurement> {
    const { name, way, server, databaseUrl, account } = scenario
    const order: CustomersOrder = {
      ...{ way, account, customers, warmUpMs, measureMs, perSecond },
      server: originOf(server),
      provider: originOf(this.#provider),
      headers: { 'client-id': CREDENTIAL.clientId, 'client-secret': CREDENTIAL.clientSecret },
    }
    const readCpu = () => ({
      server: cpuMsOf(server.pid),
      postgres: cpuMsWithChildren(this.#database.pid),
      others: cpuMsOf(this.#customers.pid) + cpuMsOf(this.#provider.pid),
    })
    let [from, to] = [readCpu(), readCpu()]
    if (way === 'page') {
      const seconds = (warmUpMs + measureMs) / 1_000
      const aSecond = Math.min(customers * 100, LINKS_A_SECOND)
      await this.#run(name, { ...order, createLinks: Math.round(seconds * aSecond) })
    }
    const before = await readCounts(this.#database, databaseUrl)
    const { journeys, seconds, paid, refused } = await this.#run(name, order, (moment) => {
      if (moment === 'warm') from = readCpu()
      else to = readCpu()
    })
    const after = await readCounts(this.#database, databaseUrl)
    const timelines = await this.#takeTimelines(account)
    const steps = stepTimes(way, journeys, timelines)
    const serverCpuMs = (to.server - from.server) / journeys.length
    const postgresCpuMs = (to.postgres - from.postgres) / journeys.length
    const byStatement = statementsBetween(before, after).map(({ text, calls, totalMs }) => ({
      ...{ text, calls: calls / paid, totalMs: totalMs / paid },
    }))
    return {
      ...{ scenario: name, customers, paid, refused, steps, byStatement },
      rate: journeys.length / seconds,
      p50Ms: steps[0]?.p50Ms ?? Number.NaN,
      p99Ms: steps[0]?.p99Ms ?? Number.NaN,
      ...{ serverCpuMs, postgresCpuMs, cpuMs: serverCpuMs + postgresCpuMs },
      othersCpuMs: (to.others - from.others) / journeys.length,
      statements: byStatement.reduce((sum, { calls }) => sum + calls, 0),
      commits: (after.commits - before.commits) / paid - callsOf(byStatement, /pg_notify|delivery_workers/),
      providerCalls: timelines.reduce((sum, { calls }) => sum + calls, 0) / paid,
    }
  }

  async #takeTimelines(account: string): Promise<Timeline[]> {
    const response = await fetch(`${originOf(this.#provider)}/${account}/timelines`, { method: 'DELETE' })
    return (await response.json()) as Timeline[]
  }

  #run(
    name: string,
    order: CustomersOrder | LinksOrder,
    onMoment: (moment: 'warm' | 'measured') => void = () => {},
  ): Promise<CustomersResult> {
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

export const originOf = ({ port }: Subject) => `http://127.0.0.1:${port}`
