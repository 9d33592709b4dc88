import type { Document, Schema } from './client-types.ts'
import { capital, nameOf, schemaIn } from './named-types.ts'

interface Row {
  operation: string
  doc?: string
  /** Carried out twice, the call would have another effect, so a lost answer is not repeated. */
  once?: true
  /** After a lost answer the repeat is refused with this code, because the first try had its effect. */
  doneIf?: string
  /** Gives the whole answer, not only `data`. */
  whole?: true
}

/** The resources of all clients and their calls, as in clients/typescript/src/manilla.ts. */
const SURFACE: Record<string, Record<string, Row>> = {
  checkouts: { create: { operation: 'createCheckout' } },
  payments: {
    initialize: { operation: 'initializePayment', doc: 'Starts a payment with a provider of your choice.' },
    submitInput: {
      operation: 'submitInput',
      doc: 'Gives the code that the provider asks for: see `input` in the answer of `initialize`.',
    },
    retrieve: {
      operation: 'getPayment',
      doc: 'By the reference of the payment or of one of its attempts, or by the `chk_` id.',
    },
    list: { operation: 'listPayments', doc: 'Newest first.' },
    cancel: { operation: 'cancelPayment', doneIf: 'payment_cancelled' },
    timeline: { operation: 'getTimeline' },
    refund: {
      operation: 'refundPayment',
      doc: 'In full, or the `amount` that you give. The same amount again within a minute is `duplicate_refund`, unless you give an idempotency key or `allowDuplicate`.',
    },
    refunds: { operation: 'listRefunds' },
    refundAccount: {
      operation: 'getRefundAccount',
      doc: "Whether a refund needs the customer's bank account, and the banks to choose from.",
    },
    createWidgetToken: { operation: 'createWidgetToken', doc: 'For `Pay.open({ reference, token })` in the browser.' },
  },
  refunds: {
    retrieve: { operation: 'getRefund' },
    retry: {
      operation: 'retryRefund',
      doc: "Gives the provider the customer's bank account, for a refund whose `needsReview` starts with `refund_needs_account`.",
    },
    end: {
      operation: 'endRefund',
      doc: 'Says that the provider has not made a refund whose `needsReview` starts with `unanswered`.',
    },
  },
  disputes: { list: { operation: 'listDisputes' }, retrieve: { operation: 'getDispute' } },
  cases: {
    list: { operation: 'listCases' },
    retrieve: { operation: 'getCase' },
    close: { operation: 'closeCase', doc: 'Says that a person has dealt with it. No money moves.' },
  },
  settlements: {
    list: { operation: 'listSettlements' },
    retrieve: { operation: 'getSettlement' },
    lines: { operation: 'listSettlementLines' },
    unsettled: { operation: 'listUnsettled', doc: 'Payments that no settlement has.' },
    unsettledSums: { operation: 'sumUnsettled' },
    fees: { operation: 'sumChargedFees', doc: 'Calculated and charged fees by provider and month.' },
    refresh: { operation: 'refreshSettlements' },
  },
  bankStatements: {
    upload: { operation: 'uploadBankStatement' },
    columns: { operation: 'getBankColumns' },
  },
  bankCredits: {
    list: { operation: 'listBankCredits' },
    assign: { operation: 'assignBankCredit' },
  },
  cards: {
    list: {
      operation: 'listCards',
      doc: 'Saved cards of a `userId`, or those that were saved without one under an `email`.',
    },
    delete: { operation: 'deleteCard', doneIf: 'not_found' },
  },
  channels: {
    list: {
      operation: 'listChannels',
      doc: 'How customers of a country can pay, with mobile networks and banks to choose from.',
    },
  },
  fees: { quote: { operation: 'quoteFees' } },
  integrations: {
    list: { operation: 'listIntegrations' },
    retrieve: { operation: 'getIntegration' },
    set: {
      operation: 'setIntegration',
      doc: '`warning`: the provider rejects the keys or did not answer. They are saved in any case.',
      whole: true,
    },
    delete: { operation: 'removeIntegration', doneIf: 'not_found' },
    check: { operation: 'checkIntegration' },
  },
  links: {
    create: { operation: 'createLink' },
    retrieve: { operation: 'getLink' },
    list: { operation: 'listLinks' },
    update: { operation: 'changeLink' },
  },
  webhookEndpoints: {
    create: {
      operation: 'createWebhookEndpoint',
      doc: 'The answer has the `secret`; it is shown only once.',
      once: true,
    },
    list: { operation: 'listWebhookEndpoints' },
    update: { operation: 'changeWebhookEndpoint' },
    delete: { operation: 'deleteWebhookEndpoint', doneIf: 'not_found' },
    rotateSecret: {
      operation: 'rotateWebhookEndpointSecret',
      doc: 'Both secrets sign for 24 hours: pass both to `webhooks.verify`.',
      once: true,
    },
    rotateDefaultSecret: {
      operation: 'rotateWebhookSecret',
      doc: 'Of the secret for the `webhook` of a request.',
      once: true,
    },
    test: { operation: 'testWebhookEndpoint', once: true },
  },
  events: {
    list: { operation: 'listEvents' },
    retrieve: { operation: 'getEvent' },
    redeliver: { operation: 'redeliverEvent', once: true },
    redeliverExhausted: {
      operation: 'redeliverGivenUp',
      doc: 'All events whose deliveries were exhausted since `from`.',
      once: true,
    },
  },
  exports: {
    payments: { operation: 'exportPayments' },
    refunds: { operation: 'exportRefunds' },
    transfers: { operation: 'exportTransfers' },
    deliveries: { operation: 'exportDeliveries' },
  },
}

