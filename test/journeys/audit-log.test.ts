import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import type { MerchantId } from '../../src/kernel/ids.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { eventually, request, startPaying } from '../support/paying.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database, baseUrl, parts } = service

test('the audit log names the credential behind every change through the API, not only the mode', async () => {
  const shop = await service.addShop()
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId as MerchantId, 'sandbox')
  const second = { 'client-id': clientId, 'client-secret': clientSecret }
  const by = (headers: Record<string, string>, method: string, path: string, body?: unknown) =>
    request(`${baseUrl}/payments/v1/${path}`, method, headers, body)

  const { data } = (await shop.initialize()).body
  await charge(shop, data.data.reference, CARD.pays, { save: true })
  await eventually(() => shop.payment(data.reference), isPaid)
  const refund = await by(second, 'POST', `payments/${data.reference}/refunds`, { amount: 1_000 })
  const endpoint = await by(shop.headers, 'POST', 'webhook-endpoints', { url: 'http://127.0.0.1:9/' })
  await by(second, 'DELETE', `webhook-endpoints/${endpoint.body.data.id}`)
  const [card] = (await by(second, 'GET', 'cards?email=ada@example.com')).body.data
  await by(second, 'DELETE', `cards/${card.id}`)
  await by(shop.headers, 'DELETE', `cards/${card.id}`)
  await by(shop.headers, 'DELETE', 'integrations/gateway')

  const [one, two] = [`credential:${shop.headers['client-id']}`, `credential:${clientId}`]
  const acts = await database.rows(sql`
    select actor, act, subject from audit_log
     where merchant_id = ${shop.merchantUuid} and actor not in ('test', 'seed') order by id`)
  assert.deepEqual(acts, [
    { actor: two, act: 'refund.asked_for', subject: refund.body.data.id },
    { actor: one, act: 'webhook_endpoint.created', subject: endpoint.body.data.id },
    { actor: two, act: 'webhook_endpoint.deleted', subject: endpoint.body.data.id },
    { actor: two, act: 'saved_card.deleted', subject: card.id },
    { actor: one, act: 'integration.removed', subject: 'sandbox gateway' },
  ])
})
