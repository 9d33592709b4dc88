import { type Static, Type } from 'typebox'
import { nullable } from '../contract/schema.ts'

const Count = Type.Integer()
const Day = Type.String({ format: 'day' })

/** The days of the charts, both included, in a zone. */
export const ChartsQuery = Type.Object({
  from: Day,
  to: Day,
  zone: Type.String({ maxLength: 64 }),
  /** Default: the one with the most payments. */
  currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
})

const SUMS = {
  /** Amounts of the payments that were paid, without fees, in the lowest denomination. */
  volume: Count,
  created: Count,
  paid: Count,
  cancelled: Count,
  expired: Count,
  attempts: Count,
  attemptsPaid: Count,
  /** Each decline counts: a customer may try several cards in one attempt. */
  attemptsFailed: Count,
  attemptsAbandoned: Count,
  /** Seconds from the creation of a payment until it was paid, estimated from a histogram. Null: none was paid. */
  timeToPay: nullable(Type.Object({ p50: Type.Number(), p90: Type.Number() })),
}
const Sums = Type.Object(SUMS)
export type Sums = Static<typeof Sums>

const Group = Type.Object({
  name: Type.String(),
  volume: Count,
  paid: Count,
  attemptsPaid: Count,
  attemptsFailed: Count,
})
export type Group = Static<typeof Group>

export const ChartsAnswer = Type.Object({
  data: Type.Object({
    unit: Type.Unsafe<'hour' | 'day'>({ type: 'string', enum: ['hour', 'day'] }),
    /** Null: nothing happened in these days. */
    currency: nullable(Type.String()),
    currencies: Type.Array(Type.String()),
    /** The newest payments are still being summed up. */
    isBehind: Type.Boolean(),
    totals: Sums,
    /** `at`: its beginning. */
    parts: Type.Array(Type.Object({ at: Type.String(), ...SUMS })),
    providers: Type.Array(Group),
    channels: Type.Array(Group),
    declines: Type.Array(Type.Object({ code: Type.String(), count: Count })),
  }),
})
export type Charts = Static<typeof ChartsAnswer>['data']

/** Counts end at 100, which means "100 or more". */
export const OverviewAnswer = Type.Object({
  data: Type.Object({
    /** What the software must not decide. */
    openCases: Count,
    /** Transfers without a decision: see `transfers-contract.ts`. */
    transfers: Count,
    openDisputes: Count,
    failingEndpoints: Count,
    disabledEndpoints: Count,
    givenUpDeliveries: Count,
    /** API keys that expire within 14 days. */
    expiringKeys: Count,
    providers: Type.Array(Type.Object({ provider: Type.String(), title: Type.String(), healthy: Type.Boolean() })),
  }),
})
export type OverviewAnswer = Static<typeof OverviewAnswer>
