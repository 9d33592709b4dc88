import { pino } from 'pino'
import type { Database } from '../database/database.ts'
import { DEFAULT_CURRENCY } from '../kernel/money.ts'
import type { Scope } from '../kernel/scope.ts'
import { recordNoticed } from '../payments/settlements/import-settlements.ts'
import { expectedOn } from '../payments/state/settlement-delay.ts'
import { insertSettlement, newSettlement, updateSettlement } from '../payments/store/settlements.ts'
import type { ListedSettlement, ListedSettlementLine, Providers } from '../providers/provider.ts'
import { type DemoMoney, dropSettlementDeliveries, findDemoMoney } from './settlements-store.ts'
import { type DemoPlan, SANDBOX } from './story.ts'

const DAY = 24 * 3_600_000
const DAYS = 60
/** What a bank of Nigeria takes for a credit of ₦10,000 or more. No line names it. */
const DUTY = { amount: 5_000, above: 1_000_000 }
/** One of them pays out too little. */
const SHORT_BY = 25_000
const SHORT_DAYS_AGO = 8

/** Two months of settlements of the demo payments, one for each provider, currency and working day. */
export async function writeDemoSettlements(
  database: Database,
  scope: Scope,
  { seed, now }: Pick<DemoPlan, 'seed' | 'now'>,
): Promise<number> {
  const since = new Date(now.getTime() - DAYS * DAY)
  const money = await findDemoMoney(database, scope, { seed, since })
  let made = 0
  for (const [provider, ofProvider] of Map.groupBy(money, (each) => each.provider)) {
    const providers = { keysVersions: async () => [0] } as Partial<Providers> as Providers
    const deps = { database, clock: { now: () => now }, log: pino({ level: 'silent' }), providers }
    const account = { ...scope, provider, keysVersion: 0 }
    for (const [currency, ofCurrency] of Map.groupBy(ofProvider, (each) => each.currency)) {
      const days = daysOf(ofCurrency, now)
      const isHome = provider === SANDBOX.name && currency === DEFAULT_CURRENCY
      const short =
        isHome && days.findLast(({ day }) => day < expectedOn(new Date(now.getTime() - SHORT_DAYS_AGO * DAY), 0))
      for (const { day, lines } of days) {
        const sum = (of: 'gross' | 'fee') => lines.reduce((total, line) => total + (line[of] ?? 0), 0)
        const [gross, fees] = [sum('gross'), sum('fee')]
        const deductions = currency === 'NGN' && gross - fees >= DUTY.above ? DUTY.amount : 0
        const isShort = short && day === short.day
        const paidAt = new Date(`${day}T08:00:00Z`)
        const settlement: ListedSettlement = {
          ...{ id: `demo-${seed}-${provider}-${currency}-${day}`, currency, status: 'paid', because: null },
          ...{ madeAt: new Date(`${day}T05:00:00Z`), expectedOn: day, paidAt, gross, fees, deductions },
          ...{
            net: gross - fees - deductions - (isShort ? SHORT_BY : 0),
            bankReference: `DEMO${day.replaceAll('-', '')}`,
          },
          ...{ hasLines: true, difference: null },
        }
        await database.transaction(async (tx) => {
          // As if it had been announced when it was paid: no webhook tells of it now.
          const of = newSettlement(account, settlement, now)
          await insertSettlement(tx, { ...of, linesState: 'none' }, now)
          await updateSettlement(tx, { ...of, linesState: 'none', announcedAt: paidAt })
        })
        await recordNoticed(deps, account, { settlement, lines })
        made++
      }
    }
  }
  await dropSettlementDeliveries(database, scope)
  return made
}

/** What is paid out on each day until now. A day on which more went back than came in is paid with the next. */
function daysOf(money: DemoMoney[], now: Date): { day: string; lines: ListedSettlementLine[] }[] {
  const days: { day: string; lines: ListedSettlementLine[] }[] = []
  let left: ListedSettlementLine[] = []
  for (const [day, ofDay] of Map.groupBy(money, ({ at }) => expectedOn(at, 1))) {
    if (new Date(`${day}T08:00:00Z`) > now) continue
    const lines = [...left, ...ofDay.map(lineOf)]
    const isPaid = lines.reduce((sum, { net }) => sum + (net ?? 0), 0) > 0
    if (isPaid) days.push({ day, lines })
    left = isPaid ? [] : lines
  }
  return days
}

function lineOf({ kind, name, order, amount, fee, at: _ }: DemoMoney): ListedSettlementLine {
  const isPayment = kind === 'payment'
  const gross = isPayment ? amount : -amount
  const cost = fee ?? 0
  const of = { id: isPayment ? null : name, kind, transactionId: isPayment ? name : null, orderReference: order }
  return { ...of, gross, fee: cost, net: gross - cost }
}
