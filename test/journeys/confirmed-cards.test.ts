import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { embedId } from '../../src/http/checkout/embed.ts'
import { removeIntegration, setIntegration } from '../../src/integrations/manage-integrations.ts'
import { type AttemptId, newId, type PaymentId, parseId, type SavedCardId } from '../../src/kernel/ids.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { findAttempt, makeChecksDue } from '../../src/payments/store/attempts.ts'
import { capabilities } from '../../src/providers/paystack/capabilities.ts'
import type { StartFake } from '../fakes/fake-provider.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { startFakeStripe } from '../fakes/stripe/fake.ts'
import { startById, submitById } from '../support/by-id.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'
import { letPass } from '../support/payment-records.ts'

// Providers without a page for saved cards: the customer's yes is asked for on ours.

const service = await startPaying()
const { database, parts, baseUrl } = service
const newEmail = () => `ada.${randomBytes(5).toString('hex')}@example.com`

/** A shop that has this provider alone, and a customer whose card is kept there. */
async function withSavedCard(t: TestContext, start: StartFake, email = newEmail()) {
  const fake = await start(t)
  const { name } = fake.provider.capabilities
  const shop = await service.addShop()
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' } as const
  const wish = { settings: fake.settings, baseURL: fake.upstream.url }
  await setIntegration(
    { ...parts, allowPrivate: () => true },
    { actor: 'test', owner, provider: fake.provider, changes: wish },
  )
  await removeIntegration(parts, 'test', owner, 'gateway')
  const initialize = async (changes: Record<string, unknown> = {}) => {
    const { status, body } = await shop.initialize({ provider: name, ...fake.price, user: { email }, ...changes })
    assert.equal(status, 200, JSON.stringify(body))
    return { reference: String(body.data.reference), link: String(body.data.data.link) }
  }
  const { reference } = await initialize({ saveCard: true })
  const [first] = (await shop.payment(reference)).attempts
  await fake.customer.payByCard(await orderOf(first.id), { save: true })
  await fetch(`${baseUrl}/return/${first.id}`, { redirect: 'manual' })
  assert.equal((await shop.payment(reference)).status, 'successful')
  return { fake, shop, email, initialize, taken: () => fake.ledger().taken.length - 1 }
}

const orderOf = async (id: AttemptId) => String((await findAttempt(database, id))?.orderReference)

const inputOf = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''

/** What the page's form would send. */
async function formOn(link: string): Promise<Record<string, string>> {
  const page = await (await fetch(link)).text()
  const names = ['token', 'key', 'total', 'card']
  return {
    action: 'pay',
    method: 'card',
    ...Object.fromEntries(names.map((name) => [name, inputOf(page, name)])),
  }
}

const send = (link: string, form: Record<string, string>) =>
  fetch(link, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })

const statusesOf = async (shop: Shop, reference: string) => {
  const { status, attempts } = await shop.payment(reference)
  return [status, ...attempts.map((attempt: { status: string }) => attempt.status)]
}

test('confirming a saved card charges it once, also when the form is submitted repeatedly from several tabs', async (t) => {
  const { shop, initialize, taken } = await withSavedCard(t, startFakePaystack)
  const { reference, link } = await initialize()
  assert.ok(link.startsWith(`${baseUrl}/pay/`))
  assert.equal(taken(), 0)
  const tabs = await Promise.all([1, 2, 3, 4].map(() => formOn(link)))
  await Promise.all([...tabs, ...tabs].map((form) => send(link, form)))
  assert.deepEqual(await statusesOf(shop, reference), ['successful', 'successful'])
  assert.equal(taken(), 1)
})

test('the outcome of a charge is found when the answer was lost and the confirmation came hours after the order', async (t) => {
  const { fake, shop, initialize, taken } = await withSavedCard(t, startFakeStripe)
  const { reference, link } = await initialize()
  const { id } = await shop.payment(reference)
  await letPass(database, { id }, 3 * 3_600)
  fake.upstream.trouble = 'reset after the work'
  await send(link, await formOn(link))
  fake.upstream.trouble = undefined
  assert.deepEqual([taken(), ...(await statusesOf(shop, reference))], [1, 'pending', 'processing'])
  for (const seconds of [700, 700]) {
    await letPass(database, { id }, seconds)
    await makeChecksDue(database, id)
    await checkDueAttempts(parts, 10)
  }
  assert.deepEqual(await statusesOf(shop, reference), ['successful', 'successful'])
})

test('confirming charges nothing if the payment was cancelled or expired, or the card deleted', async (t) => {
  const { shop, email, initialize, taken } = await withSavedCard(t, startFakePaystack)
  const [cancelled, over, deleted] = [await initialize(), await initialize(), await initialize()]
  const forms = await Promise.all([cancelled, over, deleted].map(({ link }) => formOn(link)))
  await shop.call('POST', `/payments/v1/payments/${cancelled.reference}/cancel`)
  await letPass(database, await shop.payment(over.reference), 90_000)
  const [card] = (await shop.call('GET', `/payments/v1/cards?email=${email}`)).body.data
  await shop.call('DELETE', `/payments/v1/cards/${card.id}`)
  await Promise.all([cancelled, over, deleted].map(({ link }, index) => send(link, forms[index] ?? {})))
  assert.equal(taken(), 0)
  assert.deepEqual(await statusesOf(shop, cancelled.reference), ['cancelled', 'abandoned'])
  assert.deepEqual(await statusesOf(shop, over.reference), ['pending', 'pending'])
  assert.deepEqual(await statusesOf(shop, deleted.reference), ['pending', 'pending'])
})

