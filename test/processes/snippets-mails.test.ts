import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { isWebhookSecret } from '../../src/events/webhook-secret.ts'
import { readReceiptSends } from '../../src/payments/store/customer-receipts.ts'
import { createDatabase } from '../support/database.ts'
import { startPaying } from '../support/paying.ts'
import { blocksOf, ROOT, run } from '../support/snippets.ts'

test('each command of docs/receipts.md and docs/alerts.md works as described', async () => {
  const { url, database } = await createDatabase()
  const { merchantId } = await (await startPaying({ database })).addShop()
  const env = {
    MERCHANT_ID: merchantId,
    DATABASE_URL: url,
    SECRET_KEY: Buffer.alloc(32).toString('base64'),
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
  }
  const command = `"${join(ROOT, 'node_modules/.bin/node')}" "${join(ROOT, 'src/cli/main.ts')}"`
  const script = blocksOf('docs/receipts.md', 'sh').join('\n').replaceAll('npm run manilla --', command)
  assert.match(await run(script, env), /a receipt by e-mail for each payment\.\n.*SMTP_URL/)
  assert.equal(await readReceiptSends(database, { merchantId, mode: 'live' }), 'always')
  assert.equal(await readReceiptSends(database, { merchantId, mode: 'sandbox' }), 'never')
  const secret = await run(blocksOf('docs/alerts.md', 'sh').join('\n'), env)
  assert.ok(isWebhookSecret(secret.trim()))
})
