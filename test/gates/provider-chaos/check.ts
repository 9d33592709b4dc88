import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import type { Channel } from '../../../src/kernel/channel.ts'
import { type RefundId, uuidOf } from '../../../src/kernel/ids.ts'
import type { Records } from '../../../src/payments/state/audit.ts'
import type { Entry } from '../../fakes/fake-provider.ts'
import type { Heard } from '../../support/listener.ts'
import { minus } from '../report.ts'
import type { PlayedProvider, Told } from './customers.ts'
import { compareLists, comparePayment, countBy, type Ordered, readRecords } from './records.ts'

/** The records of both sides and their differences. */
export interface Comparison {
  payments: Map<string, number>
  attempts: Map<string, number>
  /** Attempts by channel, successful ones apart. */
  channels: Map<string, number>
  refunds: Map<string, number>
  disputes: Map<string, number>
  late: number
  needReview: number
  taken: Totals
  givenBack: Totals
  differences: string[]
  /** The records about the differences. */
  explanation: string[]
}

export interface Totals {
  entries: number
  ours: number
  theirs: number
}

interface AttemptRow {
  reference: string
  payment: string
  order_reference: string
  channel: string
  status: string
  needs_review: string | null
  amount_charged: number
}

interface RefundRow {
  id: string
  payment: string
  order_reference: string
  channel: Channel
  provider_refund_id: string | null
  kind: string
  status: string
  amount: number
  currency: string
  failure: string | null
}

interface DisputeRow {
  order_reference: string
  id: string
  status: string
}

export async function compare(
  database: Database,
  fake: PlayedProvider,
  told: Told,
  heard: Heard[],
  refusedNotices: string[],
): Promise<Comparison> {
  const { taken, givenBack } = await fake.ledger()
  const attempts = await readAttempts(database)
  const receipts = await readReceipts(database)
  const refunds = await readRefunds(database)
  const disputes = await readDisputes(database)
  const records = await readRecords(database)
  const orders = new Map(
    attempts.map(({ order_reference, amount_charged }) => {
      const of = (entries: Entry[]) => sum(entries.filter(({ reference }) => reference === order_reference))
      return [order_reference, { requested: amount_charged, amount: of(taken), refunded: of(givenBack) }]
    }),
  )
  const sentBack = refunds.filter(({ status }) => status === 'successful').map(entryOf)
  const payments = new Map(records.map(({ state }) => [state.payment.reference, state.payment]))
  return {
    payments: countBy(records, ({ state }) => state.payment.status),
    attempts: countBy(attempts, ({ status }) => status),
    channels: countBy(attempts, ({ channel, status }) => (status === 'successful' ? `${channel} paid` : channel)),
    refunds: countBy(refunds, ({ kind, status }) => `${kind} ${status}`),
    disputes: countBy(disputes, ({ status }) => status),
    late: records.filter(({ state }) => state.payment.late).length,
    needReview: attempts.filter(({ needs_review }) => needs_review !== null).length,
    taken: { entries: taken.length, ours: sum(receipts), theirs: sum(taken) },
    givenBack: { entries: givenBack.length, ours: sum(sentBack), theirs: sum(givenBack) },
    explanation: [],
    differences: [
      ...compareEntries('receipt', receipts, taken),
      ...compareEntries('refund', sentBack, givenBack),
      ...attempts
        .filter((each) => each.status === 'processing' && !isLostStart(each, fake, orders))
        .map((each) => `${each.reference}: still processing`),
      ...attempts
        .filter((attempt) => attempt.needs_review && !isForPerson(attempt, fake, orders))
        .map((each) => `${each.reference} (${each.status}): needs a person: ${each.needs_review}`),
      ...refunds
        .filter((refund) => !lacksAccount(refund, fake) && !isLostRefund(refund, fake, orders))
        .flatMap((refund) => compareRefund(refund, refunds)),
      ...records.flatMap((each) => comparePayment(each, orders)),
      ...(await compareLists(database)),
      ...compareTold(told, records, attempts),
      ...compareToldRefunds(told, refunds),
      ...compareAtProvider(told, refunds, disputes),
      ...compareHeard([...payments.values()], heard),
      ...refusedNotices,
      ...(enough(records.filter(({ state }) => state.attempts.length > 0).map(({ state }) => state.payment))
        ? []
        : ['so few payments succeeded that this shows nothing']),
    ],
  }
}

/** Most customers who start to pay must succeed in the end. */
const enough = (payments: { status: string }[]) =>
  payments.filter(({ status }) => status === 'successful').length > payments.length / 3

