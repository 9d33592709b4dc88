import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { readDueOffers } from '../../src/integrations/account-offers.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { startFakePawapay } from '../fakes/pawapay/fake.ts'
import { eventually } from '../support/paying.ts'
import { noticeUrl, startProviderWorld } from '../support/provider-world.ts'
import { newVisitor } from '../support/visitor.ts'

// A provider whose countries, currencies and networks are those of the account.

const world = await startProviderWorld()
const place = await world.addProvider(startFakePawapay)
const { shop, fake } = place
const PATH = '/payments/v1/integrations/pawapay'

const integration = async (of = shop) => (await of.call('GET', PATH)).body.data
const channels = async (query: string) => (await shop.call('GET', `/payments/v1/channels?${query}`)).body.data
const depositOf = (provider: string) =>
  fake.conf.countries.flatMap(({ providers }) => providers).find((each) => each.provider === provider)?.currencies[0]
    ?.operationTypes.DEPOSIT ?? assert.fail(provider)

/** As the worker does, five minutes later. */
async function readAgain(): Promise<void> {
  await world.database.rows(sql`
    update integrations set offers_due_at = now() where merchant_id = ${shop.merchantUuid} and provider = 'pawapay'`)
  await readDueOffers(world.parts, 100)
  await eventually(
    () =>
      world.database.row<{ soon: boolean }>(sql`
        select offers_due_at > now() + interval '30 seconds' as soon from integrations
         where merchant_id = ${shop.merchantUuid} and provider = 'pawapay'`),
    (row) => row?.soon === true,
  )
}

const ORDER = { provider: 'pawapay-mobile-money', amount: 12_500, currency: 'RWF', country: 'RW' }
const MTN = { phoneNumber: '+250783456700', network: 'mtn' }

test('countries and currencies are there once the keys are set', async () => {
  const { countries, currencies } = await integration()
  assert.deepEqual(
    [countries, currencies],
    [
      ['ZM', 'RW', 'BF', 'SN'],
      ['ZMW', 'RWF', 'XOF'],
    ],
  )
})

test('a network that takes no payments now is listed, and says so', async () => {
  const [row] = await channels('country=RW')
  assert.deepEqual(
    row.networks.map(({ code, available }: { code: string; available: boolean }) => [code, available]),
    [
      ['mtn', true],
      ['airtel', false],
    ],
  )
  assert.deepEqual([row.limits, row.fields], [{ min: 100, max: 90_000_000 }, ['phoneNumber', 'network']])
})

test('the page shows it and does not take it, and takes it when it is open again', async () => {
  const { url } = await place.checkout({ ...ORDER, provider: undefined })
  const customer = newVisitor()
  await customer.go(url)
  assert.match(customer.text, /value="airtel" disabled[^>]*>.*Airtel Money<\/bdi> <small>not available right now/)
  const form = { action: 'pay', method: 'mobile' }
  await customer.send(form, { phoneNumber: '0733456700', network: 'airtel' })
  assert.equal(customer.state, 'choose')
  depositOf('AIRTEL_RWA').status = 'OPERATIONAL'
  await readAgain()
  const again = newVisitor()
  await eventually(
    async () => {
      await again.go(url)
      return again.text
    },
    (text) => !text.includes('not available right now'),
  )
  await again.send(form, { phoneNumber: '0733456700', network: 'airtel' })
  assert.equal(again.state, 'prompt')
  assert.match(again.text, /PAWAPAY LTD/)
})

test('the page says how a code is made that the network wants beforehand', async () => {
  const { url } = await place.checkout({ amount: 500, currency: 'XOF', country: 'BF' })
  const customer = newVisitor()
  await customer.go(url)
  assert.match(customer.text, /<p class="note" id="mobile-code-hint">Composez \*144\*4\*6#/)
  const typed = { phoneNumber: '07123456', network: 'orange', code: '367025' }
  await customer.send({ action: 'pay', method: 'mobile' }, typed)
  assert.equal(customer.state, 'prompt')
})

test('when the account can do more or less, so can payments; a restricted list stays one', async () => {
  const zambia = fake.conf.countries.shift() ?? assert.fail()
  await readAgain()
  const { currencies } = await integration()
  assert.deepEqual(currencies, ['RWF', 'XOF'])
  const refused = await place.initialize({ ...ORDER, amount: 5_000, currency: 'ZMW', country: 'ZM', ...MTN })
  assert.deepEqual([refused.status, refused.body.code], [422, 'currency_not_supported'])
  fake.conf.countries.unshift(zambia)
  const { status, body } = await shop.call('PUT', PATH, { countries: ['RW', 'KE'] })
  assert.equal(status, 200, JSON.stringify(body))
  await readAgain()
  assert.deepEqual((await integration()).countries, ['RW'])
  await shop.call('PUT', PATH, { countries: [] })
  assert.deepEqual((await integration()).countries, ['ZM', 'RW', 'BF', 'SN'])
})

test('the list that was read last is kept while the provider does not answer, or refuses new keys', async () => {
  fake.upstream.trouble = 'answering 500 before the work'
  await readAgain()
  fake.upstream.trouble = undefined
  assert.equal((await integration()).countries.length, 4)
  const other = await shop.call('PUT', PATH, { settings: { apiToken: 'eyJraWQiOiIxIn0.another.account000001' } })
  assert.equal(other.body.warning.code, 'keys_refused')
  assert.equal(other.body.data.countries.length, 4)
  const back = await shop.call('PUT', PATH, { settings: fake.settings })
  assert.equal(back.body.data.countries.length, 4, JSON.stringify(back.body))
})

async function start(): Promise<{ reference: string; order: string }> {
  const { status, body } = await place.initialize({ ...ORDER, ...MTN })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.data.data.message, 'Dial *182*1*3# Enter your PIN')
  const { reference } = await place.payment(body.data.reference)
  return { reference, order: await place.orderOf(reference) }
}

