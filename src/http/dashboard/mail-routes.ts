import type { FastifyRequest } from 'fastify'
import { Problem } from '../../kernel/problem.ts'
import { chooseAlerts, kindsFor, readAlertChoice } from '../../mails/manage-alerts.ts'
import { changeReceipts } from '../../mails/manage-receipts.ts'
import type { App } from '../server/framework.ts'
import type { DashboardDeps } from './deps.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { AlertsAnswer, AlertsChange, ReceiptsAnswer, ReceiptsChange } from './mails-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

const NO_MAIL = 'No mail can be sent: the operator of this service has to set SMTP_URL first.'

/** Receipts to customers, and what the member is told of. */
export function mailRoutes(app: App, deps: Pick<DashboardDeps, 'database' | 'sendMail'>): void {
  const hasMail = deps.sendMail !== undefined

  app.get(
    `${OF_MERCHANT}/receipts`,
    { config: { access: 'settings' }, schema: { response: { 200: ReceiptsAnswer } } },
    async (request) => ({
      data: { sends: await changeReceipts(deps, inMerchant(request).actor, scopeOf(request)), hasMail },
    }),
  )

  app.put(
    `${OF_MERCHANT}/receipts`,
    { config: { access: 'settings' }, schema: { body: ReceiptsChange, response: { 200: ReceiptsAnswer } } },
    async (request) => {
      const { sends } = request.body
      if (sends !== 'never' && !hasMail) throw new Problem('conflict', NO_MAIL)
      return {
        data: { sends: await changeReceipts(deps, inMerchant(request).actor, scopeOf(request), sends), hasMail },
      }
    },
  )

  async function alertsOf(request: FastifyRequest): Promise<AlertsAnswer> {
    const { session, membership } = inMerchant(request)
    const member = { memberId: session.member.id, role: membership.role }
    const choice = await readAlertChoice(deps, member, scopeOf(request))
    return { data: { ...choice, available: kindsFor(membership.role), email: session.member.email, hasMail } }
  }

  app.get(
    `${OF_MERCHANT}/alerts`,
    { config: { access: 'read' }, schema: { response: { 200: AlertsAnswer } } },
    (request) => alertsOf(request),
  )

  app.put(
    `${OF_MERCHANT}/alerts`,
    { config: { access: 'read' }, schema: { body: AlertsChange, response: { 200: AlertsAnswer } } },
    async (request) => {
      const { actor, session } = inMerchant(request)
      await chooseAlerts(deps, actor, session.member.id, scopeOf(request), request.body)
      return alertsOf(request)
    },
  )
}
