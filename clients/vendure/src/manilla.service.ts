import { Manilla, ManillaApiError, type Payment as ManillaPayment, type Refund as ManillaRefund } from '@manilla/client'
import { Inject, Injectable } from '@nestjs/common'
import {
  ActiveOrderService,
  ConfigService,
  type CreateRefundResult,
  isGraphQlErrorResult,
  Logger,
  Order,
  OrderService,
  type Payment,
  PaymentMethodService,
  Refund,
  type RequestContext,
  RequestContextService,
  TransactionalConnection,
  totalCoveredByPayments,
  UserInputError,
} from '@vendure/core'
import { amountLeft, fromLowestDenomination, toLowestDenomination } from './money.ts'
import {
  HANDLER_CODE,
  LOG_CONTEXT,
  MANILLA_OPTIONS,
  type ManillaPluginOptions,
  RETURN_PATH,
  WEBHOOK_PATH,
} from './options.ts'

/** Of one order. A new one is needed only after a cancelled or expired checkout, or another total. */
const MAX_CHECKOUTS = 50
const REFUND_STATES = { pending: 'Pending', successful: 'Settled', failed: 'Failed' } as const

@Injectable()
export class ManillaService {
  @Inject(MANILLA_OPTIONS) private readonly options!: ManillaPluginOptions
  @Inject(Manilla) private readonly manilla!: Manilla
  @Inject(ActiveOrderService) private readonly activeOrders!: ActiveOrderService
  @Inject(ConfigService) private readonly config!: ConfigService
  @Inject(OrderService) private readonly orders!: OrderService
  @Inject(PaymentMethodService) private readonly methods!: PaymentMethodService
  @Inject(RequestContextService) private readonly contexts!: RequestContextService
  @Inject(TransactionalConnection) private readonly connection!: TransactionalConnection

  /** The link to pay what is due on the active order. The same link again, as long as it can be paid. */
  async createCheckout(ctx: RequestContext): Promise<string> {
    const active = await this.activeOrders.getActiveOrder(ctx, undefined)
    const order = active && (await this.orders.findOne(ctx, active.id))
    if (order?.state !== 'ArrangingPayment') throw new UserInputError('The active order is not in ArrangingPayment.')
    for (let number = 1; number <= MAX_CHECKOUTS; number++) {
      order.payments = await this.orders.getOrderPayments(ctx, order.id)
      const due = order.totalWithTax - totalCoveredByPayments(order)
      if (due <= 0) return this.returnUrl(order.code, 'successful')
      // A reference is used once: a cancelled or expired checkout keeps its own.
      const reference = number === 1 ? order.code : `${order.code}-${number}`
      const url = await this.openCheckout(ctx, order, reference, this.toManilla(due, order))
      if (url) return url
    }
    throw new UserInputError(`The order ${order.code} has too many checkouts.`)
  }

  private async openCheckout(ctx: RequestContext, order: Order, reference: string, amount: number) {
    const { customer, currencyCode: currency } = order
    if (!customer) throw new UserInputError('The order has no customer.')
    const { country } = await this.paymentMethod(ctx)
    try {
      const checkout = await this.manilla.checkouts.create({
        ...{ reference, amount, currency, country },
        user: {
          email: customer.emailAddress,
          name: `${customer.firstName} ${customer.lastName}`.trim() || null,
          // Saved cards are offered to signed-in customers only.
          id: ctx.activeUserId ? `vendure-${customer.id}` : null,
        },
        redirectURL: this.options.vendureUrl + RETURN_PATH,
        webhook: this.options.vendureUrl + WEBHOOK_PATH,
        metadata: { vendureOrder: order.code, vendureChannel: ctx.channel.token },
      })
      return checkout.url
    } catch (error) {
      if (!(error instanceof ManillaApiError && error.is('duplicate_reference'))) throw error
    }
    const existing = await this.manilla.payments.retrieve(reference)
    if (existing.status === 'successful') await this.settle(existing)
    if (existing.status !== 'pending') return undefined
    if (existing.amount === amount && existing.currency === currency) return existing.url
    // Refused while an attempt is in progress: the customer might pay twice.
    await this.manilla.payments.cancel(reference)
    return undefined
  }

  /** For the customer who comes back: asks Manilla, because a webhook may be late or lost. Returns where to go next. */
  async settleReturn(reference: string): Promise<string> {
    const payment = await this.manilla.payments.retrieve(reference)
    await this.settle(payment)
    return this.returnUrl(payment.metadata.vendureOrder ?? '', payment.status)
  }

  /** Adds a paid payment to its order, once. */
  async settle(payment: ManillaPayment): Promise<void> {
    if (payment.status !== 'successful') return
    await this.withOrder(payment, async (ctx, order) => {
      order.payments = await this.orders.getOrderPayments(ctx, order.id)
      if (order.payments.some(({ transactionId }) => transactionId === payment.id)) return
      // A webhook may be days old, and the money refunded since.
      const left = amountLeft(await this.manilla.payments.retrieve(payment.id))
      if (left === 0) {
        Logger.warn(`${payment.reference} was refunded before its order was paid.`, LOG_CONTEXT)
        return
      }
      if (payment.currency !== order.currencyCode)
        throw new Error(`${payment.reference} is paid in ${payment.currency}, the order in ${order.currencyCode}.`)
      await this.arrangePayment(ctx, order, payment)
      const due = order.totalWithTax - totalCoveredByPayments(order)
      // The total may have a fraction of the lowest denomination, which nobody can pay.
      const amount = this.toManilla(due, order) === left ? due : this.fromManilla(left, order)
      const { reference, late, id } = payment
      const input = { method: (await this.paymentMethod(ctx)).code, metadata: { amount, id, reference, late } }
      let added = await this.orders.addPaymentToOrder(ctx, order.id, input)
      // A coupon was used up meanwhile: the order costs more, and the money still belongs to it.
      if (isGraphQlErrorResult(added) && added.__typename === 'CouponRemovedDuringCheckoutError')
        added = await this.orders.addPaymentToOrder(ctx, order.id, input)
      if (isGraphQlErrorResult(added)) throw new Error(`${reference} is paid, but not recorded: ${added.message}`)
    })
  }

