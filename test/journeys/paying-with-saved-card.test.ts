import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { newId, type PaymentId, type SavedCardId } from '../../src/kernel/ids.ts'
import { cancelPayment } from '../../src/payments/settle/cancel-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import type { PageChoice } from '../../src/payments/start/pay-on-page.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import type { PaymentState } from '../../src/payments/state/payment-state.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { listCardsToPayWith } from '../../src/payments/store/saved-cards.ts'
import { startBetween } from '../support/between.ts'
import { codeOf, lastOf, linkOf, newEmail, newKey, press, statusesOf, userOf } from '../support/page-presses.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'
import { recordsOf } from '../support/payment-records.ts'
import { AMOUNT, isPaid } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database, parts, masterKey } = service
const shop = await service.addShop()
const BANK = 'virtual-bank-account'

async function open(at: Shop, email = newEmail(), changes: Record<string, unknown> = {}): Promise<PaymentId> {
  const body = { amount: AMOUNT, country: 'NG', user: userOf(email), ...changes }
  return (await at.call('POST', '/payments/v1/checkouts', body)).body.data.id
}

/** Without the version, which a notice raises at any time. */
const partsOf = ({ payment: { version: _, ...payment }, attempts }: PaymentState) => ({ payment, attempts })

const textAt = async (link: string | undefined) => (await fetch(String(link))).text()

const charge = async (at: Shop, { providerReference }: Attempt, how: Record<string, unknown>) =>
  (await at.call('POST', `/sandbox/gateway/charges/${providerReference}`, how)).body.data?.result

/** A card of this customer's that was kept. `behaviour`: how it acts from now on. */
async function saveCard(at: Shop, email: string, how: Record<string, unknown> = {}, behaviour?: string) {
  const { data } = (await at.initialize({ user: userOf(email) })).body
  const { body } = await at.call('POST', `/sandbox/gateway/charges/${data.data.reference}`, {
    card: CARD.pays,
    save: true,
    ...how,
  })
  assert.equal(body.data.result, 'paid')
  const payment = await at.payment(data.reference)
  await fetch(`${service.baseUrl}/return/${payment.attempts.at(-1).id}`, { redirect: 'manual' })
  const row = await database.row<{ token: string }>(
    sql`select kept_card as token from gateway_payments where reference = ${data.data.reference}`,
  )
  const token = String(row?.token)
  if (behaviour) await database.rows(sql`update gateway_cards set behaviour = ${behaviour} where token = ${token}`)
  const [card] = await cardsOf(at, email)
  return { id: card?.id as SavedCardId, token }
}

const cardsOf = (at: Shop, email: string) =>
  listCardsToPayWith(
    database,
    { place: at.place, merchantId: at.merchantId, mode: 'sandbox' },
    ['gateway'],
    userOf(email),
  )

/** A provider whose calls are counted, and can be held up or lost. */
const watched = (t: TestContext) => startBetween(t, service)

test('ten tabs that submit a saved card at once make one charge', async () => {
  const email = newEmail()
  const { id: card } = await saveCard(shop, email)
  const id = await open(shop, email)
  const other = await startPaying({ database, masterKey })
  const records = await Promise.all(
    Array.from({ length: 10 }, (_, index) => press(index % 2 ? other.parts : parts, id, { card })),
  )
  for (const { attempts } of records) assert.equal(attempts.length, 1)
  const { status, amountPaid, attempts } = await shop.payment(id)
  assert.deepEqual([status, amountPaid, attempts.length], ['successful', AMOUNT, 1])
  assert.equal((await recordsOf(database, { id })).receipts.length, 1)
})

test('a saved card is charged at once', async (t) => {
  const between = await watched(t)
  const email = newEmail()
  const { id: card } = await saveCard(between.shop, email)
  const id = await open(between.shop, email.toUpperCase())
  const before = between.asked.length
  const [key, wish] = [newKey(), { card }]
  const state = await press(between.parts, id, { ...wish, key })
  assert.deepEqual(statusesOf(state), ['successful', 'successful'])
  assert.equal(state.payment.amountPaid, AMOUNT)
  const asked = between.asked.slice(before).map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(asked, ['POST /sandbox/gateway/v1/charges'])
  assert.deepEqual(partsOf(await press(between.parts, id, { ...wish, key })), partsOf(state))
  assert.deepEqual(partsOf(await press(between.parts, id, wish)), partsOf(state))
  assert.equal(between.asked.length, before + 1, 'and once')
  const { eventTypes } = await recordsOf(database, { id })
  assert.deepEqual(eventTypes, ['attempt.started', 'attempt.successful', 'payment.successful'])
  assert.equal((await cardsOf(between.shop, email)).length, 1, 'and is kept')
})

