import swagger from '@fastify/swagger'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemCode } from '../kernel/problem.ts'
import { sandboxOperations } from '../providers/sandbox-servers.ts'
import {
  Attempt,
  Card,
  Initialized,
  InitializeRequest,
  QuoteRequest,
  Refund,
  RefundAccount,
  RefundEnd,
  RefundRequest,
  RefundRetry,
} from './contract/attempt.ts'
import { BankCreditAssignment, BankStatement } from './contract/bank-statement.ts'
import { Case, CaseClosing } from './contract/case.ts'
import { OfferedChannel } from './contract/channels.ts'
import { Checkout, CheckoutRequest } from './contract/checkout.ts'
import { Dispute } from './contract/dispute.ts'
import { Integration, IntegrationRequest } from './contract/integration.ts'
import { Link, LinkChanges, LinkRequest } from './contract/link.ts'
import { InputRequest, Payment, WidgetToken } from './contract/payment.ts'
import { ProblemAnswer, problemExamples, problemResponse } from './contract/problem.ts'
import { Settlement, SettlementLine } from './contract/settlement.ts'
import { Endpoint, EndpointChanges, EndpointRequest, RedeliverRequest } from './contract/webhook.ts'
import { webhookEvents } from './contract/webhook-events.ts'
import { addExamples } from './openapi-examples.ts'
import { apiReferenceRoutes } from './server/api-reference.ts'
import type { App } from './server/framework.ts'
import type { Limits } from './server/limits.ts'

// A manilla: the open bracelet that was money on the West African coast.
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M11 26a12 12 0 1 1 10 0" fill="none" stroke="#0b6e4f" stroke-width="5" stroke-linecap="round"/></svg>'

const SCHEMAS = [
  CheckoutRequest,
  Checkout,
  LinkRequest,
  LinkChanges,
  Link,
  InitializeRequest,
  Initialized,
  Attempt,
  Payment,
  InputRequest,
  WidgetToken,
  RefundAccount,
  RefundRequest,
  RefundEnd,
  RefundRetry,
  Refund,
  Case,
  CaseClosing,
  Dispute,
  Settlement,
  SettlementLine,
  BankStatement,
  BankCreditAssignment,
  Card,
  QuoteRequest,
  OfferedChannel,
  IntegrationRequest,
  Integration,
  EndpointRequest,
  EndpointChanges,
  Endpoint,
  RedeliverRequest,
  ProblemAnswer,
]

/** OpenAPI 3.1, generated from the schemas that validate requests and serialise responses. */
export async function describeApi(app: App, baseUrl: () => string, limits: Limits): Promise<void> {
  for (const schema of SCHEMAS) app.addSchema(schema)
  await app.register(swagger, {
    refResolver: { buildLocalReference: (schema) => String(schema.$id) },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Manilla',
        version: '1',
        description:
          'Hosted checkout links and payments through a provider of your choice. ' +
          'Amounts are integers in the lowest denomination of their currency. ' +
          'Each 2xx answer is `{"data": …}`. Each error is problem+json (RFC 9457) with a stable `code`. ' +
          'Ignore fields that you do not know: v1 changes by addition only.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          clientId: { type: 'apiKey', in: 'header', name: 'client-id' },
          clientSecret: { type: 'apiKey', in: 'header', name: 'client-secret' },
        },
        examples: problemExamples,
      },
      security: [{ clientId: [], clientSecret: [] }],
      tags: [
        { name: 'Checkouts' },
        { name: 'Links' },
        { name: 'Payments' },
        { name: 'Settlements', description: 'What the providers pay out to your bank account.' },
        { name: 'Cards' },
        { name: 'Integrations' },
        { name: 'Webhooks' },
        { name: 'Exports', description: 'Lists as CSV files.' },
        { name: 'Sandbox', description: 'Control calls for your own tests. They take sandbox credentials only.' },
      ],
    },
    transformObject: (document) => completeDocument(document as { openapiObject: Document }),
  })
  const onRequest = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    limits.docs(request)
    done()
  }
  app.get('/openapi.json', { schema: { hide: true }, onRequest }, async (_, reply) =>
    reply.type('application/json; charset=utf-8').send(description()),
  )

  // Cached for each base URL: serialising takes milliseconds.
  let made: { url: string; text: string } | undefined
  function description(): string {
    const url = baseUrl()
    if (made?.url !== url) made = { url, text: JSON.stringify({ ...app.swagger(), servers: [{ url }] }) }
    return made.text
  }

  app.get('/favicon.ico', { schema: { hide: true } }, async (_, reply) => reply.type('image/svg+xml').send(ICON))

  apiReferenceRoutes(app, onRequest)
}

interface Document {
  // biome-ignore lint/suspicious/noExplicitAny: the generator's types do not know `webhooks` beside sandbox paths
  paths: Record<string, any>
}

/** Adds the sections that no route of ours declares: webhooks, the sandbox's control calls and examples. */
function completeDocument({ openapiObject }: { openapiObject: Document }): Document {
  const document = { ...openapiObject, paths: { ...openapiObject.paths, ...sandboxPaths() }, webhooks: webhookEvents }
  document.paths['/payments/v1/payments/{reference}/refunds'].post.requestBody.required = false
  addExamples(document)
  return document
}

function sandboxPaths() {
  const problems = {
    401: sandboxProblem('invalid_credentials'),
    404: sandboxProblem('not_found'),
    default: sandboxProblem('invalid_request'),
  }
  return mapValues(sandboxOperations(), (operations) =>
    mapValues(operations, ({ body, status, answer, ...operation }) => ({
      ...operation,
      tags: ['Sandbox'],
      ...(body && { requestBody: { required: true, content: jsonContent(body) } }),
      responses: { [status]: { description: 'Done', content: jsonContent(answerSchema(answer)) }, ...problems },
    })),
  )
}

/** The generator resolves references of routes only. */
function sandboxProblem(code: ProblemCode) {
  const { content, ...response } = problemResponse([code])
  const schema = { $ref: '#/components/schemas/Problem' }
  return { ...response, content: mapValues(content, (media) => ({ ...media, schema })) }
}

function answerSchema(answer: object) {
  return { properties: { data: { type: 'object' } }, required: ['data'], example: { data: answer } }
}

function jsonContent({ example, ...schema }: { properties: object; required?: string[]; example: object }) {
  return { 'application/json': { schema: { type: 'object', ...schema }, example } }
}

function mapValues<From, To>(entries: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, change(value)]))
}
