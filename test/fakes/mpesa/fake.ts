import assert from 'node:assert/strict'
import { type Currency, money } from '../../../src/kernel/money.ts'
import { mpesa } from '../../../src/providers/mpesa/adapter.ts'
import { callbackURL } from '../../../src/providers/mpesa/notices.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import type { ChannelSample } from '../conformance-rig.ts'
import type { Fake, FakeProvider, StartFake } from '../fake-provider.ts'
import { type Asked, type Said, startUpstream } from '../upstream.ts'
import {
  callbackOf,
  confirmationOf,
  isSaid,
  type Paid,
  PUSH,
  type Push,
  QUERY,
  REGISTER,
  REVERSAL,
  type Reversal,
  readRequest,
  refuse,
  resultOf,
  STATUS,
  say,
  stamp,
  statusOf,
} from './wire.ts'

/** The short code and the passkey are those that Safaricom publishes for its sandbox. */
export const KEYS = {
  consumerKey: 'Q2RtTmJkdDBpQk4xb3FEZkthc200ZGFi',
  consumerSecret: 'SAMPLE0secret0of0tests01',
  shortCode: '174379',
  passkey: 'bfb279f9aa9bdbcf158e97dd71a467cd2e0c893059b10f78e6b72ada1ed2c919',
  initiatorName: 'testapi',
  securityCredential: 'RC6E9WDx9X2c6z3gp0oC5ThSAMPLEcredential0of0tests0000000000000000000000000w==',
  paybillDefault: 'Completed',
}
const BASIC = `Basic ${Buffer.from(`${KEYS.consumerKey}:${KEYS.consumerSecret}`).toString('base64')}`
const SAMPLE: ChannelSample = {
  ...{ channel: 'mobile-money', price: { amount: 120_000, currency: 'KES', country: 'KE' }, starts: 'prompt' },
  input: { phoneNumber: '+254708374149', network: 'mpesa' },
  ...{ refused: 'customer_cancelled', expired: 'prompt_expired' },
}
export const PAYBILL: ChannelSample = {
  ...{ channel: 'mobile-money', price: SAMPLE.price, starts: 'pay to', input: { network: 'mpesa-paybill' } },
  makesNoCall: true,
}
const SUBSCRIBER_BUSY = 'Unable to lock subscriber, a transaction is already in process for the current subscriber'
const NOTICE_URL = 'https://pay.example/notices/mpesa/sandbox/mer_1'
/** What customers do, in their words. */
export const RESULTS = {
  paid: { code: '0', says: 'The service request is processed successfully.' },
  refused: { code: '1032', says: 'Request cancelled by user' },
  expired: { code: '1037', says: 'DS timeout user cannot be reached' },
}

const LATE_MS = 3_600_000

// Unique beyond one account.
let prompts = 0
let receipts = 36 ** 9
const newReceipt = () => (++receipts).toString(36).toUpperCase()

export interface FakeMpesa extends FakeProvider {
  /** Every request, oldest first. */
  asked: Asked[]
  find(reference: string): Push
  reversals: Reversal[]
  /** The prompt ends with this result. */
  end(push: Push, result: { code: string; says: string }): void
  /** The customer pays to the paybill. With what M-PESA asks before it, if validation is switched on. */
  payPaybill(account: string, shillings: number): Promise<Paid | undefined>
  /** The whole of an order, which M-PESA has not heard of before. */
  payOrder(reference: string): Promise<Paid | undefined>
  /** Every token ends now. */
  endTokens(): void
  behaviour: {
    tokenSeconds: number
    /** A new token ends the one before it, as their questions and answers say. */
    endsEarlierTokens: boolean
    /** One prompt for a phone at a time, as documented. All customers of the suites have one phone. */
    locksPhones: boolean
    /** What a reversal ends with, if that is not success. */
    reversalResult: { code: string; says: string } | undefined
    /** Whether the questions about receipt numbers are answered. */
    answersStatus: boolean
    /** M-PESA asks before a payment to the paybill. */
    validates: boolean
    /** A query has this code while the customer is asked, in place of HTTP 500. */
    codeWhileOpen: string | undefined
  }
}

