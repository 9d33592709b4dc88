import type { StartGap } from './check-starts.ts'
import type { Schema } from './schema.ts'

// Monnify publishes a description with no licence, so it is not copied. These are its rules for the two requests that
// start a payment, in the words of OpenAPI. Source: github.com/Monnify/mcp-server, `openapi/monnify.yaml`, commit
// 0d5b2fe9bb0bb6542736d5f29d006395ac944491. Fields that we do not send are left out.

const text: Schema = { type: 'string' }

/** By path. */
export const STARTS: Record<string, Schema> = {
  '/api/v1/merchant/transactions/init-transaction': {
    type: 'object',
    properties: {
      amount: { type: 'number' },
      ...{ customerName: text, customerEmail: text, paymentReference: text, paymentDescription: text },
      ...{ currencyCode: text, contractCode: text, redirectUrl: text },
      paymentMethods: {
        type: 'array',
        items: { type: 'string', enum: ['CARD', 'ACCOUNT_TRANSFER', 'USSD', 'PHONE_NUMBER'] },
      },
    },
    required: ['amount', 'customerEmail', 'paymentReference', 'currencyCode', 'contractCode'],
  },
  '/api/v1/merchant/bank-transfer/init-payment': {
    type: 'object',
    properties: { transactionReference: text, bankCode: text },
    required: ['transactionReference'],
  },
}

export const STARTS_GAPS: StartGap[] = [
  {
    ...{ type: '/api/v1/merchant/transactions/init-transaction', field: 'body.metaData' },
    because: 'the description spells it metadata here, and metaData where it is answered, as their pages do',
    source: 'https://developers.monnify.com/api',
  },
]
