import { Manilla, ManillaApiError, type Payment, type Refund } from '@manilla/client'
import type {
  AuthorizePaymentInput,
  AuthorizePaymentOutput,
  CancelPaymentInput,
  CancelPaymentOutput,
  CapturePaymentInput,
  CapturePaymentOutput,
  DeletePaymentInput,
  DeletePaymentOutput,
  GetPaymentStatusInput,
  GetPaymentStatusOutput,
  InitiatePaymentInput,
  InitiatePaymentOutput,
  ProviderWebhookPayload,
  RefundPaymentInput,
  RefundPaymentOutput,
  RetrievePaymentInput,
  RetrievePaymentOutput,
  UpdatePaymentInput,
  UpdatePaymentOutput,
  WebhookActionResult,
} from '@medusajs/framework/types'
import { AbstractPaymentProvider, MedusaError, PaymentActions, PaymentSessionStatus } from '@medusajs/framework/utils'
import { amountLeft, fromLowestDenomination, toLowestDenomination } from './money.ts'

export interface ManillaOptions {
  /** Where your Manilla runs: `https://pay.example.com`. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** Your default webhook secret, `whsec_…`. While you rotate it: the new and the old one. */
  webhookSecret: string | string[]
  /** `https://{your Medusa}/hooks/payment/manilla_{id of this provider}`. */
  webhookUrl: string
  /** The page of your storefront that completes the cart. It gets `status` and `reference` as query parameters. */
  returnUrl: string
  /** The country that payments are processed for, such as NG. */
  country: string
}

/** What Medusa keeps of a payment session. The storefront sends the customer to `url`. */
interface SessionData extends Record<string, unknown> {
  session_id: string
  email: string
  reference: string
  url: string
  amount: number
  currency: string
  /** Refunds that Medusa has recorded. */
  refunds: number
}

const REQUIRED = ['baseUrl', 'clientId', 'clientSecret', 'webhookSecret', 'webhookUrl', 'returnUrl', 'country'] as const
/** Of one session. A new one is needed only after a cancelled or expired checkout, or another amount. */
const MAX_CHECKOUTS = 50
/**
 * Medusa has answered the webhook before it checks the signature, and a queue may be behind. A replay changes nothing.
 */
const WEBHOOK_TOLERANCE_SECONDS = 3_600
const ANSWERED_MS = 60_000
const STATUSES = {
  pending: PaymentSessionStatus.PENDING,
  successful: PaymentSessionStatus.CAPTURED,
  cancelled: PaymentSessionStatus.CANCELED,
  expired: PaymentSessionStatus.CANCELED,
} as const

export class ManillaProvider extends AbstractPaymentProvider<ManillaOptions> {
  static override identifier = 'manilla'
  private readonly manilla: Manilla
  private readonly options: ManillaOptions
  /** Refunds of the last minute. */
  private readonly answered = new Set<string>()

  static override validateOptions(options: Partial<ManillaOptions>): void {
    const missing = REQUIRED.filter((name) => !options[name])
    if (missing.length > 0)
      throw new MedusaError(MedusaError.Types.INVALID_DATA, `Manilla: ${missing.join(', ')} must be set.`)
  }

  constructor(container: Record<string, unknown>, options: ManillaOptions) {
    super(container, options)
    this.options = options
    this.manilla = new Manilla(options)
  }

  async initiatePayment({
    amount,
    currency_code,
    data,
    context,
  }: InitiatePaymentInput): Promise<InitiatePaymentOutput> {
    const { session_id, email: given } = data as { session_id: string; email?: string }
    const email = context?.customer?.email ?? given
    // Medusa passes the customer of signed-in ones only.
    if (!email) throw refused('Pass `data: { email: cart.email }` when you initiate the payment session.')
    const currency = currency_code.toUpperCase()
    const wanted = { session_id, email, currency, amount: toLowestDenomination(amount, currency), refunds: 0 }
    const opened = await this.openCheckout(wanted, 1)
    return { id: opened.reference, status: PaymentSessionStatus.PENDING, data: opened }
  }

  /** A checkout has one amount, so another amount is another checkout. */
  async updatePayment({ amount, currency_code, data }: UpdatePaymentInput): Promise<UpdatePaymentOutput> {
    const session = data as SessionData
    const currency = currency_code.toUpperCase()
    const wanted = { ...session, currency, amount: toLowestDenomination(amount, currency) }
    if (wanted.amount === session.amount && currency === session.currency) return { data: session }
    await this.cancel(session.reference)
    return { status: PaymentSessionStatus.PENDING, data: await this.openCheckout(wanted, 2) }
  }

  async authorizePayment({ data }: AuthorizePaymentInput): Promise<AuthorizePaymentOutput> {
    return this.getPaymentStatus({ data })
  }

  async getPaymentStatus({ data }: GetPaymentStatusInput): Promise<GetPaymentStatusOutput> {
    const session = data as SessionData
    const payment = await this.manilla.payments.retrieve(session.reference)
    if (payment.metadata.medusaSession !== session.session_id)
      throw refused(`${session.reference} is the payment of another session.`)
    // Refunded in Manilla: it pays no order any more.
    const isRefunded = payment.status === 'successful' && amountLeft(payment) < payment.amount
    return { status: isRefunded ? PaymentSessionStatus.CANCELED : STATUSES[payment.status], data: session }
  }

