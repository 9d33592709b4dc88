import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type MerchantId, newId, parseId } from '../../src/kernel/ids.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'
import { isPaid } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, baseUrl, parts } = service

const VISA = '4084 0840 8408 4081'
const VERVE = '5060 6666 6666 6666 666'
const newEmail = () => `ada.${randomBytes(5).toString('hex')}@example.com`

const charge = (shop: Shop, orderReference: string, how: Record<string, unknown>) =>
  shop.call('POST', `/sandbox/gateway/charges/${orderReference}`, how)
const cardsOf = async (shop: Shop, email: string) =>
  (await shop.call('GET', `/payments/v1/cards?email=${encodeURIComponent(email)}`)).body.data

/** A whole payment by card, to the moment when we know of it. */
async function pay(shop: Shop, email: string, how: Record<string, unknown>) {
  const { data } = (await shop.initialize({ user: { email } })).body
  const charged = await charge(shop, data.data.reference, how)
  assert.deepEqual([charged.status, charged.body.data?.result], [200, 'paid'], JSON.stringify(charged.body))
  const payment = await eventually(() => shop.payment(data.reference), isPaid)
  return { payment, orderReference: String(data.data.reference), link: String(data.data.link) }
}

/** The token as the provider knows it: nobody else shows it. */
async function tokenOf(orderReference: string): Promise<string> {
  const row = await database.row<{ kept_card: string }>(
    sql`select kept_card from gateway_payments where reference = ${orderReference}`,
  )
  return String(row?.kept_card)
}

test('a card is saved only with the customer’s consent', async () => {
  const shop = await service.addShop()
  const [willing, unwilling] = [newEmail(), newEmail()]
  await pay(shop, willing, { card: VISA, save: true })
  await pay(shop, unwilling, { card: VISA })
  assert.deepEqual(await cardsOf(shop, unwilling), [])
  const [card, ...others] = await cardsOf(shop, willing)
  assert.equal(others.length, 0)
  const { id, createdAt, ...rest } = card
  assert.match(id, /^crd_/)
  assert.ok(Date.parse(createdAt))
  assert.deepEqual(rest, {
    provider: 'gateway',
    userId: null,
    email: willing,
    brand: 'Visa',
    last4: '4081',
    expiryMonth: 12,
    expiryYear: new Date().getUTCFullYear() + 4,
  })
})

test('a declined card is not saved, even with consent', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  const { data } = (await shop.initialize({ user: { email } })).body
  await charge(shop, data.data.reference, { card: '4000 0000 0000 0002', save: true })
  await eventually(
    () => shop.payment(data.reference),
    ({ attempts }) => attempts[0].status === 'failed',
  )
  assert.deepEqual(await cardsOf(shop, email), [])
})

test('the next payment of the same customer charges the card that was kept: no number is asked for', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  await pay(shop, email, { card: VISA, save: true })
  const { data } = (await shop.initialize({ user: { email: email.toUpperCase() } })).body
  const page = await (await fetch(data.data.link)).text()
  assert.match(page, /Pay ₦12,500\.00 with Visa ending 4081/)
  assert.doesNotMatch(page, /name="number"/)
  const charged = await charge(shop, data.data.reference, {})
  assert.equal(charged.body.data.result, 'paid')
  const payment = await eventually(() => shop.payment(data.reference), isPaid)
  assert.equal(payment.amountPaid, 1_250_000)
  assert.equal((await cardsOf(shop, email)).length, 1, 'and it is still one card')
})

test('a card that asks for a code each time does so when it is charged again', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  await pay(shop, email, { card: VERVE, otp: '123456', save: true })
  assert.equal((await cardsOf(shop, email))[0].brand, 'Verve')
  const { data } = (await shop.initialize({ user: { email } })).body
  assert.equal((await charge(shop, data.data.reference, {})).body.data.result, 'otp_required')
  assert.equal((await charge(shop, data.data.reference, { otp: '123456' })).body.data.result, 'paid')
})

