import type { Database } from '../../../../src/database/database.ts'
import { sql } from '../../../../src/database/sql.ts'
import { compareOtherShop } from './other-shop.ts'
import type { Deeds, Stage, WeeksProvider } from './sale.ts'
import type { Weather } from './weather.ts'

/** One line: the payment, what the ledger says, what the books say, and what happened to it. */
export interface Difference {
  payment: string
  fault: string
  text: string
  /** The open case that names it, if there is one. */
  openCase: string | undefined
}

export interface WeeksBooks {
  payments: Map<string, number>
  byFault: Map<string, { payments: number; differences: number; withoutCase: number }>
  differences: Difference[]
  /** Money that left without being asked for or owed. */
  lost: Difference[]
  openCases: number
  ofOtherShop: number
  automatic: { refunds: number; amount: number }
}

interface Row {
  payment: string
  payment_id: string
  payment_status: string
  attempt_id: string
  status: string
  order: string
  charged: number
  received: number
  refunded: number
  waiting: number
  automatic: number
}

interface Truth {
  taken: number
  ids: string[]
  back: number
  dashboard: number
  chargebacks: number
  reversed: number
  /** Beyond what we asked for, in the refunds of the provider. */
  grown: number
}

/** What `manilla audit` says of a payment. */
export interface AuditFinding {
  reference: string
  finding: string
}

/** Compares the ledger of the fake with our records, order by order and payment by payment. */
export async function compareWeeks(
  database: Database,
  { fake, weather, deeds }: Pick<Stage, 'fake' | 'weather' | 'deeds'>,
  findings: AuditFinding[],
): Promise<WeeksBooks> {
  await fake.refresh?.()
  const rows = await readRows(database)
  const disputes = await readDisputes(database)
  const cases = await readOpenCases(database)
  const truths = truthsOf(fake, weather, deeds)
  const differences: Difference[] = []
  const lost: Difference[] = []
  for (const [payment, attempts] of Map.groupBy(rows, (row) => row.payment)) {
    const { fault = 'no fault', asked = 0, disputes: told = [] } = deeds.get(payment) ?? {}
    const names = attempts.flatMap((row) => [row.payment_id, row.attempt_id, row.order])
    const openCase = cases.find((text) => names.some((name) => text.includes(name)))
    const note = (to: Difference[], text: string) => to.push({ payment, fault, text, openCase })
    const known = attempts.map((row) => ({ row, truth: truths.get(row.order) ?? NOTHING }))
    const found = [
      ...known.flatMap(compareOrder),
      ...compareStatus(known),
      ...told.flatMap(({ id, status }) => compareDispute(status, disputes.get(id))),
      ...findings.filter(({ reference }) => reference === payment).map(({ finding }) => `audit: ${finding}`),
    ]
    for (const text of found) note(differences, text)
    for (const text of lostMoney(known, asked)) note(lost, text)
  }
  const otherShop = await compareOtherShop(database, { fake }, cases)
  for (const text of otherShop.found) differences.push({ ...NO_PAYMENT, text })
  const automatic = rows.filter((row) => row.automatic > 0)
  const successes = new Set(rows.filter((row) => row.payment_status === 'successful').map((row) => row.payment))
  if (successes.size < deeds.size / 2)
    differences.push({ ...NO_PAYMENT, text: 'so few payments succeeded that this shows nothing' })
  return {
    payments: countBy([...Map.groupBy(rows, (row) => row.payment).values()].map(([row]) => row?.payment_status ?? '')),
    byFault: byFault(deeds, differences),
    ...{ differences, lost, openCases: cases.length, ofOtherShop: otherShop.payments },
    automatic: { refunds: automatic.length, amount: automatic.reduce((sum, row) => sum + row.automatic, 0) },
  }
}

const NO_PAYMENT = { payment: 'all', fault: 'no fault', openCase: undefined }
const NOTHING: Truth = { taken: 0, ids: [], back: 0, dashboard: 0, chargebacks: 0, reversed: 0, grown: 0 }

interface Known {
  row: Row
  truth: Truth
}

function compareOrder({ row, truth }: Known): string[] {
  const back = truth.back + truth.reversed
  return [
    ...(row.received === truth.taken ? [] : [`the ledger took ${truth.taken}, the books have ${row.received}`]),
    ...(row.refunded === back ? [] : [`the ledger gave back ${back}, the books ${row.refunded}`]),
    ...(row.status === 'processing' ? ['an attempt is still processing'] : []),
    ...(row.waiting > 0 ? [`a refund of ${row.waiting} is still under way`] : []),
  ]
}

function compareStatus(known: Known[]): string[] {
  const isPaid = known.some(({ row, truth }) => truth.taken >= row.charged)
  const status = known[0]?.row.payment_status ?? ''
  return isPaid === (status === 'successful') ? [] : [`${isPaid ? 'paid' : 'not paid'} at the provider, and ${status}`]
}

function compareDispute(theirs: string, ours = 'unknown'): string[] {
  return ours === theirs ? [] : [`a dispute is ${theirs} there, and ${ours} in the books`]
}

