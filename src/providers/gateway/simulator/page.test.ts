import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CARD, startSimulator } from '../../../../test/support/simulator.ts'

const rig = await startSimulator()
const shop = await rig.addShop()
const RETURN = 'https://shop.example/thanks?order=7'
const GOOD = { action: 'pay', number: CARD.pays, expiry: '12 / 39', cvv: '123' }

async function get(link: string) {
  const response = await fetch(link, { redirect: 'manual' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function post(link: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields)
  const response = await fetch(link, { method: 'POST', body, headers, redirect: 'manual' })
  const location = response.headers.get('location')
  const text = await response.text()
  if (!location?.endsWith('?done')) return { status: response.status, location, text }
  // A page of its own sends the customer on: what counts is where they end up.
  const onwards = /http-equiv="refresh" content="0;url=([^"]+)"/.exec((await get(new URL(location, link).href)).text)
  return { status: response.status, location: onwards?.[1] ?? null, text }
}

const alertOf = (text: string) => /role="alert"[^>]*>([^<]*)</.exec(text)?.[1]

test('the page shows who asks for how much, and asks for a card as browsers like it', async () => {
  const { link } = await shop.open({ merchantName: 'Adaeze & Sons <Kitchen>' })
  const { status, text } = await get(link)
  assert.equal(status, 200)
  for (const part of [
    'Adaeze &amp; Sons &lt;Kitchen&gt;',
    'Pay ₦12,500.00',
    'autocomplete="cc-number"',
    'autocomplete="cc-exp"',
    'autocomplete="cc-csc"',
    'inputmode="numeric"',
    'name="save"',
    'value="cancel"',
    'Sandbox: no real money',
    '<details>',
    'lang="en"',
  ]) {
    assert.ok(text.includes(part), part)
  }
  assert.ok(!text.includes('<script') && !text.includes('ada@example.com') && !text.includes('role="alert"'))
  assert.ok(text.length < 10_000, 'light')
})

test('the page may run nothing and send its form nowhere but here, and may stand in any frame', async () => {
  const { headers } = await get((await shop.open()).link)
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; /)
  assert.match(policy, /form-action 'self'; frame-ancestors \*$/)
  assert.equal(headers.get('x-frame-options'), null)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('referrer-policy'), 'no-referrer')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
})

test('a decline says why above the form, charges nothing, and another card pays on the same page', async () => {
  const { link, reference } = await shop.open()
  const declined = await post(link, { ...GOOD, number: CARD.insufficientFunds })
  assert.equal(declined.status, 422)
  assert.equal(alertOf(declined.text), 'There is not enough money on this card or account. You have not been charged.')
  assert.match(declined.text, /autocomplete="cc-number"/)
  assert.ok(!declined.text.includes('9995"'), 'the number is not sent back')
  assert.deepEqual(pick(await shop.ledger(reference)), ['failed', 0])
  const paid = await post(link, { ...GOOD, save: 'yes' })
  assert.deepEqual([paid.status, paid.location], [303, RETURN])
  assert.deepEqual(pick(await shop.ledger(reference)), ['paid', 1_250_000])
  const { savedCard } = (await shop.api('GET', `/payments/${reference}`)).body.data
  assert.deepEqual([savedCard.last4, savedCard.expiryMonth, savedCard.expiryYear], ['4081', 12, 2039])
})

test('a mistake in the form is pointed out, and the books know nothing of it', async () => {
  const { link, reference } = await shop.open()
  const mistakes = [
    [{ number: '4084' }, /^Check the card number\. One or more digits look wrong\.$/],
    [{ number: '4084 0840 8408 4082' }, /^Check the card number\. One or more digits look wrong\.$/],
    [{ number: '' }, /card number/],
    [{ expiry: '13/39' }, /expiry date/],
    [{ expiry: '01/20' }, /^This card has expired\.$/],
    [{ cvv: '1' }, /^Enter the 3 or 4 digits of the security code\.$/],
  ] as const
  for (const [mistake, says] of mistakes) {
    const { status, text } = await post(link, { ...GOOD, ...mistake })
    assert.equal(status, 422)
    assert.match(alertOf(text) ?? '', says)
    assert.match(text, /aria-invalid="true" aria-describedby="mistake" autofocus/)
  }
  assert.deepEqual((await shop.ledger(reference)).transactions, [])
  for (const expiry of ['1239', '12/2039', '12-39']) {
    assert.equal((await post((await shop.open()).link, { ...GOOD, expiry })).status, 303, expiry)
  }
})

test('a code is asked for on a page of its own; a wrong one may be tried again', async () => {
  const { link, reference } = await shop.open()
  const asked = await post(link, { ...GOOD, number: CARD.asksForCode, save: 'yes' })
  assert.equal(asked.status, 303)
  assert.equal(new URL(asked.location ?? '', link).href, link)
  assert.match((await get(link)).text, /Verve ending 6666[\s\S]*autocomplete="one-time-code"/)
  const empty = await post(link, { action: 'otp', otp: ' ' })
  assert.equal(alertOf(empty.text), 'Enter the code.')
  const wrong = await post(link, { action: 'otp', otp: '000000' })
  assert.equal(wrong.status, 422)
  assert.equal(alertOf(wrong.text), 'The code was not right. You have not been charged.')
  assert.match(wrong.text, /autocomplete="one-time-code"/)
  const right = await post(link, { action: 'otp', otp: '123456' })
  assert.deepEqual([right.status, right.location], [303, RETURN])
  assert.deepEqual(pick(await shop.ledger(reference)), ['paid', 1_250_000])
  assert.equal((await shop.api('GET', `/payments/${reference}`)).body.data.savedCard.brand, 'Verve')
})

