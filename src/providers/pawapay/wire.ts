import { parseCountry } from '../../kernel/country.ts'
import { type Currency, decimalsOf, type Money, money, plainAmount } from '../../kernel/money.ts'
import {
  currencyOf,
  date,
  decoderOf,
  type Fields,
  fields,
  Lenient,
  line,
  parse,
  Required,
  some,
  webAddress,
  word,
} from '../json-parsers.ts'

/** pawaPay's JSON, validated at the boundary. Amounts are texts in whole units: "100.00". */

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
export const isUuid = (text: string): boolean => UUID.test(text)
const uuid = (value: unknown) => (typeof value === 'string' && isUuid(value) ? value.toLowerCase() : undefined)

/** "100", "100.0" and "100.00" are the same amount. Undefined for a fraction that the currency does not have. */
export function minorUnits(text: unknown, currency: Currency): number | undefined {
  const [, whole, fraction = ''] = /^(\d{1,18})(?:\.(\d{1,4}))?$/.exec(typeof text === 'string' ? text : '') ?? []
  if (whole === undefined) return undefined
  const places = decimalsOf(currency)
  if (/[1-9]/.test(fraction.slice(places))) return undefined
  const amount = Number(whole + fraction.slice(0, places).padEnd(places, '0'))
  return Number.isSafeInteger(amount) ? amount : undefined
}

/** As they take it: without zeros at the end of a fraction. */
export function toWire(amount: Money): string {
  const plain = plainAmount(amount)
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain
}

const decodeFailure = decoderOf({ failureCode: Lenient(word), failureMessage: Lenient(line) })
const decodeRejection = decoderOf({ rejectionCode: Lenient(word) })

/** A refusal is in `failureReason`; of refunds also in `rejectionReason`. */
function failureCodeIn({ failureReason, rejectionReason }: Fields): string | null {
  return decodeFailure(failureReason)?.failureCode ?? decodeRejection(rejectionReason)?.rejectionCode ?? null
}

/** The first answer to a deposit or refund. Refusals come with HTTP 200, 400, 401 and 403. */
export function readInitiation(text: string) {
  const said = fields(parse(text))
  const status = word(said?.status, 40)
  if (!said || !status) return undefined
  // A sample of theirs calls the id of a refund `payoutId`.
  const id = uuid(said.depositId ?? said.refundId ?? said.payoutId) ?? null
  return { id, status, nextStep: word(said.nextStep, 40) ?? null, failureCode: failureCodeIn(said) }
}

const decodeMoved = decoderOf({
  status: Required((value) => word(value, 40)),
  amount: Required((value) => (typeof value === 'string' ? value : undefined)),
  currency: Required(currencyOf),
  created: Required(date),
  clientReferenceId: Lenient(word),
  authorizationUrl: Lenient(webAddress),
  providerTransactionId: Lenient(word),
})

export interface Moved {
  /** Of the deposit or the refund. */
  id: string
  status: string
  amount: Money
  created: Date
  failureCode: string | null
  clientReferenceId: string | null
  /** Our reference of the order, as we have sent it along. */
  order: string | null
  authorizationUrl: string | null
  /** The operator's, which the customer is told. */
  receiptNumber: string | null
}

function moved(value: unknown, idName: 'depositId' | 'refundId'): Moved | undefined {
  const said = fields(value)
  const known = decodeMoved(said)
  const id = uuid(said?.[idName])
  const amount = known && minorUnits(known.amount, known.currency)
  if (!said || !known || !id || amount === undefined) return undefined
  const { status, currency, created, clientReferenceId, authorizationUrl, providerTransactionId } = known
  const order = word(fields(said.metadata)?.[ORDER], 64) ?? null
  const failureCode = failureCodeIn(said)
  return {
    id,
    status,
    amount: money(amount, currency),
    created,
    failureCode,
    clientReferenceId,
    order,
    authorizationUrl,
    receiptNumber: providerTransactionId,
  }
}

/** The name of our reference in `metadata`. */
export const ORDER = 'orderReference'

/** `GET /v2/deposits/{id}` and `GET /v2/refunds/{id}`. */
export function readFound(text: string, idName: 'depositId' | 'refundId'): Moved | 'not found' | undefined {
  const said = fields(parse(text))
  if (said?.status === 'NOT_FOUND') return 'not found'
  return said?.status === 'FOUND' ? moved(said.data, idName) : undefined
}

export type Callback = { kind: 'deposit' | 'refund'; moved: Moved } | { kind: 'payout' }

/** A callback is the object itself. Which kind it is, its id says. */
export function readCallback(text: string): Callback | undefined {
  const said = fields(parse(text))
  if (said?.depositId !== undefined && said.refundId === undefined)
    return callbackOf('deposit', moved(said, 'depositId'))
  if (said?.refundId !== undefined) return callbackOf('refund', moved(said, 'refundId'))
  return uuid(said?.payoutId) ? { kind: 'payout' } : undefined
}

