import { type Injector, LanguageCode, PaymentMethodHandler, UserInputError } from '@vendure/core'
import { ManillaService } from './manilla.service.ts'
import { HANDLER_CODE } from './options.ts'

let service: ManillaService

/** For code that Vendure configures before it injects. */
export const manillaService = (): ManillaService => service

const inEnglish = (value: string) => [{ languageCode: LanguageCode.en, value }]

/** Vendure gets a payment when the money is there, so it is `Settled` from the start. */
export const manillaPaymentMethodHandler = new PaymentMethodHandler({
  code: HANDLER_CODE,
  description: inEnglish('Manilla payment page'),
  args: {
    country: {
      type: 'string',
      required: true,
      label: inEnglish('Country'),
      description: inEnglish('The country that payments are processed for, such as NG'),
    },
  },
  init(injector: Injector) {
    service = injector.get(ManillaService)
  },
  createPayment: (ctx, _order, _amount, _args, { amount, id, ...metadata }) => {
    // The Shop API must not say what was paid. ManillaService.settle has asked Manilla.
    if (ctx.apiType !== 'admin') throw new UserInputError('Use the mutation createManillaCheckout.')
    return { amount, state: 'Settled', transactionId: id, metadata }
  },
  settlePayment: () => ({ success: true }),
  cancelPayment: () => ({ success: false, state: 'Settled', errorMessage: 'The payment is paid: refund it.' }),
  createRefund: (ctx, input, amount, order, payment) => service.refund(ctx, order, payment, amount, input.reason),
})
