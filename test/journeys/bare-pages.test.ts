import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type Shop, startPaying } from '../support/paying.ts'
import { charge, transfer } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'
import { newVisitor, type Visitor } from '../support/visitor.ts'

const service = await startPaying()
const { baseUrl } = service

async function newPayment(shop: Shop): Promise<{ id: string; url: string; reference: string }> {
  const body = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }
  return (await shop.call('POST', '/payments/v1/checkouts', body)).body.data
}

async function openByReference(shop: Shop, reference: string, token?: string): Promise<Visitor> {
  const visitor = newVisitor()
  const query = { 'client-id': shop.headers['client-id'], reference, ...(token !== undefined && { token }) }
  await visitor.go(`${baseUrl}/widget/open?${new URLSearchParams(query as Record<string, string>)}`)
  assert.equal(visitor.status, 200)
  return visitor
}

const cancelForm = /name="action" value="cancel"/
const inputOf = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''

/** Posts a cancel with the form token that this page holds, as a stranger would. */
const forgeCancel = (visitor: Visitor) =>
  fetch(visitor.url, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ action: 'cancel', token: inputOf(visitor.text, 'token'), key: 'forged' }),
  })

test('a page opened by client-id and reference has no cancel button in any state, and a forged form cannot cancel', async () => {
  const shop = await service.addShop()
  const { id, reference } = await newPayment(shop)
  const visitor = await openByReference(shop, reference)
  assert.equal(visitor.state, 'choose')
  assert.doesNotMatch(visitor.text, cancelForm)
  assert.equal((await forgeCancel(visitor)).status, 403)
  assert.equal((await shop.payment(id)).status, 'pending')

  await visitor.send({ action: 'pay', method: 'transfer' })
  assert.equal(visitor.state, 'awaiting')
  assert.doesNotMatch(visitor.text, cancelForm)
  assert.equal((await forgeCancel(visitor)).status, 403)
  assert.equal((await shop.payment(id)).status, 'pending')
})

test('a transfer can be dialled at the customer’s bank: the whole of it, then the rest; not with kobo', async () => {
  const shop = await service.addShop()
  const { id, url } = await newPayment(shop)
  const visitor = newVisitor()
  await visitor.go(url)
  await visitor.send({ action: 'pay', method: 'transfer' })
  const { accountNumber } = (await shop.payment(id)).attempts[0].instructions
  const arrives = async (amount: number) => {
    const { amountPaid } = await shop.payment(id)
    await transfer(shop, accountNumber, amount)
    await eventually(
      () => shop.payment(id),
      (payment) => payment.amountPaid === amountPaid + amount,
    )
  }
  assert.ok(visitor.text.includes(`*737*2*12500*${accountNumber}#`))
  assert.doesNotMatch(visitor.text, /tel:/, 'dialled, it would send real money to a number of the sandbox')
  await arrives(1_000_000)
  await visitor.go(url)
  assert.equal(visitor.state, 'partial')
  assert.ok(visitor.text.includes(`*737*2*2500*${accountNumber}#`))
  await arrives(50)
  await visitor.go(url)
  assert.equal(visitor.state, 'partial')
  assert.doesNotMatch(visitor.text, /\*737\*/)
})

test('the page behind the customer’s link, and a widget that was opened with a token, can cancel', async () => {
  const shop = await service.addShop()
  const linked = await newPayment(shop)
  const byLink = newVisitor()
  await byLink.go(linked.url)
  await byLink.send({ action: 'cancel' })
  assert.equal((await shop.payment(linked.id)).status, 'cancelled')

  const framed = await newPayment(shop)
  const path = `/payments/v1/payments/${framed.reference}/widget-token`
  const { token } = (await shop.call('POST', path)).body.data
  const byToken = await openByReference(shop, framed.reference, token)
  await byToken.send({ action: 'cancel' })
  assert.equal((await shop.payment(framed.id)).status, 'cancelled')
})

test('a token of another payment does not make a page one that can cancel', async () => {
  const shop = await service.addShop()
  const [one, other] = [await newPayment(shop), await newPayment(shop)]
  const { token } = (await shop.call('POST', `/payments/v1/payments/${other.reference}/widget-token`)).body.data
  const visitor = await openByReference(shop, one.reference, token)
  assert.doesNotMatch(visitor.text, cancelForm)
  assert.equal((await forgeCancel(visitor)).status, 403)
  assert.equal((await shop.payment(one.id)).status, 'pending')
})

/** Starts attempts by reference until the page refuses one. */
async function useUpByReference(shop: Shop, reference: string): Promise<void> {
  const stranger = await openByReference(shop, reference)
  const form = { action: 'new-account', token: inputOf(stranger.text, 'token') }
  let last = 0
  for (let tries = 1; tries <= 25 && last !== 409; tries++) {
    const body = new URLSearchParams({ ...form, key: `stranger-${tries}` })
    last = (await fetch(stranger.url, { method: 'POST', redirect: 'manual', body })).status
  }
  assert.equal(last, 409, 'the page that was opened by reference has a limit')
}

test('a stranger with a guessed reference cannot use up the attempts of the customer’s link and of the merchant', async () => {
  const shop = await service.addShop()
  const { id, url, reference } = await newPayment(shop)
  await useUpByReference(shop, reference)
  const customer = newVisitor()
  await customer.go(url)
  await customer.send({ action: 'new-account' })
  assert.equal(customer.state, 'awaiting')
  const path = `/payments/v1/payments/${reference}/widget-token`
  const { token } = (await shop.call('POST', path)).body.data
  const byToken = await openByReference(shop, reference, token)
  await byToken.send({ action: 'new-account' })
  assert.equal(byToken.state, 'awaiting')
  const user = { email: 'ada@example.com' }
  assert.equal((await shop.initialize({ reference, user })).status, 200)
  assert.equal((await shop.payment(id)).attempts.length, 13, '10 of the stranger, then one each')
})

/** Starts a card attempt on the page, is declined at the provider and comes back. */
async function beDeclined(shop: Shop, id: string, visitor: Visitor): Promise<void> {
  await payByCard(visitor)
  const attempt = (await shop.payment(id)).attempts.at(-1)
  await charge(shop, attempt.providerReference, CARD.declined)
  await visitor.go(`${baseUrl}/return/${attempt.id}`)
}

async function payByCard(visitor: Visitor): Promise<void> {
  await visitor.go(Object.assign(new URL(visitor.url), { search: '?method=card' }).href)
  await visitor.send({ action: 'pay', method: 'card' })
}

test('a customer who came by the link pays again after a decline, when a stranger has used up the attempts by reference', async () => {
  const shop = await service.addShop()
  const { id, url, reference } = await newPayment(shop)
  await useUpByReference(shop, reference)
  const customer = newVisitor()
  await customer.go(url)
  await beDeclined(shop, id, customer)
  assert.equal(customer.state, 'failed')
  assert.doesNotMatch(customer.text, cancelForm, 'a stranger can return from the same page of the provider')
  assert.equal((await forgeCancel(customer)).status, 403)
  await payByCard(customer)
  const { attempts, status } = await shop.payment(id)
  assert.deepEqual([attempts.length, attempts.at(-1).status, status], [12, 'pending', 'pending'])
})

test('a page that was opened by reference keeps its limit after a return from the provider', async () => {
  const shop = await service.addShop()
  const { id, reference } = await newPayment(shop)
  const visitor = await openByReference(shop, reference)
  await beDeclined(shop, id, visitor)
  await useUpByReference(shop, reference)
  await payByCard(visitor)
  assert.equal(visitor.status, 409)
})
