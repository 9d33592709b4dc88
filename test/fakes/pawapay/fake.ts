import { generateKeyPairSync } from 'node:crypto'
import { pawapay } from '../../../src/providers/pawapay/adapter.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import type { ChannelSample } from '../conformance-rig.ts'
import type { Fake, FakeProvider } from '../fake-provider.ts'
import { hostedPage } from '../hosted-page.ts'
import { type Asked, type Said, startUpstream } from '../upstream.ts'
import { type Conf, newConf, termsOf } from './conf.ts'
import { type Signing, signedHeaders } from './signature.ts'
import { amountIn, type Body, type Deposit, openBooks, type Refund } from './state.ts'

export const SETTINGS = { apiToken: 'eyJraWQiOiIxIn0.sandboxToken.of0Tests00000001' }
const KEY_ID = 'HTTP_EC_P256_KEY:1'
/** Where callbacks go, if a test says nothing else. */
export const CALLBACK_URL = 'https://pay.shop.example/notices/pawapay/sandbox/mer_1'

export interface FakePawapay extends FakeProvider {
  conf: Conf
  /** What it was asked, oldest first. */
  asked: Asked[]
  /** The status of the refunds that are made from now on. */
  refundsAre(status: 'COMPLETED' | 'ACCEPTED' | 'ENQUEUED'): void
  depositOf(reference: string): Deposit
  refundsOf(reference: string): Refund[]
  bodyOf(deposit: Deposit): object
  finishRefund(refund: Refund, failureCode?: string): void
  headersFor(body: Buffer, changes?: Partial<Signing>): Record<string, string>
  takesTheSameRefundTwice(): void
}

const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const AMOUNT = /^([0]|([1-9][0-9]{0,17}))([.][0-9]{0,3}[1-9])?$/
const DEPOSIT_FIELDS = [
  ...['depositId', 'amount', 'currency', 'payer', 'preAuthorisationCode', 'successfulUrl', 'failedUrl'],
  ...['clientReferenceId', 'customerMessage', 'metadata'],
]
const REFUND_FIELDS = ['refundId', 'depositId', 'amount', 'currency', 'clientReferenceId', 'metadata']

const say = (body: object, status = 200): Said => ({ status, text: JSON.stringify(body) })
const reason = (failureCode: string) => ({ failureReason: { failureCode, failureMessage: `Staff: ${failureCode}` } })
const reject = (id: object, code: string, status = 200): Said =>
  say({ ...id, status: 'REJECTED', ...reason(code) }, status)

