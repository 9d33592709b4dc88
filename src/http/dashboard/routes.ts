import type { MemberDependencies } from '../../members/dependencies.ts'
import type { Documents } from '../checkout/document.ts'
import type { LivePayments } from '../checkout/live-payments.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { accountRoutes } from './account-routes.ts'
import { apiKeyRoutes } from './api-key-routes.ts'
import { brandingPreviewRoutes } from './branding-preview-routes.ts'
import { brandingRoutes } from './branding-routes.ts'
import { cookieJar } from './cookies.ts'
import { customerRoutes } from './customer-routes.ts'
import { guardRoutes } from './guard.ts'
import { liveChangeRoutes } from './live-changes.ts'
import { memberRoutes } from './member-routes.ts'
import { moneyRoutes } from './money-routes.ts'
import { operatorRoutes } from './operator-routes.ts'
import { overviewRoutes } from './overview-routes.ts'
import { paymentSearchRoutes } from './payment-routes.ts'
import { providerRoutes } from './provider-routes.ts'
import { settingsRoutes } from './settings-routes.ts'
import { declareSharedAccess, type SharedParts, sharedRoutes } from './shared-routes.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { transferRoutes } from './transfer-routes.ts'
import { viewRoutes } from './view-routes.ts'

export interface DashboardParts extends Omit<MemberDependencies, 'later'>, SharedParts {
  limits: Limits
  live: LivePayments
  documents: Documents
}

export const DASHBOARD_API = '/dashboard/api'

/** The endpoints of the dashboard, for its own pages only: cookie, JSON, same origin. */
export function dashboardRoutes(app: App, parts: DashboardParts): void {
  const running = new Set<Promise<void>>()
  const later = (work: () => Promise<void>) => {
    const run = work()
      .catch((err) => parts.log.error({ err }, 'dashboard work after an answer failed'))
      .finally(() => running.delete(run))
    running.add(run)
  }
  app.addHook('onClose', async () => void (await Promise.all(running)))

  const cookies = cookieJar(parts.baseUrl)
  const deps = { ...parts, later, cookies }
  declareSharedAccess(app)
  guardRoutes(app, deps)
  signInRoutes(app, deps)
  accountRoutes(app, deps)
  memberRoutes(app, deps)
  apiKeyRoutes(app, deps)
  overviewRoutes(app, deps)
  paymentSearchRoutes(app, deps)
  viewRoutes(app, deps)
  moneyRoutes(app, deps)
  transferRoutes(app, deps)
  customerRoutes(app, deps)
  providerRoutes(app, deps)
  brandingRoutes(app, deps)
  brandingPreviewRoutes(app, deps)
  settingsRoutes(app, deps)
  operatorRoutes(app, deps)
  liveChangeRoutes(app, deps)
  sharedRoutes(app, deps)
}
