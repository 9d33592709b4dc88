import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ACCOUNT,
  BANK,
  CAMEROON,
  GHANA,
  KENYA,
  orderOf,
  STARTED,
  setUp,
  TANZANIA,
  USSD,
  type Wanted,
} from '../../../test/fakes/flutterwave/charge-orders.ts'

const R = 'r'.repeat(32)

// What follows are the bodies of their documents. `tx_ref` is ours.
const initiated = (more: object) => ({ status: 'success', message: 'Charge initiated', ...more })
const ABOUT = { device_fingerprint: 'N/A', merchant_fee: 0, ip: '::127.0.0.1', status: 'pending', tx_ref: R }

const CAPTCHA = 'https://ravemodal-dev.herokuapp.com/captcha/verify/83940:dede0352930befaac522ca71e969f0e2'
const GHANA_ANSWER = initiated({ meta: { authorization: { redirect: CAPTCHA, mode: 'redirect' } } })
const KENYA_ANSWER = initiated({
  data: {
    ...ABOUT,
    ...{ id: 4193428, flw_ref: '2993238342', amount: 10, charged_amount: 10, app_fee: 0.29, currency: 'KES' },
    ...{ processor_response: 'Successful', auth_model: 'LIPA_MPESA', narration: 'FLW-PBF MPESA Transaction ' },
    ...{ auth_url: 'N/A', payment_type: 'mpesa', fraud_status: 'ok', charge_type: 'normal' },
    ...{ created_at: '2023-03-10T02:25:16.000Z', account_id: 20937, customer: { id: 1998111 } },
  },
})
const CAMEROON_ANSWER = initiated({
  data: {
    ...ABOUT,
    ...{ id: 4193429, flw_ref: 'JFIX8206716784151202', amount: 10, charged_amount: 10, app_fee: 0.25 },
    ...{ processor_response: 'Transaction in progress', auth_model: 'AUTH', currency: 'XAF' },
    ...{ payment_type: 'mobilemoneysn', created_at: '2023-03-10T02:25:18.000Z', customer: { id: 1998112 } },
  },
  meta: { authorization: { mode: 'callback', redirect_url: null } },
})
const TANZANIA_ANSWER = initiated({
  data: {
    ...ABOUT,
    ...{ id: 976392302, flw_ref: 'SWWD88181689192176819143', amount: 150, charged_amount: 150, app_fee: 1000 },
    processor_response:
      'request successful 20230712200256022250 Payment Request has been Accepted Successfully Waiting for Confirmation',
    ...{ auth_model: 'MOBILEMONEY', currency: 'TZS', payment_type: 'mobilemoneytz' },
    created_at: '2023-07-12T20:02:56.000Z',
  },
})
const USSD_ANSWER = initiated({
  data: {
    ...ABOUT,
    ...{ id: 4517159, flw_ref: 'flwm3s4m0c1691591875526', amount: 1500, charged_amount: 1500, app_fee: 21 },
    ...{ processor_response: 'Transaction in progress', auth_model: 'USSD', currency: 'NGN', payment_type: 'ussd' },
    ...{ created_at: '2023-08-09T14:37:55.000Z', payment_code: '4517159' },
  },
  meta: { authorization: { mode: 'ussd', note: '*566*002*4517159#' } },
})
const SHORT_URL = 'https://ravesandboxapi.flutterwave.com/flwv3-pug/getpaid/api/short-url/aqp45TtNl'
const BANK_DATA = {
  ...ABOUT,
  ...{ id: 4475057, flw_ref: '1689845911540-FLW-MOCK-REF', amount: 300, charged_amount: 300, app_fee: 4.2 },
  ...{ processor_response: 'Pending validation', auth_model: 'INTERNET_BANKING', currency: 'NGN' },
  ...{ auth_url: SHORT_URL, payment_type: 'account', created_at: '2023-07-20T09:38:31.000Z' },
  meta: { authorization: { mode: 'redirect', redirect: SHORT_URL, validate_instructions: '' } },
}
const ACCOUNT_ANSWER = initiated({
  meta: {
    authorization: {
      ...{ transfer_reference: 'MockFLWRef-1689847855598', transfer_account: '0067100155', transfer_bank: 'Mock Bank' },
      ...{ account_expiration: 1689847855598, transfer_note: 'Mock note', transfer_amount: '1500.00' },
      mode: 'banktransfer',
    },
  },
})

