import { type Static, Type } from 'typebox'
import { DATE_ORDERS } from '../../payments/state/bank-statement.ts'
import { settlementExample } from './examples.ts'
import { dataOf, listOf, nullable, oneOf, optional } from './schema.ts'

const columnsExample = { date: 'Value Date', amount: 'Credit', dateOrder: 'day-month' as const }
const name = (description: string) => Type.String({ format: 'plain-text', minLength: 1, maxLength: 100, description })

const columns = {
  date: name('The name of the column with the day.'),
  amount: name('The name of the column with the amount. Empty, 0 and negative ones are no credits.'),
}
const DateOrder = oneOf(DATE_ORDERS, 'Of days like 03/04/2026. Default: `day-month`.')

export const BankStatement = Type.Object(
  {
    csv: Type.String({ minLength: 1, description: 'The file, with its header. Commas, semicolons or tabs.' }),
    currency: optional(Type.String({ pattern: '^[A-Z]{3}$', description: 'Of the account. Default: NGN.' })),
    columns: Type.Optional(
      Type.Object(
        { ...columns, dateOrder: Type.Optional(DateOrder) },
        { description: 'Absent: those of your last statement.' },
      ),
    ),
  },
  {
    $id: 'BankStatement',
    examples: [{ csv: 'Value Date,Credit\r\n16/11/2026,"12,212.50"\r\n', columns: columnsExample }],
  },
)
export type BankStatement = Static<typeof BankStatement>

export const BankStatementAnswer = dataOf(
  Type.Object(
    {
      credits: Type.Integer({ description: 'Lines with a credit.' }),
      skipped: Type.Integer({ description: 'Lines without one.' }),
      added: Type.Integer({ description: 'Of the credits: not on record before.' }),
      matched: Type.Integer({ description: 'Settlements that have found their credit now.' }),
    },
    { examples: [{ credits: 22, skipped: 140, added: 21, matched: 20 }] },
  ),
)

export const BankColumnsAnswer = dataOf(
  Type.Unsafe<Static<ReturnType<typeof columnsObject>> | null>({
    ...columnsObject(),
    type: ['object', 'null'],
    examples: [columnsExample],
  }),
)

function columnsObject() {
  return Type.Object({ ...columns, dateOrder: DateOrder })
}

const creditExample = {
  ...{ id: 'bank-17', day: '2026-11-16', amount: 1_221_250, currency: 'NGN', line: 5 },
  settlement: settlementExample.id,
}

export const BankCreditsAnswer = listOf(
  Type.Object(
    {
      id: Type.String(),
      day: Type.String({ format: 'date' }),
      amount: Type.Integer(),
      currency: Type.String(),
      line: Type.Integer({ description: 'Its line in the file.' }),
      settlement: nullable(
        Type.String({ description: 'The settlement that it is. Null: none was found, or several fit.' }),
      ),
    },
    { examples: [creditExample] },
  ),
)
export const BankCreditsQuery = Type.Object({
  unmatched: Type.Optional(oneOf(['true'], 'Only those without a settlement.')),
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'credit-cursor', description: '`nextCursor` of the previous page.' })),
})

export const BankCreditAssignment = Type.Object(
  { settlement: nullable(Type.String({ description: 'The `stl_` id. Null: none.' })) },
  { $id: 'BankCreditAssignment', examples: [{ settlement: settlementExample.id }] },
)
export type BankCreditAssignment = Static<typeof BankCreditAssignment>

export const BankCreditAnswer = dataOf(
  Type.Object(
    { id: Type.String(), settlement: nullable(Type.String()) },
    { examples: [{ id: creditExample.id, settlement: creditExample.settlement }] },
  ),
)
