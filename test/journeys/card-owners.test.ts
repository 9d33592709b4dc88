import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type MerchantId, newId } from '../../src/kernel/ids.ts'
import { upsertCard } from '../../src/payments/store/saved-cards.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { savedToken } from '../support/saved-cards.ts'
import { CARD } from '../support/simulator.ts'
import { newVisitor } from '../support/visitor.ts'

const service = await startPaying()
const { database, parts } = service
const newName = () => `ada.${randomBytes(5).toString('hex')}`

interface TestUser {
  email: string
  id?: string
}

const cards = async (shop: Shop, query: Record<string, string>) =>
  (await shop.call('GET', `/payments/v1/cards?${new URLSearchParams(query)}`)).body.data

async function checkout(shop: Shop, user: TestUser): Promise<{ id: string; url: string; reference: string }> {
  return (await shop.call('POST', '/payments/v1/checkouts', { amount: 1_250_000, country: 'NG', user })).body.data
}

/** Pays by card and lets the card be kept. */
async function keep(shop: Shop, user: TestUser, how: Record<string, unknown> = {}): Promise<string> {
  const { data } = (await shop.initialize({ user })).body
  const charge = { card: CARD.pays, save: true, ...how }
  await shop.call('POST', `/sandbox/gateway/charges/${data.data.reference}`, charge)
  const [attempt] = (await shop.payment(data.reference)).attempts
  await fetch(`${service.baseUrl}/return/${attempt.id}`, { redirect: 'manual' })
  assert.equal((await shop.payment(data.reference)).status, 'successful')
  const [card] = await cards(shop, user.id === undefined ? { email: user.email } : { userId: user.id })
  return card.id
}

const inputOf = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''

/** What a page offers, and what comes of a form that names a card which the page did not offer. */
async function forge(url: string, card: string) {
  const visitor = newVisitor()
  await visitor.go(url)
  const form = { action: 'pay', method: 'card', card, key: newName(), token: inputOf(visitor.text, 'token') }
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })
  await answer.text()
  return visitor.text
}

test('a payment page for a typed e-mail address neither offers nor charges the card that was saved under it', async () => {
  const shop = await service.addShop()
  const email = `${newName()}@example.com`
  const card = await keep(shop, { email })
  const { id, url } = await checkout(shop, { email })
  assert.doesNotMatch(await forge(url, card), /Visa|\b4081\b|crd_/)
  const { status, attempts } = await shop.payment(id)
  assert.deepEqual([status, attempts.length], ['pending', 0])
})

test('a payment page for a typed e-mail address neither offers nor charges the card of a user id with that address', async () => {
  const shop = await service.addShop()
  const user = { email: `${newName()}@example.com`, id: newName() }
  const card = await keep(shop, user)
  for (const visitor of [{ email: user.email }, { email: user.email, id: newName() }]) {
    const { id, url } = await checkout(shop, visitor)
    assert.doesNotMatch(await forge(url, card), /Visa|\b4081\b|crd_/)
    const { status, attempts } = await shop.payment(id)
    assert.deepEqual([status, attempts.length], ['pending', 0])
  }
})

test('a payment page offers and charges the saved cards of its user id, independent of the e-mail address', async () => {
  const shop = await service.addShop()
  const user = { email: `${newName()}@example.com`, id: newName() }
  const card = await keep(shop, user)
  const { id, url } = await checkout(shop, { email: 'other.address@example.com', id: user.id })
  const visitor = newVisitor()
  await visitor.go(url)
  assert.match(visitor.text, /Visa ending 4081/)
  await visitor.send({ action: 'pay', card })
  assert.equal((await shop.payment(id)).status, 'successful')
})

test('initialize with a user id reaches the cards of that id only; without one only those saved without an id', async () => {
  const shop = await service.addShop()
  const email = `${newName()}@example.com`
  const [one, other] = [newName(), newName()]
  await keep(shop, { email, id: one })
  const offers = async (user: TestUser) => {
    const { data } = (await shop.initialize({ user })).body
    return /with Visa ending 4081/.test(await (await fetch(data.data.link)).text())
  }
  assert.equal(await offers({ email, id: one }), true)
  assert.equal(await offers({ email: 'other.address@example.com', id: one }), true)
  assert.equal(await offers({ email, id: other }), false)
  assert.equal(await offers({ email }), false)
  assert.equal(await offers({ email: 'someone@example.com', id: email }), false, 'an id that is an e-mail address')

  await keep(shop, { email })
  assert.equal(await offers({ email: email.toUpperCase() }), true)
  assert.equal(await offers({ email, id: other }), false)
})

test('initialize on an existing payment uses its own user, and another user id is 409 reference_conflict', async () => {
  const shop = await service.addShop()
  const user = { email: `${newName()}@example.com`, id: newName() }
  await keep(shop, user)
  const { reference } = await checkout(shop, user)
  const { email } = user
  const conflict = await shop.initialize({ reference, user: { email, id: newName() } })
  assert.deepEqual([conflict.status, conflict.body.code], [409, 'reference_conflict'])
  const { data } = (await shop.initialize({ reference, user: { email } })).body
  assert.match(await (await fetch(data.data.link)).text(), /with Visa ending 4081/)

  const anonymous = await checkout(shop, { email })
  const claimed = await shop.initialize({ reference: anonymous.reference, user })
  assert.deepEqual([claimed.status, claimed.body.code], [409, 'reference_conflict'])
})