test('the same card again replaces its token; another card stands beside it, and the last one is offered', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  await pay(shop, email, { card: VISA, save: true })
  const [{ id }] = await cardsOf(shop, email)
  await pay(shop, email, { card: VISA, save: true })
  assert.deepEqual(
    (await cardsOf(shop, email)).map((card: { id: string }) => card.id),
    [id],
  )
  await pay(shop, email, { card: VERVE, otp: '123456', save: true })
  assert.deepEqual(
    (await cardsOf(shop, email)).map(({ last4 }: { last4: string }) => last4),
    ['6666', '4081'],
  )
  const { data } = (await shop.initialize({ user: { email } })).body
  assert.match(await (await fetch(data.data.link)).text(), /with Verve ending 6666/)
})

test('a card belongs to one customer of one merchant in one mode; others cannot see, use or delete it', async () => {
  const [shop, other] = [await service.addShop(), await service.addShop('Another Shop')]
  const email = newEmail()
  await pay(shop, email, { card: VISA, save: true })
  const [{ id }] = await cardsOf(shop, email.toUpperCase())
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId as MerchantId, 'live')
  const live = { 'client-id': clientId, 'client-secret': clientSecret }

  assert.deepEqual(await cardsOf(other, email), [])
  assert.deepEqual(await cardsOf(shop, newEmail()), [])
  const list = await request(`${baseUrl}/payments/v1/cards?email=${email}`, 'GET', live)
  assert.deepEqual([list.status, list.body], [200, { data: [], nextCursor: null }])
  for (const { status, body } of [
    await other.call('DELETE', `/payments/v1/cards/${id}`),
    await request(`${baseUrl}/payments/v1/cards/${id}`, 'DELETE', live),
  ]) {
    assert.deepEqual([status, body.code], [404, 'not_found'])
  }
  const asked = [
    (await other.initialize({ user: { email } })).body.data.data.link,
    (await shop.initialize({ user: { email: newEmail() } })).body.data.data.link,
  ]
  for (const link of asked) assert.match(await (await fetch(link)).text(), /name="number"/)
  assert.equal((await cardsOf(shop, email)).length, 1)
})

test('a card of one provider is not offered at another', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  await pay(shop, email, { card: VISA, save: true })
  await database.rows(sql`update saved_cards set provider = 'elsewhere' where email = ${email}`)
  const { data } = (await shop.initialize({ user: { email } })).body
  assert.match(await (await fetch(data.data.link)).text(), /name="number"/)
})

test('a card that is deleted is gone: from the list, from the next payment, and a second time it is 404', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  await pay(shop, email, { card: VISA, save: true })
  const [card] = await cardsOf(shop, email)
  const { status, body } = await shop.call('DELETE', `/payments/v1/cards/${card.id}`)
  assert.deepEqual([status, body], [200, { data: card }])
  assert.deepEqual(await cardsOf(shop, email), [])
  const again = await shop.call('DELETE', `/payments/v1/cards/${card.id}`)
  assert.deepEqual([again.status, again.body.code], [404, 'not_found'])
  const { data } = (await shop.initialize({ user: { email } })).body
  assert.match(await (await fetch(data.data.link)).text(), /name="number"/)
})

test('a deleted card stays deleted when the customer returns from the old payment again', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  const { payment } = await pay(shop, email, { card: VISA, save: true })
  const [card] = await cardsOf(shop, email)
  await shop.call('DELETE', `/payments/v1/cards/${card.id}`)
  assert.equal((await fetch(`${baseUrl}/return/${payment.attempts[0].id}`, { redirect: 'manual' })).status, 302)
  assert.deepEqual(await cardsOf(shop, email), [])
})

test('an id that is no card’s is 404, a list without an e-mail address is 400', async () => {
  const shop = await service.addShop()
  for (const id of [
    newId('card', new Date(), shop.place),
    newId('payment', new Date(), shop.place),
    'crd_',
    'x',
    '..%2f',
  ]) {
    const { status, body } = await shop.call('DELETE', `/payments/v1/cards/${id}`)
    assert.deepEqual([status, body.code], [404, 'not_found'], id)
  }
  for (const query of ['', '?email=', '?email=ada', '?email=a@b.co&email=c@d.co']) {
    const { status, body } = await shop.call('GET', `/payments/v1/cards${query}`)
    assert.deepEqual([status, body.code], [400, 'invalid_request'], query)
  }
})

