import { Type } from 'typebox'
import { parseId } from '../../kernel/ids.ts'
import { Problem, refuse } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { type Settlement, settlementView } from '../../payments/state/settlement.ts'
import { expectedOn, settledBefore, usualDays } from '../../payments/state/settlement-delay.ts'
import { chargedFees } from '../../payments/store/charged-fees.ts'
import { listLines, sumsByKind } from '../../payments/store/settlement-lines.ts'
import { findSettlement, listSettlements, openCaseOf, readListsNow } from '../../payments/store/settlements.ts'
import {
  listUnsettled,
  type SettlingAccount,
  settlingAccounts,
  sumUnsettled,
  type Unsettled,
} from '../../payments/store/unsettled.ts'
import { makeCursor, makePosition, readCursor, readPosition } from '../contract/cursor.ts'
import { problems } from '../contract/problem.ts'
import {
  ChargedFeesAnswer,
  ChargedFeesQuery,
  RefreshAnswer,
  SettlementAnswer,
  SettlementLinesAnswer,
  SettlementLinesQuery,
  SettlementsAnswer,
  SettlementsQuery,
  UnsettledAnswer,
  UnsettledQuery,
  UnsettledSumsAnswer,
} from '../contract/settlement.ts'
import type { App } from '../server/framework.ts'

const DEFAULT_PAGE_SIZE = 20
const DAY_MS = 24 * 3_600_000
const MOST_DAYS = 366

