import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql, statementOf } from '../../src/database/sql.ts'
import { eraseCustomer } from '../../src/payments/upkeep/erase-customer.ts'
import { startListener } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge, payByCard } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'
import { newVisitor } from '../support/visitor.ts'

const service = await startPaying({ deliver: true, worker: true })
const { database } = service
const shop = await service.addShop()

test('an address that is in every text of every call is in no row of any table after the erasure', async () => {
  const hook = await startListener((_request, response) => response.writeHead(200).end(`Thank you, ${email}`))
  const email = 'Everywhere.Okafor@Example.com'
  const encoded = encodeURIComponent(email.toLowerCase())
  const key = (call: string) => ({ 'idempotency-key': `${call} ${email}` })
  const texts = { [`for ${email}`]: `to ${email}`, [email]: email.toUpperCase() }
  const user = { email, name: `Mx ${email}`, id: email }
  const more = { redirectURL: `https://shop.example/?e=${encoded}`, webhook: `${hook.url}?${encoded}`, metadata: texts }
  const wanted = { amount: 5_000, country: 'NG', user, ...more }
  assert.equal((await shop.call('POST', '/payments/v1/checkouts', wanted, key('create'))).status, 201)
  const { body: started } = await shop.initialize(
    { reference: 'every-1', user, amount: 5_000, saveCard: true, ...more },
    key('start'),
  )
  await charge(shop, started.data.data.reference, CARD.pays, { save: true })
  await eventually(
    () => shop.payment('every-1'),
    (payment) => payment.status === 'successful',
  )
  const refund = { amount: 1_000, reason: `${email} asked for it` }
  const path = '/payments/v1/payments/every-1/refunds'
  assert.equal((await shop.call('POST', path, refund, key('refund'))).status, 201)
  await eventually(
    () =>
      database.rows(
        sql`select from notices where state = 'waiting' union all select from deliveries where state = 'waiting'`,
      ),
    (rows) => rows.length === 0,
  )
  // The texts of a link are of the merchant, who changes them in the dashboard. What a customer writes on its page is
  // erased.
  const link = { title: 'Lesson', country: 'NG', amount: 5_000, currency: 'NGN', customField: 'Your address' }
  const { body: made } = await shop.call('POST', '/payments/v1/links', link)
  const customer = newVisitor()
  await customer.go(made.data.url)
  await customer.send({}, { email, answer: `mine is ${email}` })
  assert.equal(customer.state, 'choose')

  const tables = await database.rows<{ name: string; placed: boolean }>(sql`
    select c.relname as name, exists (select from pg_attribute where attrelid = c.oid and attname = 'place') as placed
      from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`)
  const withAddress = async () => {
    const found: string[] = []
    for (const { name, placed } of tables) {
      const rows = await database.rows(
        statementOf(
          `select t::text from "${name}" t where ${placed ? 'place >= 0 and' : ''} t::text ~* 'everywhere.okafor(@|%40)'`,
          [],
        ),
      )
      if (rows.length > 0) found.push(name)
    }
    return found
  }
  assert.deepEqual((await withAddress()).sort(), [
    'deliveries',
    'delivery_tries',
    'events',
    'idempotent_calls',
    'payments',
    'refunds',
    'saved_cards',
  ])
  const erased = await eraseCustomer(service, 'test', { ...shop, mode: 'sandbox' }, email)
  assert.deepEqual(erased, { payments: 3, isComplete: true })
  assert.deepEqual(await withAddress(), [])
})

test('a refund whose process died before its answer, and whose key was erased, is found by a repeat', async () => {
  const email = 'halfway@example.com'
  await payByCard(shop, { reference: 'half-1', user: { email }, amount: 5_000 })
  const key = `refund ${email}`
  const refunded = () =>
    shop.call('POST', '/payments/v1/payments/half-1/refunds', { amount: 1_000 }, { 'idempotency-key': key })
  const { status, body } = await refunded()
  assert.equal(status, 201)
  await database.rows(sql`
    update idempotent_calls set answer = null, running_until = '-infinity' where place = ${shop.place} and key = ${key}`)
  await eraseCustomer(service, 'test', { ...shop, mode: 'sandbox' }, email)
  for (let times = 0; times < 2; times++) {
    const repeated = await refunded()
    assert.deepEqual([repeated.status, repeated.body.data?.id], [201, body.data.id])
  }
})