/** pawaPay v2 for tests: strict where it is documented, odd where it is known to be odd. */
export async function startFakePawapay(t: { after(end: () => Promise<void>): void }): Promise<FakePawapay> {
  const [pair, foreign] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })) as [
    ReturnType<typeof generateKeyPairSync>,
    ReturnType<typeof generateKeyPairSync>,
  ]
  const conf = newConf()
  const asked: Asked[] = []
  const books = openBooks(
    () => conf,
    ({ id }) => `${upstream.url}/authorize/${id}`,
  )
  let refundStatus = 'COMPLETED'

  function whyRefused(wish: Body): string | undefined {
    if (Object.keys(wish).some((name) => !DEPOSIT_FIELDS.includes(name))) return 'UNSUPPORTED_PARAMETER'
    if (!UUID_V4.test(wish.depositId ?? '')) return 'INVALID_PARAMETER'
    const { type, accountDetails: { phoneNumber = '', provider = '' } = {} } = wish.payer ?? {}
    const terms = termsOf(conf, provider, wish.currency)
    if (type !== 'MMO') return 'MISSING_PARAMETER'
    if (!terms) return 'INVALID_PROVIDER'
    if (!/^\d{8,15}$/.test(phoneNumber)) return 'INVALID_PHONE_NUMBER'
    if (terms.status !== 'OPERATIONAL') return 'PROVIDER_TEMPORARILY_UNAVAILABLE'
    if (!AMOUNT.test(wish.amount ?? '')) return 'INVALID_AMOUNT'
    if (terms.decimalsInAmount === 'NONE' ? wish.amount.includes('.') : /\.\d{3}/.test(wish.amount))
      return 'INVALID_AMOUNT'
    if (Number(wish.amount) < Number(terms.minAmount) || Number(wish.amount) > Number(terms.maxAmount))
      return 'AMOUNT_OUT_OF_BOUNDS'
    if (wish.customerMessage !== undefined && !/^[A-Za-z0-9 ]{4,22}$/.test(wish.customerMessage))
      return 'INVALID_PARAMETER'
    if ((terms.authType === 'PREAUTH') !== (wish.preAuthorisationCode !== undefined)) return 'MISSING_PARAMETER'
    if ((terms.authType === 'REDIRECT_AUTH') !== (wish.successfulUrl !== undefined)) return 'MISSING_PARAMETER'
    return isMetadata(wish.metadata) ? undefined : 'INVALID_PARAMETER'
  }

  function deposit(wish: Body): Said {
    const depositId = wish.depositId
    if (books.deposits.has(depositId)) return say({ depositId, status: 'DUPLICATE_IGNORED', created: now() })
    const why = whyRefused(wish)
    if (why) return reject({ depositId }, why, ['UNSUPPORTED_PARAMETER', 'MISSING_PARAMETER'].includes(why) ? 400 : 200)
    const { provider, phoneNumber } = wish.payer.accountDetails
    const made: Deposit = {
      ...{ id: depositId, asked: wish, reference: wish.clientReferenceId, provider, status: 'PROCESSING' },
      ...{
        amount: amountIn(wish.amount, wish.currency),
        failureCode: null,
        created: new Date(),
        looks: 0,
        hasPage: false,
      },
    }
    books.deposits.set(depositId, made)
    const failureCode = SUFFIXES[phoneNumber.slice(-3)]
    if (failureCode) books.fail(made, failureCode)
    const nextStep = wish.successfulUrl === undefined ? 'FINAL_STATUS' : 'GET_AUTH_URL'
    return say({ depositId, status: 'ACCEPTED', nextStep, created: now() })
  }

  function refund(wish: Body): Said {
    const { refundId, depositId } = wish
    const id = { refundId }
    if (!UUID_V4.test(refundId ?? '') || Object.keys(wish).some((name) => !REFUND_FIELDS.includes(name)))
      return reject(id, 'INVALID_INPUT', 400)
    if (books.refunds.has(refundId) && !refusesRepeats)
      return say({ ...id, status: 'DUPLICATE_IGNORED', created: now() })
    const of = books.deposits.get(depositId)
    // Two ways of saying it, as in their documents.
    const refuse = (rejectionCode: string) => say({ ...id, status: 'REJECTED', rejectionReason: { rejectionCode } })
    if (of?.status !== 'COMPLETED') return refuse('DEPOSIT_NOT_FOUND')
    if (books.refundsOf(of).some(({ status }) => status !== 'COMPLETED' && status !== 'FAILED'))
      return refuse('REFUND_IN_PROGRESS')
    if (books.leftOf(of) === 0) return refuse('DEPOSIT_ALREADY_REFUNDED')
    const amount =
      wish.amount === undefined ? { ...of.amount, amount: books.leftOf(of) } : amountIn(wish.amount, wish.currency)
    if (amount.amount > books.leftOf(of)) return refuse('AMOUNT_TOO_LARGE')
    begin(of, amount, wish)
    // A sample of theirs calls it so.
    return say({ payoutId: refundId, status: 'ACCEPTED', created: now() })
  }

  let refusesRepeats = false

  function begin(of: Deposit, amount: Refund['amount'], wish: Body): Refund {
    const status = refundStatus === 'COMPLETED' ? 'ACCEPTED' : refundStatus
    const made = { id: wish.refundId, deposit: of, asked: wish, amount, status, failureCode: null, created: new Date() }
    books.refunds.set(made.id, made)
    if (refundStatus === 'COMPLETED') books.complete(made)
    return made
  }

  function tell(path: string): Said {
    const [, kind, id = ''] = /^\/v2\/(deposits|refunds)\/([^/]+)$/.exec(path) ?? []
    if (kind === 'refunds') {
      const found = books.refunds.get(id)
      return say(found ? { status: 'FOUND', data: books.refundBodyOf(found) } : { status: 'NOT_FOUND' })
    }
    const found = kind === 'deposits' ? books.deposits.get(id) : undefined
    if (kind && !found) return say({ status: 'NOT_FOUND' })
    if (!found) return say({ failureReason: { failureCode: 'NOT_FOUND' } }, 404)
    // The page of a network is ready after a while.
    if (found.asked.successfulUrl && ++found.looks === 2) {
      found.hasPage = true
      books.tell(books.bodyOf(found))
    }
    return say({ status: 'FOUND', data: books.bodyOf(found) })
  }

  function predict({ phoneNumber = '' }: Body): Said {
    const digits = String(phoneNumber).replaceAll(/\D/g, '')
    const found = conf.countries.find(({ prefix }) => digits.startsWith(prefix))
    if (!found || digits.length < 11) return say(reason('INVALID_PARAMETER'), 400)
    return say({ country: found.country, provider: found.providers[0]?.provider, phoneNumber: digits })
  }

  const upstream = await startUpstream(t, (request) => {
    asked.push(request)
    const { method, path, headers, body } = request
    const page = hostedPage(request, '/authorize/', hosted)
    if (page) return page
    if (headers.authorization !== `Bearer ${SETTINGS.apiToken}`)
      return say({ status: 'REJECTED', ...reason('AUTHENTICATION_ERROR') }, 401)
    if (path === '/v2/active-conf') return say(conf)
    if (path === '/v2/public-key/http')
      return say([{ id: KEY_ID, key: pair.publicKey.export({ type: 'spki', format: 'pem' }) }])
    if (method === 'GET') return tell(path)
    if (headers['content-type'] !== 'application/json') return reject({}, 'INVALID_INPUT', 400)
    const wish = JSON.parse(body)
    if (path === '/v2/deposits') return deposit(wish)
    if (path === '/v2/refunds') return refund(wish)
    return path === '/v2/predict-provider' ? predict(wish) : say({}, 404)
  })

  function hosted(id: string) {
    const found = books.deposits.get(id)
    return (
      found && {
        amount: found.amount,
        pay: () => books.approve(found),
        decline: () => books.fail(found, 'PAYMENT_NOT_APPROVED'),
        paidTo: () => found.asked.successfulUrl,
        cancelledTo: () => found.asked.failedUrl,
      }
    )
  }

  const headersFor: FakePawapay['headersFor'] = (body, changes = {}) =>
    signedHeaders(body, {
      key: pair.privateKey,
      keyid: KEY_ID,
      url: CALLBACK_URL,
      at: new Date(),
      ...changes,
    } as Signing)
  const sign = (body: Buffer, at: Date, changes: Partial<Signing> = {}): RawNotice => ({
    ...{ headers: headersFor(body, { at, ...changes }), body, receivedAt: at },
    url: CALLBACK_URL,
  })
  const approve = async (reference: string) => books.approve(books.find(reference))
  const refuse = async (reference: string) => books.fail(books.find(reference), 'PAYMENT_NOT_APPROVED')

  return {
    ...{ provider: pawapay, settings: SETTINGS, upstream, conf, asked, headersFor },
    secrets: [SETTINGS.apiToken],
    price: { amount: 1_025_381, currency: 'ZMW', country: 'ZM' },
    pays: CHANNELS[0],
    ordersMade: () => books.deposits.size,
    refundsMade: () => books.refunds.size,
    customer: { payByCard: approve, failByCard: refuse, approve, refuse, expire: async () => {} },
    savedCards: { paying: 'none', declining: 'none', unheardOf: 'none' },
    notices: {
      sign,
      // Without an address: it is sent to any.
      signAsAnother(body, at) {
        const { url: _, ...notice } = sign(body, at, { key: foreign.privateKey })
        return notice
      },
      covers: { body: true, time: true },
      bodyOf(kind, reference) {
        const found = books.find(reference)
        const [made] = books.refundsOf(found)
        const said = (changes: object) => Buffer.from(JSON.stringify({ ...books.bodyOf(found), ...changes }))
        switch (kind) {
          case 'refund':
            return made && Buffer.from(JSON.stringify(books.refundBodyOf(made)))
          case 'processing':
          case 'dispute':
            return undefined
          default:
            return said({})
        }
      },
    },
    ledger: books.ledger,
    takeNotices: () =>
      books.notices.splice(0).map((body) => ({
        ...{ headers: headersFor(body), body, headersTo: (url: string) => headersFor(body, { url }) },
      })),
    // How a refund of theirs would name its deposit is not documented, and there is no list.
    refundAtProvider: async () => undefined,
    // It has no lists.
    ...{ limitPages: () => {}, listsLag: () => {}, otherShopSells: () => {} },
    depositOf: books.find,
    refundsOf: (reference) => books.refundsOf(books.find(reference)),
    bodyOf: books.bodyOf,
    refundsAre: (status) => {
      refundStatus = status
    },
    finishRefund: (made, failureCode) => (failureCode ? books.failRefund(made, failureCode) : books.complete(made)),
    takesTheSameRefundTwice() {
      refusesRepeats = true
    },
  }
}