/** What providers pay out. */
export function settlementRoutes(app: App, deps: PaymentDeps): void {
  const { database, clock, providers } = deps
  const tags = ['Settlements']
  const params = Type.Object({ id: Type.String({ description: 'The `stl_` id.' }) })

  app.get(
    '/settlements',
    {
      schema: {
        operationId: 'listSettlements',
        summary: 'List settlements',
        description: 'What the providers pay out to your bank account, newest first.',
        tags,
        querystring: SettlementsQuery,
        response: { 200: SettlementsAnswer, ...problems('invalid_request') },
      },
    },
    async ({ caller, query }) => {
      const { status, provider, currency, from, to, withoutBankCredit, limit, cursor } = query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listSettlements(database.reads, caller, {
        ...{ status, provider, currency, id: undefined, withoutCredit: withoutBankCredit === 'true' },
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
        before: cursor === undefined ? undefined : readCursor('settlement', cursor),
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map((each) => settlementView(each, each.openCase)),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.get(
    '/settlements/unsettled',
    {
      schema: {
        operationId: 'listUnsettled',
        summary: 'List money that is not settled yet',
        description: 'Payments that no settlement has, oldest first: of providers that list what they pay out.',
        tags,
        querystring: UnsettledQuery,
        response: { 200: UnsettledAnswer, ...problems('invalid_request') },
      },
    },
    async ({ caller, query }) => {
      const pageSize = query.limit === undefined ? DEFAULT_PAGE_SIZE : Number(query.limit)
      const after = query.cursor === undefined ? undefined : readPosition(query.cursor)
      const all = await accountsOf(caller)
      const accounts = all.filter(({ provider }) => query.provider === undefined || provider === query.provider)
      const found: (Unsettled & { account: (typeof accounts)[number] })[] = []
      for (const account of accounts) {
        const left = pageSize + 1 - found.length
        if (left === 0 || (after && account.provider < after.provider)) continue
        const rows = await listUnsettled(database.reads, caller, account, {
          before: query.late ? account.lateBefore : clock.now(),
          after: after?.provider === account.provider ? after : undefined,
          limit: left,
        })
        found.push(...rows.map((row) => ({ ...row, account })))
      }
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map(({ account, receiptId: _, takenAt, ...row }) => ({
          ...row,
          takenAt: takenAt.toISOString(),
          expectedOn: expectedOn(takenAt, account.usualDays),
          late: takenAt < account.lateBefore,
        })),
        nextCursor: found.length > pageSize && last ? makePosition(last) : null,
      }
    },
  )

  app.get(
    '/settlements/unsettled/sums',
    {
      schema: {
        operationId: 'sumUnsettled',
        summary: 'Sum up money that is not settled yet',
        description: 'By provider and currency.',
        tags,
        response: { 200: UnsettledSumsAnswer, ...problems() },
      },
    },
    async ({ caller }) => {
      const data = []
      for (const account of await accountsOf(caller)) {
        const { provider, usualDays, lateBefore } = account
        for (const sum of await sumUnsettled(database.reads, caller, account, lateBefore))
          data.push({ provider, usualDays, ...sum })
      }
      return { data, nextCursor: null }
    },
  )

  app.get(
    '/settlements/fees',
    {
      schema: {
        operationId: 'sumChargedFees',
        summary: 'Compare calculated fees with charged ones',
        description:
          'By provider, currency and month, of payments whose real fee the provider has named. A difference that stays says that the fee schedule is outdated.',
        tags,
        querystring: ChargedFeesQuery,
        response: { 200: ChargedFeesAnswer, ...problems('invalid_request') },
      },
    },
    async ({ caller, query }) => {
      const [from, to] = [new Date(query.from), new Date(query.to)]
      if (to <= from || to.getTime() - from.getTime() > MOST_DAYS * DAY_MS)
        refuse([{ pointer: '/to', code: 'invalid_value', message: `to must be 1 to ${MOST_DAYS} days after from.` }])
      return { data: await chargedFees(database.reads, caller, { from, to }), nextCursor: null }
    },
  )

  app.post(
    '/settlements/refresh',
    {
      schema: {
        operationId: 'refreshSettlements',
        summary: 'Read the lists of settlements now',
        description: 'They are read each hour anyway. Once a minute for each provider.',
        tags,
        response: { 200: RefreshAnswer, ...problems() },
      },
    },
    async ({ caller }) => ({ data: { due: await readListsNow(database, caller) } }),
  )

  app.get(
    '/settlements/:id',
    {
      schema: {
        operationId: 'getSettlement',
        summary: 'Get a settlement',
        tags,
        params,
        response: { 200: SettlementAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const of = await ownSettlement(caller, params.id)
      const [openCase, sums] = await Promise.all([openCaseOf(database, of), sumsByKind(database, of)])
      return { data: { ...settlementView(of, openCase), sums } }
    },
  )

  app.get(
    '/settlements/:id/lines',
    {
      schema: {
        operationId: 'listSettlementLines',
        summary: 'List the lines of a settlement',
        description: 'The payments, refunds, disputes and fees that it is for, in the provider’s order.',
        tags,
        params,
        querystring: SettlementLinesQuery,
        response: { 200: SettlementLinesAnswer, ...problems('invalid_request', 'not_found') },
      },
    },
    async ({ caller, params, query }) => {
      const { id } = await ownSettlement(caller, params.id)
      const pageSize = query.limit === undefined ? DEFAULT_PAGE_SIZE : Number(query.limit)
      const after = query.cursor === undefined ? 0 : Number(Buffer.from(query.cursor, 'base64url'))
      const found = await listLines(database.reads, caller, id, {
        foreign: query.foreign === 'true',
        after,
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      return {
        data: page.map(({ id: _, ...line }) => line),
        nextCursor: found.length > pageSize ? Buffer.from(String(page.at(-1)?.id)).toString('base64url') : null,
      }
    },
  )

  async function ownSettlement(scope: Scope, text: string): Promise<Settlement> {
    const id = parseId('settlement', text)
    const found = id && (await findSettlement(database, scope, id))
    if (!found) throw new Problem('not_found', 'You have no settlement with this id in this mode.')
    return found
  }

  async function accountsOf(scope: Scope): Promise<(SettlingAccount & { usualDays: number; lateBefore: Date })[]> {
    const accounts = await settlingAccounts(database, scope)
    return accounts.map((account) => {
      const days = usualDays(providers.find(account.provider)?.capabilities.settles, account.country)
      return { ...account, usualDays: days, lateBefore: settledBefore(clock.now(), days) }
    })
  }
}
