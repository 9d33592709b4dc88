import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, type SavedCardId, uuidOf } from '../../src/kernel/ids.ts'
import { cancelPayment } from '../../src/payments/settle/cancel-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import type { PageChoice } from '../../src/payments/start/pay-on-page.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import type { PaymentState } from '../../src/payments/state/payment-state.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { listCardsToPayWith } from '../../src/payments/store/saved-cards.ts'
import { startBetween } from '../support/between.ts'
import { codeOf, lastOf, linkOf, newEmail, newKey, press, statusesOf, userOf } from '../support/page-presses.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'
import { letPass, recordsOf } from '../support/payment-records.ts'
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

const numberOf = ({ instructions }: Attempt) =>
  instructions?.kind === 'account' ? instructions.accountNumber : undefined

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

test('by card: the provider’s page, for this payment and this amount', async () => {
  const id = await open(shop)
  const state = await press(parts, id, {})
  assert.deepEqual(statusesOf(state), ['pending', 'pending'])
  const attempt = lastOf(state)
  assert.deepEqual([attempt.channel, attempt.provider, attempt.amountCharged], ['card', 'gateway', AMOUNT])
  assert.match(await textAt(linkOf(attempt)), /name="number"[\s\S]*Pay ₦12,500\.00/)
  assert.equal(await charge(shop, attempt, { card: CARD.pays }), 'paid')
  await eventually(() => shop.payment(id), isPaid)
  assert.deepEqual((await recordsOf(database, { id })).eventTypes.slice(0, 2), ['attempt.started', 'attempt.pending'])
})

test('by transfer: an account number, open for as long as the provider keeps it', async () => {
  const attempt = lastOf(await press(parts, await open(shop), { channel: BANK }))
  assert.match(numberOf(attempt) ?? '', /^\d{10}$/)
  const minutes = (Number(attempt.instructionsExpireAt) - Date.now()) / 60_000
  assert.ok(minutes > 29 && minutes <= 30)
})

test('B15: asking again for the same method gets the pending attempt; another method stands beside it', async (t) => {
  const between = await watched(t)
  const id = await open(between.shop)
  const first = await press(between.parts, id, { card: 'new' })
  const again = await press(between.parts, id, { card: 'new' })
  assert.deepEqual(partsOf(again), partsOf(first))
  const bank = await press(between.parts, id, { channel: BANK })
  assert.deepEqual(statusesOf(bank), ['pending', 'pending', 'pending'])
  assert.deepEqual(partsOf(await press(between.parts, id, { channel: BANK })), partsOf(bank))
  assert.deepEqual(partsOf(await press(between.parts, id, {})), partsOf(bank), 'and the first is there to go back to')
  assert.equal(between.asked.length, 2)
  assert.equal((await recordsOf(database, { id })).eventTypes.length, 4)
})

test('an attempt that a merchant began by initialize is one like any other', async () => {
  const { data } = (await shop.initialize()).body
  const { id, attempts } = await shop.payment(data.reference)
  const state = await press(parts, id, { card: 'new' })
  assert.deepEqual(
    state.attempts.map((attempt) => attempt.id),
    [attempts[0].id],
  )
})

test('an expired account number is replaced by a new one, and so is one that the customer replaces', async () => {
  const id = await open(shop)
  const first = lastOf(await press(parts, id, { channel: BANK }))
  await letPass(database, { id }, 1_801)
  const second = lastOf(await press(parts, id, { channel: BANK }))
  const key = newKey()
  const state = await press(parts, id, { channel: BANK, newAccount: true, key })
  const third = lastOf(state)
  assert.equal(new Set([first, second, third].map(numberOf)).size, 3)
  assert.deepEqual(
    partsOf(await press(parts, id, { channel: BANK, newAccount: true, key })),
    partsOf(state),
    'one press, one number',
  )
  assert.equal((await press(parts, id, { channel: BANK })).attempts.length, 3)

  const { status } = await shop.call('POST', '/sandbox/gateway/transfers', {
    accountNumber: numberOf(first),
    amount: AMOUNT,
  })
  assert.equal(status, 200)
  const paid = await eventually(
    () => shop.payment(id),
    (payment) => payment.status === 'successful',
  )
  assert.equal(paid.attempts[0].status, 'successful', 'money to the old number is money')
})

test('one form sent ten times by two processes makes one attempt and one provider call', async (t) => {
  const between = await watched(t)
  const other = await startPaying({ database, masterKey })
  for (const wish of [
    { card: 'new' },
    { channel: BANK },
    { channel: BANK, newAccount: true },
  ] as Partial<PageChoice>[]) {
    const id = await open(between.shop)
    const [key, before] = [newKey(), between.asked.length]
    const records = await Promise.all(
      Array.from({ length: 10 }, (_, index) => press(index % 2 ? other.parts : between.parts, id, { ...wish, key })),
    )
    for (const { attempts } of records) assert.equal(attempts.length, 1)
    const { attempts } = await press(other.parts, id, { ...wish, key })
    assert.deepEqual([attempts.length, attempts[0]?.status], [1, 'pending'])
    const calls = await database.rows(sql`
      select from provider_calls c join attempts a on a.id = c.attempt_id where a.order_reference = ${attempts[0]?.orderReference}`)
    assert.equal(calls.length, 1)
    assert.ok(between.asked.length <= before + 1)
    await recordsOf(database, { id })
  }
})

