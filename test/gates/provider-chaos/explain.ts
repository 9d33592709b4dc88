import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import type { PlayedProvider } from './customers.ts'

const MOST = 10

/**
 * Everything on record, here and at the provider, about the orders that differ: a run cannot be repeated to the
 * millisecond.
 */
export async function explain(database: Database, fake: PlayedProvider, differences: string[]): Promise<string[]> {
  const attempts = await database.rows<{ id: string; reference: string; payment: string; order_reference: string }>(sql`
    select a.id, a.reference, p.reference as payment, a.order_reference
      from attempts a join payments p on p.id = a.payment_id`)
  const differing = attempts.filter(({ reference, payment, order_reference }) =>
    differences.some(
      (text) => [reference, order_reference].some((name) => text.includes(name)) || text.startsWith(`${payment}:`),
    ),
  )
  const { taken, givenBack } = await fake.ledger()
  const lines: string[] = []
  for (const { id, reference, order_reference } of differing.slice(0, MOST)) {
    const rows = await database.rows<{ line: string }>(sql`
      select 'attempt ' || to_jsonb(a)::text as line from attempts a where id = ${id}
      union all select 'receipt ' || to_jsonb(r)::text from receipts r where attempt_id = ${id}
      union all select 'refund ' || to_jsonb(r)::text from refunds r where attempt_id = ${id}
      union all select 'dispute ' || to_jsonb(d)::text from disputes d where attempt_id = ${id}
      union all select 'call ' || to_jsonb(c)::text from provider_calls c where attempt_id = ${id}
      union all select concat_ws(' ', 'event', e.occurred_at, e.type, e.cause, e.data -> 'refund') from events e
                 where payment_id = (select payment_id from attempts where id = ${id})`)
    const theirs = [...taken, ...givenBack].filter((entry) => entry.reference === order_reference)
    lines.push(`${reference}:`, ...rows.map(({ line }) => `  ${line}`))
    lines.push(...theirs.map((entry) => `  provider ${JSON.stringify(entry)}`))
  }
  return lines
}
