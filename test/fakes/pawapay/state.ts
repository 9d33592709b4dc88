import { type Currency, decimalsOf, type Money, money, plainAmount } from '../../../src/kernel/money.ts'
import type { Entry } from '../fake-provider.ts'
import { type Conf, countryOf } from './conf.ts'

/** The books of the fake. */

export interface Deposit {
  id: string
  asked: Body
  /** `clientReferenceId` of the request. */
  reference: string
  amount: Money
  provider: string
  status: string
  failureCode: string | null
  created: Date
  /** For an operator with a page: how often it was asked for before there was one. */
  looks: number
  hasPage: boolean
}

export interface Refund {
  id: string
  deposit: Deposit
  asked: Body
  amount: Money
  status: string
  failureCode: string | null
  created: Date
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of a request
export type Body = Record<string, any>

/** They answer with two decimals, also in a currency that has none. */
export const written = (amount: Money) =>
  decimalsOf(amount.currency) === 0 ? `${amount.amount}.00` : plainAmount(amount)

export function amountIn(text: string, currency: string): Money {
  const [whole = '', fraction = ''] = text.split('.')
  const places = decimalsOf(currency as Currency)
  return money(Number(whole + fraction.padEnd(places, '0').slice(0, places)), currency as Currency)
}

export function openBooks(conf: () => Conf, pageUrl: (deposit: Deposit) => string) {
  const deposits = new Map<string, Deposit>()
  const refunds = new Map<string, Refund>()
  const taken: Entry[] = []
  const givenBack: Entry[] = []
  const notices: Buffer[] = []

  function find(reference: string): Deposit {
    const found = [...deposits.values()].find((each) => each.reference === reference || each.id === reference)
    if (!found) throw new Error(`no deposit of ${reference}`)
    return found
  }

  function metadataOf(asked: Body): Record<string, unknown> | undefined {
    const pairs = (asked.metadata ?? []).map(({ isPII: _, ...pair }: Body) => pair)
    return pairs.length > 0 ? Object.assign({}, ...pairs) : undefined
  }

  const reason = (failureCode: string | null) =>
    failureCode ? { failureReason: { failureCode, failureMessage: `Staff: ${failureCode}` } } : {}

  function bodyOf(deposit: Deposit) {
    const { id, amount, provider, status, failureCode, created, asked, hasPage } = deposit
    return {
      ...{ depositId: id, status, amount: written(amount), currency: amount.currency },
      country: countryOf(conf(), provider),
      payer: asked.payer,
      customerMessage: asked.customerMessage ?? 'Demo',
      clientReferenceId: asked.clientReferenceId,
      created: created.toISOString().replace(/\.\d+Z/, 'Z'),
      ...(status === 'COMPLETED' && { providerTransactionId: `op-${id.slice(0, 8)}` }),
      ...(status === 'PROCESSING' &&
        hasPage && { nextStep: 'REDIRECT_TO_AUTH_URL', authorizationUrl: pageUrl(deposit) }),
      ...reason(failureCode),
      metadata: metadataOf(asked),
    }
  }

  function refundBodyOf({ id, deposit, amount, status, failureCode, created, asked }: Refund) {
    return {
      ...{ refundId: id, status, amount: written(amount), currency: amount.currency },
      country: countryOf(conf(), deposit.provider),
      recipient: deposit.asked.payer,
      customerMessage: 'Demo',
      ...(asked.clientReferenceId && { clientReferenceId: asked.clientReferenceId }),
      created: created.toISOString().replace(/\.\d+Z/, 'Z'),
      ...reason(failureCode),
      metadata: metadataOf(asked),
    }
  }

  const tell = (body: object) => notices.push(Buffer.from(JSON.stringify(body)))

  function approve(deposit: Deposit): void {
    if (['COMPLETED', 'FAILED'].includes(deposit.status)) return
    deposit.status = 'COMPLETED'
    taken.push({ reference: deposit.reference, id: deposit.id, amount: deposit.amount })
    tell(bodyOf(deposit))
  }

  function fail(deposit: Deposit, failureCode: string): void {
    if (['COMPLETED', 'FAILED'].includes(deposit.status)) return
    Object.assign(deposit, { status: 'FAILED', failureCode })
    tell(bodyOf(deposit))
  }

  const refundsOf = (deposit: Deposit) => [...refunds.values()].filter((each) => each.deposit === deposit)

  function leftOf(deposit: Deposit): number {
    const gone = refundsOf(deposit).filter(({ status }) => status !== 'FAILED')
    return deposit.amount.amount - gone.reduce((sum, { amount }) => sum + amount.amount, 0)
  }

  function complete(refund: Refund): void {
    refund.status = 'COMPLETED'
    givenBack.push({ reference: refund.deposit.reference, id: refund.id, amount: refund.amount })
    tell(refundBodyOf(refund))
  }

  function failRefund(refund: Refund, failureCode: string): void {
    Object.assign(refund, { status: 'FAILED', failureCode })
    tell(refundBodyOf(refund))
  }

  const ledger = () => ({ taken: [...taken], givenBack: [...givenBack] })
  return {
    ...{ deposits, refunds, notices, find, bodyOf, refundBodyOf, tell },
    ...{ approve, fail, refundsOf, leftOf, complete, failRefund, ledger },
  }
}
