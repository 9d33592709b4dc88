export type * from './api-types.ts'
export {
  type ErrorCode,
  ManillaApiError,
  ManillaConnectionError,
  ManillaError,
  type WebhookFault,
  WebhookVerificationError,
} from './errors.ts'
export { List, type Page } from './list.ts'
export {
  type Body,
  type CardInstructions,
  type Data,
  type EventWithDeliveries,
  type Initialized,
  type LinkInstructions,
  Manilla,
  type MobileMoneyInstructions,
  type QrInstructions,
  type Query,
  type TransferInstructions,
  type UssdInstructions,
} from './manilla.ts'
export type { CallOptions, ManillaOptions } from './transport.ts'
export {
  type EndpointTest,
  type RawBody,
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
} from './verify-webhook.ts'
