import { CAN_READ_CPU } from '../cpu.ts'
import { percent } from '../report.ts'
import { type Target, target } from '../targets.ts'
import { paymentRatios, scenariosOf, valuesOf } from './report.ts'
import { type PaymentsRound, PRELOADED } from './run.ts'

/** `preloaded`: so many payments were in the larger database. */
export function judgePayments(rounds: PaymentsRound[], preloaded: number): Target[] {
  const toFloor = (customers: number, pick: Parameters<typeof valuesOf>[3]) =>
    paymentRatios(rounds, 'initialize', 'floor', customers, pick)
  const toInitialize = (scenario: string) => paymentRatios(rounds, scenario, 'initialize', 64, ({ rate }) => rate)
  const atLeast = (least: number) => (value: number) => value >= least
  const atMost = (most: number) => (value: number) => value <= most
  const cpu = toFloor(64, ({ cpuMs }) => cpuMs)
  return [
    target(
      'payments by initialize at 64, × floor',
      '>= 0.8',
      toFloor(64, ({ rate }) => rate),
      atLeast(0.8),
    ),
    target(
      'payment by initialize, p50 at 1, × floor',
      '<= 2',
      toFloor(1, ({ p50Ms }) => p50Ms),
      atMost(2),
    ),
    {
      ...target('CPU per payment by initialize at 64 (service + PostgreSQL), × floor', '<= 1.3', cpu, atMost(1.3)),
      ...(!CAN_READ_CPU && { met: undefined }),
    },
    target('payments by page at 64, × by initialize', '>= 0.8', toInitialize('page'), atLeast(0.8)),
    target('payments by account at 64, × by initialize', '>= 0.8', toInitialize('account'), atLeast(0.8)),
    target(
      'statements per payment by initialize at 1',
      '<= 12',
      valuesOf(rounds, 'initialize', 1, ({ statements }) => statements),
      atMost(12),
      oneDigit,
    ),
    target(
      'commits per payment by initialize at 1',
      '<= 5',
      // Workers write a heartbeat about once a second, which is in the count.
      valuesOf(rounds, 'initialize', 1, ({ commits }) => commits),
      (commits) => Number(oneDigit(commits)) <= 5,
      oneDigit,
    ),
    ...(scenariosOf(rounds).includes(PRELOADED)
      ? [
          target(
            `payments by initialize at 64, from 0 to ${preloaded.toLocaleString('en-US')} payments`,
            '> -10 %',
            toInitialize(PRELOADED).map((ratio) => ratio - 1),
            (change) => change > -0.1,
            percent,
          ),
        ]
      : []),
  ]
}

const oneDigit = (value: number) => value.toFixed(1)
