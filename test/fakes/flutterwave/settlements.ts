import type { SettlementFault } from '../conformance-rig.ts'
import type { Said } from '../upstream.ts'
import { refuse, succeed } from './answers.ts'
import type { Books, FakeChargeback, Given, Try } from './state.ts'

/** What the fake Flutterwave has paid out. */
interface Settlement {
  id: number
  tries: Try[]
  /** In the sums, and not among the transactions. */
  missing: Try | undefined
  refunds: Given[]
  chargebacks: FakeChargeback[]
  status: string
  /** What does not arrive, and is not named. */
  lacking: number
  at: string
  due: string
}

type Page = <T>(all: T[], query: URLSearchParams, show: (one: T) => object) => { data: object[]; meta: object }
type Within = <T extends { at: string }>(all: T[], query: URLSearchParams) => T[]

const FILTERS = new Set(['from', 'to', 'page'])
const FEE = 140
const DAY_MS = 86_400_000

export function settlementsOf(books: Books) {
  const made: Settlement[] = []

  function settle(fault?: SettlementFault): string {
    const isNew = <T>(one: T, known: T[]) => !known.includes(one)
    const paid = books.tries.filter(({ status, order }) => status === 'successful' && order.amount.currency === 'NGN')
    const tries = paid.filter((one) =>
      isNew(
        one,
        made.flatMap((each) => each.tries),
      ),
    )
    const isGone = ({ of, status }: Given | FakeChargeback, gone: string) =>
      paid.includes(of) && status.startsWith(gone)
    const due = new Date(Date.now() - (fault === 'late' ? 3 * DAY_MS : 0))
    const settlement: Settlement = {
      ...{ id: books.nextId(), tries, missing: fault === 'member missing' ? tries.at(-1) : undefined },
      refunds: books.refunds.filter(
        (one) =>
          isGone(one, 'completed') &&
          isNew(
            one,
            made.flatMap((each) => each.refunds),
          ),
      ),
      chargebacks: books.chargebacks.filter(
        (one) =>
          isGone(one, 'lost') &&
          isNew(
            one,
            made.flatMap((each) => each.chargebacks),
          ),
      ),
      ...{ status: fault === 'late' ? 'pending' : 'completed', lacking: fault === 'short' ? 100 : 0 },
      ...{ at: new Date().toISOString(), due: due.toISOString() },
    }
    made.push(settlement)
    return String(settlement.id)
  }

  /** In the list ids are lists; of one settlement, they are JSON in a text. */
  function show(settlement: Settlement, ids: (all: { id: number }[]) => unknown): object {
    const { id, tries, refunds, chargebacks, status, lacking, at, due } = settlement
    const gross = sum(tries.map(({ charged }) => charged))
    const [refund, chargeback] = [refunds, chargebacks].map((all) => sum(all.map(({ amount }) => amount)))
    const fees = tries.length * FEE
    const net = gross - fees - Number(refund) - Number(chargeback) - lacking
    return {
      ...{ id, account_id: 73_362, settlement_account: '0031318432', bank_code: '063', transaction_date: at },
      ...{ due_date: due, processed_date: status === 'completed' ? at : null, status, is_local: true, currency: 'NGN' },
      ...{ gross_amount: naira(gross), app_fee: naira(fees), merchant_fee: 0, chargeback: naira(Number(chargeback)) },
      ...{
        refund: naira(Number(refund)),
        stampduty_charge: 0,
        net_amount: naira(net),
        transaction_count: tries.length,
      },
      ...{ processor_ref: null, disburse_ref: `RV${id}`, disburse_message: null, channel: 'web', flag_message: null },
      ...{ destination: 'account', fx_data: null, meta: ids(tries), refund_meta: ids(refunds) },
      ...{ chargeback_meta: ids(chargebacks), created_at: at },
    }
  }

  const lineOf = ({ id, order, charged, status, type, at }: Try) => ({
    ...{ customer_email: order.email, flw_ref: `FLW-MOCK-${id}`, tx_ref: order.reference, id, status },
    ...{ charged_amount: naira(charged), app_fee: naira(FEE), merchant_fee: 0, stampduty_charge: 0 },
    ...{ settlement_amount: naira(charged - FEE), payment_entity: type, transaction_date: at.slice(0, 10) },
    ...{ currency: order.amount.currency, card_locale: 'LOCAL', rrn: 'N/A', subaccount_settlement: 0 },
  })

  function speak(pathname: string, query: URLSearchParams, page: Page, within: Within): Said | undefined {
    const [, id] = /^\/v3\/settlements\/(\d+)$/.exec(pathname) ?? []
    if (!id && pathname !== '/v3/settlements') return undefined
    if ([...query.keys()].some((name) => !FILTERS.has(name))) return refuse(400, 'an unknown filter')
    if (!id) {
      const shown = page(within(made, query), query, (one) => show(one, (all) => all.map((each) => each.id)))
      return succeed('Settlements fetched', shown)
    }
    const one = made.find((each) => String(each.id) === id)
    if (!one) return refuse(404, 'Settlement not found')
    const transactions = one.tries.filter((each) => each !== one.missing).map(lineOf)
    const asText = (all: { id: number }[]) => JSON.stringify(all.map((each) => each.id))
    return succeed('Settlement fetched', { data: { ...show(one, asText), is_local: 1, transactions } })
  }

  return { settle, speak }
}

const naira = (kobo: number) => kobo / 100

const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