test('when the provider no longer knows a card, its page is opened without it and the card is deleted', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  const { orderReference } = await pay(shop, email, { card: VISA, save: true })
  const token = await tokenOf(orderReference)
  await database.rows(sql`update gateway_payments set kept_card = null where kept_card = ${token}`)
  await database.rows(sql`delete from gateway_cards where token = ${token}`)
  const { status, body } = await shop.initialize({ user: { email } })
  assert.equal(status, 200)
  assert.match(await (await fetch(body.data.data.link)).text(), /name="number"/)
  assert.deepEqual(await cardsOf(shop, email), [])
  const charged = await charge(shop, body.data.data.reference, { card: VISA })
  assert.equal(charged.body.data.result, 'paid')
})

test('H4: the token is in no answer, and nowhere in our own tables in clear', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  const answers: unknown[] = []
  const { payment, orderReference, link } = await pay(shop, email, { card: VISA, save: true })
  const token = await tokenOf(orderReference)
  assert.match(token, /^gct_/)

  const next = await shop.initialize({ user: { email } })
  answers.push(next.body)
  answers.push((await charge(shop, next.body.data.data.reference, {})).body)
  await eventually(() => shop.payment(next.body.data.reference), isPaid)
  const saving = (await shop.initialize({ user: { email } })).body.data
  answers.push((await charge(shop, saving.data.reference, { card: VISA, save: true })).body)
  for (const path of [
    `/payments/v1/payments/${payment.reference}`,
    `/payments/v1/payments/${payment.reference}/timeline`,
    '/payments/v1/payments',
    `/payments/v1/cards?email=${email}`,
    `/sandbox/gateway/ledger?reference=${orderReference}`,
    '/sandbox/gateway/ledger',
  ]) {
    const { status, body } = await shop.call('GET', path)
    assert.equal(status, 200, path)
    answers.push(body)
  }
  for (const url of [link, payment.url, next.body.data.data.link]) answers.push(await (await fetch(url)).text())
  assert.equal(JSON.stringify(answers).match(/gct_\w+/), null)

  const kept = await eventually(
    () => database.row<{ count: number }>(sql`select count(*) as count from notices where says = 'paid'`),
    (row) => Number(row?.count) >= 2,
  )
  assert.ok(kept, 'the provider’s own notices, which do carry the token, are there to be searched')
  assert.ok((await placesOf('gateway')).length > 3, 'the search finds what is there')
  assert.deepEqual(await placesOf('gct_'), [])
})

/** Tables of ours with this text in any column, as text or as bytes. The provider's own books are its own affair. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await database.rows<{ name: string }>(sql`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_name not like 'gateway\_%'`)
  assert.ok(tables.some(({ name }) => name === 'saved_cards') && tables.some(({ name }) => name === 'notices'))
  const found: string[] = []
  for (const { name } of tables) {
    const row = await database.row<{ count: number }>({
      name: `search ${name}`,
      // Not `like`, to which the _ of a token is any letter: a random reference has it now and then.
      text: `select count(*) as count from "${name}" t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0`,
      values: [text, Buffer.from(text).toString('hex')],
    })
    if (Number(row?.count) > 0) found.push(name)
  }
  return found
}

test('a stored card token decrypts only with the service’s key', async () => {
  const shop = await service.addShop()
  const email = newEmail()
  const { orderReference } = await pay(shop, email, { card: VISA, save: true })
  const [{ id }] = await cardsOf(shop, email)
  assert.ok(parseId('card', id))
  const row = await database.row<{ sealed_token: Buffer }>(
    sql`select sealed_token from saved_cards where email = ${email}`,
  )
  const place = `saved_cards.sealed_token:${shop.merchantId}:sandbox:gateway:${email.toLowerCase()}`
  assert.equal(parts.secrets.open(row?.sealed_token as Buffer, place), await tokenOf(orderReference))
  assert.throws(() => parts.secrets.open(row?.sealed_token as Buffer, `${place}x`))
})
