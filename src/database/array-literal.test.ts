import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createDatabase } from '../../test/support/database.ts'
import { textArray } from './array-literal.ts'
import { sql } from './sql.ts'

test('PostgreSQL reads back exactly the text that was written', async () => {
  const { database } = await createDatabase({ empty: true })
  const text = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => value.replaceAll('\0', ''))
  const odd = fc.constantFrom('', 'NULL', 'null', '{}', '"', '\\', '\\"', ' ', ',', '{"a":"b\\n"}', '\n', '\u2028')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.constant(null), text, odd)), async (values) => {
      const row = await database.row<{ back: (string | null)[] }>(sql`select ${textArray(values)}::text[] as back`)
      assert.deepEqual(row?.back, values)
    }),
    { numRuns: 200 },
  )
})