const expiresAt = new Date(STARTED.getTime() + 900_000)
const publicKey = 'FLWPUBK_TEST-0123456789abcdef0123456789abcdef-X'
const link = (address: string, providerReference: string) => {
  return { kind: 'link', link: address, publicKey, providerReference, expiresAt }
}
// A phone asks for three minutes, also when the order is open for longer.
const asksUntil = new Date(STARTED.getTime() + 180_000)
const prompt = (providerReference: string) => ({ kind: 'prompt', providerReference, expiresAt: asksUntil })
const UNKNOWN = 'unknown'
const withData = (answer: object, changes: object) => {
  const { data, ...rest } = answer as { data: object }
  return { ...rest, data: { ...data, ...changes } }
}
const ANSWERS: [string, Wanted, object, object | string][] = [
  ['a page, without a transaction', GHANA, GHANA_ANSWER, link(CAPTCHA, `charge-${R}`)],
  ['a page that is no address', GHANA, initiated({ meta: { authorization: { mode: 'redirect' } } }), UNKNOWN],
  ['neither a transaction nor a page', GHANA, initiated({ data: null }), UNKNOWN],
  ['a prompt of M-PESA, "Successful" while it is pending', KENYA, KENYA_ANSWER, prompt('2993238342')],
  ['a prompt without a name of theirs', KENYA, withData(KENYA_ANSWER, { flw_ref: null }), prompt(`charge-${R}`)],
  ['a prompt in francs', CAMEROON, CAMEROON_ANSWER, prompt('JFIX8206716784151202')],
  [
    'a page in francs',
    CAMEROON,
    { ...CAMEROON_ANSWER, meta: { authorization: { mode: 'redirect', redirect: 'https://pay.wave.com/c/1' } } },
    link('https://pay.wave.com/c/1', 'JFIX8206716784151202'),
  ],
  [
    'a page in the field of a callback',
    CAMEROON,
    { ...CAMEROON_ANSWER, meta: { authorization: { mode: 'callback', redirect_url: 'https://pay.wave.com/c/1' } } },
    link('https://pay.wave.com/c/1', 'JFIX8206716784151202'),
  ],
  [
    'a step that is new to us',
    CAMEROON,
    { ...CAMEROON_ANSWER, meta: { authorization: { mode: 'otp', validate_instructions: 'Enter the code' } } },
    UNKNOWN,
  ],
  ['a prompt in Tanzania', TANZANIA, TANZANIA_ANSWER, prompt('SWWD88181689192176819143')],
  [
    'a code to dial',
    USSD,
    USSD_ANSWER,
    {
      ...{ kind: 'dial', code: '*566*002*4517159#', bankName: 'GTBank' },
      ...{ providerReference: 'flwm3s4m0c1691591875526', expiresAt },
    },
  ],
  ['no code to dial', USSD, { ...USSD_ANSWER, meta: { authorization: { mode: 'ussd', note: 'Mock note' } } }, UNKNOWN],
  ['a page of the bank', BANK, initiated({ data: BANK_DATA }), link(SHORT_URL, '1689845911540-FLW-MOCK-REF')],
  [
    'a page of the bank without an address beside it',
    BANK,
    initiated({ data: { ...BANK_DATA, auth_url: 'N/A' } }),
    link(SHORT_URL, '1689845911540-FLW-MOCK-REF'),
  ],
  [
    'a page of the bank as an address alone',
    BANK,
    initiated({ data: { ...BANK_DATA, meta: undefined } }),
    link(SHORT_URL, '1689845911540-FLW-MOCK-REF'),
  ],
  [
    'an account in Ghana',
    ACCOUNT,
    ACCOUNT_ANSWER,
    {
      ...{ kind: 'account', accountName: null, accountNumber: '0067100155', bankName: 'Mock Bank' },
      ...{ amountToTransfer: 150_000, providerReference: 'MockFLWRef-1689847855598' },
      expiresAt: new Date(1689847855598),
    },
  ],
  ['another order', KENYA, withData(KENYA_ANSWER, { tx_ref: 'another' }), UNKNOWN],
  ['another amount', KENYA, withData(KENYA_ANSWER, { amount: 1000 }), UNKNOWN],
  ['another currency', KENYA, withData(KENYA_ANSWER, { currency: 'UGX' }), UNKNOWN],
  ['a status that is new to us', KENYA, withData(KENYA_ANSWER, { status: 'dreaming' }), UNKNOWN],
]
for (const [name, wanted, answer, expected] of ANSWERS) {
  test(`an answer with ${name}`, async (t) => {
    const { connection, upstream } = await setUp(t)
    upstream.garble = () => ({ status: 200, text: JSON.stringify(answer) })
    const start = await connection.start(orderOf(wanted, R))
    if (expected === UNKNOWN) assert.equal(start.kind, 'unknown')
    else assert.deepEqual(start, expected)
  })
}