const callbackOf = (kind: 'deposit' | 'refund', moved: Moved | undefined) => moved && { kind, moved }

const decodePrediction = decoderOf({ phoneNumber: Required((value) => phoneDigits(value)), provider: Required(word) })
const phoneDigits = (value: unknown) => (typeof value === 'string' && /^\d{7,15}$/.test(value) ? value : undefined)

/** The number as they want it, or that it is none. */
export function readPrediction(text: string): { phoneNumber: string; provider: string } | 'invalid' | undefined {
  const said = fields(parse(text))
  if (said && failureCodeIn(said) === 'INVALID_PARAMETER') return 'invalid'
  return decodePrediction(said)
}

/** One operator in one country and currency. */
export interface Operator {
  /** ISO 3166-1 alpha-2. */
  country: string
  provider: string
  currency: Currency
  /** What the prompt calls the shop. */
  shownAs: string | null
  authType: string
  /** The customer has to dial for the prompt. */
  isManual: boolean
  isRevivable: boolean
  /** How the customer gets the prompt, or gets it again. */
  promptSteps: Steps
  /** How the customer makes the code that has to be sent along. */
  codeSteps: Steps
  min: number
  max: number
  takesFractions: boolean
  isOpen: boolean
}

export interface Steps {
  en: string | null
  fr: string | null
}

export interface ActiveConf {
  operators: Operator[]
  /** They say that all callbacks are signed. */
  signsCallbacks: boolean
}

const decodeDeposit = decoderOf({
  authType: Required((value) => word(value, 40)),
  pinPrompt: Lenient(word),
  status: Required((value) => word(value, 40)),
  decimalsInAmount: Required((value) => word(value, 40)),
})

/** `GET /v2/active-conf`. What is new to us in it is left out; the rest counts. */
export function readActiveConf(text: string): ActiveConf | undefined {
  const said = fields(parse(text))
  const perCountry = some(said?.countries, operatorsIn, () => {})
  if (!said || !perCountry) return undefined
  return { operators: perCountry.flat(), signsCallbacks: fields(said.signatureConfiguration)?.signedCallbacks === true }
}

function operatorsIn(value: unknown): Operator[] | undefined {
  const said = fields(value)
  const country = typeof said?.country === 'string' ? parseCountry(said.country) : undefined
  const perProvider =
    country &&
    some(
      said?.providers,
      (each) => currenciesOf(each, country),
      () => {},
    )
  return perProvider?.flat()
}

function currenciesOf(value: unknown, country: string): Operator[] | undefined {
  const said = fields(value)
  const provider = word(said?.provider, 64)
  const shownAs = line(said?.nameDisplayedToCustomer)
  if (!provider) return undefined
  return some(
    said?.currencies,
    (each) => {
      const terms = termsOf(each)
      return terms && { country, provider, shownAs, ...terms }
    },
    () => {},
  )
}

function termsOf(value: unknown): Omit<Operator, 'country' | 'provider' | 'shownAs'> | null | undefined {
  const said = fields(value)
  const currency = currencyOf(said?.currency)
  const raw = fields(fields(said?.operationTypes)?.DEPOSIT)
  if (!raw) return null // it takes no deposits
  const deposit = decodeDeposit(raw)
  const bounds = currency && [raw.minAmount, raw.maxAmount].map((each) => minorUnits(each, currency))
  const [min, max] = bounds ?? []
  if (!currency || !deposit || min === undefined || max === undefined) return undefined
  return {
    ...{ currency, min: Math.max(min, 1), max, authType: deposit.authType },
    isManual: deposit.pinPrompt === 'MANUAL',
    isRevivable: raw.pinPromptRevivable === true,
    promptSteps: stepsIn(raw.pinPromptInstructions),
    codeSteps: stepsIn(raw.authTokenInstructions),
    takesFractions: deposit.decimalsInAmount !== 'NONE',
    isOpen: deposit.status === 'OPERATIONAL',
  }
}

/** The first way that they describe, as one line in each language. */
function stepsIn(value: unknown): Steps {
  const [channel] = some(fields(value)?.channels, fields, () => {}) ?? []
  const inLanguage = (language: 'en' | 'fr') => {
    const steps = some(
      fields(channel?.instructions)?.[language],
      (step) => line(fields(step)?.text),
      () => {},
    )
    return line(steps?.join(' '))
  }
  return { en: inLanguage('en'), fr: inLanguage('fr') }
}

const decodeKey = decoderOf({
  id: Required(word),
  key: Required((value) => (typeof value === 'string' && value.length < 10_000 ? value : undefined)),
})

/** `GET /v2/public-key/http`: a list. Keys of a kind that is new to us are left out. */
export function readPublicKeys(text: string): { id: string; key: string }[] | undefined {
  return some(parse(text), decodeKey, () => {})
}
