export interface ManillaPluginOptions {
  /** Where your Manilla runs: `https://pay.example.com`. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** Your default webhook secret, `whsec_…`. While you rotate it: the new and the old one. */
  webhookSecret: string | string[]
  /** The public address of this Vendure server. Manilla sends webhooks and customers there. */
  vendureUrl: string
  /** The page of your storefront that customers end on. It gets `order` and `status` as query parameters. */
  returnUrl: string
}

export const MANILLA_OPTIONS = 'MANILLA_OPTIONS'
/** The code of the handler, to choose it for a payment method. */
export const HANDLER_CODE = 'manilla'
export const WEBHOOK_PATH = '/manilla/webhook'
export const RETURN_PATH = '/manilla/return'
export const LOG_CONTEXT = 'ManillaPlugin'