test('a card is charged with the e-mail address that it was saved with, in its original case', async (t) => {
  const { shop, email, initialize, taken } = await withSavedCard(t, startFakePaystack)
  const { reference, link } = await initialize({ user: { email: email.toUpperCase() } })
  await send(link, await formOn(link))
  assert.deepEqual(await statusesOf(shop, reference), ['successful', 'successful'])
  assert.equal(taken(), 1)
})

test('a card cannot be charged without the customer’s payment link', async (t) => {
  const { shop, initialize, taken } = await withSavedCard(t, startFakePaystack)
  const { reference, link } = await initialize()
  const form = await formOn(link)
  assert.match(form.card ?? '', /^crd_/)
  const { id } = await shop.payment(reference)
  const bare = `${baseUrl}/pay/${embedId(parts.secrets, id as PaymentId, new Date())}`
  const shown = await formOn(bare)
  assert.equal(shown.card, 'new')
  await send(bare, { ...shown, card: String(form.card) })
  assert.equal(taken(), 0)
  assert.deepEqual(await statusesOf(shop, reference), ['pending', 'pending', 'pending'])
})

test('confirming applies to the shown price; an attempt at a higher price is started again', async (t) => {
  const { fake, shop, initialize } = await withSavedCard(t, startFakePaystack)
  const { reference, link } = await initialize()
  // As a version with other fees would have left it.
  await database.rows(sql`
    update attempts set amount_charged = amount_charged + 500 where reference like ${`${reference}%`}`)
  await send(link, await formOn(link))
  assert.deepEqual(await statusesOf(shop, reference), ['successful', 'abandoned', 'successful'])
  assert.equal(fake.ledger().taken.at(-1)?.amount.amount, fake.price.amount)
})

test('the provider is not called for an attempt that awaits confirmation', async (t) => {
  const { fake, shop, initialize } = await withSavedCard(t, startFakePaystack)
  const { reference } = await initialize()
  const { id } = await shop.payment(reference)
  assert.equal(await makeChecksDue(database, id), 0)
  assert.equal(await checkDueAttempts(parts, 10), 0)
  assert.equal(fake.ordersMade(), 1)
})

test('a notice of money for an attempt that awaits confirmation: after a restore, the customer has confirmed it', async (t) => {
  const { fake, shop, initialize } = await withSavedCard(t, startFakePaystack)
  const deliver = async () => {
    const [notice] = fake.takeNotices().slice(-1)
    assert.ok(notice)
    const url = `${baseUrl}/notices/paystack/sandbox/${shop.merchantId}`
    assert.equal((await request(url, 'POST', notice.headers, notice.body.toString())).status, 200)
  }
  for (const isListed of [true, false]) {
    const { reference } = await initialize({ user: { email: newEmail() } })
    const savedCard = newId('card', new Date(), shop.place)
    const instructions = { kind: 'confirm', link: `${baseUrl}/pay/x`, publicKey: 'pk_test_x', savedCard }
    const [attempt] = (await shop.payment(reference)).attempts
    const order = await orderOf(attempt.id)
    await database.rows(sql`
      with changed as (update payments set version = version + 1 where reference = ${reference})
      update attempts set instructions = ${instructions}, next_check_at = null
       where order_reference = ${order}`)
    await fake.customer.payByCard(order, { save: false })
    const unlisted = { status: 404, text: JSON.stringify({ status: true, message: 'OK', data: null }) }
    if (!isListed) fake.upstream.trouble = ({ path }) => (path.endsWith(order) ? unlisted : undefined)
    await deliver()
    const isDone = isListed ? 'successful' : 'processing'
    assert.deepEqual(
      await eventually(
        () => statusesOf(shop, reference),
        (statuses) => statuses.includes(isDone),
      ),
      isListed ? ['successful', 'successful'] : ['pending', 'processing'],
    )
    fake.upstream.trouble = undefined
    if (isListed) continue
    await letPass(database, await shop.payment(reference), 11)
    await checkDueAttempts(parts, 10)
    assert.deepEqual(await statusesOf(shop, reference), ['successful', 'successful'])
  }
})

test('an attempt whose confirmation could not be prepared has failed and does not block another attempt', async (t) => {
  const { shop, email, fake } = await withSavedCard(t, startFakePaystack)
  const body = { ...fake.price, user: { email } }
  const { id, reference } = (await shop.call('POST', '/payments/v1/checkouts', body)).body.data
  const connect = async () => Promise.reject(new Error('the database is away'))
  const broken = { ...parts, providers: { ...parts.providers, connect } }
  const start = { capabilities, channel: 'card' } as const
  await assert.rejects(startById(broken, id, start), { code: 'provider_error' })
  const { attempt } = await startById(parts, id, start)
  assert.equal(attempt.instructions?.kind, 'confirm')
  assert.deepEqual(await statusesOf(shop, reference), ['pending', 'failed', 'pending'])
})

test('confirming fails if the integration was removed since', async (t) => {
  const { shop, initialize, taken } = await withSavedCard(t, startFakePaystack)
  const { reference, link } = await initialize()
  const { card } = await formOn(link)
  const { id } = await shop.payment(reference)
  const wish = { channel: 'card', card: parseId('card', String(card)) as SavedCardId, key: 'one' } as const
  await shop.call('DELETE', '/payments/v1/integrations/paystack')
  await assert.rejects(submitById(parts, id, wish), { code: 'no_integration_available' })
  assert.equal(taken(), 0)
  assert.deepEqual(await statusesOf(shop, reference), ['pending', 'pending'])
})
