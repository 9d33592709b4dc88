import type pg from 'pg'

/**
 * Tables as large as those of a service that has been used for years, made by PostgreSQL itself. Row n of each table
 * has the same id.
 */
export const ROWS = 1_000_000
const SMALL_ROWS = 100
/** Of the merchant that has all rows. */
export const PLACE = 7
export const MERCHANT = '00000000-0000-7000-8000-00000000beef'

/** They hold what an operator or a merchant set up, not what happened: they do not grow with traffic. */
export const SMALL_TABLES: Record<string, string> = {
  merchants: 'set up by the operator',
  merchant_logos: 'one for each merchant',
  bank_columns: 'two for each merchant',
  credentials: 'a few for each merchant',
  integrations: 'one for each provider of a merchant',
  provider_accounts: 'one for each change of keys',
  reconciliation_runs: 'a few for each provider of a merchant',
  webhook_endpoints: 'limited for each merchant',
  webhook_secrets: 'one for each merchant and mode',
  receipt_settings: 'one for each merchant and mode',
  secret_keys: 'one for each key of the operator',
  delivery_workers: 'one for each running process',
  rollup_cursors: 'one for each place',
  gateway_faults: 'one for each merchant that asked for faults',
  members: 'the people of all merchants',
  memberships: 'a few for each member',
  passkeys: 'a few for each member',
  saved_views: 'limited for each member',
  alert_choices: 'two for each merchant of a member',
  alert_times: 'a few for each merchant of a member',
  recovery_codes: 'ten for each member',
  sessions: 'deleted when they end',
  one_time_links: 'deleted after they have ended',
  sign_in_tries: 'limited by address, deleted after a day',
  used_challenges: 'deleted when they expire',
}

export function uuidOfRow(row: number): string {
  return `00000000-0000-7000-8000-${row.toString(16).padStart(12, '0')}`
}

const UUID = `('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`
const ahead = (what: string) => `now() + (n - 100) * interval '1 second'${what}`

/**
 * What a column holds in row n, where its type alone would not be like real data. Keyed by column, or by table and
 * column.
 */
const VALUES: Record<string, string> = {
  place: String(PLACE),
  merchant_id: `'${MERCHANT}'::uuid`,
  mode: `'live'`,
  provider: `'gateway'`,
  currency: `'NGN'`,
  country: `'NG'`,
  email: `'user' || n || '@example.com'`,
  user_email: `'user' || n || '@example.com'`,
  endpoint: `'initialize'`,
  // A hundred of them are due, the rest wait.
  due_at: ahead(''),
  next_due_at: ahead(''),
  next_check_at: ahead(''),
  expires_at: ahead(''),
  owned_until: ahead(''),
  check_leased_until: `'-infinity'::timestamptz`,
  instructions: `'{"kind":"link"}'::jsonb`,
  'payments.status': `(array['pending','pending','successful','cancelled','expired'])[n % 5 + 1]`,
  // Few payments are made with a link, and one link has many of them.
  'payments.link_id': `case when n % 20 = 0 then '${uuidOfRow(1)}'::uuid end`,
  // Few payments are late, and few records of unmatched money were reviewed.
  'payments.late': 'n % 1000 = 0',
  'reviews.receipt_id': 'case when n % 1000 = 0 then n end',
  'attempts.status': `(array['pending','processing','successful','failed','abandoned'])[n % 5 + 1]`,
  'attempts.number': '1',
  'events.sequence': '1',
  'events.type': `(array['attempt.started','attempt.successful','payment.successful','attempt.failed'])[n % 4 + 1]`,
  'receipts.attempt_id': `case when n % 10 > 0 then ${UUID} end`,
  'receipts.payment_id': `case when n % 10 > 0 then ${UUID} end`,
  'notices.state': `case when n % 10000 = 0 then 'waiting' else (array['unmatched','unmatched','done','ignored'])[n % 4 + 1] end`,
  'notices.reference': `'order_reference-' || n`,
  // Few refunds are under way at one time.
  'refunds.status': `case when n % 1000 = 0 then 'pending' when n % 4 = 0 then 'failed' else 'successful' end`,
  'refunds.due_at': `case when n % 1000 = 0 then now() + n * interval '1 second' end`,
  'deliveries.state': `(array['waiting','delivered','exhausted','disabled'])[n % 4 + 1]`,
  'deliveries.done_at': `case when n % 4 > 0 then now() - n * interval '10 seconds' end`,
  // One dead endpoint with very many, and very many hosts with a few each.
  'deliveries.destination': `case when n % 2 = 0 then 'endpoint-1' else 'host-' || n / 20 end`,
  'deliveries.endpoint_id': `case when n % 2 = 0 then '${uuidOfRow(1)}'::uuid end`,
  // Few cases are open at one time.
  'cases.closed_at': `case when n % 1000 > 0 then now() - n * interval '10 seconds' end`,
  'cases.reason': `(array['review','surplus','unmatched_money','refund_failed'])[n % 4 + 1]`,
  'cases.subject_kind': `(array['attempt','receipt','refund'])[n % 3 + 1]`,
  'cases.subject': `${UUID}::text`,
  // Few mails wait.
  'customer_receipts.state': `case when n % 1000 = 0 then 'waiting' else 'sent' end`,
  'gateway_payments.channel': `case when n % 2 = 0 then 'card' else 'transfer' end`,
  // Few customers have not decided yet.
  'gateway_payments.decides_at': `case when n % 1000 = 0 then now() + n * interval '1 second' end`,
  'gateway_transactions.kind': `(array['charge','transfer','refund'])[n % 3 + 1]`,
  'gateway_transactions.status': `case when n % 4 = 0 then 'failed' else 'paid' end`,
  'gateway_notices.state': `case when n % 100 = 0 then 'waiting' else 'sent' end`,
  'gateway_cards.token': `'token-' || n`,
  'rollup_cursors.place': 'n',
}