/** Surplus whose ids the provider did not issue is not refunded without a person, nor is a wrong amount accepted. */
function isForPerson(attempt: AttemptRow, fake: PlayedProvider, orders: Map<string, Ordered>): boolean {
  const { needs_review, order_reference } = attempt
  if (needs_review?.startsWith('surplus: ') || isLostStart(attempt, fake, orders)) return true
  const { takesWrongAmounts = false } = fake
  const order = orders.get(order_reference)
  const isWrong = order !== undefined && order.amount > 0 && order.amount !== order.requested
  return takesWrongAmounts && isWrong && (needs_review?.startsWith('amount_mismatch: ') ?? false)
}

/** Nothing was paid, and the provider cannot be asked for what it never answered: a person ends the attempt. */
function isLostStart(
  { status, needs_review, order_reference }: AttemptRow,
  { ordersLackOurReference = false }: PlayedProvider,
  orders: Map<string, Ordered>,
): boolean {
  const isCase = status === 'processing' && needs_review?.startsWith('unanswered: ') === true
  return ordersLackOurReference && isCase && orders.get(order_reference)?.amount === 0
}

/** Compares by id: nothing twice, nothing missing, nothing unknown to the other side. */
function compareEntries(what: string, ours: Entry[], theirs: Entry[]): string[] {
  const nameOf = ({ reference, id, amount }: Entry) => `${reference} ${id} of ${amount.amount} ${amount.currency}`
  return compareNames(what, ours.map(nameOf), theirs.map(nameOf))
}

export function compareNames(what: string, ours: string[], theirs: string[]): string[] {
  return [
    ...minus(ours, theirs).map((name) => `${what} ${name}: we have it, the provider does not`),
    ...minus(theirs, ours).map((name) => `${what} ${name}: the provider has it, we do not`),
  ]
}

/** Surplus that the provider cannot send back without the customer's bank account: it is left for a person. */
function lacksAccount({ kind, status, channel }: RefundRow, { provider }: PlayedProvider): boolean {
  const { refundNeedsAccount = [] } = provider.capabilities
  return kind === 'surplus' && status === 'failed' && refundNeedsAccount.includes(channel)
}

/** Asked for, not made, and no answer tells: a person ends it after a day. */
function isLostRefund(
  { status, order_reference }: RefundRow,
  { provider }: PlayedProvider,
  orders: Map<string, Ordered>,
): boolean {
  const isUntold = provider.capabilities.noticesHaveFacts === true
  return isUntold && status === 'pending' && orders.get(order_reference)?.refunded === 0
}

function compareRefund({ payment, kind, status, amount, failure }: RefundRow, refunds: RefundRow[]): string[] {
  if (status === 'pending') return [`${payment}: a refund of ${amount} is still under way`]
  if (status !== 'failed') return []
  // The money of a merchant's refund may have been refunded in the provider's dashboard, or disputed, before.
  const isBeaten = refunds.some(
    (other) =>
      other.payment === payment && (other.kind === 'provider' || other.kind === 'chargeback') && other.amount > 0,
  )
  return kind === 'merchant' && isBeaten ? [] : [`${payment}: a refund of ${amount} (${kind}) was refused: ${failure}`]
}

/** Refunds and disputes that were made at the provider are recorded as such, once each, and no others. */
function compareAtProvider({ atProvider }: Told, refunds: RefundRow[], disputes: DisputeRow[]): string[] {
  const made = atProvider.refunds.map(({ order, id }) => `${order} ${id}`)
  const known = refunds
    .filter(({ kind }) => kind === 'provider')
    .map(({ order_reference, provider_refund_id }) => `${order_reference} ${provider_refund_id}`)
  const opened = atProvider.disputes.map(({ order, id, outcome }) => `${order} ${id} ${outcome}`)
  const ours = disputes.map(({ order_reference, id, status }) => `${order_reference} ${id} ${status}`)
  const lost = atProvider.disputes.filter(({ outcome }) => outcome === 'lost').length
  const chargebacks = refunds.filter(({ kind }) => kind === 'chargeback').length
  const missing = (what: string, all: string[], others: string[]) =>
    all.filter((each) => !others.includes(each)).map((each) => `${what}: ${each}`)
  return [
    ...missing('a refund made at the provider is not recorded as such', made, known),
    ...missing('a refund is recorded as made at the provider and was not', known, made),
    ...missing('a dispute is not recorded with its status', opened, ours),
    ...missing('a recorded dispute has another status at the provider', ours, opened),
    ...(lost === chargebacks ? [] : [`${lost} disputes were lost, ${chargebacks} chargebacks are recorded`]),
  ]
}

