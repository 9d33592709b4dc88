import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connect } from '../../src/database/database.ts'
import { Fixed, sql } from '../../src/database/sql.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { insertNotice } from '../../src/payments/store/notices.ts'
import { createDatabase } from '../support/database.ts'
import { addMerchant } from '../support/service.ts'

test('a notice is stored and a repeat is recognised, whatever bytea_output the database has', async () => {
  const { url, database: admin } = await createDatabase()
  const name = new Fixed(`"${new URL(url).pathname.slice(1)}"`)
  await admin.rows(sql`alter database ${name} set bytea_output = 'escape'`)
  const database = connect({ url, poolWaitMs: 10_000 })
  after(() => database.close())
  const { place, merchantId } = await addMerchant(database)
  const reading = { kind: 'unreadable' as const, because: 'a test' }
  const insert = (body: string) =>
    insertNotice(
      database,
      secretBox(Buffer.alloc(32)),
      { place, merchantId, mode: 'sandbox' },
      { provider: 'gateway', keysVersion: 0, reading, body: Buffer.from(body) },
      new Date(),
    )
  assert.equal((await insert('one')).isNew, true)
  assert.equal((await insert('one')).isNew, false)
})
