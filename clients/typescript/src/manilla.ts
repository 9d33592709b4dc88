import type { Initialized as InitializedOfApi, Integration, Operations, WebhookEvent } from './api-types.ts'
import { type ErrorCode, ManillaApiError } from './errors.ts'
import { List, type Page } from './list.ts'
import { type Call, type CallOptions, type ManillaOptions, transport } from './transport.ts'
import { verifyWebhook } from './verify-webhook.ts'

export type Query<Name extends keyof Operations> = Operations[Name] extends { query: infer Given } ? Given : never
export type Body<Name extends keyof Operations> = Operations[Name] extends { body: infer Given } ? Given : never
export type Data<Name extends keyof Operations> = Operations[Name]['answer'] extends { data: infer Given }
  ? Given
  : never

export interface CardInstructions {
  /** HTML for the customer, with all values escaped. */
  message: string
  link: string
  /** The provider's reference. */
  reference: string
  /** `null` while a saved card waits for a PIN or code. */
  publicKey: string | null
}

export interface TransferInstructions {
  /** HTML for the customer, with all values escaped. */
  message: string
  accountName: string
  accountNumber: string
  bankName: string
  expiresAt: string | null
  amountToTransfer: number
  /** Must stand in the transfer, else the provider does not find it. */
  narration?: string
  /** What the customer dials, by bank. Absent: it cannot be dialled. */
  dialCodes?: { bank: string; bankName: string; code: string }[]
}

/** A page of the provider. */
export interface LinkInstructions extends CardInstructions {
  expiresAt: string | null
}

/** One of `link`, `input` and `payTo`, or none of them: then the phone asks the customer. */
export interface MobileMoneyInstructions extends Partial<Omit<LinkInstructions, 'message' | 'expiresAt'>> {
  /** HTML for the customer, with all values escaped. */
  message: string
  /** Masked. `null`: the customer pays from the menu of the network. */
  phoneNumber: string | null
  network: string | null
  expiresAt: string | null
  /** The name that the prompt shows, where it is not yours. */
  shownAs?: string
  /** The provider asks for a code: `payments.submitInput` gives it. */
  input?: { kind: 'otp' | 'voucher'; message: string }
  payTo?: { number: string; account: string }
}

export interface UssdInstructions {
  /** HTML for the customer, with all values escaped. */
  message: string
  /** To dial. */
  code: string
  bankName: string | null
  expiresAt: string | null
}

export interface QrInstructions {
  /** HTML for the customer, with all values escaped. */
  message: string
  /** The text to encode. */
  qr: string
  expiresAt: string | null
}

/** What the customer does next. */
export type Initialized = Omit<InitializedOfApi, 'channel' | 'data'> &
  (
    | { channel: 'card'; data: CardInstructions }
    | { channel: 'virtual-bank-account'; data: TransferInstructions }
    | { channel: 'mobile-money'; data: MobileMoneyInstructions }
    | { channel: 'ussd'; data: UssdInstructions | LinkInstructions }
    | { channel: 'bank'; data: LinkInstructions }
    | { channel: 'qr'; data: QrInstructions | LinkInstructions }
  )

export interface EventWithDeliveries {
  event: WebhookEvent
  deliveries: Data<'getEvent'>['deliveries']
}

const V1 = '/payments/v1'

/** `new Manilla({ clientId, clientSecret, baseUrl })`. Reference: {baseUrl}/docs */
export class Manilla {
  readonly checkouts
  readonly payments
  readonly refunds
  readonly disputes
  readonly cases
  readonly settlements
  readonly bankStatements
  readonly bankCredits
  readonly cards
  readonly channels
  readonly fees
  readonly integrations
  readonly links
  readonly webhookEndpoints
  readonly events
  readonly exports
  readonly webhooks = { verify: verifyWebhook }

