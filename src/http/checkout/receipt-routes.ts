import type { FastifyRequest } from 'fastify'
import type { PaymentId } from '../../kernel/ids.ts'
import type { Language } from '../../merchants/brand.ts'
import { parseLanguage } from '../../merchants/branding.ts'
import { isErased } from '../../payments/state/personal-data.ts'
import { askForReceipt, findPaymentOfReceipt } from '../../payments/store/customer-receipts.ts'
import { findPaymentStateById } from '../../payments/store/payment-states.ts'
import { refundsOf } from '../../payments/store/refunds.ts'
import { FORMATS } from '../contract/formats.ts'
import type { App } from '../server/framework.ts'
import { type CheckoutDeps, sendUnknownPayment } from './page-routes.ts'
import { receiptPage } from './receipt-page.ts'
import { sendPage } from './send-page.ts'
import { languageFor } from './texts/texts.ts'

const MAX_ADDRESS = 254

type ReceiptRequest = FastifyRequest<{ Params: { code: string }; Querystring: Record<string, unknown> }>

/** The pages of receipts, beside the payment pages: they share limits and error pages. */
export function receiptRoutes(app: App, deps: CheckoutDeps): void {
  const { database, documents } = deps

  app.get('/r/:code', { schema: { hide: true } }, async (request: ReceiptRequest, reply) => {
    const found = await findPaymentOfReceipt(database, request.params.code)
    const state = found && (await findPaymentStateById(database, found.paymentId))
    const branding = state && (await deps.findBranding(state.payment))
    if (!branding || branding.suspended || isErased(state.payment.user)) return sendUnknownPayment(request, reply, deps)
    const { query, headers } = request
    const refunds = await refundsOf(database, found.paymentId)
    const asked = typeof query.lang === 'string' ? parseLanguage(query.lang.slice(0, 2).toLowerCase()) : undefined
    const wish = found.language ?? branding.brand.language
    const language = languageFor(asked, wish, headers['accept-language'])
    const paying = state.attempts.find(({ status }) => status === 'successful')
    const page = receiptPage(documents, { payment: state.payment, refunds, branding, language }, paying)
    return sendPage(request, reply, 200, page)
  })
}

/**
 * The customer asks for the receipt by e-mail. Only the first request counts. Each answer is the same, so that it does
 * not tell about earlier requests.
 */
export async function sendReceipt(
  { database, clock, limits }: CheckoutDeps,
  request: FastifyRequest,
  id: PaymentId,
  { form, language }: { form: URLSearchParams; language: Language },
): Promise<{ wrongAddress?: string }> {
  const address = (form.get('address') ?? '').trim().slice(0, 300)
  if (address !== '' && (address.length > MAX_ADDRESS || !FORMATS['e-mail']?.test(address)))
    return { wrongAddress: address }
  limits.receipt(request)
  await askForReceipt(database, id, { address: address || null, language, now: clock.now() })
  return {}
}