/** Every acknowledged call is on record. */
function compareTold(told: Told, records: Records[], attempts: AttemptRow[]): string[] {
  const payments = new Map(records.map((each) => [each.state.payment.reference, each]))
  const started = new Set(attempts.map(({ reference, payment }) => `${reference} of ${payment}`))
  const isCancelled = (payment: string) =>
    payments.get(payment)?.events.some(({ type }) => type === 'payment.cancelled') ?? false
  const gone = (what: string, names: string[]) => names.map((name) => `${name}: ${what}, and is not on record`)
  return [
    ...gone(
      'a merchant was told of it',
      told.payments.filter((reference) => !payments.has(reference)),
    ),
    ...gone(
      'its initialize was answered with 200',
      told.attempts.filter((attempt) => !started.has(attempt)),
    ),
    ...gone(
      'its cancel was answered with 200',
      told.cancelled.filter((reference) => !isCancelled(reference)),
    ),
  ]
}

/** At most one refund for each key, and every acknowledged refund is on record. */
function compareToldRefunds({ refunds: told }: Told, refunds: RefundRow[]): string[] {
  const known = Map.groupBy(refunds, ({ payment }) => payment)
  return told.flatMap(({ payment, keys, ids }) => {
    const made = (known.get(payment) ?? []).filter(({ kind }) => kind === 'merchant').map(({ id }) => id)
    const missing = [...new Set(ids)].filter((id) => !made.includes(uuidOf(id as RefundId)))
    return [
      ...(made.length > keys ? [`${payment}: ${keys} refunds were asked for, ${made.length} were made`] : []),
      ...missing.map((id) => `${payment}: the refund ${id} was answered with 201, and is not there`),
    ]
  })
}

/** A success has one event: repeated webhooks have the same event id. */
function compareHeard(payments: { id: string; reference: string; status: string }[], heard: Heard[]): string[] {
  const successes = new Map<string, Set<string>>()
  for (const { headers, body } of heard) {
    const { type, data } = JSON.parse(body)
    if (type !== 'payment.successful') continue
    const ids = successes.get(data.payment.id) ?? new Set()
    successes.set(data.payment.id, ids.add(String(headers['webhook-id'])))
  }
  return payments.flatMap(({ id, reference, status }) => {
    const times = successes.get(id)?.size ?? 0
    const wanted = status === 'successful' ? 1 : 0
    return times === wanted ? [] : [`${reference} (${status}): its success was told ${times} times`]
  })
}

function readAttempts(database: Database): Promise<AttemptRow[]> {
  return database.rows(sql`
    select a.reference, p.reference as payment, a.order_reference, a.channel, a.status, (select c.summary from cases c where c.subject = a.id::text and c.closed_at is null and c.summary not like 'held: %' order by c.id limit 1) as needs_review, a.amount_charged
      from attempts a join payments p on p.id = a.payment_id`)
}

async function readReceipts(database: Database): Promise<Entry[]> {
  const rows = await database.rows<{ reference: string; id: string; amount: number; currency: string }>(sql`
    select coalesce(a.order_reference, 'nobody''s') as reference, r.transaction_id as id, r.amount, r.currency
      from receipts r left join attempts a on a.id = r.attempt_id`)
  return rows.map(({ reference, id, amount, currency }) => entry(reference, id, amount, currency))
}

function readRefunds(database: Database): Promise<RefundRow[]> {
  return database.rows(sql`
    select r.id, p.reference as payment, a.order_reference, a.channel, r.kind, r.status, r.amount, r.currency,
           r.failure, coalesce(d.settled_by, case when r.kind = 'chargeback' then d.provider_dispute_id end,
                               r.provider_refund_id) as provider_refund_id
      from refunds r join attempts a on a.id = r.attempt_id join payments p on p.id = r.payment_id
      left join disputes d on d.refund_id = r.id`)
}

function readDisputes(database: Database): Promise<DisputeRow[]> {
  return database.rows(sql`
    select a.order_reference, d.provider_dispute_id as id, d.status
      from disputes d join attempts a on a.id = d.attempt_id`)
}

const entryOf = ({ order_reference, provider_refund_id, amount, currency }: RefundRow): Entry =>
  entry(order_reference, provider_refund_id ?? 'without an id', amount, currency)

const entry = (reference: string, id: string, amount: number, currency: string) =>
  ({ reference, id, amount: { amount, currency } }) as Entry

const sum = (entries: Entry[]) => entries.reduce((total, { amount }) => total + amount.amount, 0)