test('a saved card whose bank wants a code: a link for that step, which is the answer for this card alone', async () => {
  const email = newEmail()
  const { id: card } = await saveCard(shop, email, { card: CARD.asksForCode, otp: '123456' })
  const id = await open(shop, email)
  const state = await press(parts, id, { card })
  const attempt = lastOf(state)
  assert.deepEqual(statusesOf(state), ['pending', 'pending'])
  assert.deepEqual(attempt.instructions, { kind: 'step', link: linkOf(attempt), savedCard: card })
  assert.deepEqual(attempt.instructionsExpireAt, state.payment.expiresAt)
  assert.match(await textAt(linkOf(attempt)), /Verve ending 6666[\s\S]*one-time-code/)
  assert.deepEqual(partsOf(await press(parts, id, { card })), partsOf(state), 'the same again')

  const other = await press(parts, id, { card: 'new' })
  assert.equal(other.attempts.length, 2)
  assert.match(await textAt(linkOf(lastOf(other))), /name="number"/, 'a new card is not asked for the old one’s code')
  const seen = (await shop.payment(id)).attempts[0].instructions
  assert.deepEqual(Object.keys(seen), ['link', 'expiresAt'])

  assert.equal(await charge(shop, attempt, { otp: '123456' }), 'paid')
  const paid = await eventually(() => shop.payment(id), isPaid)
  assert.deepEqual(
    paid.attempts.map(({ status }: Attempt) => status),
    ['successful', 'abandoned'],
  )
})

test('a new card means a page that offers no saved one; without a choice the last one is offered', async () => {
  const email = newEmail()
  const { id: card } = await saveCard(shop, email)
  const id = await open(shop, email)
  const offering = await press(parts, id, {})
  assert.match(await textAt(linkOf(lastOf(offering))), /with Visa ending 4081/)
  const plain = await press(parts, id, { card: 'new' })
  assert.equal(plain.attempts.length, 2)
  assert.match(await textAt(linkOf(lastOf(plain))), /name="number"/)
  assert.deepEqual(partsOf(await press(parts, id, { card: 'new' })), partsOf(plain))
  const charged = await press(parts, id, { card })
  assert.deepEqual(statusesOf(charged), ['successful', 'abandoned', 'abandoned', 'successful'])
})

test('a saved card that is declined: the attempt says why, and its press makes nothing more; the next one is a new attempt', async (t) => {
  const between = await watched(t)
  const email = newEmail()
  const { id: card, token } = await saveCard(between.shop, email, {}, 'insufficient_funds')
  const id = await open(between.shop, email)
  const key = newKey()
  const state = await press(between.parts, id, { card, key })
  assert.deepEqual(statusesOf(state), ['pending', 'failed'])
  assert.equal(lastOf(state).failure?.code, 'insufficient_funds')
  const before = between.asked.length
  for (const wish of [{ card }, { card: 'new' }, { channel: BANK }, { newAccount: true }] as Partial<PageChoice>[]) {
    assert.deepEqual(partsOf(await press(between.parts, id, { ...wish, key })), partsOf(state))
  }
  assert.equal(between.asked.length, before)

  await database.rows(sql`update gateway_cards set behaviour = 'pays' where token = ${token}`)
  assert.deepEqual(statusesOf(await press(between.parts, id, { card })), ['successful', 'failed', 'successful'])
  await recordsOf(database, { id })
})

