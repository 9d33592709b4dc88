import { setTimeout as pause } from 'node:timers/promises'
import { connect, type Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { SANDBOX_MERCHANT_ID } from '../../../src/integrations/create-merchant.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { FAKES_WITH_CARDS } from '../../fakes/index.ts'
import { Killer } from '../killer.ts'
import { Shop } from '../provider-chaos/shop.ts'
import type { Random } from '../random.ts'
import { minus, mustBeNone, printRows } from '../report.ts'
import { headersOf } from '../settings.ts'
import { COPIES, withCopies } from './slots.ts'

// These providers have no idempotency key for refunds: a repeated request makes a second refund.
const TESTED = FAKES_WITH_CARDS.filter(({ features }) => !features.idempotentRefunds)
const CLIENTS = 8
const PAYMENTS_PER_KILL = 4
const PAID_WITHIN_MS = 120_000
/** A lease lasts a minute, and the copy that takes it over may be killed in turn. */
const SETTLED_WITHIN_MS = 300_000

export interface RefundPart {
  kills: number
  payments: number
  /** Of refunds, by the key of the call. */
  askedFor: number
  repeated: number
  /** Refunds at the providers, and their sum there and in our records. */
  made: number
  /** Asked for perhaps, and not made: each has a case. */
  leftToAPerson: number
  sums: { theirs: number; ours: number }
  differences: string[]
}

interface Refund {
  provider: string
  payment: string
  amount: number
  key: string
  id: string | undefined
}

/**
 * Copies are killed in the middle of refunds, while clients repeat theirs with the same key. Then our records must
 * equal the providers' ledgers.
 */
export function crashOfRefunds(random: Random, kills: number): Promise<RefundPart> {
  return withCopies(async ({ databaseUrl, env, copies }) => {
    const database = connect({ url: databaseUrl })
    const shop = new Shop(copies, random, { headers: headersOf(env) })
    const ends: (() => Promise<void>)[] = []
    try {
      const fakes = await Promise.all(TESTED.map(({ start }) => start({ after: (end) => void ends.push(end) })))
      for (const fake of fakes) await shop.setUp(fake)
      const wanted = await pay(database, shop, fakes, random, Math.max(4, kills * PAYMENTS_PER_KILL))
      const killer = new Killer(random, copies.slots, kills)
      for (const { upstream } of fakes) upstream.trouble = ({ method, path }) => killer.look(method, path)
      const repeated = await Promise.race([refundAll(shop, random, wanted), killer.failed])
      for (const { upstream } of fakes) upstream.trouble = undefined
      await killer.allBack()
      await settled(database, shop, fakes)
      return { kills: killer.made, askedFor: wanted.length, repeated, ...(await compare(database, fakes, wanted)) }
    } finally {
      for (const end of ends) await end()
      await database.close()
    }
  })
}

/** Paid payments, with the refunds that will be asked for. */
async function pay(
  database: Database,
  shop: Shop,
  fakes: FakeProvider[],
  random: Random,
  payments: number,
): Promise<Refund[]> {
  const wanted: Refund[] = []
  for (let number = 0; number < payments; number++) {
    const fake = fakes[number % fakes.length] as FakeProvider
    const { name } = fake.provider.capabilities
    const { amount, currency, country } = fake.price
    const payment = `refunded-${number}`
    const body = { provider: name, reference: payment, amount, currency, country, user: { email: 'ada@example.com' } }
    const answer = await shop.askUntilKnown('initialize', 'POST', '/payments/v1/payments/initialize', body)
    if (answer.status !== 200) throw new Error(`initialize: ${JSON.stringify(answer.body)}`)
    const row = await database.row<{ order: string }>(
      sql`select order_reference as order from attempts where reference = ${answer.body.data.reference}`,
    )
    await fake.customer.payByCard(String(row?.order), { save: false })
    await deliverNotices(shop, fake)
    const third = Math.floor(amount / 3)
    for (const share of random.pick([[amount], [third], [third, third + 1]])) {
      wanted.push({ provider: name, payment, amount: share, key: crypto.randomUUID(), id: undefined })
    }
  }
  await untilNone(database, PAID_WITHIN_MS, 'unpaid', sql`select count(*) from payments where status <> 'successful'`)
  return wanted
}

/**
 * Each client repeats a refund with its key until it is answered, some once more. Returns how many calls were repeats.
 */
async function refundAll(shop: Shop, random: Random, wanted: Refund[]): Promise<number> {
  let next = 0
  let repeated = 0
  async function client(): Promise<void> {
    while (next < wanted.length) {
      const refund = wanted[next++] as Refund
      const path = `/payments/v1/payments/${refund.payment}/refunds`
      const headers = { 'idempotency-key': refund.key }
      const again = random.chance(0.3) ? 2 : 1
      for (let answered = 0, calls = 0; answered < again; calls++) {
        if (calls > 0) repeated++
        const answer = await shop.ask('refund', 'POST', path, { amount: refund.amount }, headers)
        if (answer.status === 201) {
          if (refund.id && refund.id !== answer.body.data.id) throw new Error(`two refunds under the key ${refund.key}`)
          refund.id = answer.body.data.id
          answered++
        } else if (answer.status < 500 && answer.body.code !== 'idempotency_in_progress') {
          throw new Error(`a refund was answered with ${answer.status}: ${JSON.stringify(answer.body)}`)
        } else await pause(random.between(50, 500))
      }
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return repeated
}

async function deliverNotices(shop: Shop, fake: FakeProvider): Promise<void> {
  const url = `/notices/${fake.provider.capabilities.name}/sandbox/${SANDBOX_MERCHANT_ID}`
  for (const { headers, body } of fake.takeNotices()) {
    await shop.askUntilKnown('notice', 'POST', url, JSON.parse(body.toString()), headers)
  }
}

/**
 * A provider may complete a refund only some time after it was made. A fake does so when it sends the notice. A copy
 * that is killed just before its call leaves a refund that may have been asked for: no list has it, and after a day a
 * person is asked, as a second call could make a second refund. For those, two days pass here.
 */
function settled(database: Database, shop: Shop, fakes: FakeProvider[]): Promise<void> {
  const pending = sql`
    select count(*) from refunds r
     where status = 'pending'
       and not exists (select from cases c where c.subject = r.id::text and c.closed_at is null)`
  return untilNone(database, SETTLED_WITHIN_MS, 'pending, without a case', pending, async () => {
    for (const fake of fakes) await deliverNotices(shop, fake)
    // After some tries the waits are longer than this gate.
    await database.rows(sql`
      update refunds
         set due_at = now(),
             asked_at = case when tries > 5 and asked_at > now() - interval '1 day' then asked_at - interval '2 days'
                             else asked_at end
       where status = 'pending' and tries > 0 and due_at > now() + interval '1 minute'`)
  })
}

async function untilNone(
  database: Database,
  withinMs: number,
  what: string,
  query: ReturnType<typeof sql>,
  meanwhile: () => Promise<void> = async () => {},
): Promise<void> {
  for (const deadline = performance.now() + withinMs; ; await pause(500)) {
    await meanwhile()
    const row = await database.row<{ count: number }>(query)
    if (row?.count === 0) return
    if (performance.now() > deadline) throw new Error(`${row?.count} are still ${what} after ${withinMs} ms`)
  }
}

async function compare(
  database: Database,
  fakes: FakeProvider[],
  wanted: Refund[],
): Promise<Pick<RefundPart, 'payments' | 'made' | 'leftToAPerson' | 'sums' | 'differences'>> {
  const ours = await database.rows<{
    order: string
    amount: number
    status: string
    kind: string
    provider: string
  }>(sql`
    select a.order_reference as order, r.amount, r.status, r.kind, a.provider
      from refunds r join attempts a on a.id = r.attempt_id`)
  const theirs = fakes.flatMap((fake) =>
    fake.ledger().givenBack.map(({ reference, amount }) => `${reference} ${amount.amount}`),
  )
  const booked = ours.filter(({ status }) => status === 'successful').map(({ order, amount }) => `${order} ${amount}`)
  const sum = (all: string[]) => all.reduce((total, each) => total + Number(each.split(' ')[1]), 0)
  const differences = [
    ...minus(theirs, booked).map((each) => `refund ${each} is at the provider and not in our records`),
    ...minus(booked, theirs).map((each) => `refund ${each} is in our records and not at the provider`),
    ...ours
      .filter(({ kind, status }) => kind !== 'merchant' || status === 'failed')
      .map(({ order, kind, status }) => `a refund of ${order} is ${kind} and ${status}`),
    ...(ours.length === wanted.length ? [] : [`${wanted.length} were requested, ${ours.length} are in our records`]),
  ]
  const payments = new Set(wanted.map(({ payment }) => payment)).size
  const leftToAPerson = ours.filter(({ status }) => status === 'pending').length
  const sums = { theirs: sum(theirs), ours: sum(booked) }
  return { payments, made: theirs.length, leftToAPerson, sums, differences }
}

export function printRefunds({
  kills,
  payments,
  askedFor,
  repeated,
  made,
  leftToAPerson,
  sums,
  differences,
}: RefundPart): string {
  const rows: [string, string | number][] = [
    ['kills', kills],
    ['payments', payments],
    ['refunds', `${askedFor} asked for, ${repeated} calls repeated, ${made} made`],
    ['not made, and left to a person', leftToAPerson],
    ['sums', `${sums.theirs} at the providers, ${sums.ours} in our records`],
    ['differences', mustBeNone(differences.length)],
  ]
  return printRows(`${COPIES} copies, killed in the middle of refunds`, rows, differences, 10)
}
