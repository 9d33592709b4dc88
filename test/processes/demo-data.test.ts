import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { SANDBOX_MERCHANT_ID, seedSandbox } from '../../src/integrations/create-merchant.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { runCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'

const { url, database } = await createDatabase()
const folder = await mkdtemp(join(tmpdir(), 'manilla-demo-data-'))
after(() => rm(folder, { recursive: true, force: true }))
const env = { DATABASE_URL: url, DATA_DIR: folder, SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
const run = (...args: string[]) => runCommand(args, env)

test('demo data is refused before the first start, and outside of its limits', async () => {
  const early = await run('demo-data')
  assert.equal(early.code, 1)
  assert.match(early.output, /no sandbox merchant yet. Start the service once/)
  for (const option of [
    ['--merchant', 'mer_1'],
    ['--mode', 'live'],
    ['--payments', '0'],
  ])
    assert.equal((await run('demo-data', ...option)).code, 2, option.join(' '))
})

test('demo data has payments of every kind in the sandbox alone, the audit finds no difference, and it is made once', async () => {
  await seedSandbox(database, { clientId: 'cid_demo', clientSecret: 'secret' })
  const made = await run('demo-data', '--payments', '300')
  assert.equal(made.code, 0, made.output)
  const [counts] = await database.rows<Record<string, number>>(sql`
    select count(*) as payments, count(distinct status) as statuses, count(*) filter (where merchant_id <> ${uuidOf(SANDBOX_MERCHANT_ID)} or mode <> 'sandbox') as others,
           (select count(distinct provider) from attempts) as providers, (select count(*) from attempts where failure is not null) as declines,
           (select count(*) from attempts where next_check_at is not null) as due,
           (select count(*) from refunds) as refunds, count(distinct link_id) as links, (select count(*) from deliveries where state = 'waiting') as waiting,
           (select count(*) from deliveries where state = 'exhausted') as exhausted, (select sum(count) from rollups where fact = 'payment.created')::integer as folded
      from payments`)
  const { payments, statuses, others, providers, declines, due, refunds, links, waiting, exhausted, folded } =
    counts ?? {}
  assert.deepEqual(
    { payments, statuses, others, due, waiting, providers, links },
    { payments: 300, statuses: 4, others: 0, due: 0, waiting: 0, providers: 3, links: 2 },
  )
  assert.ok(
    Number(declines) > 10 && Number(refunds) > 2 && Number(exhausted) > 2 && Number(folded) > 290,
    JSON.stringify(counts),
  )
  const settled = await database.rows<{ sums: number; net: number; summary: string | null }>(sql`
    select (select sum(l.net) from settlement_lines l where l.settlement_id = s.id)::bigint - s.deductions as sums, s.net,
           (select c.summary from cases c where c.subject = s.id::text and c.closed_at is null) as summary
      from settlements s`)
  assert.ok(settled.length > 60, `${settled.length} settlements in two months`)
  const wrong = settled.filter(({ sums, net }) => sums !== net)
  assert.equal(wrong.length, 1, 'one pays out too little')
  assert.match(wrong[0]?.summary ?? '', /a difference of ₦250.00/)
  const [money] = await database.rows<Record<string, number>>(sql`
    select (select sum(gross) from settlement_lines)::bigint as lines,
           ((select coalesce(sum(amount), 0) from receipts where settled_in is null and taken_at >= (select min(taken_at) from receipts where settled_in is not null)) -
            (select coalesce(sum(amount), 0) from refunds where status = 'successful' and settled_in is null and created_at >= (select min(taken_at) from receipts where settled_in is not null)))::bigint as "notYet",
           ((select sum(amount) from receipts where taken_at >= (select min(taken_at) from receipts where settled_in is not null)) -
            (select sum(amount) from refunds where status = 'successful' and created_at >= (select min(taken_at) from receipts where settled_in is not null)))::bigint as kept`)
  assert.equal(Number(money?.lines) + Number(money?.notYet), money?.kept, 'to the kobo')
  const audit = await run('audit')
  assert.equal(audit.code, 0, audit.output)
  assert.match(audit.output, /^300 payments, \d+ settlements and \d{3,} rollups audited: no differences\.$/m)
  await database.rows(sql`
    update payments set amount = 1 where place = (select place from payments limit 1) and reference = (
      select min(reference) from payments where status = 'successful')`)
  const tampered = await run('audit', '--json')
  assert.equal(tampered.code, 1)
  assert.match(JSON.parse(tampered.output).findings[0].finding, /^the amount is 1 \w+, its records say \d+ /)
  const again = await run('demo-data', '--payments', '300')
  assert.equal(again.code, 1)
  assert.match(again.output, /has the demo data of seed 1 already/)
})
