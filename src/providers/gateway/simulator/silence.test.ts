import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/paying.ts'
import { CARD, paymentRequest, startSimulator } from '../../../../test/support/simulator.ts'

const rig = await startSimulator()
const shop = await rig.addShop()

const isSilent = (call: Promise<unknown>) => assert.rejects(call, { name: 'TimeoutError' })

test('card 0119 is charged at once, but for 8 s the provider does not say so', { concurrency: true }, async () => {
  const { reference, link } = await shop.open()
  const startedMs = performance.now()
  const { body } = await shop.charge(reference, { card: CARD.staysSilent, save: true })
  assert.deepEqual([body.data.result, body.data.status, body.data.amount], ['pending', 'processing', 0])
  assert.equal(body.data.transactions[0].status, 'processing')
  assert.equal(body.data.savedCard, undefined)
  const ledger = await shop.ledger(reference)
  assert.deepEqual([ledger.status, ledger.amount, ledger.transactions[0].status], ['paid', 1_250_000, 'paid'])
  await isSilent(shop.api('GET', `/payments/${reference}`, undefined, 300))
  assert.equal((await shop.charge(reference, { card: CARD.pays })).status, 409)
  assert.match(await (await fetch(link)).text(), /being processed/)

  const [processing, paid] = await rig.sink.until(reference, 2)
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs >= 8_000, `${tookMs} ms`)
  assert.deepEqual([processing?.body.type, processing?.body.data.status], ['payment.processing', 'processing'])
  assert.deepEqual(
    [paid?.body.type, paid?.body.data.status, paid?.body.data.amount],
    ['payment.paid', 'paid', 1_250_000],
  )

  const record = (await shop.api('GET', `/payments/${reference}`)).body.data
  assert.deepEqual([record.status, record.savedCard.last4], ['paid', '0119'])

  const request = paymentRequest({ savedCard: record.savedCard.token })
  await isSilent(shop.api('POST', '/charges', request, 300))
  // On a busy machine the caller may have given up before the charge is made.
  await eventually(
    () => shop.ledger(request.reference),
    (ledger) => ledger?.status === 'paid',
  )
})

test('held connections do not keep the server from stopping', async () => {
  const other = await rig.another()
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.staysSilent })
  const held = fetch(`${other.url}/sandbox/gateway/v1/payments/${reference}`, {
    headers: { authorization: `Bearer ${shop.secretKey}` },
  })
  held.catch(() => {})
  // A call that is answered, on the same server and after the first: the first is being held by now.
  await fetch(`${other.url}/sandbox/gateway/v1/payments/none`, {
    headers: { authorization: `Bearer ${shop.secretKey}` },
  })
  const startedMs = performance.now()
  await other.close()
  assert.ok(performance.now() - startedMs < 30_000, 'they would be held for 60 s')
  await assert.rejects(held, { message: 'fetch failed' })
})
