import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STATEMENT_SENT } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { startPaying } from '../support/paying.ts'

const service = await startPaying()
const { database } = service

test('the write of one payment finds it by its primary key, also while the table is small', async () => {
  const shop = await service.addShop()
  const texts = new Set<string>()
  const onStatement = (statement: unknown) => {
    const { text } = statement as Statement
    if (text.includes('update payments p')) texts.add(text)
  }
  STATEMENT_SENT.subscribe(onStatement)
  const { body } = await shop.initialize()
  STATEMENT_SENT.unsubscribe(onStatement)
  assert.equal(texts.size, 1, 'the instructions are written')
  const { id } = await shop.payment(body.data.reference)
  await database.rows(sql`
    with copies as (select n from generate_series(1, 300) n)
    insert into payments select (jsonb_populate_record(p, jsonb_build_object(
             'id', gen_random_uuid(), 'reference', p.reference || n, 'short_code', p.short_code || n))).*
      from payments p, copies where p.place = ${shop.place} and p.id = ${uuidOf(id)}`)
  await database.rows(sql`analyze payments`)
  for (const text of texts) {
    const lines = await database.rows<{ 'QUERY PLAN': string }>({
      name: undefined,
      text: `explain (generic_plan, costs off) ${text}`,
      values: [],
    })
    const plan = lines.map((line) => line['QUERY PLAN']).join('\n')
    assert.match(plan, /Index Scan using payments_pkey on payments p\n\s+Index Cond: \(\(place = .*\) AND \(id = /)
    assert.doesNotMatch(plan, /Bitmap/)
  }
})
