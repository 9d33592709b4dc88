import { FAULT_KINDS } from './faults.ts'
import { ANSWERS } from './input.ts'

const integer = { type: 'integer' }
const text = { type: 'string' }
const boolean = { type: 'boolean' }
const reference = '01a1de109e467f989486b23b1be38897'

const order = {
  reference,
  channel: 'card',
  status: 'paid',
  requested: 1_250_000,
  amount: 1_250_000,
  refunded: 0,
  currency: 'NGN',
  transactions: [
    { id: 'gtx_1', kind: 'charge', status: 'paid', amount: 1_250_000, currency: 'NGN', at: '2026-11-15T07:16:33.792Z' },
  ],
}
const dispute = {
  id: 'gds_1',
  amount: 1_250_000,
  currency: 'NGN',
  status: 'open',
  reason: 'fraudulent',
  respondBy: '2026-11-29T07:16:33.792Z',
  openedAt: '2026-11-15T07:16:33.792Z',
}
const faults = { seed: 7, ...Object.fromEntries(FAULT_KINDS.map((kind) => [kind, kind === 'lost' ? 0.2 : 0])) }

interface Operation {
  operationId: string
  summary: string
  description?: string
  parameters?: { name: string; in: 'path' | 'query'; required?: boolean; schema: object; description?: string }[]
  /** Properties of the JSON body. */
  body?: { properties: Record<string, object>; required?: string[]; example: object }
  status: 200 | 201
  answer: object
}

/** The control calls, by which a merchant's tests act as the customer, the bank and the provider's dashboard. */
export const controlOperations: Record<string, Record<string, Operation>> = {
  '/charges/{reference}': {
    post: {
      operationId: 'sandboxCharge',
      summary: 'Charge a test card',
      description: 'Acts as the customer on the card page. See the test cards in docs/sandbox.md.',
      parameters: [
        {
          name: 'reference',
          in: 'path',
          required: true,
          schema: text,
          description: '`providerReference` of the attempt.',
        },
      ],
      body: {
        properties: { card: text, otp: text, save: boolean },
        example: { card: '4084 0840 8408 4081', save: true },
      },
      status: 200,
      answer: { ...order, result: 'paid' },
    },
  },
  '/prompts/{reference}': {
    post: {
      operationId: 'sandboxAnswer',
      summary: 'Answer for the customer',
      description:
        'Approves or refuses a payment by mobile money, USSD, bank or QR code, or lets its time run out. An approval is taken after that, too. See the test phone numbers in docs/sandbox.md.',
      parameters: [
        {
          name: 'reference',
          in: 'path',
          required: true,
          schema: text,
          description: '`providerReference` of the attempt.',
        },
      ],
      body: {
        properties: { answer: { type: 'string', enum: ANSWERS } },
        required: ['answer'],
        example: { answer: 'approve' },
      },
      status: 200,
      answer: { ...order, channel: 'mobile-money' },
    },
  },
  '/transfers': {
    post: {
      operationId: 'sandboxTransfer',
      summary: 'Send a bank transfer',
      body: {
        properties: { accountNumber: text, amount: integer },
        required: ['accountNumber', 'amount'],
        example: { accountNumber: '9900000017', amount: 500_000 },
      },
      status: 200,
      answer: { ...order, channel: 'transfer', requested: 500_000, amount: 500_000, transactions: [] },
    },
  },
  '/ledger': {
    get: {
      operationId: 'sandboxLedger',
      summary: 'Read the ledger of the sandbox provider',
      description: 'With `reference` one order, otherwise a list.',
      parameters: [
        { name: 'reference', in: 'query', schema: text },
        { name: 'cursor', in: 'query', schema: text },
        { name: 'limit', in: 'query', schema: text, description: '1 to 1000; default 100.' },
      ],
      status: 200,
      answer: order,
    },
  },
  '/faults': {
    get: { operationId: 'sandboxGetFaults', summary: 'Get the faults', status: 200, answer: faults },
    put: {
      operationId: 'sandboxSetFaults',
      summary: 'Set the faults',
      description: 'Replaces all faults. Each is a rate from 0 to 1; a fault that you leave out is 0.',
      body: {
        properties: {
          seed: { ...integer, description: 'Makes the sequence of faults repeatable.' },
          ...Object.fromEntries(FAULT_KINDS.map((kind) => [kind, { type: 'number', minimum: 0, maximum: 1 }])),
        },
        example: { seed: 7, lost: 0.2 },
      },
      status: 200,
      answer: faults,
    },
  },
  '/refunds': {
    post: {
      operationId: 'sandboxRefund',
      summary: 'Make a refund in the provider’s dashboard',
      body: {
        properties: { reference: text, amount: integer, dispute: text },
        required: ['reference'],
        example: { reference, amount: 250_000 },
      },
      status: 201,
      answer: {
        id: 'grf_2',
        reference: 'gpr_1',
        payment: reference,
        amount: 250_000,
        currency: 'NGN',
        status: 'successful',
      },
    },
  },
  '/settlements': {
    post: {
      operationId: 'sandboxSettle',
      summary: 'Settle now',
      description:
        'Pays out what was taken until now, instead of at the hour of the day. `POST /payments/v1/settlements/refresh` reads it.',
      status: 201,
      answer: [
        {
          ...{ id: 'gst_1', currency: 'NGN', day: '2026-11-16', gross: 1_250_000, fees: 28_750, deductions: 5_000 },
          ...{ net: 1_216_250, status: 'paid', madeAt: '2026-11-16T07:16:33.792Z', paidAt: '2026-11-16T07:16:33.792Z' },
          bankReference: 'SANDBOX-1',
        },
      ],
    },
  },
  '/disputes': {
    post: {
      operationId: 'sandboxOpenDispute',
      summary: 'Open a dispute',
      body: {
        properties: { reference: text, amount: integer, reason: text },
        required: ['reference'],
        example: { reference, reason: 'fraudulent' },
      },
      status: 201,
      answer: dispute,
    },
  },
  '/disputes/{id}': {
    post: {
      operationId: 'sandboxChangeDispute',
      summary: 'Change an open dispute',
      parameters: [{ name: 'id', in: 'path', required: true, schema: text }],
      body: { properties: { amount: integer, reason: text }, example: { amount: 500_000 } },
      status: 200,
      answer: { ...dispute, amount: 500_000 },
    },
  },
  '/disputes/{id}/close': {
    post: {
      operationId: 'sandboxCloseDispute',
      summary: 'Close a dispute',
      parameters: [{ name: 'id', in: 'path', required: true, schema: text }],
      body: {
        properties: { outcome: { type: 'string', enum: ['won', 'lost'] } },
        required: ['outcome'],
        example: { outcome: 'lost' },
      },
      status: 200,
      answer: { ...dispute, status: 'lost' },
    },
  },
}