test('a customer without a code can use another card', async () => {
  const { link } = await shop.open()
  await post(link, { ...GOOD, number: CARD.asksForCode })
  const other = await post(link, { action: 'other' })
  const next = new URL(other.location ?? '', link).href
  assert.match((await get(next)).text, /autocomplete="cc-number"/)
  assert.equal((await post(next, GOOD)).status, 303)
})

test('a saved card is paid with by one press, or left for another', async () => {
  const first = await shop.open()
  await post(first.link, { ...GOOD, save: 'yes' })
  const savedCard = (await shop.api('GET', `/payments/${first.reference}`)).body.data.savedCard.token
  const { link, reference } = await shop.open({ savedCard })
  assert.match((await get(link)).text, /Pay ₦12,500\.00 with Visa ending 4081/)
  assert.match((await get(`${link}?card=new`)).text, /autocomplete="cc-number"/)
  const paid = await post(link, { action: 'saved' })
  assert.deepEqual([paid.status, paid.location], [303, RETURN])
  assert.deepEqual(pick(await shop.ledger(reference)), ['paid', 1_250_000])
})

test('cancelling goes back to the shop, and is final', async () => {
  const { link, reference } = await shop.open()
  const cancelled = await post(link, { action: 'cancel' })
  assert.deepEqual([cancelled.status, cancelled.location], [303, RETURN])
  const { status, transactions } = await shop.ledger(reference)
  assert.deepEqual([status, transactions[0].failure.code], ['failed', 'customer_cancelled'])
  const [notice] = await rig.sink.until(reference, 1)
  assert.equal(notice?.body.type, 'payment.failed')
  await post(link, { action: 'cancel' })
  await post(link, GOOD)
  assert.deepEqual((await shop.ledger(reference)).transactions, transactions, 'nothing more happens')
  assert.equal((await shop.charge(reference, { card: CARD.pays })).status, 409)
  const { text } = await get(link)
  assert.match(text, /Cancelled[\s\S]*href="https:\/\/shop\.example\/thanks\?order=7"/)
})

test('a payment that is finished says so, with a way back; what was paid cannot be cancelled', async () => {
  const { link, reference } = await shop.open()
  await post(link, GOOD)
  assert.match((await get(link)).text, /Paid[\s\S]*Nothing more to pay[\s\S]*Return to Adaeze Kitchen/)
  assert.equal((await post(link, { action: 'cancel' })).location, RETURN)
  assert.deepEqual(pick(await shop.ledger(reference)), ['paid', 1_250_000])
  await shop.api('POST', '/refunds', { reference: `r${reference}`, payment: reference, amount: 1_250_000 })
  assert.match((await get(link)).text, /Refunded/)
})

test('a link that has expired says so and takes no money', async () => {
  const { link, reference } = await shop.open({ expiresAt: new Date(Date.now() - 1_000).toISOString() })
  assert.match((await get(link)).text, /This link has expired/)
  const { status, location } = await post(link, GOOD)
  assert.deepEqual([status, new URL(location ?? '', link).href], [303, link])
  assert.deepEqual((await shop.ledger(reference)).transactions, [])
})

test('a charge whose answer got lost shows as being processed', async () => {
  const { link } = await shop.open()
  const { status, location } = await post(link, { ...GOOD, number: CARD.staysSilent })
  assert.deepEqual([status, new URL(location ?? '', link).href], [303, link])
  assert.match((await get(link)).text, /being processed/)
  assert.equal(new URL((await post(link, GOOD)).location ?? '', link).href, link)
})

test('pressing Pay ten times at once charges once, and every press leads back to the shop', async () => {
  const { link, reference } = await shop.open()
  const answers = await Promise.all(Array.from({ length: 10 }, () => post(link, GOOD)))
  assert.deepEqual(new Set(answers.map(({ location }) => location)), new Set([RETURN]))
  const { amount, transactions } = await shop.ledger(reference)
  assert.deepEqual([amount, transactions.length], [1_250_000, 1])
})

test('a form that comes from another site is refused; one from ours, or from a browser that keeps quiet, is not', async () => {
  const { link, reference } = await shop.open()
  const { status } = await post(link, GOOD, { origin: 'https://evil.example' })
  assert.equal(status, 403)
  assert.deepEqual((await shop.ledger(reference)).transactions, [])
  assert.equal((await post(link, GOOD, { origin: new URL(link).origin })).status, 303)
  assert.equal((await post((await shop.open()).link, GOOD, { origin: 'null' })).status, 303)
})

test('a link that never was is a page that says so', async () => {
  for (const token of ['x', '1'.repeat(30), '%00']) {
    const { status, headers, text } = await get(`${rig.baseUrl}/sandbox/gateway/pay/${token}`)
    assert.equal(status, 404)
    assert.match(headers.get('content-type') ?? '', /^text\/html/)
    assert.match(text, /We can’t find this payment/)
  }
  const { link } = await shop.open()
  const headers = { 'content-type': 'application/json' }
  const json = await fetch(link, { method: 'POST', headers, body: '{}', redirect: 'manual' })
  assert.equal(json.status, 422)
  assert.equal((await post(link, { number: '4'.repeat(9_000) })).status, 413)
})

const pick = ({ status, amount }: Record<string, unknown>) => [status, amount]