  /** A successful payment is captured already. */
  async capturePayment({ data }: CapturePaymentInput): Promise<CapturePaymentOutput> {
    const { status } = await this.getPaymentStatus({ data })
    if (status !== PaymentSessionStatus.CAPTURED) throw refused(`${(data as SessionData).reference} is not paid.`)
    return { data }
  }

  async cancelPayment({ data }: CancelPaymentInput): Promise<CancelPaymentOutput> {
    const { reference } = (data ?? {}) as Partial<SessionData>
    if (reference) await this.cancel(reference)
    return { data }
  }

  deletePayment(input: DeletePaymentInput): Promise<DeletePaymentOutput> {
    return this.cancelPayment(input)
  }

  /**
   * Medusa forgets a refund whose answer was lost, and asks again with another key. Ours counts the refunds that Medusa
   * has recorded, and those that failed, so that the second request is the first one again.
   */
  async refundPayment({ amount, data }: RefundPaymentInput): Promise<RefundPaymentOutput> {
    const session = data as SessionData
    const { reference } = session
    const inManilla = toLowestDenomination(amount, session.currency)
    const isFailed = ({ kind, status, amount }: Refund) =>
      kind === 'merchant' && status === 'failed' && amount === inManilla
    const failed = (await this.manilla.payments.refunds(reference)).filter(isFailed).length
    const idempotencyKey = `medusa-${reference}-${session.refunds}-${failed}-${inManilla}`
    const body = { amount: inManilla }
    const { id, status, failure } = await this.manilla.payments.refund(reference, body, { idempotencyKey })
    if (status === 'failed') throw refused(`The refund failed: ${failure}`)
    // Two requests at the same time have the same key: Medusa would record one refund twice.
    if (this.answered.has(id))
      throw refused('Another request has just made this refund. Look at the order, and try again in a minute.')
    this.answered.add(id)
    setTimeout(() => this.answered.delete(id), ANSWERED_MS).unref()
    return { data: { ...session, refunds: session.refunds + 1 } }
  }

  async retrievePayment({ data }: RetrievePaymentInput): Promise<RetrievePaymentOutput> {
    const payment = await this.manilla.payments.retrieve((data as SessionData).reference)
    return { data: { ...payment } }
  }

  /** Medusa then asks `authorizePayment` and completes the cart. It acts on no other event. */
  async getWebhookActionAndData({ rawData, headers }: ProviderWebhookPayload['payload']): Promise<WebhookActionResult> {
    const event = await this.manilla.webhooks.verify(
      rawData,
      headers as Record<string, string>,
      this.options.webhookSecret,
      { toleranceSeconds: WEBHOOK_TOLERANCE_SECONDS },
    )
    if (event.type !== 'payment.successful') return { action: PaymentActions.NOT_SUPPORTED }
    const { metadata, amount, currency } = event.data.payment
    const session_id = metadata.medusaSession
    if (!session_id) return { action: PaymentActions.NOT_SUPPORTED }
    return { action: PaymentActions.SUCCESSFUL, data: { session_id, amount: fromLowestDenomination(amount, currency) } }
  }

  /** A reference is used once: a cancelled or expired checkout keeps its own, and the next one gets the next number. */
  private async openCheckout(
    wanted: Pick<SessionData, 'session_id' | 'email' | 'amount' | 'currency' | 'refunds'>,
    first: number,
  ): Promise<SessionData> {
    const { session_id, email, amount, currency } = wanted
    const { webhookUrl: webhook, returnUrl: redirectURL, country } = this.options
    const metadata = { medusaSession: session_id }
    for (let number = first; number < first + MAX_CHECKOUTS; number++) {
      const reference = number === 1 ? session_id : `${session_id}-${number}`
      const body = { reference, amount, currency, country, user: { email }, webhook, redirectURL, metadata }
      const { url } = await this.manilla.checkouts
        .create(body)
        .catch((error) => this.existing(error, reference, wanted))
      if (url) return { ...wanted, reference, url }
    }
    throw refused(`The payment session ${session_id} has too many checkouts.`)
  }

  /** A checkout whose answer Medusa has lost. */
  private async existing(
    error: unknown,
    reference: string,
    { amount, currency }: Pick<SessionData, 'amount' | 'currency'>,
  ): Promise<{ url?: string }> {
    if (!(error instanceof ManillaApiError && error.is('duplicate_reference'))) throw error
    const payment: Payment = await this.manilla.payments.retrieve(reference)
    if (payment.status === 'pending' && payment.amount === amount && payment.currency === currency) return payment
    await this.cancel(reference)
    return {}
  }

  /** Refused when the payment is paid: Medusa must complete the cart, or refund. */
  private async cancel(reference: string): Promise<void> {
    try {
      await this.manilla.payments.cancel(reference)
    } catch (error) {
      if (!(error instanceof ManillaApiError)) throw error
      if (['payment_cancelled', 'payment_expired', 'not_found'].includes(error.code)) return
      // Medusa refunds a payment whose order it cannot place, and deletes its session, which must not pay another
      // order.
      const isPaid = error.is('payment_already_completed')
      if (isPaid && amountLeft(await this.manilla.payments.retrieve(reference)) === 0) return
      throw refused(`${reference} cannot be cancelled: ${error.detail}`)
    }
  }
}

function refused(message: string): MedusaError {
  return new MedusaError(MedusaError.Types.NOT_ALLOWED, message)
}
