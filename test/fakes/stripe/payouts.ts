import type { SettlementFault } from '../conformance-rig.ts'
import type { Books } from './state.ts'

/** What the fake Stripe has paid out, by itself. */
export interface Payout {
  id: string
  amount: number
  currency: string
  status: string
  automatic: boolean
  reconciliation: string
  created: number
  arrives: number
  rows: Row[]
}

/** A balance transaction. `source`: the object that it is about. */
export interface Row {
  id: string
  created: number
  type: string
  category: string
  amount: number
  fee: number
  source: { id: string }
}

export type Payouts = ReturnType<typeof createPayouts>

const DAY = 86_400
const CURRENCY = 'usd'
const feeOf = (amount: number) => Math.round((amount * 29) / 1000) + 30

export function createPayouts(books: Books) {
  const made: Payout[] = []
  const settled = new Set<string>()

  /** Everything that has moved the balance and is in no payout yet. */
  function openRows(): Row[] {
    const ours = books.intents.filter(({ currency, received }) => currency === CURRENCY && received > 0)
    const rowOf = (name: string, row: Omit<Row, 'id' | 'created'>) => ({ ...row, name })
    const all = ours.flatMap((intent) => [
      ...intent.charges
        .filter(({ status }) => status === 'succeeded')
        .map((charge) => {
          const source = books.chargeObject(intent, charge) as { id: string }
          const sums = { amount: intent.received, fee: feeOf(intent.received) }
          return rowOf(charge.id, { type: 'charge', category: 'charge', ...sums, source })
        }),
      ...books.refunds
        .filter((refund) => refund.intent === intent && refund.status === 'succeeded')
        .map((refund) => {
          const source = books.refundObject(refund) as { id: string }
          return rowOf(refund.id, { type: 'refund', category: 'refund', amount: -refund.amount, fee: 0, source })
        }),
      ...books.disputesOf(intent).flatMap((dispute) =>
        dispute.moves.map((amount, nth) => {
          const source = books.disputeObject(dispute) as { id: string }
          const category = amount < 0 ? 'dispute' : 'dispute_reversal'
          return rowOf(`${dispute.id}.${nth}`, { type: 'adjustment', category, amount, fee: 0, source })
        }),
      ),
    ])
    return all
      .filter(({ name }) => !settled.has(name))
      .map(({ name, ...row }) => {
        settled.add(name)
        return { id: books.newId('txn'), created: books.now(), ...row }
      })
  }

  function settle(fault?: SettlementFault): string {
    const rows = openRows()
    const net = rows.reduce((sum, { amount, fee }) => sum + amount - fee, 0)
    const [id, isLate] = [books.newId('po'), fault === 'late']
    if (fault === 'member missing') rows.pop()
    const own = { type: 'payout', category: 'payout', amount: -net, fee: 0, source: { id, object: 'payout' } }
    made.push({
      ...{
        id,
        amount: net - (fault === 'short' ? 100 : 0),
        currency: CURRENCY,
        status: isLate ? 'in_transit' : 'paid',
      },
      ...{ automatic: true, reconciliation: isLate ? 'in_progress' : 'completed', created: books.now() },
      ...{ arrives: books.now() - (isLate ? 3 * DAY : 0) },
      rows: [...rows, { id: books.newId('txn'), created: books.now(), ...own }],
    })
    return id
  }

  const payoutObject = ({ id, amount, currency, status, automatic, reconciliation, created, arrives }: Payout) => ({
    ...{
      id,
      object: 'payout',
      amount,
      arrival_date: arrives,
      automatic,
      created,
      currency,
      status,
      method: 'standard',
    },
    ...{
      failure_code: null,
      failure_message: null,
      livemode: books.odd.livemode,
      reconciliation_status: reconciliation,
    },
    ...{ reversed_by: null, original_payout: null, trace_id: { status: 'supported', value: `TRACE${id}` } },
    ...{ type: 'bank_account', source_type: 'card', statement_descriptor: null, metadata: {} },
  })

  const rowObject = ({ id, created, type, category, amount, fee, source }: Row, isWhole: boolean) => ({
    ...{ id, object: 'balance_transaction', amount, fee, net: amount - fee, currency: CURRENCY, created, type },
    ...{ available_on: created, balance_type: 'payments', description: null, exchange_rate: null, fee_details: [] },
    ...{ reporting_category: category, source: isWhole ? source : source.id, status: 'available' },
  })

  return { made, settle, payoutObject, rowObject }
}
