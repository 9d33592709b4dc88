import { Type } from 'typebox'
import { findEvent, listEvents, type RecordedEvent } from '../../events/event-store.ts'
import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { findPaymentState } from '../../payments/store/attempts.ts'
import type { DeliveryDependencies } from '../../webhooks/delivery-loop.ts'
import { type DeliveryRecord, deliveriesOf } from '../../webhooks/delivery-store.ts'
import { redeliverEvent, redeliverGivenUp } from '../../webhooks/redeliver-events.ts'
import type { App } from '../server/framework.ts'
import { knownFields, readBody } from '../server/read-body.ts'
import { answers } from './contract/answers.ts'
import { makeCursor, readCursor } from './contract/cursor.ts'
import { ref } from './contract/schema.ts'
import { EventAnswer, EventsAnswer, EventsQuery, RedeliverAnswer, RedeliverRequest } from './contract/webhook.ts'

const DEFAULT_PAGE_SIZE = 20
const KNOWN = knownFields(RedeliverRequest)

/** What was recorded, where it went, and how that went. */
export function eventRoutes(app: App, parts: DeliveryDependencies): void {
  const { database } = parts
  const tags = ['Webhooks']

  app.get(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'Events, newest first',
        tags,
        querystring: EventsQuery,
        response: { 200: EventsAnswer, ...answers(400, 401, 403, 404, 429, 503) },
      },
    },
    async ({ caller, query }) => {
      const { payment, type, limit, cursor } = query
      const state = payment === undefined ? undefined : await findPaymentState(database, caller, payment)
      if (payment !== undefined && !state)
        throw new Problem('not_found', 'You have no payment with this reference or id in this mode.')
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listEvents(database, caller, {
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
        summary: 'An event with its deliveries and their tries',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: EventAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async ({ caller, params }) => {
      const event = await own(parts, caller, params.id)
      const deliveries = await deliveriesOf(database, event.id)
      return { data: { event: JSON.parse(event.body), deliveries: deliveries.map(deliveryView) } }
    },
  )

  app.post(
    '/events/:id/redeliver',
    {
      schema: {
        operationId: 'redeliverEvent',
        summary: 'Send an event again, with the same id and the same bytes',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: RedeliverAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async ({ caller, params }) => {
      const event = await own(parts, caller, params.id)
      return { data: { deliveries: await redeliverEvent(parts, caller, event.id) } }
    },
  )

  app.post(
    '/events/redeliver',
    {
      attachValidation: true,
      schema: {
        operationId: 'redeliverGivenUp',
        summary: 'Send again all that was given up in a time',
        tags,
        body: ref(RedeliverRequest),
        response: { 200: RedeliverAnswer, ...answers(400, 401, 403, 413, 415, 429, 503) },
      },
    },
    async (request) => {
      const { from, to } = readBody<RedeliverRequest>(request, KNOWN)
      const until = to ? new Date(to) : new Date(parts.clock.now().getTime() + 1_000)
      return { data: { deliveries: await redeliverGivenUp(parts, request.caller, new Date(from), until) } }
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
