import { Type } from 'typebox'
import { DISPUTE_STATUSES, type DisputeStatus } from '../../../payments/state/dispute.ts'
import { dataOf, listOf, nullable, ref } from './schema.ts'

const Time = Type.String({ format: 'date-time' })

export const Dispute = Type.Object(
  {
    id: Type.String(),
    payment: Type.String({ description: 'Reference of the payment.' }),
    attempt: Type.String({ description: 'Id of the attempt that brought the money.' }),
    amount: Type.Integer({ description: 'What is disputed, in the lowest denomination.' }),
    currency: Type.String(),
    status: Type.Unsafe<DisputeStatus>({
      type: 'string',
      enum: [...DISPUTE_STATUSES],
      description:
        '`lost`: the money has gone back to the customer, and the payment’s `amountRefunded` has it. `won`: it stays.',
    }),
    reason: nullable(Type.String({ description: 'In the words of the provider.' })),
    respondBy: nullable(
      Type.String({ format: 'date-time', description: 'Answer it at the provider before this time.' }),
    ),
    openedAt: Time,
    resolvedAt: nullable(Time),
  },
  { $id: 'Dispute' },
)
export const DisputeAnswer = dataOf(ref(Dispute))
export const DisputesAnswer = listOf(ref(Dispute))

export const DisputesQuery = Type.Object({
  status: Type.Optional(Type.Unsafe<DisputeStatus>({ type: 'string', enum: [...DISPUTE_STATUSES] })),
  payment: Type.Optional(Type.String({ description: 'Reference of a payment or attempt, or the `chk_` id.' })),
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'dispute-cursor', description: '`nextCursor` of the page before.' })),
})
