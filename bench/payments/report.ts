import { CAN_READ_CPU } from '../cpu.ts'
import { count, ms, table, times } from '../report.ts'
import { median } from '../statistics.ts'
import type { PaymentsMeasurement } from './measure.ts'
import { CUSTOMERS, type PaymentsRound } from './run.ts'

type Pick = (measurement: PaymentsMeasurement) => number

export function reportPayments(rounds: PaymentsRound[]): string {
  const rows = CUSTOMERS.flatMap((customers) =>
    scenariosOf(rounds).map((scenario) => {
      const of = (pick: Pick) => median(valuesOf(rounds, scenario, customers, pick))
      const toFloor = (pick: Pick) =>
        scenario === 'floor' ? '1' : times(median(paymentRatios(rounds, scenario, 'floor', customers, pick)))
      const cpu = `${ms(of(({ serverCpuMs }) => serverCpuMs))} + ${ms(of(({ postgresCpuMs }) => postgresCpuMs))}`
      return [
        String(customers),
        scenario,
        of(({ rate }) => rate).toFixed(1),
        toFloor(({ rate }) => rate),
        ms(of(({ p50Ms }) => p50Ms)),
        toFloor(({ p50Ms }) => p50Ms),
        ms(of(({ p99Ms }) => p99Ms)),
        toFloor(({ p99Ms }) => p99Ms),
        CAN_READ_CPU ? cpu : 'not measured',
        toFloor(({ cpuMs }) => cpuMs),
        CAN_READ_CPU ? ms(of(({ othersCpuMs }) => othersCpuMs)) : 'not measured',
        of(({ statements }) => statements).toFixed(1),
        of(({ commits }) => commits).toFixed(1),
        of(({ providerCalls }) => providerCalls).toFixed(1),
      ]
    }),
  )
  const head = [
    ...['conc.', 'whole payments', 'a second', '× floor', 'p50 ms', '× floor', 'p99 ms', '× floor'],
    ...['CPU ms', '× floor', 'load generator ms', 'statements', 'commits', 'provider calls'],
  ]
  return `${table(head, rows)}\n\n${createsLine(rounds)}${refusedLine(rounds)}`
}

/** A refused request is repeated and counts in the time of its payment. On a quiet machine there is none. */
function refusedLine(rounds: PaymentsRound[]): string {
  const refused = rounds.flatMap(({ payments }) => payments).reduce((sum, each) => sum + each.refused, 0)
  return refused > 0
    ? `\n${count(refused)} requests were refused with 503 and repeated: the machine was overloaded.`
    : ''
}

function createsLine(rounds: PaymentsRound[]): string {
  const manilla = median(rounds.map(({ creates }) => creates.manilla.rate))
  const ratio = median(rounds.map(({ creates }) => creates.manilla.rate / creates.floor.rate))
  const withPage = median(paymentRatios(rounds, 'create and page', 'initialize', 64, ({ rate }) => rate))
  return [
    `Creates in the same rounds, concurrency 64: ${count(manilla)} a second, ${times(ratio)} × their floor.`,
    `A create and its page, at 64: ${times(withPage)} × the rate of initialize. No target: the page and creates have their own.`,
  ].join('\n')
}

/** Where the time of a payment goes. Steps overlap: a check begins while its notice is answered. */
export function reportSteps(rounds: PaymentsRound[]): string {
  const rows = scenariosOf(rounds).flatMap((scenario) =>
    (find(rounds[0], scenario, CUSTOMERS[0]).steps ?? []).map(({ name }, index) => [
      scenario,
      name,
      ...CUSTOMERS.flatMap((customers) => {
        const of = (pick: (step: { p50Ms: number; p99Ms: number }) => number) =>
          ms(median(valuesOf(rounds, scenario, customers, ({ steps }) => pick(steps[index] ?? NOTHING))))
        return [of(({ p50Ms }) => p50Ms), of(({ p99Ms }) => p99Ms)]
      }),
    ]),
  )
  const head = CUSTOMERS.flatMap((customers) => [`p50 ms at ${customers}`, `p99 ms at ${customers}`])
  return table(['whole payments', 'step', ...head], rows)
}

const NOTHING = { p50Ms: Number.NaN, p99Ms: Number.NaN }

/** Of the last round. */
export function reportStatements(rounds: PaymentsRound[], scenario: string, customers: number): string {
  const { byStatement, statements } = find(rounds.at(-1), scenario, customers)
  const rows = byStatement
    .filter(({ calls }) => calls >= 0.01)
    .map(({ text, calls, totalMs }) => [
      calls.toFixed(2),
      (totalMs / calls).toFixed(3),
      text.replaceAll(/\s+/g, ' ').trim().replaceAll('|', '\\|'),
    ])
  const title = `${scenario}, concurrency ${customers}: ${statements.toFixed(1)} statements per payment`
  return `${title}\n\n${table(['calls per payment', 'mean ms', 'statement'], rows)}`
}

/** What one is to the other within each round, so that a slow round counts for neither. */
export function paymentRatios(
  rounds: PaymentsRound[],
  scenario: string,
  base: string,
  customers: number,
  pick: Pick,
): number[] {
  return rounds.map((round) => pick(find(round, scenario, customers)) / pick(find(round, base, customers)))
}

export function valuesOf(rounds: PaymentsRound[], scenario: string, customers: number, pick: Pick): number[] {
  return rounds.map((round) => pick(find(round, scenario, customers)))
}

export function scenariosOf(rounds: PaymentsRound[]): string[] {
  return [
    'floor',
    ...new Set(rounds[0]?.payments.map(({ scenario }) => scenario).filter((scenario) => scenario !== 'floor')),
  ]
}

function find(round: PaymentsRound | undefined, scenario: string, customers: number | undefined): PaymentsMeasurement {
  const found = round?.payments.find((each) => each.scenario === scenario && each.customers === customers)
  if (!found) throw new Error(`${scenario} was not measured at ${customers}`)
  return found
}
