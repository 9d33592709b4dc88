import { Type } from 'typebox'
import { ANNOUNCED, type AnnouncedType } from '../../events/event.ts'
import { deliveryExample, endpointExample, eventExample, secretExample } from './examples.ts'
import { dataOf, listOf, nullable, optional, ref } from './schema.ts'

const Time = Type.String({ format: 'date-time' })
const EventTypes = Type.Array(Type.Unsafe<AnnouncedType>({ type: 'string', enum: [...ANNOUNCED] }), {
  maxItems: ANNOUNCED.length,
  uniqueItems: true,
  description: 'The events to send. Empty or absent: all events, including types that are added later.',
})
const Url = Type.String({
  format: 'web-address',
  description: 'The URL that receives the events. In live mode https only.',
})

export const EndpointRequest = Type.Object(
  { url: Url, events: optional(EventTypes), enabled: optional(Type.Boolean({ default: true })) },
  { $id: 'EndpointRequest', examples: [{ url: endpointExample.url, events: endpointExample.events }] },
)
export type EndpointRequest = Type.Static<typeof EndpointRequest>

export const EndpointChanges = Type.Object(
  { url: optional(Url), events: optional(EventTypes), enabled: optional(Type.Boolean()) },
  { $id: 'EndpointChanges', examples: [{ enabled: false }] },
)
export type EndpointChanges = Type.Static<typeof EndpointChanges>

const endpoint = {
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  disabledReason: nullable(Type.String()),
  failingSince: nullable(Time),
  createdAt: Time,
}
export const Endpoint = Type.Object(endpoint, { $id: 'Endpoint', examples: [endpointExample] })
export const EndpointAnswer = dataOf(ref(Endpoint))
export const EndpointsAnswer = Type.Object({ data: Type.Array(ref(Endpoint)), nextCursor: Type.Null() })
export const NewEndpointAnswer = dataOf(
  Type.Object(
    { ...endpoint, secret: Type.String({ description: 'Signs the events of this endpoint. It is shown only once.' }) },
    { examples: [{ ...endpointExample, secret: secretExample.secret }] },
  ),
)
export const SecretAnswer = dataOf(
  Type.Object(
    {
      secret: Type.String({ description: 'It is shown only once. The previous secret also signs for 24 hours.' }),
      previousValidUntil: Time,
    },
    { examples: [secretExample] },
  ),
)
export const TestAnswer = dataOf(
  Type.Object(
    {
      delivered: Type.Boolean(),
      status: nullable(Type.Integer()),
      error: nullable(Type.String()),
      tookMs: Type.Integer(),
      answer: Type.String({ description: 'The first 2 KiB of the response.' }),
    },
    { examples: [{ delivered: true, status: 204, error: null, tookMs: 38, answer: '' }] },
  ),
)

const Body = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'The event as it is sent. See the webhooks section for `data` of each type.',
  examples: [eventExample],
})

export const EventsQuery = Type.Object({
  payment: Type.Optional(Type.String({ description: 'Reference of a payment or attempt, or the `chk_` id.' })),
  type: Type.Optional(Type.String({ enum: [...ANNOUNCED] })),
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'event-cursor', description: '`nextCursor` of the previous page.' })),
})

export const EventsAnswer = listOf(Body)

export const EventAnswer = dataOf(
  Type.Object({
    event: Body,
    deliveries: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          endpoint: nullable(Type.String()),
          url: Type.String(),
          state: Type.Unsafe<string>({ type: 'string', enum: ['waiting', 'delivered', 'exhausted', 'disabled'] }),
          nextTryAt: nullable(Time),
          tries: Type.Array(
            Type.Object({
              number: Type.Integer(),
              at: Time,
              status: nullable(Type.Integer()),
              error: nullable(Type.String()),
              tookMs: Type.Integer(),
              answer: Type.String(),
            }),
          ),
        },
        { examples: [deliveryExample] },
      ),
    ),
  }),
)

export const RedeliverRequest = Type.Object(
  {
    from: Type.String({ format: 'moment', description: 'Exhausted at or after: RFC 3339, or a date.' }),
    to: optional(Type.String({ format: 'moment', description: 'Exhausted before. Absent: now.' })),
  },
  { $id: 'RedeliverRequest', examples: [{ from: '2026-11-15T00:00:00Z' }] },
)
export type RedeliverRequest = Type.Static<typeof RedeliverRequest>
export const RedeliverAnswer = dataOf(
  Type.Object({
    deliveries: Type.Integer({
      description: 'The number of deliveries that are sent again, at most 50 000. Repeat the call when there are more.',
      examples: [3],
    }),
  }),
)