test('a saved card whose charge is unknown: processing, no other attempt, resolved by a check', async (t) => {
  const between = await watched(t)
  const email = newEmail()
  const { id: card } = await saveCard(between.shop, email, {}, 'stays_silent')
  const id = await open(between.shop, email)
  const key = newKey()
  between.isSilent = true
  const state = await press(between.parts, id, { card, key })
  assert.deepEqual(statusesOf(state), ['pending', 'processing'])
  assert.ok(lastOf(state).checks.nextAt, 'it is watched')
  const before = between.asked.length
  assert.deepEqual(partsOf(await press(between.parts, id, { card, key })), partsOf(state))
  assert.deepEqual(partsOf(await press(between.parts, id, { card })), partsOf(state))
  assert.equal(await codeOf(cancelPayment(parts, id)), 'attempt_in_progress')
  assert.equal(between.asked.length, before)

  const { merchantUuid } = between.shop
  // The provider's own silence of 8 s ends.
  await eventually(
    () =>
      database.rows(sql`
        update gateway_transactions set settles_at = least(settles_at, now())
         where merchant_id = ${merchantUuid} and settles_at is not null returning id`),
    (charged) => charged.length === 1,
  )
  await makeChecksDue(database, id)
  await checkDueAttempts(parts, 1_000)
  const { status, amountPaid, attempts } = await between.shop.payment(id)
  assert.deepEqual([status, amountPaid, attempts.length], ['successful', AMOUNT, 1])
})

test('a saved card that the provider has forgotten: nothing is charged, the attempt says so, and the card is gone', async () => {
  const email = newEmail()
  const { id: card, token } = await saveCard(shop, email)
  await database.rows(sql`update gateway_payments set kept_card = null where kept_card = ${token}`)
  await database.rows(sql`delete from gateway_cards where token = ${token}`)
  const id = await open(shop, email)
  const state = await press(parts, id, { card })
  assert.deepEqual(statusesOf(state), ['pending', 'failed'])
  assert.equal(lastOf(state).failure?.code, 'invalid_token')
  assert.deepEqual(await cardsOf(shop, email), [])
  assert.equal(await codeOf(press(parts, id, { card })), 'not_found')
  assert.deepEqual(statusesOf(await press(parts, id, { card: 'new' })), ['pending', 'failed', 'pending'])
})

test('a card of another customer, shop or provider is no card, and nothing is begun', async () => {
  const [email, other] = [newEmail(), await service.addShop('Another Shop')]
  const { id: card } = await saveCard(shop, email)
  const payments = [await open(shop), await open(other, email)]
  for (const id of payments) assert.equal(await codeOf(press(parts, id, { card })), 'not_found')
  const id = await open(shop, email)
  assert.equal(await codeOf(press(parts, id, { card: newId('card', new Date(), shop.place) })), 'not_found')
  await database.rows(sql`update saved_cards set provider = 'elsewhere' where email = ${email}`)
  assert.equal(await codeOf(press(parts, id, { card })), 'not_found')
  for (const each of [...payments, id]) assert.deepEqual((await recordsOf(database, { id: each })).eventTypes, [])
})

test('the page offers the cards of this customer at this provider that are not expired, the last used first, five at most', async () => {
  const email = newEmail()
  const { id } = await saveCard(shop, email)
  const now = new Date()
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth() + 1]
  const copy = (last4: string, expiryYear: number, expiryMonth: number, daysAgo: number, provider = 'gateway') =>
    database.rows(sql`
      insert into saved_cards (place, id, merchant_id, mode, provider, user_id, email, brand, last4, expiry_month, expiry_year, sealed_token, used_at)
      select place, gen_random_uuid(), merchant_id, mode, ${provider}, user_id, email, brand, ${last4}, ${expiryMonth}, ${expiryYear}, sealed_token,
             now() - ${daysAgo}::integer * interval '1 day'
        from saved_cards where email = ${email} and last4 = '4081'`)
  await copy('0001', year, month, 2)
  await copy('0002', year - 1, 12, 1)
  await copy('0003', year + 9, 1, 3)
  await copy('0004', year + 9, 1, 1, 'elsewhere')
  const shown = async () => (await cardsOf(shop, email.toUpperCase())).map(({ last4 }) => last4)
  assert.deepEqual(await shown(), ['4081', '0001', '0003'])
  for (const daysAgo of [4, 5, 6]) await copy(`000${daysAgo}`, year + 1, 1, daysAgo)
  assert.deepEqual(await shown(), ['4081', '0001', '0003', '0004', '0005'])
  assert.equal((await cardsOf(shop, email))[0]?.id, id)
  assert.deepEqual(await cardsOf(await service.addShop(), email), [])
})