/** Daraja for tests: strict where it is documented. */
export const startFakeMpesa = (async (t): Promise<FakeMpesa> => {
  const pushes: Push[] = []
  const reversals: Reversal[] = []
  const asked: Asked[] = []
  const tokens = new Set<string>()
  const waiting: { body: Buffer; url: string }[] = []
  const behaviour: FakeMpesa['behaviour'] = {
    ...{ tokenSeconds: 3_599, endsEarlierTokens: false, locksPhones: false },
    ...{ reversalResult: undefined, codeWhileOpen: undefined, answersStatus: true, validates: false },
  }
  /** Payments to the paybill. `reference`: of our order, if the account number is one of ours. */
  const paidIn: (Paid & { reference: string })[] = []
  let registered: { confirm: string; validate: string } | undefined
  let logins = 0
  const find = (reference: string) =>
    pushes.findLast((push) => push.reference === reference) ?? assert.fail('there is such a push')

  function logIn({ method, headers, path }: Asked): Said {
    if (method !== 'GET' || !path.endsWith('?grant_type=client_credentials'))
      return refuse(400, '400.008.02', 'Invalid grant type passed')
    if (headers.authorization !== BASIC) return refuse(400, '400.008.01', 'Invalid Authentication passed')
    if (behaviour.endsEarlierTokens) tokens.clear()
    const access_token = `c9SQxWWhmdVRlyh0zh8gZDTkubVF${++logins}`
    tokens.add(`Bearer ${access_token}`)
    return say({ access_token, expires_in: String(behaviour.tokenSeconds) })
  }

  function findFault({ BusinessShortCode = '', Password, Timestamp = '' }: Record<string, string>): Said | undefined {
    if (BusinessShortCode !== KEYS.shortCode) return refuse(500, '500.001.1001', 'Merchant does not exist')
    const right = Buffer.from(BusinessShortCode + KEYS.passkey + Timestamp).toString('base64')
    return Password === right ? undefined : refuse(500, '500.001.1001', 'Wrong credentials')
  }

  function push(text: string): Said {
    const body = readRequest(text, PUSH)
    if (isSaid(body)) return body
    const { Amount, PartyA: phone = '', CallBackURL: callbackURL = '' } = body
    const fault = findFault(body)
    if (fault) return fault
    const isBusy = pushes.some(
      (each) => !each.result && (behaviour.locksPhones ? each.phone === phone : each.callbackURL === callbackURL),
    )
    if (isBusy) return refuse(500, '500.001.1001', SUBSCRIBER_BUSY)
    const reference = callbackURL.split('/').at(-1)?.split('.')[0] ?? ''
    const startedAt = new Date()
    const made: Push = {
      checkoutId: `ws_CO_${stamp(startedAt)}${String(++prompts).padStart(6, '0')}${phone.slice(3)}`,
      merchantId: `${reference}-${pushes.length}`,
      ...{ reference, shillings: Number(Amount), phone, callbackURL, result: undefined, startedAt },
      ...{ receipt: '', paidAt: undefined },
    }
    pushes.push(made)
    return say({
      ...{ MerchantRequestID: made.merchantId, CheckoutRequestID: made.checkoutId, ResponseCode: '0' },
      ResponseDescription: 'Success. Request accepted for processing',
      CustomerMessage: 'Success. Request accepted for processing',
    })
  }

  function query(text: string): Said {
    const body = readRequest(text, QUERY)
    if (isSaid(body)) return body
    const fault = findFault(body)
    if (fault) return fault
    const known = pushes.find(({ checkoutId }) => checkoutId === body.CheckoutRequestID)
    if (!known) return refuse(500, '500.001.1001', 'The transaction does not exist')
    const { codeWhileOpen } = behaviour
    const open = codeWhileOpen && { code: codeWhileOpen, says: 'The transaction is still under processing' }
    const result = known.result ?? open
    if (!result) return refuse(500, '500.001.1001', 'The transaction is being processed')
    return say({
      ...{ ResponseCode: '0', ResponseDescription: 'The service request has been accepted successfully' },
      ...{ MerchantRequestID: known.merchantId, CheckoutRequestID: known.checkoutId },
      ...{ ResultCode: result.code, ResultDesc: result.says },
    })
  }

  /** Accepted at once; what became of it is in the callback alone. */
  function reverse(text: string): Said {
    const body = readRequest(text, REVERSAL)
    if (isSaid(body)) return body
    const paid = pushes.find(({ receipt, paidAt }) => paidAt && receipt === body.TransactionID)
    const found = paid ? paidOf(paid) : paidIn.find(({ receipt }) => receipt === body.TransactionID)
    if (found && Number(body.Amount) !== found.shillings)
      return refuse(400, '400.002.02', 'Bad Request - Invalid Amount')
    const { code, says } = resultFor(body, found)
    const [, , reference = ''] = body.ResultURL?.match(/([^/.]+)\.([^/.]+)\.[^/.]+$/) ?? []
    const made = {
      reference,
      push: found,
      code,
      says,
      receipt: newReceipt(),
      url: body.ResultURL ?? '',
      at: new Date(),
    }
    reversals.push(made)
    waiting.push({ body: resultOf(made), url: made.url })
    return say({
      ...{ OriginatorConversationID: `dad6-4c34-8787-${made.receipt}`, ConversationID: `AG_20211114_${made.receipt}` },
      ...{ ResponseCode: '0', ResponseDescription: 'Accept the service request successfully.' },
    })
  }

  function resultFor(body: Record<string, string>, paid: Paid | undefined): { code: string; says: string } {
    const { Initiator, SecurityCredential } = body
    if (Initiator !== KEYS.initiatorName || SecurityCredential !== KEYS.securityCredential)
      return { code: '2001', says: 'The initiator information is invalid.' }
    if (!paid) return { code: 'R000002', says: 'The OriginalTransactionID is invalid.' }
    if (reversals.some((each) => each.push?.receipt === paid.receipt && each.code === '0'))
      return { code: 'R000001', says: 'The transaction has already been reversed.' }
    return behaviour.reversalResult ?? RESULTS.paid
  }

  function register(text: string): Said {
    const body = readRequest(text, REGISTER)
    if (isSaid(body)) return body
    if (body.ShortCode !== KEYS.shortCode) return refuse(400, '400.002.02', 'Bad Request - Invalid ShortCode')
    registered = { confirm: body.ConfirmationURL ?? '', validate: body.ValidationURL ?? '' }
    return say({ OriginatorCoversationID: '6e86-45dd-91ac', ResponseCode: '0', ResponseDescription: 'Success' })
  }

  /** Accepted at once, as a reversal is. */
  function status(text: string): Said {
    const body = readRequest(text, STATUS)
    if (isSaid(body)) return body
    const { TransactionID: receipt = '', ResultURL: url = '' } = body
    const prompt = pushes.find((each) => each.paidAt && each.receipt === receipt)
    const paid = prompt ? paidOf(prompt) : paidIn.find((each) => each.receipt === receipt)
    if (behaviour.answersStatus) waiting.push({ body: statusOf(receipt, paid, KEYS.shortCode), url })
    return say({
      ...{ OriginatorConversationID: '1236-7134259-1', ConversationID: 'AG_20210709_1234409f86436c583e3f' },
      ...{ ResponseCode: '0', ResponseDescription: 'Accept the service request successfully.' },
    })
  }

  const accountOf = (reference: string) => reference.slice(-12).toUpperCase()
  const paidOf = ({ receipt, reference, shillings, paidAt = new Date() }: Push) => ({
    ...{ receipt, reference, account: accountOf(reference), shillings, at: paidAt },
  })

  async function payPaybill(account: string, shillings: number, reference = ''): Promise<Paid | undefined> {
    const paid = { receipt: newReceipt(), account, shillings, at: new Date(), reference }
    const body = confirmationOf(paid, KEYS.shortCode)
    if (behaviour.validates && registered) {
      const answer = await fetch(registered.validate, { method: 'POST', body })
      if (((await answer.json()) as { ResultCode: string }).ResultCode !== '0') return undefined
    }
    paidIn.push(paid)
    if (registered) waiting.push({ body, url: registered.confirm })
    return paid
  }

  /** A late approval pays what had failed, for an hour; what was paid stays so. */
  function end(it: Push, result: Push['result']): void {
    const isLongOver = it.result !== undefined && Date.now() - it.startedAt.getTime() > LATE_MS
    if (it.paidAt || isLongOver) return
    it.result = result
    if (result?.code === '0') Object.assign(it, { paidAt: new Date(), receipt: newReceipt() })
    waiting.push({ body: callbackOf(it), url: it.callbackURL })
    if (it.paidAt && registered)
      waiting.push({ body: confirmationOf(paidOf(it), KEYS.shortCode), url: registered.confirm })
  }

  function speak(request: Asked): Said {
    asked.push(request)
    const { method, headers, body } = request
    const { pathname } = new URL(request.path, 'http://daraja')
    if (pathname === '/oauth/v1/generate') return logIn(request)
    if (!tokens.has(headers.authorization ?? '')) return refuse(404, '404.001.03', 'Invalid Access Token')
    if (method !== 'POST') return refuse(405, '405.001', `${method} Method Not Allowed`)
    if (pathname === '/mpesa/stkpush/v1/processrequest') return push(body)
    if (pathname === '/mpesa/stkpushquery/v1/query') return query(body)
    if (pathname === '/mpesa/reversal/v1/request') return reverse(body)
    if (pathname === '/mpesa/c2b/v2/registerurl') return register(body)
    if (pathname === '/mpesa/transactionstatus/v1/query') return status(body)
    return refuse(404, '404.001.01', 'Resource not found')
  }

  /** To the address that the request named. What is about no request goes to that of the last. */
  function sign(body: Buffer, receivedAt: Date): RawNotice {
    const text = body.toString('latin1')
    const money = paidIn.find(({ receipt }) => text.includes(receipt))
    if (money && text.includes('ReceiptNo'))
      return { headers: {}, body, receivedAt, url: callbackURL(KEYS.consumerSecret, NOTICE_URL, money) }
    const reversal = reversals.find(({ receipt }) => text.includes(receipt))
    const about = pushes.find(({ checkoutId }) => text.includes(checkoutId)) ?? pushes.at(-1)
    const none = callbackURL(KEYS.consumerSecret, NOTICE_URL, { reference: 'none' })
    return {
      headers: {},
      body,
      receivedAt,
      url: (text.includes('"Result"') && reversal?.url) || (about?.callbackURL ?? none),
    }
  }

  const upstream = await startUpstream(t, speak)
  const done = () => reversals.filter(({ code }) => code === '0')
  const amountOf = ({ shillings }: { shillings: number }) => money(shillings * 100, 'KES' as Currency)
  const approve = async (reference: string) => end(find(reference), RESULTS.paid)
  const payOrder = (reference: string) => payPaybill(accountOf(reference), SAMPLE.price.amount / 100, reference)
  const refuseOn = async (reference: string) => end(find(reference), RESULTS.refused)
  return {
    ...{ provider: mpesa, upstream, asked, find, reversals, end, behaviour, payPaybill, payOrder },
    endTokens: () => tokens.clear(),
    settings: KEYS,
    secrets: [KEYS.consumerSecret, KEYS.passkey, KEYS.securityCredential],
    pays: SAMPLE,
    price: SAMPLE.price,
    ordersMade: () => pushes.length,
    refundsMade: () => done().length,
    customer: {
      ...{ approve, refuse: refuseOn, payByCard: approve, failByCard: refuseOn },
      expire: async (reference) => end(find(reference), RESULTS.expired),
    },
    // A reversal in the M-PESA portal is in no answer of the API: README.md.
    refundAtProvider: async () => undefined,
    // There are no lists.
    ...{ limitPages: () => {}, listsLag: () => {}, otherShopSells: () => {} },
    savedCards: { paying: '', declining: '', unheardOf: '' },
    notices: {
      sign,
      signAsAnother(body, at) {
        const signed = sign(body, at)
        return { ...signed, url: signed.url?.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) ?? '' }
      },
      covers: { body: false, time: false },
      bodyOf(kind, reference) {
        const known = pushes.findLast((each) => each.reference === reference)
        const money = paidIn.findLast((each) => each.reference === reference)
        if (kind === 'paid' && money) return statusOf(money.receipt, money, KEYS.shortCode)
        if (kind === 'paid' || kind === 'failed')
          return known?.result && (kind === 'paid') === (known.result.code === '0') ? callbackOf(known) : undefined
        const reversal = reversals.findLast(({ push }) => push?.reference === reference)
        return kind === 'refund' && reversal ? resultOf(reversal) : undefined
      },
    },
    ledger: () => ({
      taken: [
        ...pushes
          .filter(({ paidAt }) => paidAt)
          .map((each) => ({ reference: each.reference, id: each.merchantId, amount: amountOf(each) })),
        ...paidIn.map((each) => ({ reference: each.reference, id: each.receipt, amount: amountOf(each) })),
      ],
      givenBack: done().flatMap(({ push, receipt }) =>
        push ? [{ reference: push.reference, id: receipt, amount: amountOf(push) }] : [],
      ),
    }),
    takeNotices: () => waiting.splice(0).map(({ body, url }) => ({ headers: {}, body, url })),
  }
}) satisfies StartFake

export const fakeMpesa = {
  provider: mpesa,
  features: {
    notices: ['paid', 'failed', 'refund'],
    reportsRefusedKeys: true,
    ordersLackOurReference: true,
    refundsWholeOnly: true,
    channels: [SAMPLE],
  },
  start: startFakeMpesa,
} satisfies Fake
