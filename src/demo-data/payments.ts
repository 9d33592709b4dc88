import type { Country } from '../kernel/country.ts'
import { newId, newShortCode, type PaymentId } from '../kernel/ids.ts'
import { DEFAULT_CURRENCY } from '../kernel/money.ts'
import type { Scope } from '../kernel/scope.ts'
import type { LinkTerms } from '../payments/state/payment-link.ts'
import { insertLink } from '../payments/store/payment-links.ts'
import { insertUnmatchedMoney, tidyDemoPayments } from './payments-store.ts'
import { type DemoDataDeps, type DemoLinks, type DemoPlan, randomBy, SANDBOX, Story, WORKSHOP_PRICE } from './story.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const PER_TRANSACTION = 25
const AT_ONCE = 4
const UNMATCHED = 3

/** Payments of the last months, to see the dashboard with. Their providers do not know them. */
export async function writeDemoPayments(deps: DemoDataDeps, scope: Scope, plan: DemoPlan): Promise<void> {
  const links = await addLinks(deps, scope, plan)
  const starts = startTimes(plan)
  const groups = Array.from(
    { length: Math.ceil(starts.length / PER_TRANSACTION) },
    (_, index) => index * PER_TRANSACTION,
  )
  const work = groups.values()
  const writeSome = async () => {
    for (const first of work)
      await deps.database.transaction(async (tx) => {
        const written: PaymentId[] = []
        for (const [index, start] of starts.slice(first, first + PER_TRANSACTION).entries())
          written.push(new Story(deps, tx, scope, { ...plan, ...links }, first + index + 1, start).tell())
        tidyDemoPayments(tx, scope.place, written)
      })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, writeSome))
  for (let number = 1; number <= UNMATCHED; number++) {
    const at = new Date(plan.now.getTime() - number * 2 * DAY)
    const transactionId = `demo-${plan.seed}-unmatched-${number}`
    const amount = 450_000 * number
    const receipt = { transactionId, amount, at, currency: 'NGN', provider: SANDBOX.name }
    await deps.database.transaction((tx) => insertUnmatchedMoney(tx, scope, receipt))
  }
}

async function addLinks({ database }: DemoDataDeps, scope: Scope, { now }: DemoPlan): Promise<DemoLinks> {
  const terms: LinkTerms = {
    ...{ title: 'Pottery workshop', description: 'Saturday, two hours, clay included.', amount: WORKSHOP_PRICE },
    ...{ minAmount: null, maxAmount: null, currency: DEFAULT_CURRENCY, country: 'NG' as Country },
    ...{ customerBearsCharge: false, collectName: true, collectPhoneNumber: false, customField: 'Which Saturday?' },
    ...{ maxPayments: null, active: true, redirectURL: null, metadata: {} },
  }
  const donation = { ...terms, title: 'Help us buy a kiln', description: null, amount: null, customField: null }
  const add = async (wanted: LinkTerms) => {
    const id = newId('link', now, scope.place)
    const code = newShortCode(now, scope.place)
    await database.transaction((tx) => insertLink(tx, scope, { ...wanted, id, code, createdAt: now, expiresAt: null }))
    return id
  }
  return { workshop: await add(terms), donation: await add(donation) }
}

/** More payments by day than by night, on working days than on Sundays, and in each week than in the one before. */
function startTimes({ payments, days, seed, now }: DemoPlan): Date[] {
  const random = randomBy(seed)
  const weightOf = (at: Date) =>
    (HOURS[at.getUTCHours()] ?? 1) *
    (at.getUTCDay() === 0 ? 0.5 : 1) *
    (1 + (at.getTime() - now.getTime()) / DAY / days / 2)
  const times: Date[] = []
  while (times.length < payments) {
    const at = new Date(now.getTime() - MINUTE - random() * days * DAY)
    if (random() * Math.max(...HOURS) < weightOf(at)) times.push(at)
  }
  return times.sort((a, b) => a.getTime() - b.getTime())
}
const HOURS = [1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 13, 13, 14, 13, 12, 12, 13, 13, 12, 11, 9, 6, 4, 2]
