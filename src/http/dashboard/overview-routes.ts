import type { Database } from '../../database/database.ts'
import { findFirstSteps } from '../../webhooks/first-steps-store.ts'
import type { App } from '../server/framework.ts'
import { FirstStepsAnswer } from './contract.ts'
import { scopeOf } from './guard.ts'

/** What the first screen of a merchant shows. */
export function overviewRoutes(app: App, { database }: { database: Database }): void {
  const config = { access: 'read' as const }

  app.get(
    '/merchants/:merchant/:mode/first-steps',
    { config, schema: { response: { 200: FirstStepsAnswer } } },
    async (request) => ({ data: await findFirstSteps(database, scopeOf(request)) }),
  )
}
