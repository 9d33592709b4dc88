import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handle, order, paidCard, pending, setUp, unknown } from '../../../test/fakes/paystack/rig.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'

test('paystack: a saved card is charged with its metadata as text', async (t) => {
  const { connection, asked } = await setUp(t)
  await connection.chargeSavedCard(order(), 'AUTH_paying')
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'POST /transaction/charge_authorization')
  assert.deepEqual(JSON.parse(asked[0]?.body ?? ''), {
    email: 'ada@example.com',
    amount: 500_000,
    currency: 'NGN',
    authorization_code: 'AUTH_paying',
    reference: order().reference,
    callback_url: order().returnURL,
    metadata: JSON.stringify({ cancel_action: order().returnURL }),
  })
})

const REFUSALS: [string, number, object, object][] = [
  ['a wrong field', 400, { code: 'invalid_params' }, { code: 'provider_error', providerCode: 'invalid_params' }],
  ['a refused key', 401, { code: 'invalid_Key' }, { code: 'provider_error', providerCode: 'invalid_Key' }],
  ['an old answer without a code', 400, {}, { code: 'provider_error', providerCode: 'http_400' }],
  [
    'a card that is not known',
    400,
    { message: 'Authorization code is invalid' },
    { code: 'invalid_token', providerCode: 'http_400' },
  ],
  [
    "another's card",
    400,
    { message: 'Email does not match Authorization code. Authorization may be inactive.', type: 'validation_error' },
    { code: 'invalid_token', providerCode: 'validation_error' },
  ],
]
for (const [name, status, error, expected] of REFUSALS) {
  test(`paystack turns a charge down: ${name}`, async (t) => {
    const { connection, say } = await setUp(t)
    say(status, { status: false, message: 'No, AUTH_secret', ...error })
    const outcome = await connection.chargeSavedCard(order(), 'AUTH_secret')
    assert.ok(outcome.kind === 'declined')
    const { message, ...failure } = outcome.failure
    assert.deepEqual(failure, expected)
    assert.doesNotMatch(message, /AUTH_|Authorization/, 'our own words')
  })
}

test('paystack: a charge that failed behind them may have taken money', async (t) => {
  const { connection, say } = await setUp(t)
  say(400, { status: false, message: 'Try again', type: 'processor_error', code: 'x' })
  assert.deepEqual(await connection.chargeSavedCard(order(), 'AUTH_paying'), unknown('its processor failed'))
  assert.equal((await connection.start(order())).kind, 'declined', 'a link takes none')
})

test('paystack: a paused charge has no status, and is a step to a page of theirs', async (t) => {
  const { connection, alter, upstream, find, takeNotices } = await setUp(t)
  const { reference } = order()
  const charge = await connection.chargeSavedCard(order(), 'AUTH_asking')
  const link = `${upstream.url}/resume/${find(reference).code}`
  assert.deepEqual(charge, { kind: 'step', link, providerReference: reference })
  assert.deepEqual(await connection.check(handle()), pending)
  await fetch(link, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ press: 'pay' }) })
  assert.equal((await connection.check(handle())).kind, 'paid')
  assert.equal(takeNotices().length, 1)

  for (const changes of [
    { authorization_url: null },
    { reference: 'another' },
    { paused: false },
    { paused: 'true' },
  ]) {
    alter(changes)
    const odd = await connection.chargeSavedCard(order({ reference: `odd-${Math.random()}` }), 'AUTH_asking')
    assert.equal(odd.kind, 'unknown', JSON.stringify(changes))
  }
})

const CHARGES: [string, object, string][] = [
  ['with another amount', { amount: 499_999 }, 'unknown'],
  ['with another currency', { currency: 'GHS' }, 'unknown'],
  ['in another mode', { domain: 'live' }, 'unknown'],
  ['of another order', { reference: 'another' }, 'unknown'],
  ['with fees on top', { amount: 540_333, requested_amount: 500_000 }, 'paid'],
  ['that is not settled yet', { status: 'pending' }, 'processing'],
  ['that is not settled, and has no status', { status: undefined }, 'unknown'],
  ['that failed', { status: 'failed', gateway_response: 'Declined' }, 'declined'],
]
for (const [name, changes, kind] of CHARGES) {
  test(`paystack answers with a charge ${name}`, async (t) => {
    const { connection, alter } = await setUp(t)
    alter(changes)
    assert.equal((await connection.chargeSavedCard(order(), 'AUTH_paying')).kind, kind)
  })
}

