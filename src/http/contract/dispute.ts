import { Type } from 'typebox'
import { DISPUTE_STATUSES, type DisputeStatus } from '../../payments/state/dispute.ts'
import { disputeExample } from './examples.ts'
import { dataOf, listOf, nullable, ref } from './schema.ts'

const Time = Type.String({ format: 'date-time' })

export const Dispute = Type.Object(
  {
    id: Type.String(),
    payment: Type.String({ description: 'Reference of the payment.' }),
    attempt: Type.String({ description: 'Id of the attempt that brought the money.' }),
    amount: Type.Integer({ description: 'The disputed amount, in the lowest denomination.' }),
    currency: Type.String(),
    status: Type.Unsafe<DisputeStatus>({
      type: 'string',
      enum: [...DISPUTE_STATUSES],
      description:
        '`open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and is part of the payment’s `amountRefunded`.',
    }),
    reason: nullable(Type.String({ description: 'The reason, as the provider gives it.' })),
    respondBy: nullable(
      Type.String({ format: 'date-time', description: 'Answer the dispute at the provider before this time.' }),
    ),
    openedAt: Time,
    resolvedAt: nullable(Time),
  },
  { $id: 'Dispute', examples: [disputeExample] },
)
export const DisputeAnswer = dataOf(ref(Dispute))
export const DisputesAnswer = listOf(ref(Dispute))

export const DisputesQuery = Type.Object({
  status: Type.Optional(Type.Unsafe<DisputeStatus>({ type: 'string', enum: [...DISPUTE_STATUSES] })),
  payment: Type.Optional(Type.String({ description: 'Reference of a payment or attempt, or the `chk_` id.' })),
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'dispute-cursor', description: '`nextCursor` of the previous page.' })),
})
