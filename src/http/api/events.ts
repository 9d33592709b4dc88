import { Type } from 'typebox'
import { findEvent, listEvents, type RecordedEvent } from '../../events/event-store.ts'
import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { findPaymentState } from '../../payments/store/payment-states.ts'
import type { DeliveryDependencies } from '../../webhooks/delivery-loop.ts'
import { type DeliveryRecord, deliveriesOf } from '../../webhooks/delivery-store.ts'
import { redeliverEvent, redeliverGivenUp } from '../../webhooks/redeliver-events.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import { EventAnswer, EventsAnswer, EventsQuery, RedeliverAnswer, RedeliverRequest } from '../contract/webhook.ts'
import type { App } from '../server/framework.ts'
import { knownFields, readBody } from '../server/read-body.ts'

const DEFAULT_PAGE_SIZE = 20
const KNOWN = knownFields(RedeliverRequest)

/** Events with their deliveries and tries, and replay. */
export function eventRoutes(app: App, deps: DeliveryDependencies): void {
  const { database } = deps
  const tags = ['Webhooks']

  app.get(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'List events',
        description: 'Newest first.',
        tags,
        querystring: EventsQuery,
        response: { 200: EventsAnswer, ...problems('invalid_request', 'not_found') },
      },
    },
    async ({ caller, query }) => {
      const { payment, type, limit, cursor } = query
      const state = payment === undefined ? undefined : await findPaymentState(database, caller, payment)
      if (payment !== undefined && !state)
        throw new Problem('not_found', 'You have no payment with this reference or id in this mode.')
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listEvents(state ? database : database.reads, caller, {
        paymentId: state?.payment.id,
        type,
        before: cursor === undefined ? undefined : readCursor('event', cursor),
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map(({ body }) => JSON.parse(body)),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.get(
    '/events/:id',
    {
      schema: {
        operationId: 'getEvent',
        summary: 'Get an event',
        description: 'The event with its deliveries and their tries.',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: EventAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const event = await own(deps, caller, params.id)
      const deliveries = await deliveriesOf(database, event.id)
      return { data: { event: JSON.parse(event.body), deliveries: deliveries.map(deliveryView) } }
    },
  )

  app.post(
    '/events/:id/redeliver',
    {
      schema: {
        operationId: 'redeliverEvent',
        summary: 'Redeliver an event',
        description: 'Sends the event again, with the same id and the same body.',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: RedeliverAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const event = await own(deps, caller, params.id)
      return { data: { deliveries: await redeliverEvent(deps, caller, event.id) } }
    },
  )

  app.post(
    '/events/redeliver',
    {
      attachValidation: true,
      schema: {
        operationId: 'redeliverGivenUp',
        summary: 'Redeliver exhausted events',
        description: 'Sends all events again whose deliveries were exhausted in a range of time.',
        tags,
        body: ref(RedeliverRequest),
        response: { 200: RedeliverAnswer, ...problems(...BODY_PROBLEMS) },
      },
    },
    async (request) => {
      const { from, to } = readBody<RedeliverRequest>(request, KNOWN)
      const until = to ? new Date(to) : new Date(deps.clock.now().getTime() + 1_000)
      return { data: { deliveries: await redeliverGivenUp(deps, request.caller, new Date(from), until) } }
    },
  )
}

async function own({ database }: DeliveryDependencies, caller: Caller, name: string): Promise<RecordedEvent> {
  const id = parseId('event', name)
  const event = id && (await findEvent(database, caller, id))
  if (!event) throw new Problem('not_found', 'You have no event with this id in this mode.')
  return event
}

function deliveryView({ id, endpointId, url, state, dueAt, tries }: DeliveryRecord) {
  return {
    id,
    endpoint: endpointId,
    url,
    state,
    nextTryAt: state === 'waiting' ? dueAt.toISOString() : null,
    tries: tries.map((each) => ({ ...each, at: each.at.toISOString() })),
  }
}
