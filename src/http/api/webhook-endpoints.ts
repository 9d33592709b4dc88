import { Type } from 'typebox'
import { type EndpointId, parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { WebhookAnswer } from '../../outbound/webhook-http.ts'
import type { DeliveryDependencies } from '../../webhooks/delivery-loop.ts'
import { endpointView, ROTATION_HOURS } from '../../webhooks/endpoint.ts'
import {
  endpointSecretContext,
  findEndpoint,
  findEndpointSecret,
  listEndpoints,
} from '../../webhooks/endpoint-store.ts'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  rotateDefaultSecret,
  rotateEndpointSecret,
} from '../../webhooks/manage-endpoints.ts'
import { tryEndpoint } from '../../webhooks/try-endpoint.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import {
  EndpointAnswer,
  EndpointChanges,
  EndpointRequest,
  EndpointsAnswer,
  NewEndpointAnswer,
  SecretAnswer,
  TestAnswer,
} from '../contract/webhook.ts'
import type { App } from '../server/framework.ts'
import { knownFields, readBody } from '../server/read-body.ts'

const Named = Type.Object({ id: Type.String() })
const KNOWN = knownFields(EndpointRequest)
const HOUR_MS = 3_600_000

/**
 * Webhook endpoints of a merchant, in addition to each payment's own `webhook`. A secret is shown once, when it is
 * created.
 */
export function webhookEndpointRoutes(app: App, deps: DeliveryDependencies): void {
  const { database, clock } = deps
  const tags = ['Webhooks']
  const previousValidUntil = () => new Date(clock.now().getTime() + ROTATION_HOURS * HOUR_MS).toISOString()

  app.get(
    '/webhook-endpoints',
    {
      schema: {
        operationId: 'listWebhookEndpoints',
        summary: 'List webhook endpoints',
        tags,
        response: { 200: EndpointsAnswer, ...problems() },
      },
    },
    async ({ caller }) => ({ data: (await listEndpoints(database, caller)).map(endpointView), nextCursor: null }),
  )

  app.post(
    '/webhook-endpoints',
    {
      attachValidation: true,
      schema: {
        operationId: 'createWebhookEndpoint',
        summary: 'Create a webhook endpoint',
        tags,
        body: ref(EndpointRequest),
        response: { 201: NewEndpointAnswer, ...problems(...BODY_PROBLEMS, 'too_many_endpoints') },
      },
    },
    async (request, reply) => {
      const { url, events, enabled } = readBody<EndpointRequest>(request, KNOWN, deps.allowPrivate)
      const { caller } = request
      const wanted = { url, events: events ?? [], enabled: enabled ?? true }
      const { endpoint, secret } = await createEndpoint(deps, caller.actor, caller, wanted)
      return reply.code(201).send({ data: { ...endpointView(endpoint), secret } })
    },
  )

  app.patch(
    '/webhook-endpoints/:id',
    {
      attachValidation: true,
      schema: {
        operationId: 'changeWebhookEndpoint',
        summary: 'Change a webhook endpoint',
        tags,
        params: Named,
        body: ref(EndpointChanges),
        response: { 200: EndpointAnswer, ...problems(...BODY_PROBLEMS, 'not_found') },
      },
    },
    async (request) => {
      const { url, events, enabled } = readBody<EndpointChanges>(request, KNOWN, deps.allowPrivate)
      const { caller, params } = request
      const changes = {
        ...(url && { url }),
        ...(events && { events }),
        ...(typeof enabled === 'boolean' && { enabled }),
      }
      return { data: endpointView(await changeEndpoint(deps, caller.actor, caller, idIn(params), changes)) }
    },
  )

  app.delete(
    '/webhook-endpoints/:id',
    {
      schema: {
        operationId: 'deleteWebhookEndpoint',
        summary: 'Delete a webhook endpoint',
        tags,
        params: Named,
        response: { 200: EndpointAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => ({
      data: endpointView(await deleteEndpoint(deps, caller.actor, caller, idIn(params))),
    }),
  )

  app.post(
    '/webhook-endpoints/:id/rotate-secret',
    {
      schema: {
        operationId: 'rotateWebhookEndpointSecret',
        summary: 'Rotate the secret of a webhook endpoint',
        description: 'Both secrets sign for 24 hours.',
        tags,
        params: Named,
        response: { 200: SecretAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => ({
      data: {
        secret: await rotateEndpointSecret(deps, caller.actor, caller, idIn(params)),
        previousValidUntil: previousValidUntil(),
      },
    }),
  )

  app.post(
    '/webhook-endpoints/:id/test',
    {
      schema: {
        operationId: 'testWebhookEndpoint',
        summary: 'Test a webhook endpoint',
        description: 'Sends a signed `endpoint.test` now and returns the response of the endpoint.',
        tags,
        params: Named,
        response: { 200: TestAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const id = idIn(params)
      const endpoint = await findEndpoint(database, caller, id)
      const sealed = endpoint && (await findEndpointSecret(database, id))
      if (!endpoint || !sealed) throw unknownEndpoint()
      const secret = deps.secrets.open(sealed, endpointSecretContext(id))
      return { data: testView(await tryEndpoint(deps, { ...endpoint, place: caller.place, secret })) }
    },
  )

  app.post(
    '/webhook-secret/rotate',
    {
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: 'Rotate the default webhook secret',
        description: 'This secret signs events that go to the `webhook` of a request. Both secrets sign for 24 hours.',
        tags,
        response: { 200: SecretAnswer, ...problems() },
      },
    },
    async ({ caller }) => ({
      data: {
        secret: await rotateDefaultSecret(deps, caller.actor, caller),
        previousValidUntil: previousValidUntil(),
      },
    }),
  )
}

function idIn({ id }: { id: string }): EndpointId {
  const parsed = parseId('endpoint', id)
  if (!parsed) throw unknownEndpoint()
  return parsed
}

function unknownEndpoint(): Problem {
  return new Problem('not_found', 'You have no webhook endpoint with this id in this mode.')
}

function testView(answer: WebhookAnswer) {
  return answer.kind === 'answer'
    ? {
        delivered: answer.status >= 200 && answer.status < 300,
        status: answer.status,
        error: null,
        tookMs: Math.round(answer.tookMs),
        answer: answer.excerpt,
      }
    : {
        delivered: false,
        status: null,
        error: `${answer.because}: ${answer.detail}`,
        tookMs: Math.round(answer.tookMs),
        answer: '',
      }
}