test('a link that offers the card of an e-mail address is not shown on the payment page', async () => {
  const shop = await service.addShop()
  const email = `${newName()}@example.com`
  await keep(shop, { email })
  const { id, url, reference } = await checkout(shop, { email })
  const { data } = (await shop.initialize({ reference, user: { email } })).body
  assert.match(await (await fetch(data.data.link)).text(), /with Visa ending 4081/)
  const visitor = newVisitor()
  await visitor.go(url)
  assert.equal(visitor.state, 'choose')
  assert.ok(!visitor.text.includes(data.data.link))
  assert.equal((await shop.payment(id)).attempts.length, 1)
})

test('while a saved card waits for a code, initialize answers with the same attempt and its link', async () => {
  const shop = await service.addShop()
  const user = { email: `${newName()}@example.com`, id: newName() }
  const card = await keep(shop, user, { card: CARD.asksForCode, otp: '123456' })
  const { id, url, reference } = await checkout(shop, user)
  const visitor = newVisitor()
  await visitor.go(url)
  await visitor.send({ action: 'pay', card })
  const [attempt] = (await shop.payment(id)).attempts
  const { status, body } = await shop.initialize({ reference, user })
  assert.deepEqual(
    [status, body.data?.reference, body.data?.data.link],
    [200, attempt.reference, attempt.instructions.link],
  )
  assert.equal(body.data.data.publicKey, null)
  assert.equal((await shop.payment(id)).attempts.length, 1)
})

test('the list of cards takes exactly one of userId and email, and keeps the two apart', async () => {
  const shop = await service.addShop()
  const user = { email: `${newName()}@example.com`, id: newName() }
  const ofId = await keep(shop, user)
  const ofEmail = await keep(shop, { email: user.email })
  const seen = (query: Record<string, string>) =>
    cards(shop, query).then((all) => all.map(({ id, userId }: Record<string, string>) => [id, userId]))
  assert.deepEqual(await seen({ userId: user.id }), [[ofId, user.id]])
  assert.deepEqual(await seen({ email: user.email.toUpperCase() }), [[ofEmail, null]])
  for (const query of ['', `?email=${user.email}&userId=${user.id}`, '?userId=', '?userId=a%20b']) {
    const { status, body } = await shop.call('GET', `/payments/v1/cards${query}`)
    assert.deepEqual([status, body.code], [400, 'invalid_request'], query)
  }
})

test('user.id is 1 to 64 characters of its alphabet, is answered with the payment and filters the list', async () => {
  const shop = await service.addShop()
  const email = 'ada@example.com'
  for (const id of ['', 'a b', 'x'.repeat(65), 'ü', 'a/b', 7]) {
    const { status, body } = await shop.initialize({ user: { email, id } })
    assert.deepEqual([status, body.errors?.[0].pointer], [400, '/user/id'], String(id))
  }
  const id = `aZ09_.:@-${'x'.repeat(55)}`
  const made = await checkout(shop, { email, id })
  const started = (await shop.initialize({ user: { email, id } })).body.data
  const without = await checkout(shop, { email })
  assert.deepEqual((await shop.payment(made.id)).user, { id, email, phoneNumber: null, name: null })
  assert.equal((await shop.payment(started.reference)).user.id, id)
  assert.equal((await shop.payment(without.id)).user.id, null)
  assert.equal((await shop.initialize({ user: { email, id: null } })).status, 200)
  const { data } = (await shop.call('GET', `/payments/v1/payments?userId=${encodeURIComponent(id)}`)).body
  assert.deepEqual(
    data.map((payment: { reference: string }) => payment.reference),
    [(await shop.payment(started.reference)).reference, made.reference],
  )
})

test('a webhook body shows user.id, null when absent', async () => {
  const shop = await service.addShop()
  for (const id of ['customer-7', undefined]) {
    const { reference } = await checkout(shop, { email: 'ada@example.com', ...(id !== undefined && { id }) })
    await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
    const [event] = (await shop.call('GET', `/payments/v1/events?payment=${reference}`)).body.data
    const body = (await shop.call('GET', `/payments/v1/events/${event.id}`)).body.data
    assert.equal((body.event ?? body).data.payment.user.id, id ?? null)
  }
})

test('a sealed token that is moved to another customer does not open', async () => {
  const shop = await service.addShop()
  const owner = { place: shop.place, merchantId: shop.merchantId as MerchantId, mode: 'sandbox' as const }
  const at = { provider: 'gateway', keysVersion: 0 }
  const card = { token: 'token', brand: 'Visa', last4: '4081', expiryMonth: 12, expiryYear: 2040 }
  const [customer, thief] = [
    { id: 'customer', email: 'a@example.com' },
    { id: 'thief', email: 'a@example.com' },
  ]
  const id = newId('card', new Date(), shop.place)
  await database.transaction(async (tx) => upsertCard(tx, parts.secrets, { id, scope: owner, ...at, customer, card }))
  assert.equal(await savedToken(database, parts.secrets, owner, { ...at, customer }), 'token')
  for (const [userId, other] of [
    ['thief', thief],
    [null, { id: null, email: 'a@example.com' }],
  ] as const) {
    await database.rows(sql`update saved_cards set user_id = ${userId} where merchant_id = ${shop.merchantUuid}`)
    await assert.rejects(savedToken(database, parts.secrets, owner, { ...at, customer: other }))
  }
})
