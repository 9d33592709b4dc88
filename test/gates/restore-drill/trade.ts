import { orderOf, type Visit } from '../provider-chaos/customers.ts'
import type { AttemptSeen } from '../provider-chaos/shop.ts'
import { type Market, untilSettled } from '../whole-payments/market.ts'

export interface Before {
  paid: Visit[]
  /** Customers who are on the provider's page at the restored moment. */
  onPage: { visit: Visit; attempt: AttemptSeen }[]
}

/** A payment that was created and paid after the restored moment. */
export interface Lost {
  visit: Visit
  /** Our reference at the provider. */
  order: string
}

const SETTLED_WITHIN_MS = 60_000

/** What the restored database knows. The backup is taken in the middle of it. */
export async function payBefore(market: Market, payments: number, backup: () => void): Promise<Before> {
  const paid = visits(market, 0, payments)
  const half = Math.ceil(payments / 2)
  for (const visit of paid.slice(0, half)) await pay(visit)
  backup()
  for (const visit of paid.slice(half)) await pay(visit)
  const onPage = []
  for (const visit of visits(market, payments, payments)) onPage.push({ visit, attempt: await start(visit) })
  await settled(market)
  return { paid, onPage }
}

/** What it does not know: payments of known attempts, new payments, and refunds. */
export async function payAfter(market: Market, payments: number, { paid, onPage }: Before): Promise<Lost[]> {
  for (const { visit, attempt } of onPage) await visit.pay(attempt)
  const lost: Lost[] = []
  for (const visit of visits(market, 2 * payments, payments)) lost.push({ visit, order: orderOf(await pay(visit)) })
  for (const visit of paid) await visit.refund()
  await settled(market)
  return lost
}

const visits = ({ visit }: Market, first: number, count: number) =>
  Array.from({ length: count }, (_, index) => visit(first + index))

async function start(visit: Visit): Promise<AttemptSeen> {
  const attempt = await visit.initialize()
  if (!attempt) throw new Error(`${visit.reference} could not be started`)
  return attempt
}

async function pay(visit: Visit): Promise<AttemptSeen> {
  const attempt = await start(visit)
  await visit.pay(attempt)
  await visit.untilSuccessful()
  return attempt
}

async function settled(market: Market): Promise<void> {
  const left = await untilSettled(market, SETTLED_WITHIN_MS)
  if (left.length > 0) throw new Error(left.join(', '))
}