/** What becomes of a number by how it ends, as in their sandbox. Others wait for a customer. */
const SUFFIXES: Record<string, string> = {
  '049': 'INSUFFICIENT_BALANCE',
  '029': 'PAYER_NOT_FOUND',
  '069': 'UNSPECIFIED_FAILURE',
}

const now = () => new Date().toISOString().replace(/\.\d+Z/, 'Z')

function isMetadata(value: unknown): boolean {
  if (value === undefined) return true
  return Array.isArray(value) && value.length <= 10 && value.every((each) => typeof each === 'object')
}

const XOF = { currency: 'XOF', amount: 12_500 }
const refused = 'customer_cancelled'

const CHANNELS = [
  {
    ...{ channel: 'mobile-money', price: { amount: 1_025_381, currency: 'ZMW', country: 'ZM' }, starts: 'prompt' },
    ...{ input: { phoneNumber: '+260763456700', network: 'mtn' }, refused },
  },
  {
    ...{ channel: 'mobile-money', price: { amount: 12_500, currency: 'RWF', country: 'RW' }, starts: 'prompt' },
    ...{ input: { phoneNumber: '+250783456700', network: 'mtn' }, refused },
  },
  {
    ...{ channel: 'mobile-money', price: { ...XOF, country: 'BF' }, starts: 'prompt', refused },
    input: { phoneNumber: '+22607123456', network: 'orange', preAuthorisationCode: '367025' },
  },
  {
    ...{ channel: 'mobile-money', price: { ...XOF, country: 'SN' }, starts: 'link', refused },
    input: { phoneNumber: '+221773456700', network: 'wave' },
  },
] satisfies ChannelSample[]

export const fakePawapay = {
  provider: pawapay,
  features: {
    notices: ['paid', 'failed', 'pending', 'refund'],
    idempotentRefunds: true,
    reportsRefusedKeys: true,
    channels: CHANNELS,
  },
  start: startFakePawapay,
} satisfies Fake<FakePawapay>