const BY_TYPE: Record<string, string> = {
  uuid: UUID,
  bigint: 'n',
  integer: 'n % 20 + 1',
  boolean: 'n % 2 = 0',
  'timestamp with time zone': `now() - n * interval '10 seconds'`,
  jsonb: `'{}'::jsonb`,
  bytea: `decode(md5(n::text), 'hex')`,
  'text[]': `'{}'::text[]`,
  'double precision': '0',
}

function valueIn(table: string, column: string, type: string): string {
  // A row for each of several merchants.
  if (table in SMALL_TABLES && column === 'merchant_id') return UUID
  return VALUES[`${table}.${column}`] ?? VALUES[column] ?? BY_TYPE[type] ?? `'${column}-' || n`
}

interface Column {
  name: string
  type: string
  required: boolean
}

/** Those that grow with traffic; a new table does, unless SMALL_TABLES names it. */
export async function growingTables(client: pg.Client): Promise<string[]> {
  return (await allTables(client)).filter((name) => !(name in SMALL_TABLES))
}

export async function allTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
  )
  return rows.map(({ name }) => name).filter((name) => name !== 'migrations')
}

/** Checks and foreign keys would only slow this down; they do not matter to a plan. */
export async function dropConstraints(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement from pg_constraint
     where contype in ('c', 'f') and connamespace = 'public'::regnamespace`)
  for (const { statement } of rows) await client.query(statement)
}

export async function fillTable(client: pg.Client, table: string): Promise<void> {
  const { rows: columns } = await client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type,
            attnotnull and not atthasdef and attidentity = '' as required from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  )
  // An index that is built afterwards takes a third of the time.
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = $1::regclass and not exists (select from pg_constraint c where c.conindid = indexrelid)`,
    [table],
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  const { rows: keys } = await client.query<{ definition: string }>(
    'select pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = $1::regclass',
    [table],
  )
  // Narrow rows are made faster: other columns keep their default.
  const matters = ({ name, required }: Column) =>
    required ||
    name in VALUES ||
    `${table}.${name}` in VALUES ||
    [...keys, ...indexes].some(({ definition }) => new RegExp(`\\b${name}\\b`).test(definition))
  const filled = columns.filter(matters)
  const names = filled.map(({ name }) => `"${name}"`).join(', ')
  const values = filled.map(({ name, type }) => valueIn(table, name, type)).join(', ')
  await client.query(`insert into ${table} (${names}) overriding system value
    select ${values} from generate_series(1, ${table in SMALL_TABLES ? SMALL_ROWS : ROWS}) n`)
  for (const { definition } of indexes) await client.query(definition)
  await client.query(`analyze ${table}`)
}
