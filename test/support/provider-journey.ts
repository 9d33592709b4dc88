import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { ANNOUNCED } from '../../src/events/event.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { recordsAfter } from '../../src/payments/store/audit-records.ts'
import type { Features } from '../fakes/conformance-rig.ts'
import type { Fake } from '../fakes/fake-provider.ts'
import { FAKES_WITH_CARDS } from '../fakes/index.ts'
import { eventually } from './paying.ts'
import type { At, ProviderWorld } from './provider-world.ts'
import { newVisitor, SHOP, type Visitor } from './visitor.ts'

/**
 * The same tests with every provider. Each has its own shop, so they run in parallel; the tests of one provider run in
 * sequence.
 */
export async function withEach(
  world: ProviderWorld,
  what: string,
  register: (features: Features, place: At) => void,
  fakes: readonly Fake[] = FAKES_WITH_CARDS,
): Promise<At[]> {
  const places = await Promise.all(fakes.map(({ start }) => world.addProvider(start)))
  describe(what, { concurrency: true }, () => {
    for (const [index, place] of places.entries()) {
      describe(place.name, { concurrency: 1 }, () => register(fakes[index]?.features ?? assert.fail(), place))
    }
  })
  return places
}

/** Opens our page, then the provider's. */
export async function openTheirs(
  { fake }: At,
  url: string,
  more: Record<string, string | undefined> = {},
): Promise<Visitor> {
  const customer = newVisitor()
  await customer.go(url)
  assert.equal(customer.state, 'choose')
  await customer.send({ action: 'pay', method: 'card' }, more)
  assert.equal(customer.state, 'provider')
  await customer.goOn()
  assert.ok(customer.url.startsWith(fake.upstream.url), customer.url)
  return customer
}

/** Redirected there by us, after a check. */
export function assertBackAtShop({ baseUrl }: ProviderWorld, customer: Visitor, reference: string): void {
  assert.equal(customer.url, `${SHOP}/thanks?order=7&status=successful&reference=${reference}`)
  const { url, status } = customer.hops.at(-1) ?? assert.fail()
  assert.ok(url.startsWith(`${baseUrl}/return/att_`), url)
  assert.equal(status, 302)
}

/**
 * A customer pays on the provider's page with a card that can be saved; a notice reports it. `save`: the consent on our
 * page.
 */
export async function payByCard(
  place: At,
  changes: Record<string, unknown> = {},
  { save = false } = {},
): Promise<string> {
  const { reference, url } = await place.checkout(changes)
  await openTheirs(place, url, { save: save ? '1' : undefined })
  await place.fake.customer.payByCard(await place.orderOf(reference), { save: true })
  await place.pump()
  await becomes(place, reference, 'successful')
  return reference
}

export const becomes = ({ payment }: At, reference: string, status: string) =>
  eventually(
    () => payment(reference),
    (now) => now.status === status,
  )

/** Of the payment, then of each attempt. */
export async function statusesOf({ payment }: At, reference: string): Promise<string[]> {
  const { status, attempts } = await payment(reference)
  return [status, ...attempts.map((attempt: { status: string }) => attempt.status)]
}

/** Our records equal the provider's ledger, every event was delivered once, and the audit finds no difference. */
export async function assertAllAgree({ database, listener }: ProviderWorld, places: At[]): Promise<void> {
  for (const { fake, name } of places) {
    const { taken, givenBack } = fake.ledger()
    const ours = await database.rows<{ id: string; amount: number }>(sql`
      select r.transaction_id as id, r.amount from receipts r join attempts a on a.id = r.attempt_id
       where a.provider = ${name}`)
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
    assert.deepEqual(
      ours.toSorted(byId),
      taken.map(({ id, amount }) => ({ id, amount: amount.amount })).toSorted(byId),
      name,
    )
    const back = await database.row<{ sum: number }>(sql`
      select coalesce(sum(r.amount), 0)::bigint as sum from refunds r join attempts a on a.id = r.attempt_id
       where a.provider = ${name} and r.status = 'successful'`)
    assert.equal(
      Number(back?.sum),
      givenBack.reduce((sum, { amount }) => sum + amount.amount, 0),
    )
  }
  const events = await database.rows<{ count: number }>(
    sql`select 1 as count from events where type = any(${[...ANNOUNCED]})`,
  )
  const heard = await eventually(
    async () => listener.heard.map(({ headers }) => headers['webhook-id']),
    ({ length }) => length >= events.length,
  )
  assert.deepEqual([new Set(heard).size, heard.length], [events.length, events.length])
  const records = await database.transaction((tx) => recordsAfter(tx, undefined, 500))
  assert.ok(records.length > 20)
  assert.deepEqual(
    records.flatMap((each) => audit(each)),
    [],
  )
}
