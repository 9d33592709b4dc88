import { type Static, Type } from 'typebox'
import { nullable } from '../contract/schema.ts'

/** Requests and answers of the operator's endpoints. The web application imports their types. */

const moment = Type.String({ description: 'ISO 8601, UTC' })
const Status = Type.Unsafe<'active' | 'suspended'>({ type: 'string', enum: ['active', 'suspended'] })

export const MerchantsQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 200 })),
  limit: Type.Optional(Type.String({ format: 'page-size' })),
  cursor: Type.Optional(Type.String({ maxLength: 50 })),
})
export const MerchantsAnswer = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      country: Type.String(),
      status: Status,
      createdAt: moment,
      members: Type.Integer(),
      ownerEmail: nullable(Type.String()),
    }),
  ),
  nextCursor: nullable(Type.String()),
})
export type MerchantsAnswer = Static<typeof MerchantsAnswer>
export const NewMerchant = Type.Object({
  name: Type.String({ maxLength: 200 }),
  country: Type.String({ maxLength: 100 }),
})
export const NewMerchantAnswer = Type.Object({ data: Type.Object({ id: Type.String(), name: Type.String() }) })
export type NewMerchantAnswer = Static<typeof NewMerchantAnswer>
export const MerchantStatus = Type.Object({ status: Status })
export const OwnerInvitation = Type.Object({ email: Type.String({ maxLength: 254 }) })

const Queue = Type.Object({
  /** At most 1001, which stands for more than 1000. */
  due: Type.Integer(),
  oldestAt: nullable(Type.String()),
})
export const SystemAnswer = Type.Object({
  data: Type.Object({
    version: Type.String(),
    /** `deliveries` are also those that wait for a retry. */
    queues: Type.Object({ deliveries: Queue, checks: Queue, notices: Queue, refunds: Queue, expiries: Queue }),
    /** Processes that send webhooks. */
    workers: Type.Integer(),
    database: Type.Object({
      version: Type.String(),
      sizeBytes: Type.Integer(),
      /** Migrations that this version of the service has; fewer than applied in the middle of an update. */
      knownMigrations: Type.Integer(),
      migrations: Type.Array(Type.Object({ number: Type.Integer(), name: Type.String(), appliedAt: moment })),
      /** The largest. The number of rows is an estimate. */
      tables: Type.Array(Type.Object({ name: Type.String(), rows: Type.Integer(), sizeBytes: Type.Integer() })),
    }),
    operators: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        email: Type.String(),
        secondFactor: Type.Boolean(),
        lastSeenAt: nullable(Type.String()),
      }),
    ),
  }),
})
export type SystemAnswer = Static<typeof SystemAnswer>
