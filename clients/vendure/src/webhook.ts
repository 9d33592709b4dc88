import { expressWebhook, type HandleEvent } from '@manilla/client/webhooks'
import { Logger } from '@vendure/core'
import { LOG_CONTEXT, type ManillaPluginOptions } from './options.ts'
import { manillaService } from './payment-method-handler.ts'

/**
 * Runs before Vendure's body parsers: the signature is over the raw body. An error is answered with 500, so Manilla
 * sends it again.
 */
export function webhookMiddleware({ webhookSecret }: ManillaPluginOptions): ReturnType<typeof expressWebhook> {
  return expressWebhook(webhookSecret, async (event) => {
    try {
      await handle(event)
    } catch (error) {
      Logger.error(`${event.type} ${event.id}: ${(error as Error).message}`, LOG_CONTEXT, (error as Error).stack)
      throw error
    }
  })
}

const handle: HandleEvent = async (event) => {
  switch (event.type) {
    case 'payment.successful':
      return manillaService().settle(event.data.payment)
    case 'refund.successful':
    case 'refund.failed':
      return manillaService().settleRefund(event.data.payment, event.data.refund)
  }
}