/** A call of the client, with all that its code needs. */
export interface Method extends Row {
  name: string
  http: string
  /** Below `/payments/v1`, with `{reference}`. */
  path: string
  parameters: string[]
  query: { type: string; isRequired: boolean } | undefined
  body: { type: string; isRequired: boolean } | undefined
  kind: 'data' | 'list' | 'nothing' | 'stream'
  /** Of the answer, or of an item of a list. */
  answer: { type: string; isArray: boolean }
}

export interface Resource {
  name: string
  methods: Method[]
}

export function surface(document: Document): Resource[] {
  const operations = new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([http, operation]) => [operation.operationId, { path, http, operation }] as const),
    ),
  )
  return Object.entries(SURFACE).map(([name, rows]) => ({
    name,
    methods: Object.entries(rows).map(([method, row]): Method => {
      const found = operations.get(row.operation)
      if (!found) throw new Error(`There is no operation ${row.operation}.`)
      const { path, http, operation } = found
      const type = capital(row.operation)
      const query = (operation.parameters ?? []).filter((each) => each.in === 'query')
      const body = schemaIn(operation.requestBody)
      const [, answered] = Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? []
      const { data = {}, nextCursor } = schemaIn(answered).properties ?? {}
      const isStream = name === 'exports'
      const isList = nextCursor !== undefined && nextCursor.type !== 'null'
      // The pages of these are of a type that stands elsewhere.
      const item = row.operation === 'listEvents' ? { $ref: 'WebhookEvent' } : data.items
      const isArray = data.type === 'array'
      return {
        ...row,
        name: method,
        http: http.toUpperCase(),
        path: path.replace('/payments/v1', ''),
        parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter as string),
        query: query.length > 0 ? { type: `${type}Query`, isRequired: query.some((each) => each.required) } : undefined,
        body: operation.requestBody && {
          type: body.$ref ? nameOf(body.$ref) : `${type}Body`,
          isRequired: row.operation !== 'refundPayment',
        },
        kind: isStream ? 'stream' : isList ? 'list' : row.doneIf === 'not_found' ? 'nothing' : 'data',
        answer: row.whole
          ? { type: `${type}Answer`, isArray: false }
          : { type: typeNameOf(isArray ? item : data, `${type}Data${isArray ? 'Item' : ''}`), isArray },
      }
    }),
  }))
}

function typeNameOf(schema: Schema | undefined, inline: string): string {
  return schema?.$ref ? nameOf(schema.$ref) : inline
}