const WORDS: [string | null, string][] = [
  ['Insufficient Funds', 'insufficient_funds'],
  ['Not sufficient funds', 'insufficient_funds'],
  ['Declined', 'card_declined'],
  ['Do Not Honour', 'card_declined'],
  ['Expired card', 'card_expired'],
  ['Incorrect PIN', 'incorrect_pin'],
  ['Invalid OTP', 'incorrect_otp'],
  ['Token Not Generated. Customer Not Registered on Token Platform', 'authentication_failed'],
  ['Exceeds withdrawal limit', 'limit_exceeded'],
  ['Lost Card, Pick-Up', 'suspected_fraud'],
  ['Transaction not permitted to cardholder', 'card_not_supported'],
  ['Issuer or switch inoperative', 'provider_unavailable'],
  ['Etwas ganz anderes', 'card_declined'],
]
test('paystack: the words of banks become our codes, and stay beside them', async (t) => {
  const { connection, alter } = await setUp(t)
  await connection.start(order())
  for (const [response, code] of WORDS) {
    alter({ status: 'failed', gateway_response: response })
    const outcome = await connection.check(handle())
    assert.ok(outcome.kind === 'declined')
    assert.deepEqual([outcome.failure.code, outcome.failure.providerCode], [code, response])
  }
  for (const telling of ['ada@example.com', 'card 408408408408', 'AUTH_x', null]) {
    alter({ status: 'failed', gateway_response: telling })
    const outcome = await connection.check(handle())
    assert.equal(outcome.kind === 'declined' && outcome.failure.providerCode, 'failed')
  }
  alter({ status: 'failed', gateway_response: 'Transfer window expired' })
  const account = await connection.check(handle('virtual-bank-account'))
  assert.equal(account.kind === 'declined' && account.failure.code, 'transfer_expired')
})

test('paystack: each try of a customer is told from the last, where they count them', async (t) => {
  const { connection, customer, alter } = await setUp(t)
  await connection.start(order())
  const tryId = async () => {
    const outcome = await connection.check(handle())
    return outcome.kind === 'declined' ? outcome.tryId : assert.fail(outcome.kind)
  }
  await customer.failByCard(order().reference)
  assert.equal(await tryId(), '1')
  await customer.failByCard(order().reference)
  assert.equal(await tryId(), '2')
  alter({ log: null })
  assert.equal(await tryId(), null)
})

test('paystack: only a card that can be charged again is kept, and one that cannot be read hides no money', async (t) => {
  const { connection, find, alter } = await paidCard(t)
  const outcome = await connection.check(handle())
  assert.ok(outcome.kind === 'paid')
  const { code } = find(order().reference)
  const card = { token: `AUTH_${code}`, brand: 'visa', last4: '4081', expiryMonth: 9, expiryYear: 2030 }
  assert.deepEqual(outcome.savedCard, card)
  const { authorization } = find(order().reference)
  const odd = [{ reusable: false }, { reusable: 1 }, { channel: 'bank' }, { last4: '40' }, { exp_month: '13' }]
  for (const changes of [...odd, { exp_year: '30' }, { authorization_code: 'x' }, { brand: null, card_type: '' }]) {
    alter({ authorization: { ...authorization, ...changes } })
    const outcome = await connection.check(handle())
    assert.ok(outcome.kind === 'paid' && !outcome.savedCard, JSON.stringify(changes))
  }
  for (const none of [null, {}, [], '']) {
    alter({ authorization: none })
    assert.equal((await connection.check(handle())).kind, 'paid')
  }
})

test('paystack: a kept card is charged for its own customer alone', async (t) => {
  const { connection } = await paidCard(t)
  const outcome = await connection.check(handle())
  const { token } = (outcome.kind === 'paid' && outcome.savedCard) || assert.fail()
  const again = await connection.chargeSavedCard(order({ reference: 'second' }), token)
  assert.equal(again.kind, 'paid')
  const customer = { ...order().customer, email: 'chidi@example.com' }
  const another = await connection.chargeSavedCard(order({ reference: 'third', customer }), token)
  assert.equal(another.kind === 'declined' && another.failure.code, 'invalid_token')
})

test('paystack: a charge with fees passed on has them in its amount, and pays the order', async (t) => {
  const { connection, behaviour, alter } = await setUp(t)
  behaviour.feesPassedOn = 17_767
  const outcome = await connection.chargeSavedCard(order(), 'AUTH_paying')
  assert.ok(outcome.kind === 'paid', outcome.kind)
  assert.deepEqual(outcome.receipts[0]?.amount, order().amount)
  alter({ fees: 17_766 })
  const odd = await connection.chargeSavedCard(order({ reference: 'another-order' }), 'AUTH_paying')
  assert.deepEqual(odd, unknown('it answered with another amount'))
})

test('paystack: a charge that answers with a reference and "failed" alone is a decline', async (t) => {
  const { connection, say } = await setUp(t)
  const answer = (data: object) => say(200, { status: true, message: 'Charge attempted', data })
  const { reference } = order()
  const message = 'Insufficient Funds'
  answer({ reference, status: 'failed', message })
  const charge = await connection.chargeSavedCard(order(), 'AUTH_paying')
  assert.ok(charge.kind === 'declined')
  assert.deepEqual([charge.failure.code, charge.failure.providerCode], ['insufficient_funds', message])
  const account = await connection.start(byTransfer(order()))
  assert.deepEqual([account.kind, 'failure' in account && account.failure.providerCode], ['declined', message])
  answer({ reference, status: 'timeout' })
  assert.equal((await connection.start(byTransfer(order()))).kind, 'declined')
  answer({ reference: 'another', status: 'failed', message })
  assert.equal((await connection.start(byTransfer(order()))).kind, 'unknown')
  assert.equal((await connection.chargeSavedCard(order(), 'AUTH_paying')).kind, 'unknown')
})
