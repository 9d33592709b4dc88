import type { FastifyRequest } from 'fastify'
import type { Database } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { changeView, removeView, saveView, type ViewOwner } from '../../members/manage-views.ts'
import { listViews } from '../../members/saved-view-store.ts'
import type { App } from '../server/framework.ts'
import { inMerchant } from './guard.ts'
import { ChangedView, NewView, ViewAnswer, ViewsAnswer } from './views-contract.ts'

const VIEWS = '/merchants/:merchant/views'

/** The saved views of the list of payments: each member has their own. */
export function viewRoutes(app: App, deps: { database: Database; clock: Clock }): void {
  const config = { access: 'read' } as const

  app.get(VIEWS, { config, schema: { response: { 200: ViewsAnswer } } }, async (request) => ({
    data: await listViews(deps.database, ownerOf(request)),
  }))

  app.post(VIEWS, { config, schema: { body: NewView, response: { 201: ViewAnswer } } }, async (request, reply) => {
    const { name, filters } = request.body
    const view = await saveView(deps, ownerOf(request), { name: name.trim(), filters })
    return reply.code(201).send({ data: view })
  })

  app.patch<{ Params: { view: string }; Body: ChangedView }>(
    `${VIEWS}/:view`,
    { config, schema: { body: ChangedView, response: { 200: ViewAnswer } } },
    async (request) => {
      const { name, filters } = request.body
      const changes = { ...(name !== undefined && { name: name.trim() }), ...(filters && { filters }) }
      return { data: await changeView(deps, ownerOf(request), request.params.view, changes) }
    },
  )

  app.delete<{ Params: { view: string } }>(`${VIEWS}/:view`, { config }, async (request, reply) => {
    await removeView(deps, ownerOf(request), request.params.view)
    return reply.code(204).send()
  })
}

function ownerOf(request: FastifyRequest): ViewOwner {
  const { session, membership, actor } = inMerchant(request)
  return { memberId: session.member.id, merchantId: membership.merchantId, actor }
}
