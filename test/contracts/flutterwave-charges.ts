import type { StartGap } from './check-starts.ts'
import type { Schema } from './schema.ts'

// Flutterwave publishes no description that could be had. Its own library for Node.js validates each charge before it
// sends it: these are those rules, in the words of OpenAPI. Source: github.com/Flutterwave/Node-v3 (MIT, Copyright (c)
// 2020 Flutterwave), `services/schema/create.js`, commit 537f9f4455f922a879e4f088cf0f596621c3517c (2026-06-17). It
// takes text for numbers, and the name of a network in any case. Fields that we do not send are left out.

const text = (maxLength?: number): Schema => ({ type: 'string', ...(maxLength !== undefined && { maxLength }) })
const names = (...values: string[]): Schema => ({ type: 'string', enum: values })

const COMMON = {
  amount: { type: 'string', format: 'decimal' },
  email: text(100),
  tx_ref: text(100),
  fullname: text(100),
  phone_number: text(50),
} satisfies Record<string, Schema>
const NEEDED = ['amount', 'email', 'tx_ref', 'currency']

const momo = (currencies: string[], networks: string[], more: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  properties: {
    ...{ ...COMMON, currency: names(...currencies), network: names(...networks) },
    ...{ redirect_url: text(), ...more },
  },
  required: [...NEEDED, 'phone_number', ...Object.keys(more)],
})

/** By `type`. */
export const CHARGES: Record<string, Schema> = {
  mobile_money_ghana: momo(['GHS'], ['MTN', 'AIRTELTIGO', 'VODAFONE']),
  mobile_money_uganda: momo(['UGX'], ['MTN', 'AIRTEL']),
  mobile_money_rwanda: momo(['RWF'], ['MTN', 'AIRTEL'], { order_id: text(100) }),
  mobile_money_zambia: momo(['ZMW'], ['MTN', 'AIRTEL', 'ZAMTEL'], { order_id: text() }),
  mobile_money_tanzania: momo(['TZS'], ['HALOPESA', 'AIRTEL', 'TIGO', 'VODACOM']),
  mobile_money_franco: momo(['XOF', 'XAF'], ['WAVE', 'MTN', 'ORANGEMONEY'], { country: names('CI', 'SN', 'BF', 'CM') }),
  mpesa: momo(['KES'], ['SAFARICOM', 'AIRTEL']),
  ussd: {
    type: 'object',
    properties: { ...COMMON, currency: names('NGN'), account_bank: text(11) },
    required: [...NEEDED, 'account_bank'],
  },
  mono: {
    type: 'object',
    properties: { ...COMMON, currency: names('NGN'), redirect_url: text() },
    required: NEEDED,
  },
  bank_transfer: {
    type: 'object',
    properties: { ...COMMON, currency: names('NGN', 'GHS'), expires: { type: 'integer' } },
    required: NEEDED,
  },
}

const PAGES = 'https://developer.flutterwave.com/docs'

/** What Flutterwave takes, and these rules lack. */
export const CHARGE_GAPS: StartGap[] = [
  {
    ...{ type: 'mobile_money_ghana', field: 'body.network', value: 'TELECEL' },
    because: 'their page of 2026-09-13 has the name of today',
    source: `${PAGES}/ghana`,
  },
  {
    ...{ type: 'mobile_money_ghana', field: 'body.network', value: 'TIGO' },
    because: 'the same page names AT so',
    source: `${PAGES}/ghana`,
  },
  {
    ...{ type: 'bank_transfer', field: 'body.bank_transfer_options' },
    because: 'the page about Ghana has the expiry here',
    source: `${PAGES}/collections-inflow/bank-transfer/ghs`,
  },
  ...['narration', 'is_permanent'].map((name) => ({
    ...{ type: 'bank_transfer', field: `body.${name}`, because: 'the sample of the same library has it' },
    source: 'https://github.com/Flutterwave/Node-v3/blob/master/documentation/collections.md',
  })),
]