  constructor(options: ManillaOptions) {
    const { json, response } = transport(options)

    async function call<Answer>(wanted: Call, options?: CallOptions): Promise<Answer> {
      return (await json<{ data: Answer }>({ ...wanted, path: V1 + wanted.path }, options)).data
    }

    function list<Item>(path: string, query: { cursor?: string } = {}, options?: CallOptions): List<Item> {
      return new List((defaults, cursor = query.cursor) =>
        json<Page<Item>>({ method: 'GET', path: V1 + path, query: { ...defaults, ...query, cursor } }, options),
      )
    }

    const get = <Answer>(path: string, options?: CallOptions, query?: object) =>
      call<Answer>({ method: 'GET', path, query }, options)
    const post = <Answer>(path: string, body: unknown, options?: CallOptions) =>
      call<Answer>({ method: 'POST', path, body }, options)
    const postOnce = <Answer>(path: string, body: unknown, options?: CallOptions) =>
      call<Answer>({ method: 'POST', path, body, once: true }, options)
    const remove = (path: string, options?: CallOptions) =>
      call<unknown>({ method: 'DELETE', path }, options)
        .then(() => {})
        .catch(doneByFirstTry('not_found', () => {}))
    const csv = (path: string, query: object | undefined, options?: CallOptions) =>
      response({ method: 'GET', path: V1 + path, query }, options)

    const payment = (reference: string) => `/payments/${encodeURIComponent(reference)}`
    const retrievePayment = (reference: string, options?: CallOptions) =>
      get<Data<'getPayment'>>(payment(reference), options)

    this.checkouts = {
      create: (body: Body<'createCheckout'>, options?: CallOptions) =>
        post<Data<'createCheckout'>>('/checkouts', body, options),
    }

    /** `reference`: of the payment or of one of its attempts, or the `chk_` id. */
    this.payments = {
      /** Starts a payment with a provider of your choice. */
      initialize: (body: Body<'initializePayment'>, options?: CallOptions) =>
        post<Initialized>('/payments/initialize', body, options),
      /** Gives the code that the provider asks for: see `input` in the answer of `initialize`. */
      submitInput: (reference: string, body: Body<'submitInput'>, options?: CallOptions) =>
        post<Data<'submitInput'>>(`${payment(reference)}/input`, body, options),
      retrieve: retrievePayment,
      /** Newest first. */
      list: (query?: Query<'listPayments'>, options?: CallOptions) =>
        list<Data<'getPayment'>>('/payments', query, options),
      cancel: (reference: string, options?: CallOptions) =>
        post<Data<'cancelPayment'>>(`${payment(reference)}/cancel`, undefined, options).catch(
          doneByFirstTry('payment_cancelled', () => retrievePayment(reference, options)),
        ),
      timeline: (reference: string, options?: CallOptions) =>
        get<Data<'getTimeline'>>(`${payment(reference)}/timeline`, options),
      /**
       * In full, or the `amount` that you give. The same amount again within a minute is `duplicate_refund`, unless you
       * give an `idempotencyKey` or `allowDuplicate: true`.
       */
      refund: (reference: string, body: Body<'refundPayment'> = {}, options?: CallOptions) =>
        post<Data<'refundPayment'>>(
          `${payment(reference)}/refunds`,
          // The key that the library makes protects retries, not a second call.
          options?.idempotencyKey === undefined ? { ...body, allowDuplicate: body.allowDuplicate ?? false } : body,
          options,
        ),
      refunds: (reference: string, options?: CallOptions) =>
        get<Data<'listRefunds'>>(`${payment(reference)}/refunds`, options),
      /** Whether a refund needs the customer's bank account, and the banks to choose from. */
      refundAccount: (reference: string, query?: Query<'getRefundAccount'>, options?: CallOptions) =>
        get<Data<'getRefundAccount'>>(`${payment(reference)}/refund-account`, options, query),
      /** For `Pay.open({ reference, token })` in the browser. */
      createWidgetToken: (reference: string, options?: CallOptions) =>
        post<Data<'createWidgetToken'>>(`${payment(reference)}/widget-token`, undefined, options),
    }

    this.refunds = {
      retrieve: (id: string, options?: CallOptions) =>
        get<Data<'getRefund'>>(`/refunds/${encodeURIComponent(id)}`, options),
      /**
       * Gives the provider the customer's bank account, for a refund whose `needsReview` starts with
       * `refund_needs_account`.
       */
      retry: (id: string, account: Body<'retryRefund'>, options?: CallOptions) =>
        post<Data<'retryRefund'>>(`/refunds/${encodeURIComponent(id)}/retry`, account, options),
      /** Says that the provider has not made a refund whose `needsReview` starts with `unanswered`. */
      end: (id: string, body: Body<'endRefund'>, options?: CallOptions) =>
        post<Data<'endRefund'>>(`/refunds/${encodeURIComponent(id)}/end`, body, options),
    }

    this.disputes = {
      list: (query?: Query<'listDisputes'>, options?: CallOptions) =>
        list<Data<'getDispute'>>('/disputes', query, options),
      retrieve: (id: string, options?: CallOptions) =>
        get<Data<'getDispute'>>(`/disputes/${encodeURIComponent(id)}`, options),
    }

    this.cases = {
      list: (query?: Query<'listCases'>, options?: CallOptions) => list<Data<'getCase'>>('/cases', query, options),
      retrieve: (id: string, options?: CallOptions) =>
        get<Data<'getCase'>>(`/cases/${encodeURIComponent(id)}`, options),
      /** Says that a person has dealt with it. No money moves. */
      close: (id: string, body: Body<'closeCase'>, options?: CallOptions) =>
        post<Data<'closeCase'>>(`/cases/${encodeURIComponent(id)}/close`, body, options),
    }

    this.settlements = {
      list: (query?: Query<'listSettlements'>, options?: CallOptions) =>
        list<Data<'listSettlements'>[number]>('/settlements', query, options),
      retrieve: (id: string, options?: CallOptions) =>
        get<Data<'getSettlement'>>(`/settlements/${encodeURIComponent(id)}`, options),
      lines: (id: string, query?: Query<'listSettlementLines'>, options?: CallOptions) =>
        list<Data<'listSettlementLines'>[number]>(`/settlements/${encodeURIComponent(id)}/lines`, query, options),
      /** Payments that no settlement has. */
      unsettled: (query?: Query<'listUnsettled'>, options?: CallOptions) =>
        list<Data<'listUnsettled'>[number]>('/settlements/unsettled', query, options),
      unsettledSums: (options?: CallOptions) => get<Data<'sumUnsettled'>>('/settlements/unsettled/sums', options),
      /** Calculated and charged fees by provider and month. */
      fees: (query: Query<'sumChargedFees'>, options?: CallOptions) =>
        get<Data<'sumChargedFees'>>('/settlements/fees', options, query),
      refresh: (options?: CallOptions) => post<Data<'refreshSettlements'>>('/settlements/refresh', undefined, options),
    }

    this.bankStatements = {
      upload: (body: Body<'uploadBankStatement'>, options?: CallOptions) =>
        post<Data<'uploadBankStatement'>>('/bank-statements', body, options),
      columns: (options?: CallOptions) => get<Data<'getBankColumns'>>('/bank-statements/columns', options),
    }

    this.bankCredits = {
      list: (query?: Query<'listBankCredits'>, options?: CallOptions) =>
        list<Data<'listBankCredits'>[number]>('/bank-credits', query, options),
      assign: (id: string, body: Body<'assignBankCredit'>, options?: CallOptions) =>
        call<Data<'assignBankCredit'>>(
          { method: 'PUT', path: `/bank-credits/${encodeURIComponent(id)}`, body },
          options,
        ),
    }

    this.cards = {
      /** Saved cards of a `userId`, or those that were saved without one under an `email`. */
      list: (query: Query<'listCards'>, options?: CallOptions) => get<Data<'listCards'>>('/cards', options, query),
      delete: (id: string, options?: CallOptions) => remove(`/cards/${encodeURIComponent(id)}`, options),
    }

    this.channels = {
      /** How customers of a country can pay, with mobile networks and banks to choose from. */
      list: (query: Query<'listChannels'>, options?: CallOptions) =>
        get<Data<'listChannels'>>('/channels', options, query),
    }

    this.fees = {
      quote: (body: Body<'quoteFees'>, options?: CallOptions) => post<Data<'quoteFees'>>('/fees/quote', body, options),
    }

    const integration = (provider: string) => `/integrations/${encodeURIComponent(provider)}`
    this.integrations = {
      list: (query?: Query<'listIntegrations'>, options?: CallOptions) =>
        get<Data<'listIntegrations'>>('/integrations', options, query),
      retrieve: (provider: string, options?: CallOptions) => get<Integration>(integration(provider), options),
      /** `warning`: the provider rejects the keys or did not answer. They are saved in any case. */
      set: (provider: string, body: Body<'setIntegration'>, options?: CallOptions) =>
        json<Operations['setIntegration']['answer']>(
          { method: 'PUT', path: V1 + integration(provider), body },
          options,
        ),
      delete: (provider: string, options?: CallOptions) => remove(integration(provider), options),
      check: (provider: string, options?: CallOptions) =>
        post<Data<'checkIntegration'>>(`${integration(provider)}/check`, undefined, options),
    }

    const link = (id: string) => `/links/${encodeURIComponent(id)}`
    this.links = {
      create: (body: Body<'createLink'>, options?: CallOptions) => post<Data<'createLink'>>('/links', body, options),
      retrieve: (id: string, options?: CallOptions) => get<Data<'getLink'>>(link(id), options),
      list: (query?: Query<'listLinks'>, options?: CallOptions) => list<Data<'getLink'>>('/links', query, options),
      update: (id: string, body: Body<'changeLink'>, options?: CallOptions) =>
        call<Data<'changeLink'>>({ method: 'PATCH', path: link(id), body }, options),
    }

    const endpoint = (id: string) => `/webhook-endpoints/${encodeURIComponent(id)}`
    this.webhookEndpoints = {
      /** The answer has the `secret`; it is shown only once. */
      create: (body: Body<'createWebhookEndpoint'>, options?: CallOptions) =>
        postOnce<Data<'createWebhookEndpoint'>>('/webhook-endpoints', body, options),
      list: (options?: CallOptions) => get<Data<'listWebhookEndpoints'>>('/webhook-endpoints', options),
      update: (id: string, body: Body<'changeWebhookEndpoint'>, options?: CallOptions) =>
        call<Data<'changeWebhookEndpoint'>>({ method: 'PATCH', path: endpoint(id), body }, options),
      delete: (id: string, options?: CallOptions) => remove(endpoint(id), options),
      /** Both secrets sign for 24 hours: pass both to `webhooks.verify`. */
      rotateSecret: (id: string, options?: CallOptions) =>
        postOnce<Data<'rotateWebhookEndpointSecret'>>(`${endpoint(id)}/rotate-secret`, undefined, options),
      /** Of the secret for the `webhook` of a request. */
      rotateDefaultSecret: (options?: CallOptions) =>
        postOnce<Data<'rotateWebhookSecret'>>('/webhook-secret/rotate', undefined, options),
      test: (id: string, options?: CallOptions) =>
        postOnce<Data<'testWebhookEndpoint'>>(`${endpoint(id)}/test`, undefined, options),
    }

    const event = (id: string) => `/events/${encodeURIComponent(id)}`
    this.events = {
      list: (query?: Query<'listEvents'>, options?: CallOptions) => list<WebhookEvent>('/events', query, options),
      retrieve: (id: string, options?: CallOptions) => get<EventWithDeliveries>(event(id), options),
      redeliver: (id: string, options?: CallOptions) =>
        postOnce<Data<'redeliverEvent'>>(`${event(id)}/redeliver`, undefined, options),
      /** All events whose deliveries were exhausted since `from`. */
      redeliverExhausted: (body: Body<'redeliverGivenUp'>, options?: CallOptions) =>
        postOnce<Data<'redeliverGivenUp'>>('/events/redeliver', body, options),
    }

    /** CSV files, as a `Response` to stream: `.body`, or `.text()`. */
    this.exports = {
      payments: (query?: Query<'exportPayments'>, options?: CallOptions) => csv('/exports/payments', query, options),
      refunds: (query?: Query<'exportRefunds'>, options?: CallOptions) => csv('/exports/refunds', query, options),
      transfers: (query?: Query<'exportTransfers'>, options?: CallOptions) => csv('/exports/transfers', query, options),
      deliveries: (query?: Query<'exportDeliveries'>, options?: CallOptions) =>
        csv('/exports/deliveries', query, options),
    }
  }
}

/** The answer to the first try was lost, and a retry is refused because the first one had its effect. */
function doneByFirstTry<Result>(code: ErrorCode, then: () => Result) {
  return (error: unknown): Result => {
    if (error instanceof ManillaApiError && error.code === code && error.retries > 0) return then()
    throw error
  }
}