/**
 * What left by our calls is what the merchant asked for, and surplus: money beyond one whole payment, with two ids that
 * the provider issued.
 */
function lostMoney(known: Known[], asked: number): string[] {
  const sum = (of: (truth: Truth) => number) => known.reduce((total, { truth }) => total + of(truth), 0)
  const sent = sum(({ back, dashboard, chargebacks, grown }) => back - dashboard - chargebacks - grown)
  const whole = known.filter(({ row, truth }) => truth.taken >= row.charged).map(({ row }) => row.charged)
  const surplus = whole.length === 0 ? 0 : sum(({ taken }) => taken) - Math.min(...whole)
  const automatic = known.reduce((total, { row }) => total + row.automatic, 0)
  const ids = new Set(known.flatMap(({ truth }) => truth.ids))
  return [
    ...(sent > asked + surplus ? [`${sent} was sent back, and ${asked} asked for and ${surplus} surplus`] : []),
    ...(automatic > surplus ? [`${automatic} is refunded without a person, and ${surplus} is surplus`] : []),
    ...(automatic > 0 && ids.size < 2
      ? [`${automatic} is refunded without a person, and the provider issued ${ids.size} transaction ids`]
      : []),
  ]
}

function truthsOf(fake: WeeksProvider, weather: Weather, deeds: Map<string, Deeds>): Map<string, Truth> {
  const { taken, givenBack } = fake.ledger()
  const dashboard = new Set([...deeds.values()].flatMap((each) => each.dashboard))
  const lostDisputes = [...deeds.values()].flatMap(({ disputes }) => disputes.filter(({ status }) => status === 'lost'))
  const truths = new Map<string, Truth>()
  for (const { reference, id, amount } of taken) {
    const truth = truths.get(reference) ?? { ...NOTHING, ids: [] }
    truth.taken += amount.amount
    if (!id.includes('#')) truth.ids.push(id) // the fake of Monnify makes those up, as we do
    truths.set(reference, truth)
  }
  for (const { reference, id, amount } of givenBack) {
    const truth = truths.get(reference)
    if (!truth) continue
    const less = weather.lessBy(id)
    truth.back += amount.amount - less
    if (less < 0) truth.grown -= less
    if (dashboard.has(id)) truth.dashboard += amount.amount
  }
  for (const [order, truth] of truths) {
    for (const dispute of lostDisputes) if (dispute.order === order) truth.chargebacks += dispute.amount
    if (weather.isReversed(order)) truth.reversed = truth.taken - truth.back
  }
  return truths
}

function readRows(database: Database): Promise<Row[]> {
  return database.rows(sql`
    select p.reference as payment, p.id::text as payment_id, p.status as payment_status, a.id::text as attempt_id, a.status,
           a.order_reference as order, a.amount_charged as charged,
           coalesce((select sum(r.amount) from receipts r where r.attempt_id = a.id), 0)::bigint as received,
           coalesce(f.refunded, 0)::bigint as refunded, coalesce(f.waiting, 0)::bigint as waiting,
           coalesce(f.automatic, 0)::bigint as automatic
      from attempts a join payments p on p.id = a.payment_id
      left join lateral (
        select sum(amount) filter (where status = 'successful') as refunded,
               sum(amount) filter (where status = 'pending') as waiting,
               sum(amount) filter (where status <> 'failed' and kind = 'surplus') as automatic
          from refunds where attempt_id = a.id) f on true
     order by p.reference`)
}

async function readDisputes(database: Database): Promise<Map<string, string>> {
  const rows = await database.rows<{ id: string; status: string }>(
    sql`select provider_dispute_id as id, status from disputes`,
  )
  return new Map(rows.map(({ id, status }) => [id, status]))
}

/** Whatever a person is shown, as JSON in which the payment, the attempt or the order is named. */
async function readOpenCases(database: Database): Promise<string[]> {
  const tables = await database.row<{ cases: boolean }>(sql`select to_regclass('cases') is not null as cases`)
  const rows = await database.rows<{ text: string }>(sql`
    select to_jsonb(a)::text as text from attempts a where to_jsonb(a) ->> 'needs_review' is not null
    union all select to_jsonb(r)::text from refunds r where to_jsonb(r) ->> 'needs_review' is not null
    union all select coalesce(reference, '') from notices where state = 'unmatched'`)
  if (!tables?.cases) return rows.map(({ text }) => text)
  const cases = await database.rows<{ text: string }>(
    sql`select to_jsonb(c)::text as text from cases c where c.closed_at is null`,
  )
  return [...rows, ...cases].map(({ text }) => text)
}

function byFault(deeds: Map<string, Deeds>, differences: Difference[]): WeeksBooks['byFault'] {
  const counts: WeeksBooks['byFault'] = new Map()
  for (const [fault, all] of Map.groupBy(deeds.values(), (each) => each.fault)) {
    const found = differences.filter((each) => each.fault === fault)
    const withoutCase = found.filter(({ openCase }) => openCase === undefined).length
    counts.set(fault, { payments: all.length, differences: found.length, withoutCase })
  }
  return counts
}

function countBy(names: string[]): Map<string, number> {
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))
}
