import type { BenchDatabase } from '../bench-database.ts'

/**
 * Fills a database with copies of one payment that the service itself has taken, with all its texts, so that only the
 * columns that differ are named here: ids and references. All times are moved to the past, one payment every 100 ms.
 */
export async function preload(
  database: BenchDatabase,
  url: string,
  payments: number,
  { first = 1, ago = EVERY_100_MS, isClosed = false, keepsIndexes = false }: PreloadOptions = {},
): Promise<void> {
  const [original] = await database.ask<{ id: string; at: Date; told: number }>(
    url,
    `select p.id, p.created_at as at, e.sequence as told from payments p join events e on e.payment_id = p.id
       join deliveries d on d.event_id = e.id
      where p.status = 'successful' and d.state = 'delivered'
        and (select count(*) from deliveries o where o.place = e.place and o.event_id = e.id) = 1
      order by p.id desc limit 1`,
  )
  if (!original) throw new Error('there is no payment to copy')
  const tables = rowsOf(original.id)
  const { at, told } = original
  const replaced: Record<string, string> = {
    ...replacements(at, told),
    ...(isClosed ? NOTHING_DUE : {}),
  }
  const copy = async (table: string, rows: string) => {
    // Made anew at the end, in a third of the time.
    const indexes = keepsIndexes ? [] : await dropIndexes(database, url, table)
    const columns = await database.ask<{ name: string; isTime: boolean }>(
      url,
      `select attname as name, atttypid = 'timestamptz'::regtype as "isTime" from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''`,
    )
    const values = columns.map(
      ({ name, isTime }) =>
        replaced[`${table}.${name}`] ?? replaced[name] ?? (isTime ? `t.${name} - ago.ago` : `t.${name}`),
    )
    // Foreign keys are not checked: the rows are right by construction, and it takes half the time.
    await database.ask(
      url,
      `set session_replication_role = replica;
       insert into ${table} (${columns.map(({ name }) => name).join(', ')})
       select ${values.join(', ')}
         from (select * from ${table} where ${rows}) t, generate_series(${first}, ${first + payments - 1}) n,
              lateral (select ${ago(at, payments)} as ago) ago`,
    )
    for (const index of indexes) await database.ask(url, `set maintenance_work_mem = '512MB'; ${index}`)
  }
  // Two tables at a time.
  const left = Object.entries(tables)
  const copyLeft = async () => {
    for (let next = left.shift(); next; next = left.shift()) await copy(...next)
  }
  await Promise.all([copyLeft(), copyLeft()])
  if (keepsIndexes) return
  await database.ask(url, `vacuum (analyze) ${Object.keys(tables).join(', ')}`) // as autovacuum would have done long ago
}

export interface PreloadOptions {
  /** The number of the first copy: each number can be used once. */
  first?: number
  /** How long before the original, which was made at that time, copy n was made, as SQL. */
  ago?: (original: Date, payments: number) => string
  /** Nothing is left to do for them. */
  isClosed?: boolean
  /** For few copies in a large table. */
  keepsIndexes?: boolean
}

const EVERY_100_MS = (_original: Date, payments: number) =>
  `(${payments} - n) * interval '100 milliseconds' + interval '1 hour'`

const NOTHING_DUE = { next_check_at: 'null' }

/** All but those of constraints. Returns the statements that make them again. */
async function dropIndexes(database: BenchDatabase, url: string, table: string): Promise<string[]> {
  const indexes = await database.ask<{ name: string; definition: string }>(
    url,
    `select indexrelid::regclass as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = '${table}'::regclass
        and not exists (select from pg_constraint where conindid = indexrelid)`,
  )
  for (const { name } of indexes) await database.ask(url, `drop index ${name}`)
  return indexes.map(({ definition }) => definition)
}

/** The rows of the payment that is copied, in each table that grows with payments. */
function rowsOf(payment: string): Record<string, string> {
  const ofPayment = `payment_id = '${payment}'`
  const ofAttempt = `attempt_id in (select id from attempts where ${ofPayment})`
  const ofEvent = `event_id in (select id from events where ${ofPayment})`
  return {
    payments: `id = '${payment}'`,
    attempts: ofPayment,
    receipts: ofPayment,
    notices: ofAttempt,
    provider_calls: ofAttempt,
    events: ofPayment,
    deliveries: ofEvent,
    delivery_tries: `delivery_id in (select id from deliveries where ${ofEvent})`,
  }
}

/** A UUIDv7 of the n-th payment: indexes grow at their ends, as they do in service. */
function uuidAt(time: Date, part: string): string {
  const ms = `${time.getTime()} - (extract(epoch from ago.ago) * 1000)::bigint`
  return `(lpad(to_hex(${ms}), 12, '0') || '7' || lpad(to_hex(${part}), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid`
}

const LATER = `now() + interval '6 hours' + n * interval '40 milliseconds'`

/** Keyed by column, or by table and column. `told`: the sequence of the event that was delivered. */
function replacements(now: Date, told: number): Record<string, string> {
  const uuid = (part: string) => uuidAt(now, part)
  const number = `lpad(n::text, 12, '0')`
  return {
    'payments.id': uuid('0'),
    'attempts.id': uuid('0'),
    'events.id': uuid('t.sequence'),
    'deliveries.id': uuid('0'),
    payment_id: uuid('0'),
    attempt_id: uuid('0'),
    event_id: uuid(String(told)),
    delivery_id: uuid('0'),
    'payments.reference': `'P' || ${number}`,
    'payments.short_code': `'p' || ${number}`,
    'payments.user_email': `'customer-' || n::bigint * 7919 % 1000000 || '@example.com'`,
    'attempts.reference': `'P' || ${number} || '-1'`,
    order_reference: `'o' || ${number}`,
    provider_reference: `'o' || ${number}`,
    'notices.reference': `'o' || ${number}`,
    transaction_id: `'9' || ${number}`,
    // None is due during the run: the provider does not know the copies.
    next_check_at: LATER,
    'notices.digest': `sha256(n::text::bytea)`, // in no order, as digests are
  }
}
