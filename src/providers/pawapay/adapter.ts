import { setTimeout as wait } from 'node:timers/promises'
import { decimalsOf } from '../../kernel/money.ts'
import {
  type ClientOptions,
  type Declined,
  notOffered,
  type Order,
  type OrderHandle,
  type Outcome,
  type Provider,
  type ProviderAnswer,
  type ProviderClient,
  type Start,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { type NoConf, openSession, refusesKeys, type Session } from './api.ts'
import { capabilities, PAGE_SECONDS, readSettings, settings } from './capabilities.ts'
import { declined, findOperator, inWords, offersOf, outcomeOf, referenceOf, uuidOf, whyNot } from './mapping.ts'
import { claimedKey, hintOf, judge, readingOf } from './notices.ts'
import { refund } from './refunds.ts'
import {
  type ActiveConf,
  isUuid,
  type Moved,
  type Operator,
  ORDER,
  readFound,
  readInitiation,
  readPrediction,
  toWire,
} from './wire.ts'

/** pawaPay: README.md says what is what. */
export const pawapay: Provider = {
  capabilities,
  settings,
  baseURL: { sandbox: 'https://api.sandbox.pawapay.io', live: 'https://api.pawapay.io' },
  connect,
}

function connect(options: ClientOptions): ProviderClient {
  const session = openSession(options, readSettings(options.settings).apiToken)
  return {
    publicKey: '', // there is none

    async verifyKeys() {
      const conf = await session.readConf()
      if (!('kind' in conf)) return { kind: 'good' }
      return refusesKeys(conf.status) ? { kind: 'bad', because: 'it refused the API token' } : withoutStatus(conf)
    },

    async readOffers() {
      const conf = await session.readConf()
      return 'kind' in conf ? withoutStatus(conf) : { kind: 'offers', offers: offersOf(conf) }
    },

    async start(order) {
      if (!capabilities.offers[order.channel]) return notOffered(order.channel)
      const conf = await session.conf()
      if ('kind' in conf) return withoutConf(conf)
      return startWith(session, conf, order)
    },

    chargeSavedCard: async () => notOffered('card'),

    async check(order) {
      const found = await find(session, order)
      return 'amount' in found ? outcomeOf(found, new Date()) : found
    },

    async prepareNotice(notice) {
      const key = claimedKey(notice)
      // For an unsigned one no question is asked: anybody can send it.
      if (key !== undefined) await session.readPublicKey(key)
    },

    readNotice(notice) {
      const verdict = judge(notice, session.publicKey)
      if (typeof verdict === 'object') return { kind: 'forged', because: verdict.forged }
      if (verdict === 'genuine') return readingOf(notice)
      if (verdict === 'unsigned' && session.lastConf()?.signsCallbacks)
        return { kind: 'forged', because: 'not signed, and this account has signed callbacks' }
      // A retired token can judge no callback, and could check no order.
      if (session.isRefused()) return { kind: 'forged', because: 'it refuses the token' }
      return hintOf(notice.body)
    },

    async findReference(transactionId) {
      if (!isUuid(transactionId)) return { kind: 'missing' }
      const found = await find(session, { reference: transactionId })
      return 'amount' in found ? { kind: 'found', reference: referenceOf(found) } : found
    },

    refund: (wanted) => refund(session, wanted),
  }
}

const withoutStatus = ({ status: _, ...answer }: NoConf): Unknown => answer

/** Without it no deposit can be asked for, so none was. */
function withoutConf(conf: NoConf): Declined | Unknown {
  if (refusesKeys(conf.status)) return { ...declined('AUTHENTICATION_ERROR'), keysRefused: true }
  return { ...withoutStatus(conf), neverSent: true }
}

async function startWith(session: Session, conf: ActiveConf, order: Order): Promise<Start> {
  const { amount, country, input } = order
  const operator = findOperator(conf, { country, currency: amount.currency, network: input.network })
  if (!operator || !input.phoneNumber) return refusedUnlessKnown(session, order, operator, 'INVALID_PROVIDER')
  const why = whyNot(operator, amount.amount, decimalsOf(amount.currency))
  if (why) return refusedUnlessKnown(session, order, operator, why)
  if (operator.authType === 'PREAUTH' && !input.preAuthorisationCode)
    return refusedUnlessKnown(session, order, operator, 'MISSING_PREAUTHORISATION_CODE')
  const phoneNumber = await predict(session, input.phoneNumber)
  if (phoneNumber === 'invalid') return refusedUnlessKnown(session, order, operator, 'INVALID_PHONE_NUMBER')
  const answer = await session.post('/v2/deposits', depositOf(order, operator, phoneNumber))
  return startedBy(session, order, operator, answer)
}

async function startedBy(session: Session, order: Order, operator: Operator, answer: ProviderAnswer): Promise<Start> {
  if (answer.kind === 'unknown') return answer
  const said = readInitiation(answer.text)
  if (refusesKeys(answer.status)) return { ...declined(said?.failureCode ?? 'AUTHENTICATION_ERROR'), keysRefused: true }
  if (!said) return unreadable(answer.status)
  if (said.id !== null && said.id !== uuidOf(order.reference)) return unknown('it answered about another order')
  switch (said.status) {
    case 'ACCEPTED':
      return answer.status === 200 ? started(session, order, operator) : unreadable(answer.status)
    // It does not repeat its first answer.
    case 'DUPLICATE_IGNORED':
      return followed(session, order, operator, await find(session, order))
    case 'REJECTED':
      return said.failureCode
        ? refusedUnlessKnown(session, order, operator, said.failureCode)
        : unreadable(answer.status)
    default:
      return unknown('an undocumented status')
  }
}

/** A refused repeat says nothing about the first request, which may have made the deposit. */
async function refusedUnlessKnown(
  session: Session,
  order: Order,
  operator: Operator | undefined,
  code: string,
): Promise<Start> {
  const found = await find(session, order)
  if ('kind' in found && found.kind === 'missing') return declined(code)
  return operator ? followed(session, order, operator, found) : unknown('it knows an order that it does not take')
}

async function followed(
  session: Session,
  order: Order,
  operator: Operator,
  found: Moved | { kind: 'missing' } | Unknown,
): Promise<Start> {
  if ('kind' in found)
    return found.kind === 'missing' ? unknown('it knows this order, and does not find it') : maybeStarted(found)
  const outcome = outcomeOf(found, new Date())
  return outcome.kind === 'pending' ? started(session, order, operator) : outcome
}

/** The question was perhaps never sent, but the deposit may have been: this start, or one before it. */
const maybeStarted = ({ because }: Unknown): Unknown => unknown(because)

/** What the customer does now. */
async function started(session: Session, order: Order, operator: Operator): Promise<Start> {
  const providerReference = uuidOf(order.reference)
  if (operator.authType === 'REDIRECT_AUTH') return linkOf(session, order)
  const { shownAs, isManual, isRevivable, promptSteps, country } = operator
  const steps = isManual || isRevivable ? inWords(promptSteps, country) : null
  return {
    ...{ kind: 'prompt', providerReference, expiresAt: order.expiresAt },
    ...(shownAs && { shownAs }),
    ...(steps && (isManual ? { message: steps } : { again: steps })),
  }
}

/** The page of the network takes some seconds to be ready. */
const PAGE_AFTER_MS = [0, 250, 500, 1_000, 2_000, 3_000, 4_000]

async function linkOf(session: Session, order: Order): Promise<Start> {
  const providerReference = uuidOf(order.reference)
  const expiresAt = new Date(order.startedAt.getTime() + PAGE_SECONDS * 1_000)
  for (const afterMs of PAGE_AFTER_MS) {
    if (afterMs > 0) await wait(afterMs)
    const found = await find(session, order)
    if ('kind' in found)
      return found.kind === 'missing' ? unknown('it does not find what it accepted') : maybeStarted(found)
    const { authorizationUrl: link } = found
    if (link) return { kind: 'link', link, providerReference, publicKey: '', expiresAt, paidOnce: true }
    const outcome = outcomeOf(found, new Date())
    if (outcome.kind !== 'pending') return outcome
  }
  return unknown('the page of the network is not ready')
}

/** The number as they write it. Which operator it belongs to, the customer has said: numbers are ported. */
async function predict(session: Session, phoneNumber: string): Promise<string> {
  const answer = await session.post('/v2/predict-provider', { phoneNumber })
  const isAnswered = answer.kind === 'answer' && (answer.status === 200 || answer.status === 400)
  const said = isAnswered ? readPrediction(answer.text) : undefined
  if (said === 'invalid') return 'invalid'
  return said?.phoneNumber ?? phoneNumber.replace(/^\+/, '')
}

function depositOf(order: Order, { provider, authType }: Operator, phoneNumber: string): object {
  const { reference, amount, merchantName, returnURL, input } = order
  const words = merchantName
    .normalize('NFD')
    .replaceAll(/[^A-Za-z0-9 ]+/g, '')
    .replaceAll(/ +/g, ' ')
    .slice(0, 22)
    .trim()
  return {
    depositId: uuidOf(reference),
    amount: toWire(amount),
    currency: amount.currency,
    payer: { type: 'MMO', accountDetails: { phoneNumber, provider } },
    ...(authType === 'PREAUTH' && { preAuthorisationCode: input.preAuthorisationCode }),
    ...(authType === 'REDIRECT_AUTH' && { successfulUrl: returnURL, failedUrl: returnURL }),
    clientReferenceId: reference,
    ...(words.length >= 4 && { customerMessage: words }),
    metadata: [{ [ORDER]: reference }],
  }
}

async function find(
  session: Session,
  { reference }: Pick<OrderHandle, 'reference'>,
): Promise<Moved | Extract<Outcome, { kind: 'missing' }> | Unknown> {
  const id = uuidOf(reference)
  const answer = await session.get(`/v2/deposits/${id}`)
  if (answer.kind === 'unknown') return answer
  const found = answer.status === 200 ? readFound(answer.text, 'depositId') : undefined
  if (!found) return unreadable(answer.status)
  if (found === 'not found') return { kind: 'missing' }
  return found.id === id ? found : unknown('it answered about another order')
}