test('while the provider has not answered, every form gets the current payment state', async (t) => {
  const between = await watched(t)
  const id = await open(between.shop)
  const key = newKey()
  const meanwhile: string[][] = []
  between.meanwhile = async () => {
    for (const wish of [{ key }, { card: 'new' }, { channel: BANK }, { newAccount: true }] as Partial<PageChoice>[]) {
      meanwhile.push(statusesOf(await press(parts, id, wish)))
    }
    return undefined
  }
  const state = await press(between.parts, id, { key })
  assert.deepEqual(meanwhile, Array(4).fill(['pending', 'processing']), 'money may be moving: no other try is let in')
  assert.deepEqual(statusesOf(state), ['pending', 'pending'])
})

test('an unreachable provider: a failed attempt is stored, and the next form tries again', async (t) => {
  const between = await watched(t)
  const id = await open(between.shop)
  await between.upstream.close()
  const key = newKey()
  const state = await press(between.parts, id, { key })
  assert.deepEqual(statusesOf(state), ['pending', 'failed'])
  assert.equal(lastOf(state).failure?.code, 'provider_unavailable')
  assert.deepEqual(partsOf(await press(parts, id, { key })), partsOf(state))
  assert.deepEqual(statusesOf(await press(parts, id, {})), ['pending', 'failed', 'pending'])
})

test('B20: a provider that says nothing: processing, and nothing else is started until it is known', async (t) => {
  const between = await watched(t)
  const id = await open(between.shop)
  between.upstream.trouble = 'silent before the work'
  const state = await press(between.parts, id, { channel: BANK })
  assert.deepEqual(statusesOf(state), ['pending', 'processing'])
  assert.deepEqual(partsOf(await press(parts, id, {})), partsOf(state))
  await letPass(database, { id }, 601)
  for (const _ of [1, 2]) {
    await makeChecksDue(database, id)
    await checkDueAttempts(parts, 1_000)
  }
  assert.deepEqual(statusesOf(await press(parts, id, { channel: BANK })), ['pending', 'failed', 'pending'])
})

test('a provider that refuses: the attempt says so, nothing is thrown', async (t) => {
  const between = await watched(t)
  const id = await open(between.shop)
  between.meanwhile = async () => ({
    status: 422,
    text: '{"type":"urn:manilla:problem:limit_exceeded","code":"limit_exceeded","detail":"Too much."}',
  })
  const state = await press(between.parts, id, {})
  assert.deepEqual(statusesOf(state), ['pending', 'failed'])
  assert.equal(lastOf(state).failure?.code, 'limit_exceeded')
})

test('a finished payment does not change, and no provider is called', async (t) => {
  const between = await watched(t)
  const cancelled = await open(between.shop)
  await press(between.parts, cancelled, {})
  await cancelPayment(parts, cancelled)
  const email = newEmail()
  const { id: card } = await saveCard(between.shop, email)
  const paid = await open(between.shop, email)
  await press(between.parts, paid, { card })
  const expired = await open(between.shop)
  await letPass(database, { id: expired }, 90_000)
  const before = between.asked.length
  assert.deepEqual(statusesOf(await press(between.parts, cancelled, {})), ['cancelled', 'abandoned'])
  assert.deepEqual(statusesOf(await press(between.parts, paid, { channel: BANK })), ['successful', 'successful'])
  const state = await press(between.parts, expired, {})
  assert.deepEqual(statusesOf(state), ['pending'], 'its time is over, though nobody has noted it yet')
  assert.ok(state.payment.expiresAt < new Date())
  assert.equal(between.asked.length, before)
})

test('a payment that ends during the provider call: the attempt is abandoned', async (t) => {
  const between = await watched(t)
  const id = await open(between.shop)
  between.meanwhile = async () => {
    await letPass(database, { id }, 90_000)
    await expirePayments(parts, 100)
    return undefined
  }
  assert.deepEqual(statusesOf(await press(between.parts, id, {})), ['expired', 'abandoned'])
  await recordsOf(database, { id })
})

test('too many attempts, an unsupported amount and a missing integration are thrown as problems', async () => {
  const id = await open(shop)
  for (let number = 1; number <= 20; number++) await press(parts, id, { channel: BANK, newAccount: true })
  assert.equal(await codeOf(press(parts, id, { channel: BANK, newAccount: true })), 'too_many_attempts')
  assert.equal((await press(parts, id, { channel: BANK })).attempts.length, 20, 'the last number is still there')

  const closing = await service.addShop()
  const dear = await open(closing, newEmail(), { amount: 999_999_999_999, customerBearsCharge: true })
  assert.equal(await codeOf(press(parts, dear, {})), 'amount_out_of_range')
  await database.rows(sql`update integrations set enabled = false where merchant_id = ${uuidOf(closing.merchantId)}`)
  assert.equal(await codeOf(press(parts, dear, {})), 'no_integration_available')
  assert.deepEqual((await recordsOf(database, { id: dear })).eventTypes, [])
})

test('F4: a form whose key has U+0000 or half of a character starts nothing and is no error of ours', async () => {
  const id = await open(shop)
  const address = `${service.baseUrl}/pay/${id}`
  const token = /name="token" value="([^"]+)"/.exec(await textAt(address))?.[1] ?? assert.fail('no token')
  for (const key of ['%00', 'a%00b', `${'a'.repeat(63)}%F0%9F%92%A9`]) {
    const { status } = await fetch(address, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(address).origin },
      body: `action=pay&method=card&token=${encodeURIComponent(token)}&key=${key}`,
    })
    assert.ok(status < 500, `${key}: ${status}`)
  }
  assert.equal((await shop.payment(id)).attempts.length, 0)
})