test('a charge can be paid or refused at once', async (t) => {
  const { connection, upstream } = await setUp(t)
  const say = (changes: object) => {
    upstream.garble = () => ({ status: 200, text: JSON.stringify(withData(KENYA_ANSWER, changes)) })
    return connection.start(orderOf(KENYA, R))
  }
  const paid = await say({ status: 'successful' })
  assert.ok(paid.kind === 'paid' && paid.receipts[0]?.amount.amount === 1_000)
  const refused = await say({ status: 'failed', processor_response: 'The balance is insufficient' })
  assert.ok(refused.kind === 'declined' && refused.failure.code === 'insufficient_funds')
})

const REASONS: [string, string][] = [
  ['Insufficient balance in the wallet', 'insufficient_funds'],
  ['The balance is insufficient for the transaction', 'insufficient_funds'],
  ['LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED', 'insufficient_funds'],
  ['Wrong PIN', 'incorrect_pin'],
  ['The initiator information is invalid.', 'incorrect_pin'],
  ['PAYER_LIMIT_REACHED', 'limit_exceeded'],
  ['No response from user.', 'prompt_expired'],
  ['DS timeout user cannot be reached', 'prompt_expired'],
  ['Customer did not authorise the payment in time', 'prompt_expired'],
  ['Request timed out', 'prompt_expired'],
  ['Approval expired', 'prompt_expired'],
  ['System timeout', 'provider_unavailable'],
  ['Request cancelled by user', 'customer_cancelled'],
  ['Transaction declined by customer', 'customer_cancelled'],
  ['PAYMENT_NOT_APPROVED', 'customer_cancelled'],
  ['PAYER_NOT_FOUND', 'subscriber_unknown'],
  ['Account holder is not active', 'subscriber_unknown'],
  ['Invalid phone number', 'subscriber_unknown'],
  ['Subscriber not registered for mobile money', 'subscriber_unknown'],
  // Of cards these mean the card.
  ['Declined', 'other'],
  ['Transaction not allowed', 'other'],
  ['Successful', 'other'],
]

test('the words of a failed prompt become our codes, and never tell of a card', async (t) => {
  const { connection, upstream } = await setUp(t)
  for (const [response, code] of REASONS) {
    const data = withData(KENYA_ANSWER, { status: 'failed', processor_response: response })
    upstream.garble = () => ({ status: 200, text: JSON.stringify(data) })
    const start = await connection.start(orderOf(KENYA, R))
    assert.ok(start.kind === 'declined')
    assert.deepEqual([start.failure.code, start.failure.providerCode], [code, response])
  }
})

test('a number that the network does not know is told at the start', async (t) => {
  const { connection, upstream } = await setUp(t)
  const text = '{"status":"error","message":"Invalid phone number 233000000000","data":null}'
  upstream.garble = () => ({ status: 400, text })
  const start = await connection.start(orderOf(GHANA))
  assert.ok(start.kind === 'declined' && start.failure.code === 'subscriber_unknown')
  assert.equal(start.failure.providerCode, 'Invalid phone number …', 'no number is kept')
})