/** Through a proxy: the request names another host than the public address. */
function deliver(headers: Record<string, string>, body: Buffer): Promise<number> {
  const { hostname, port, pathname } = new URL(noticeUrl(world, shop, 'pawapay'))
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { hostname, port, path: pathname, method: 'POST', headers: { ...headers, host: 'internal:3000' } },
      (response) => resolve(response.resume().statusCode ?? 0),
    )
    sent.on('error', reject).end(body)
  })
}

test('a signed callback counts behind a proxy, and one for another address is refused', async () => {
  const { reference, order } = await start()
  await fake.customer.approve?.(order)
  const [callback] = fake.takeNotices().splice(-1)
  assert.ok(callback)
  const { body } = callback
  for (const url of ['http://internal:3000/notices/pawapay/sandbox/x', 'https://pay.another.example/callbacks'])
    assert.equal(await deliver(fake.headersFor(body, { url }), body), 401)
  assert.equal(await deliver({}, body), 401, 'this account signs its callbacks')
  assert.equal((await place.payment(reference)).status, 'pending')
  assert.equal(await deliver(fake.headersFor(body, { url: noticeUrl(world, shop, 'pawapay') }), body), 200)
  await place.hears(reference, ['payment.successful'])
})

test('an unsigned callback of an account that does not sign makes us ask, and nothing more', async () => {
  fake.conf.signatureConfiguration.signedCallbacks = false
  const { body: set } = await shop.call('PUT', PATH, { settings: { apiToken: `${fake.settings.apiToken}` } })
  assert.equal(set.warning, null)
  const unsigning = await world.addProvider(async (t) => {
    const started = await startFakePawapay(t)
    started.conf.signatureConfiguration.signedCallbacks = false
    return started
  })
  const { body } = await unsigning.initialize({ ...ORDER, ...MTN })
  const { reference } = await unsigning.payment(body.data.reference)
  await unsigning.fake.customer.approve?.(await unsigning.orderOf(reference))
  const [callback] = unsigning.fake.takeNotices()
  const response = await fetch(noticeUrl(world, unsigning.shop, 'pawapay'), {
    ...{ method: 'POST', body: new Uint8Array(callback?.body ?? assert.fail()) },
  })
  assert.equal(response.status, 200)
  await unsigning.hears(reference, ['payment.successful'])
  const kept = await world.database.rows(sql`select 1 from notices where merchant_id = ${unsigning.shop.merchantUuid}`)
  assert.equal(kept.length, 0, 'nothing is stored of it')
})

test('a deposit in reconciliation blocks other attempts for as long as it lasts, and then counts', async () => {
  const { reference, order } = await start()
  fake.depositOf(order).status = 'IN_RECONCILIATION'
  const { id } = await place.payment(reference)
  await makeChecksDue(world.database, id)
  await eventually(
    () => place.payment(reference),
    ({ attempts }) => attempts[0].status === 'processing',
  )
  fake.depositOf(order).status = 'PROCESSING'
  await fake.customer.approve?.(order)
  await makeChecksDue(world.database, id)
  await place.hears(reference, ['payment.successful'])
})

test('a refund that waits is asked about when its callback comes, and ends then', async () => {
  const { reference, order } = await start()
  await fake.customer.approve?.(order)
  await place.pump()
  await place.hears(reference, ['payment.successful'])
  fake.refundsAre('ENQUEUED')
  const { status, body } = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, {})
  assert.equal(status, 201, JSON.stringify(body))
  const [made] = fake.refundsOf(order)
  const put = await world.database.rows(sql`
    update refunds set due_at = now() + interval '1 day' where merchant_id = ${shop.merchantUuid} returning id`)
  assert.equal(put.length, 1, 'it is asked about tomorrow')
  fake.finishRefund(made ?? assert.fail())
  await place.pump()
  await place.hears(reference, ['payment.successful', 'refund.successful'])
})
