import { type Static, Type } from 'typebox'
import { CASE_REASONS, CASE_STATUSES, CASE_SUBJECTS, CASE_SUGGESTIONS } from '../../payments/state/case.ts'
import { caseExample } from './examples.ts'
import { dataOf, listOf, nullable, oneOf, ref } from './schema.ts'

const Time = Type.String({ format: 'date-time' })

export const Case = Type.Object(
  {
    id: Type.String(),
    mode: oneOf(['sandbox', 'live']),
    reason: oneOf(CASE_REASONS, 'Why a person must decide. A subject has one open case for each reason.'),
    subject: Type.Object({
      kind: oneOf(CASE_SUBJECTS, 'What the case is about.'),
      id: Type.String({ description: 'Its id; for an account, the name of the provider.' }),
      reference: nullable(Type.String({ description: 'The attempt’s reference, or the provider’s id.' })),
    }),
    payment: nullable(Type.String({ description: 'Reference of the payment.' })),
    provider: nullable(Type.String()),
    amount: nullable(Type.Integer({ description: 'The money at stake, in the lowest denomination.' })),
    currency: nullable(Type.String()),
    summary: Type.String({ description: 'What happened, for a person.' }),
    suggestions: Type.Array(oneOf(CASE_SUGGESTIONS), {
      description:
        'What can be done, besides `close`: by a call of its own, which closes the case. `return` is under Transfers in the dashboard.',
    }),
    status: oneOf(CASE_STATUSES),
    note: nullable(Type.String({ description: 'What the person found who closed it.' })),
    openedAt: Time,
    closedAt: nullable(Time),
    closedBy: nullable(Type.String({ description: 'Who closed it. `books`: the records agree again.' })),
  },
  { $id: 'Case', examples: [caseExample] },
)
export const CaseAnswer = dataOf(ref(Case))
export const CasesAnswer = listOf(ref(Case))

export const CasesQuery = Type.Object({
  status: Type.Optional(oneOf(CASE_STATUSES)),
  reason: Type.Optional(oneOf(CASE_REASONS)),
  payment: Type.Optional(Type.String({ description: 'Reference of a payment or attempt, or the `chk_` id.' })),
  from: Type.Optional(Type.String({ format: 'moment', description: 'Opened at this time or later.' })),
  to: Type.Optional(Type.String({ format: 'moment', description: 'Opened before this time.' })),
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'case-cursor', description: '`nextCursor` of the previous page.' })),
})

export const CaseClosing = Type.Object(
  {
    note: Type.String({ minLength: 1, maxLength: 500, description: 'What you found. No personal data of customers.' }),
  },
  { $id: 'CaseClosing', examples: [{ note: 'The customer lets us keep it.' }] },
)
export type CaseClosing = Static<typeof CaseClosing>
