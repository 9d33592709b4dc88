import { Type } from 'typebox'
import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { caseView } from '../../payments/state/case.ts'
import { findCase, listCases } from '../../payments/store/cases.ts'
import { closeCase } from '../../payments/transfers/close-case.ts'
import { CaseAnswer, CaseClosing, CasesAnswer, CasesQuery } from '../contract/case.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { knownFields, readBody } from '../server/read-body.ts'
import { ownPaymentId } from './disputes.ts'

const DEFAULT_PAGE_SIZE = 20
const CLOSING_FIELDS = knownFields(CaseClosing)

export function caseRoutes(app: App, deps: PaymentDeps): void {
  const tags = ['Payments']
  const params = Type.Object({ id: Type.String({ description: 'The `cas_` id.' }) })

  app.get(
    '/cases',
    {
      schema: {
        operationId: 'listCases',
        summary: 'List cases',
        description: 'What a person must decide, newest first. Closed ones are listed, too: filter by `status`.',
        tags,
        querystring: CasesQuery,
        response: { 200: CasesAnswer, ...problems('invalid_request', 'not_found') },
      },
    },
    async ({ caller, query }) => {
      const { status, reason, payment, from, to, limit, cursor } = query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listCases(deps.database, caller, {
        ...{ status, reason },
        paymentId: payment === undefined ? undefined : await ownPaymentId(deps.database, caller, payment),
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
        before: cursor === undefined ? undefined : readCursor('case', cursor),
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map((each) => caseView(each, each.paymentReference)),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.get(
    '/cases/:id',
    {
      schema: {
        operationId: 'getCase',
        summary: 'Get a case',
        tags,
        params,
        response: { 200: CaseAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => ({ data: await ownCase(caller, params.id) }),
  )

  app.post(
    '/cases/:id/close',
    {
      attachValidation: true,
      schema: {
        operationId: 'closeCase',
        summary: 'Close a case with a note',
        description:
          'Says that a person has dealt with it, and what they found. No money moves. A refund, a match or a check is a call of its own, which closes the case when the records agree again.',
        tags,
        params,
        body: ref(CaseClosing),
        response: { 200: CaseAnswer, ...problems(...BODY_PROBLEMS, 'not_found', 'conflict') },
      },
    },
    async (request) => {
      const { note } = readBody<CaseClosing>(request, CLOSING_FIELDS)
      const { caller, params } = request
      const id = parseId('case', params.id)
      if (id) await closeCase(deps, { scope: caller, actor: caller.actor, note }, id)
      return { data: await ownCase(caller, params.id) }
    },
  )

  async function ownCase(caller: Caller, text: string) {
    const id = parseId('case', text)
    const found = id && (await findCase(deps.database, caller, id))
    if (!found) throw new Problem('not_found', 'You have no case with this id in this mode.')
    return caseView(found, found.paymentReference)
  }
}
