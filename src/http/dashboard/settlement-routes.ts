import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { expectedOn, settledBefore, usualDays } from '../../payments/state/settlement-delay.ts'
import { moneySums } from '../../payments/store/money-sums.ts'
import { linesOfPayment, unsettledOfPayment } from '../../payments/store/payment-settlements.ts'
import { oddLines } from '../../payments/store/settlement-lines.ts'
import { findSettlement } from '../../payments/store/settlements.ts'
import { settlingAccounts } from '../../payments/store/unsettled.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { ownPayment } from '../api/payments.ts'
import type { App } from '../server/framework.ts'
import { scopeOf } from './guard.ts'
import { daysOf } from './overview-routes.ts'
import { MoneyAnswer, MoneyQuery, OddLinesAnswer, PaymentSettlementsAnswer } from './settlements-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

/** What the screens about settlements need beside the routes of the merchants' API. */
export function settlementScreenRoutes(app: App, { database, clock, providers }: PaymentDeps): void {
  const config = { access: 'read' } as const

  app.get<{ Params: { reference: string } }>(
    `${OF_MERCHANT}/payments/:reference/settlements`,
    { config, schema: { response: { 200: PaymentSettlementsAnswer } } },
    async (request) => {
      const scope = scopeOf(request)
      const { payment } = await ownPayment(database, scope, request.params.reference)
      const [lines, unsettled, accounts] = await Promise.all([
        linesOfPayment(database, scope, payment.id),
        unsettledOfPayment(database, scope, payment.id),
        settlingAccounts(database, scope),
      ])
      const waiting = unsettled.flatMap(({ provider, amount, currency, takenAt }) => {
        const account = accounts.find((each) => each.provider === provider)
        // Nothing is known of a provider without a list, and of money from before its first list.
        if (!account || takenAt < account.since) return []
        const days = usualDays(providers.find(provider)?.capabilities.settles, account.country)
        return [
          {
            ...{ settlement: null, provider, providerId: null, status: null, kind: null, currency },
            ...{ gross: amount, fee: null, net: null, paidAt: null, bankReference: null, bankDay: null },
            expectedOn: expectedOn(takenAt, days),
            late: takenAt < settledBefore(clock.now(), days),
          },
        ]
      })
      const settled = lines.map(({ paidAt, ...line }) => ({
        ...line,
        paidAt: paidAt?.toISOString() ?? null,
        late: false,
      }))
      return { data: [...settled, ...waiting], nextCursor: null }
    },
  )

  app.get<{ Params: { id: string } }>(
    `${OF_MERCHANT}/settlements/:id/odd-lines`,
    { config, schema: { response: { 200: OddLinesAnswer } } },
    async (request) => {
      const scope = scopeOf(request)
      const id = parseId('settlement', request.params.id)
      const found = id && (await findSettlement(database, scope, id))
      if (!found) throw new Problem('not_found', 'You have no settlement with this id in this mode.')
      const lines = await oddLines(database, found)
      return { data: lines.map((line) => ({ ...line, isInAnother: line.isInAnother ?? false })), nextCursor: null }
    },
  )

  app.get(
    `${OF_MERCHANT}/money`,
    { config, schema: { querystring: MoneyQuery, response: { 200: MoneyAnswer } } },
    async (request) => {
      const { starts, to } = daysOf(request.query)
      const all = PROVIDERS.map(({ capabilities }) => capabilities.name)
      const range = { from: starts[0] ?? to, to, providers: all }
      return { data: await moneySums(database.reads, scopeOf(request), range), nextCursor: null }
    },
  )
}
