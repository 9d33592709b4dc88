import type { App } from '../server/framework.ts'
import { accountRoutes } from './account-routes.ts'
import { apiKeyRoutes } from './api-key-routes.ts'
import { brandingPreviewRoutes } from './branding-preview-routes.ts'
import { brandingRoutes } from './branding-routes.ts'
import { cookieJar } from './cookies.ts'
import { customerRoutes } from './customer-routes.ts'
import type { DashboardDeps } from './deps.ts'
import { guardRoutes } from './guard.ts'
import { liveChangeRoutes } from './live-changes.ts'
import { mailRoutes } from './mail-routes.ts'
import { memberRoutes } from './member-routes.ts'
import { moneyRoutes } from './money-routes.ts'
import { operatorRoutes } from './operator-routes.ts'
import { overviewRoutes } from './overview-routes.ts'
import { paymentSearchRoutes } from './payment-routes.ts'
import { providerRoutes } from './provider-routes.ts'
import { settingsRoutes } from './settings-routes.ts'
import { settlementScreenRoutes } from './settlement-routes.ts'
import { declareSharedAccess, sharedRoutes } from './shared-routes.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { transferRoutes } from './transfer-routes.ts'
import { viewRoutes } from './view-routes.ts'

export const DASHBOARD_API = '/dashboard/api'

/** The endpoints of the dashboard, for its own pages only: cookie, JSON, same origin. */
export function dashboardRoutes(app: App, deps: DashboardDeps): void {
  const running = new Set<Promise<void>>()
  const later = (work: () => Promise<void>) => {
    const run = work()
      .catch((err) => deps.log.error({ err }, 'dashboard work after an answer failed'))
      .finally(() => running.delete(run))
    running.add(run)
  }
  app.addHook('onClose', async () => void (await Promise.all(running)))

  const cookies = cookieJar(deps.baseUrl)
  const shared = { ...deps, later, cookies }
  declareSharedAccess(app)
  guardRoutes(app, shared)
  signInRoutes(app, shared)
  accountRoutes(app, shared)
  memberRoutes(app, shared)
  apiKeyRoutes(app, shared)
  overviewRoutes(app, shared)
  paymentSearchRoutes(app, shared)
  viewRoutes(app, shared)
  moneyRoutes(app, shared)
  settlementScreenRoutes(app, shared)
  transferRoutes(app, shared)
  customerRoutes(app, shared)
  providerRoutes(app, shared)
  brandingRoutes(app, shared)
  brandingPreviewRoutes(app, shared)
  settingsRoutes(app, shared)
  mailRoutes(app, shared)
  operatorRoutes(app, shared)
  liveChangeRoutes(app, shared)
  sharedRoutes(app, shared)
}
