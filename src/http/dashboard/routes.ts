import type { Logger } from 'pino'
import type { MemberDependencies } from '../../members/dependencies.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { accountRoutes } from './account-routes.ts'
import { apiKeyRoutes } from './api-key-routes.ts'
import { cookieJar } from './cookies.ts'
import { guardRoutes } from './guard.ts'
import { memberRoutes } from './member-routes.ts'
import { overviewRoutes } from './overview-routes.ts'
import { signInRoutes } from './sign-in-routes.ts'

export interface DashboardParts extends Omit<MemberDependencies, 'later'> {
  limits: Limits
  log: Logger
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
  guardRoutes(app, deps)
  signInRoutes(app, deps)
  accountRoutes(app, deps)
  memberRoutes(app, deps)
  apiKeyRoutes(app, deps)
  overviewRoutes(app, deps)
}