  /** The customer may have gone back to the cart while the payment page was open. */
  private async arrangePayment(ctx: RequestContext, order: Order, { reference }: ManillaPayment): Promise<void> {
    if (order.state === 'ArrangingPayment' || order.state === 'ArrangingAdditionalPayment') return
    const moved = await this.orders.transitionToState(ctx, order.id, 'ArrangingPayment')
    if (isGraphQlErrorResult(moved))
      throw new Error(`${reference} is paid, but its order takes no payment: refund it in Manilla. ${moved.message}`)
  }

  /**
   * The key is the same when Vendure lost the answer and the refund is asked for again, so that it is made once. The
   * lock lasts until the refund is stored: the webhook about it waits.
   */
  async refund(
    ctx: RequestContext,
    order: Order,
    payment: Payment,
    amount: number,
    reason: string | null | undefined,
  ): Promise<CreateRefundResult> {
    await this.lockOrder(ctx, order.code)
    const made = await this.connection.getRepository(ctx, Refund).countBy({ paymentId: payment.id })
    // While this request waited for the lock, another one made a refund. With the same key, Vendure would record that
    // one twice.
    if (made !== (payment.refunds?.length ?? 0))
      throw new UserInputError('Another refund of this payment was made at the same moment. Look at the order first.')
    const inManilla = this.toManilla(amount, order)
    const idempotencyKey = `vendure-${payment.transactionId}-${made}-${inManilla}`
    try {
      const body = { amount: inManilla, reason: reason || null }
      const refund = await this.manilla.payments.refund(payment.metadata.reference, body, { idempotencyKey })
      return { state: REFUND_STATES[refund.status], transactionId: refund.id, metadata: { failure: refund.failure } }
    } catch (error) {
      if (!(error instanceof ManillaApiError) || error.retryable) throw error
      // Not `Failed`: the next try would have the next key, and refund again.
      if (error.is('idempotency_key_reused'))
        throw new UserInputError(
          'This refund was asked for before, with another reason, and may be made. Look at the payment in Manilla, or repeat the first reason.',
        )
      return { state: 'Failed', metadata: { failure: error.message } }
    }
  }

  /** A refund that was pending when Vendure asked for it. One that Vendure did not ask for is unknown here. */
  async settleRefund(payment: ManillaPayment, { id, status }: ManillaRefund): Promise<void> {
    await this.withOrder(payment, async (ctx) => {
      const refund = await this.connection.getRepository(ctx, Refund).findOne({ where: { transactionId: id } })
      if (refund?.state !== 'Pending') return
      if (status === 'successful') await this.orders.settleRefund(ctx, { id: refund.id, transactionId: id })
      if (status === 'failed') await this.orders.transitionRefundToState(ctx, refund.id, 'Failed')
    })
  }

  /**
   * Webhooks and returns about one order run one after the other. A payment that no order of Vendure made is ignored.
   */
  private async withOrder(
    { metadata }: ManillaPayment,
    work: (ctx: RequestContext, order: Order) => Promise<void>,
  ): Promise<void> {
    const { vendureOrder: code, vendureChannel: channelOrToken } = metadata
    if (!code || !channelOrToken) return
    const context = await this.contexts.create({ apiType: 'admin', channelOrToken })
    await this.connection.withTransaction(context, async (ctx) => {
      const order = await this.lockOrder(ctx, code)
      if (!order) throw new Error(`There is no order ${code}.`)
      await work(ctx, order)
    })
  }

  private lockOrder(ctx: RequestContext, code: string): Promise<Order | null> {
    const orders = this.connection.getRepository(ctx, Order)
    const query = orders.createQueryBuilder('order')
    // SQLite has one writer and no row locks.
    const hasLocks = !/sqlite|sqljs/.test(orders.manager.connection.options.type)
    if (hasLocks && orders.manager.queryRunner?.isTransactionActive) query.setLock('pessimistic_write')
    return query.where('order.code = :code', { code }).getOne()
  }

  private async paymentMethod(ctx: RequestContext): Promise<{ code: string; country: string }> {
    const { items } = await this.methods.findAll(ctx)
    const method = items.find(({ enabled, handler }) => enabled && handler.code === HANDLER_CODE)
    if (!method) throw new UserInputError('No enabled payment method of this channel has the handler "manilla".')
    return { code: method.code, country: method.handler.args.find(({ name }) => name === 'country')?.value ?? '' }
  }

  private returnUrl(order: string, status: ManillaPayment['status']): string {
    const url = new URL(this.options.returnUrl)
    url.searchParams.set('order', order)
    url.searchParams.set('status', status)
    return url.href
  }

  private toManilla(amount: number, { currencyCode }: Order): number {
    return toLowestDenomination(amount, currencyCode, this.precision())
  }

  private fromManilla(amount: number, { currencyCode }: Order): number {
    return fromLowestDenomination(amount, currencyCode, this.precision())
  }

  private precision(): number {
    return this.config.entityOptions.moneyStrategy.precision ?? 2
  }
}
