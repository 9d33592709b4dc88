import type { PageRange } from './dispute-store.ts'
import { cursorAfter } from './disputes.ts'
import type { Chance } from './faults.ts'
import { feeOfTransaction } from './fee-of-transaction.ts'
import type { LedgerDeps } from './ledger.ts'
import { transactionId } from './record.ts'
import { notFound } from './refusal.ts'
import {
  findLines,
  findSettlements,
  insertSettlement,
  lockUnsettled,
  oldestUnsettled,
  type SettledTransaction,
  type Settlement,
} from './settlement-store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const PAID_AFTER_MS = 2 * HOUR_MS
const LATE_BY_MS = 7 * DAY_MS
/** A bank of Nigeria takes ₦50 for a credit of ₦10,000 or more. No line names it. */
const DUTY = { amount: 5_000, above: 1_000_000 }
/** One list makes no more settlements than this. */
const MOST_AT_ONCE = 400

const isTaken = ({ kind }: Pick<SettledTransaction, 'kind'>) => kind === 'charge' || kind === 'transfer'

function lineOf(of: SettledTransaction) {
  const { kind, amount, currency, channel, reference, isOfDispute } = of
  const taken = isTaken(of)
  const gross = isOfDispute ? 0 : taken || kind === 'reinstatement' ? amount : -amount
  const fee = taken ? feeOfTransaction(channel, currency, amount) : 0
  return { id: transactionId(of), kind, reference, gross, fee, net: gross - fee }
}

/** Settles each day that is over, at the first request after it: what was taken, less fees and what was given back. */
export async function settleDays(deps: LedgerDeps, chance: Chance, merchantUuid: string): Promise<void> {
  const oldest = await oldestUnsettled(deps.database, merchantUuid)
  const now = deps.clock.now().getTime()
  const hourMs = deps.settlesAtHour * HOUR_MS
  let end = oldest ? Math.floor((oldest.getTime() - hourMs) / DAY_MS + 1) * DAY_MS + hourMs : now + 1
  for (let days = 0; end <= now && days < MOST_AT_ONCE; days++, end += DAY_MS)
    await settleUntil(deps, chance, merchantUuid, {
      end: new Date(end),
      paidAt: new Date(nextWorkingDay(end) + PAID_AFTER_MS),
    })
}

/** Until this moment, and paid at once. For a merchant’s tests. */
export async function settleNow(deps: LedgerDeps, chance: Chance, merchantUuid: string) {
  const now = deps.clock.now()
  const made = await settleUntil(deps, chance, merchantUuid, { end: new Date(now.getTime() + 1), paidAt: now })
  return made.map((each) => settlementView(each, now))
}

async function settleUntil(
  { database }: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  { end, paidAt }: { end: Date; paidAt: Date },
): Promise<Settlement[]> {
  return database.transaction(async (tx) => {
    const made: Settlement[] = []
    const all = await lockUnsettled(tx, merchantUuid, end)
    for (const [currency, ofCurrency] of Map.groupBy(all, (each) => each.currency)) {
      const lines = ofCurrency.map(lineOf)
      const sum = (of: 'gross' | 'fee') => lines.reduce((total, line) => total + line[of], 0)
      const [gross, fees] = [sum('gross'), sum('fee')]
      const deductions = currency === 'NGN' && gross - fees >= DUTY.above ? DUTY.amount : 0
      const exact = gross - fees - deductions
      if (exact <= 0) continue // it stays on the balance until there is more
      const net = chance.happens('shortSettlement') ? exact - Math.ceil(exact / 100) : exact
      const late = chance.happens('lateSettlement') ? LATE_BY_MS : 0
      const day = paidAt.toISOString().slice(0, 10)
      const settlement = {
        currency,
        day,
        gross,
        fees,
        deductions,
        net,
        madeAt: end,
        paidAt: new Date(paidAt.getTime() + late),
      }
      made.push(
        await insertSettlement(
          tx,
          merchantUuid,
          settlement,
          ofCurrency.map(({ id }) => id),
        ),
      )
    }
    return made
  })
}

function nextWorkingDay(atMs: number): number {
  const day = new Date(atMs).getUTCDay()
  return atMs + (day === 6 ? 2 : day === 0 ? 1 : 0) * DAY_MS
}

function settlementView({ id, madeAt, paidAt, ...of }: Settlement, now: Date) {
  const isPaid = paidAt <= now
  return {
    id: `gst_${id}`,
    ...of,
    status: isPaid ? 'paid' : 'pending',
    madeAt: madeAt.toISOString(),
    paidAt: isPaid ? paidAt.toISOString() : null,
    bankReference: isPaid ? `SANDBOX-${id}` : null,
  }
}

export async function listSettlements(deps: LedgerDeps, merchantUuid: string, range: PageRange) {
  const found = await findSettlements(deps.database, merchantUuid, range)
  const now = deps.clock.now()
  return { settlements: found.map((each) => settlementView(each, now)), nextCursor: cursorAfter(found, range) }
}

export async function listLines(
  { database }: LedgerDeps,
  merchantUuid: string,
  id: number,
  range: Pick<PageRange, 'after' | 'limit'>,
) {
  const found = await findLines(database, merchantUuid, id, range)
  if (!found) throw notFound('There is no settlement with this id.')
  return {
    lines: found.map(lineOf),
    nextCursor: found.length === range.limit ? String(found.at(-1)?.id) : null,
  }
}
