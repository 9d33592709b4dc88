import { connect } from '../src/database/database.ts'
import { SANDBOX_MERCHANT_ID } from '../src/integrations/create-merchant.ts'
import type { Country } from '../src/kernel/country.ts'
import { newId } from '../src/kernel/ids.ts'
import type { Currency } from '../src/kernel/money.ts'
import { groupByPlace, randomPlace } from '../src/kernel/place.ts'
import { findMerchant } from '../src/merchants/merchant-store.ts'
import { newPayment } from '../src/payments/start/create-payment.ts'
import { insertPayments, type NewPayment } from '../src/payments/store/payments.ts'
import type { BenchDatabase } from './bench-database.ts'
import type { Duration, Gauge, Measurement } from './measure.ts'
import { startManilla, stop } from './subjects.ts'

export interface GrowthPlan extends Duration {
  rounds: number
  /** See RoundsPlan. */
  compileMs: number
  rows: number
}

/** One round: the service on a table that was empty a moment ago, and on a large one. */
export interface GrowthRound {
  empty: Measurement
  large: Measurement
}

export const GROWTH_CONNECTIONS = 64

const MERCHANTS = 20
const ROWS_PER_INSERT = 5_000
const INSERTS_AT_ONCE = 2
const MS_BETWEEN_PAYMENTS = 100

/** Two databases with a service each, measured in turns. */
export async function runGrowth(
  database: BenchDatabase,
  gauge: Gauge,
  plan: GrowthPlan,
  say: (line: string) => void,
): Promise<GrowthRound[]> {
  const emptyUrl = await database.create('empty')
  const largeUrl = await database.create('large')
  const startedAt = performance.now()
  await fill(largeUrl, plan.rows)
  await database.ask(largeUrl, 'vacuum (analyze) payments') // as autovacuum would have done
  say(`${plan.rows} payments written in ${Math.round((performance.now() - startedAt) / 1_000)} s`)

  const onEmpty = await startManilla(emptyUrl)
  const onLarge = await startManilla(largeUrl)
  const measureEmpty = async () => {
    // Foreign keys and triggers prevent deletes. This database is temporary, so they are turned off.
    await database.ask(emptyUrl, 'set session_replication_role = replica; truncate payments cascade')
    await database.checkpoint()
    return gauge.measure(onEmpty, GROWTH_CONNECTIONS, plan)
  }
  const measureLarge = async () => {
    await database.checkpoint()
    return gauge.measure(onLarge, GROWTH_CONNECTIONS, plan)
  }
  for (const subject of [onEmpty, onLarge]) {
    await gauge.measure(subject, GROWTH_CONNECTIONS, { warmUpMs: plan.compileMs, measureMs: 100 })
  }

  const rounds: GrowthRound[] = []
  for (let number = 0; number < plan.rounds; number++) {
    if (number % 2 === 0) {
      const empty = await measureEmpty()
      rounds.push({ empty, large: await measureLarge() })
    } else {
      const large = await measureLarge()
      rounds.push({ empty: await measureEmpty(), large })
    }
  }
  await stop(onEmpty.child)
  await stop(onLarge.child)
  say(`growth: ${plan.rounds} rounds done`)
  return rounds
}

/** Payments as the service itself writes them, over the days before now, of several merchants, with the one under load among them. */
async function fill(url: string, rows: number): Promise<void> {
  const database = connect({ url, connections: INSERTS_AT_ONCE, poolWaitMs: 60_000, statementTimeoutMs: 60_000 })
  const sandbox = await findMerchant(database, SANDBOX_MERCHANT_ID)
  if (!sandbox) throw new Error('the database has no sandbox merchant')
  const others = Array.from({ length: MERCHANTS - 1 }, () => ({
    id: newId('merchant', new Date()),
    place: randomPlace(),
  }))
  const merchants = [sandbox, ...others]
  const nowMs = Date.now()
  let made = 0
  const paymentAt = (number: number): NewPayment => {
    const at = new Date(nowMs - (rows - number) * MS_BETWEEN_PAYMENTS)
    const { id: merchantId, place } = merchants[number % MERCHANTS] ?? sandbox
    const wanted = {
      caller: { merchantId, place, mode: 'sandbox' as const },
      reference: undefined,
      request: {
        amount: 1_250_000,
        currency: 'NGN' as Currency,
        country: 'NG' as Country,
        customerBearsCharge: false,
        user: {
          id: null,
          email: `customer-${(number * 7_919) % 1_000_000}@example.com`,
          phoneNumber: null,
          name: 'Ada',
        },
        redirectURL: 'https://shop.example/thanks',
        webhook: null,
        metadata: {},
      },
      expiresInSeconds: 86_400,
      idempotency: undefined,
    }
    return newPayment(wanted, at)
  }
  const insertInTurn = async () => {
    while (made < rows) {
      const first = made
      made = Math.min(rows, made + ROWS_PER_INSERT)
      const payments = Array.from({ length: made - first }, (_, index) => paymentAt(first + index))
      for (const [place, group] of groupByPlace(payments, ({ payment }) => payment.place))
        await insertPayments(database, place, group)
    }
  }
  try {
    await Promise.all(Array.from({ length: INSERTS_AT_ONCE }, insertInTurn))
  } finally {
    await database.close()
  }
}
