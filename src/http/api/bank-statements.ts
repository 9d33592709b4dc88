import { Type } from 'typebox'
import { parseId } from '../../kernel/ids.ts'
import { type Currency, DEFAULT_CURRENCY } from '../../kernel/money.ts'
import { Problem, refuse } from '../../kernel/problem.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { numbered, readStatement, type StatementColumns } from '../../payments/state/bank-statement.ts'
import {
  assignCredit,
  type BankCredit,
  findColumns,
  insertCredits,
  listCredits,
  matchCredits,
  saveColumns,
} from '../../payments/store/bank-credits.ts'
import { findSettlement } from '../../payments/store/settlements.ts'
import {
  BankColumnsAnswer,
  BankCreditAnswer,
  BankCreditAssignment,
  BankCreditsAnswer,
  BankCreditsQuery,
  BankStatement,
  BankStatementAnswer,
} from '../contract/bank-statement.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { knownFields, readBody } from '../server/read-body.ts'

const DEFAULT_PAGE_SIZE = 20
const MOST_BYTES = 2 * 1024 * 1024
const STATEMENT_FIELDS = knownFields(BankStatement)
const ASSIGNMENT_FIELDS = knownFields(BankCreditAssignment)

/** The bank's side of settlements. */
export function bankStatementRoutes(app: App, { database, clock }: PaymentDeps): void {
  const tags = ['Settlements']

  app.post(
    '/bank-statements',
    {
      attachValidation: true,
      bodyLimit: MOST_BYTES,
      schema: {
        operationId: 'uploadBankStatement',
        summary: 'Upload a bank statement',
        description:
          'A CSV file of your bank as text, of at most 2 MB. Of each credit, day and amount are kept. It is matched with the settlement of that amount, if only one fits. The same lines can be uploaded again.',
        tags,
        body: ref(BankStatement),
        response: { 200: BankStatementAnswer, ...problems(...BODY_PROBLEMS) },
      },
    },
    async (request) => {
      const body = readBody<BankStatement>(request, STATEMENT_FIELDS)
      const { caller } = request
      const columns: StatementColumns | undefined = body.columns
        ? { ...body.columns, dateOrder: body.columns.dateOrder ?? 'day-month' }
        : await findColumns(database, caller)
      if (!columns)
        return refuse([
          { pointer: '/columns', code: 'required', message: 'columns says which columns have day and amount.' },
        ])
      const currency = (body.currency ?? DEFAULT_CURRENCY) as Currency
      const read = readStatement(body.csv, columns, currency)
      if (read.kind === 'mistakes')
        return refuse(read.mistakes.map((message) => ({ pointer: '/csv', code: 'invalid_value' as const, message })))
      const done = await database.transaction(async (tx) => {
        await saveColumns(tx, caller, columns)
        const added = await insertCredits(tx, caller, { currency, credits: numbered(read.credits), now: clock.now() })
        return { added, matched: await matchCredits(tx, caller) }
      })
      return { data: { credits: read.credits.length, skipped: read.skipped, ...done } }
    },
  )

  app.get(
    '/bank-statements/columns',
    {
      schema: {
        operationId: 'getBankColumns',
        summary: 'Get the columns of the last bank statement',
        tags,
        response: { 200: BankColumnsAnswer, ...problems() },
      },
    },
    async ({ caller }) => ({ data: (await findColumns(database, caller)) ?? null }),
  )

  app.get(
    '/bank-credits',
    {
      schema: {
        operationId: 'listBankCredits',
        summary: 'List credits of bank statements',
        description: 'The newest days first.',
        tags,
        querystring: BankCreditsQuery,
        response: { 200: BankCreditsAnswer, ...problems('invalid_request') },
      },
    },
    async ({ caller, query }) => {
      const pageSize = query.limit === undefined ? DEFAULT_PAGE_SIZE : Number(query.limit)
      const [day = '', id = ''] = Buffer.from(query.cursor ?? '', 'base64url')
        .toString()
        .split(' ')
      const before = query.cursor === undefined ? undefined : { day, id: Number(id) }
      const found = await listCredits(database, caller, {
        unmatched: query.unmatched === 'true',
        before,
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map(viewOf),
        nextCursor:
          found.length > pageSize && last ? Buffer.from(`${last.day} ${last.id}`).toString('base64url') : null,
      }
    },
  )

  app.put(
    '/bank-credits/:id',
    {
      attachValidation: true,
      schema: {
        operationId: 'assignBankCredit',
        summary: 'Match a credit by hand',
        description: 'Says which settlement a credit is, where several fit or none does. `null`: none.',
        tags,
        params: Type.Object({ id: Type.String({ description: '`bank-17`.' }) }),
        body: ref(BankCreditAssignment),
        response: { 200: BankCreditAnswer, ...problems(...BODY_PROBLEMS, 'not_found') },
      },
    },
    async (request) => {
      const { caller, params } = request
      const { settlement } = readBody<BankCreditAssignment>(request, ASSIGNMENT_FIELDS)
      const settlementId = settlement === null ? null : parseId('settlement', settlement)
      const known = settlementId && (await findSettlement(database, caller, settlementId))
      if (settlement !== null && !known)
        throw new Problem('not_found', 'You have no settlement with this id in this mode.')
      const id = Number(/^bank-(\d{1,15})$/.exec(params.id)?.[1] ?? 0)
      const isDone = await database.transaction((tx) => assignCredit(tx, caller, id, known ? known.id : null))
      if (!isDone) throw new Problem('not_found', 'You have no credit with this id in this mode.')
      return { data: { id: params.id, settlement } }
    },
  )
}

function viewOf({ id, day, amount, currency, line, settlementId }: BankCredit) {
  return { id: `bank-${id}`, day, amount, currency, line, settlement: settlementId }
}
