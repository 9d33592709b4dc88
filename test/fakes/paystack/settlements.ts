import type { SettlementFault } from '../conformance-rig.ts'
import type { Said } from '../upstream.ts'
import { list, type Paging, refuse } from './answers.ts'
import { feesOf, type Refund, type Sale, transactionOf } from './state.ts'

/** What the fake Paystack has paid out. The real one has no settlements in test mode. */
interface Settlement {
  id: bigint
  sales: Sale[]
  /** In the sums, and not among the transactions. */
  missing: Sale | undefined
  refunds: Refund[]
  currency: string
  status: string
  /** What does not arrive, and is not named. */
  lacking: number
  createdAt: string
  day: string
}

interface Deps {
  sales: Map<string, Sale>
  refunds: Refund[]
  nextId(): bigint
}

const FILTERS = new Set(['subaccount', 'from', 'to', 'perPage', 'page'])
const DAY_MS = 86_400_000

export function settlementsOf({ sales, refunds, nextId }: Deps) {
  const made: Settlement[] = []

  function settle(fault?: SettlementFault): string {
    const [known, gone] = [made.flatMap((each) => each.sales), made.flatMap((each) => each.refunds)]
    const paid = [...sales.values()].filter(({ paidAt, currency }) => paidAt && currency === 'NGN')
    const members = paid.filter((sale) => !known.includes(sale))
    const [createdAt, due] = [Date.now(), Date.now() - (fault === 'late' ? 3 * DAY_MS : 0)]
    const settlement: Settlement = {
      ...{ id: nextId(), sales: members, missing: fault === 'member missing' ? members.at(-1) : undefined },
      refunds: refunds.filter((each) => !gone.includes(each) && paid.includes(each.sale) && each.status !== 'failed'),
      ...{ currency: 'NGN', status: fault === 'late' ? 'pending' : 'success', lacking: fault === 'short' ? 100 : 0 },
      ...{ createdAt: new Date(createdAt).toISOString(), day: new Date(due).toISOString().slice(0, 10) },
    }
    made.push(settlement)
    return String(settlement.id)
  }

  function speak(paging: Paging, pathname: string, query: URLSearchParams): Said | undefined {
    const [, id] = /^\/settlement\/(\d+)\/transactions$/.exec(pathname) ?? []
    if (!id && pathname !== '/settlement') return undefined
    if ([...query.keys()].some((name) => !FILTERS.has(name))) return refuse(400, 'invalid_params', 'Unknown filter')
    if (!id && query.get('subaccount') !== 'none') return refuse(400, 'invalid_params', 'The fake has a split partner')
    if (!id) return list(paging, 'Settlements retrieved', made.toReversed(), query, settlementOf)
    const settlement = made.find((each) => `${each.id}` === id)
    if (!settlement) return refuse(404, 'not_found', 'Settlement not found')
    const members = settlement.sales.filter((sale) => sale !== settlement.missing)
    const show = (sale: Sale) => ({ ...transactionOf(sale, ''), fees: feesOf(sale) })
    return list({ ...paging, lagMs: 0 }, 'Transactions retrieved', members, query, show)
  }

  return { settle, speak }
}

function settlementOf({ id, sales, refunds, currency, status, lacking, createdAt, day }: Settlement): object {
  const [processed, fees] = [sum(sales.map(({ amount }) => amount)), sum(sales.map(feesOf))]
  const deductions = sum(refunds.map(({ amount }) => amount))
  return {
    ...{ id, domain: 'test', status, currency, integration: 463_433, total_amount: processed - fees },
    ...{ effective_amount: processed - fees - deductions - lacking, total_fees: fees, total_processed: processed },
    ...{ deductions: deductions || null, settlement_date: `${day}T00:00:00.000Z`, settled_by: null },
    ...{ createdAt, updatedAt: createdAt },
  }
}

const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
