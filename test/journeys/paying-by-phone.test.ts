import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWithPhones } from '../support/mobile-provider.ts'
import { letPass } from '../support/payment-records.ts'
import { newVisitor, type Visitor } from '../support/visitor.ts'

// The payment page without scripts, with a provider that asks on the customer's phone.

const { phones, service, openShop } = await startWithPhones()
const { database, baseUrl } = service
const shop = await openShop()
const GHANA = { country: 'GH', currency: 'GHS', user: { email: 'ama@example.com', phoneNumber: '055 123 4987' } }
const MOBILE = { action: 'pay', method: 'mobile' }
const AMA = '0551234987'

async function newPayment(changes: object = {}): Promise<{ id: string; url: string; reference: string }> {
  const { status, body } = await shop.call('POST', '/payments/v1/checkouts', { amount: 12_000, ...GHANA, ...changes })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data
}

async function visit(changes: object = {}, query = ''): Promise<Visitor & { id: string }> {
  const { id, url } = await newPayment(changes)
  const visitor = newVisitor()
  await visitor.go(url + query)
  return Object.assign(visitor, { id })
}

const methodsOn = ({ text }: Visitor) => [...text.matchAll(/ data-method="(\w+)"/g)].map(([, method]) => method)
const attemptsOf = async (id: string) => (await shop.payment(id)).attempts
const EARLIER_CODE = /If you have already paid with the details that you were shown, do not pay again/
const EARLIER = /An earlier request to \u2066\+233•••••4987\u2069 can still be approved/

test('in Ghana mobile money comes first, with the number of the payment and its network', async () => {
  const visitor = await visit()
  assert.deepEqual(methodsOn(visitor), ['mobile', 'card', 'bank'])
  assert.match(visitor.text, /<span id="mobile-phoneNumber-lead">\+233<\/span><input [^>]*value="551234987"/)
  assert.match(visitor.text, /value="mtn" checked/)
  assert.match(visitor.text, /name="guess" value="mtn"/)
})

test('the customer is asked on the phone, and reads what will appear there; the approval makes a success', async () => {
  const visitor = await visit()
  await visitor.send(MOBILE, { phoneNumber: AMA })
  assert.equal(visitor.state, 'prompt')
  assert.match(visitor.text, /We sent a request for GH₵120\.00 to \u2066\+233•••••4987\u2069\. It comes from MTN MoMo/)
  assert.match(visitor.text, /names PHONE &lt;LTD&gt;/)
  assert.match(visitor.text, /I did not get a request[\s\S]*On MTN MoMo, dial \u2066\*170#\u2069/)
  assert.match(visitor.text, /role="timer" class="timer" data-left="1[78]\d"/)
  assert.doesNotMatch(visitor.text, /1234987/)
  const { channel, network, phoneNumber } = phones.order() as unknown as Record<string, string>
  assert.deepEqual([channel, network, phoneNumber], ['mobile-money', 'mtn', '+233551234987'])
  phones.approve(phones.order())
  await visitor.send({ action: 'check' })
  assert.equal(visitor.state, 'succeeded')
})

test('a wrong number is told beside its field, which keeps it; nothing is started', async () => {
  const visitor = await visit()
  await visitor.send(MOBILE, { phoneNumber: '055 <1>', network: 'at' })
  assert.equal(visitor.status, 422)
  assert.equal(visitor.state, 'choose')
  assert.match(
    visitor.text,
    /value="055 &lt;1&gt;"[^>]*aria-invalid="true" aria-describedby="[^"]*mobile-phoneNumber-error"/,
  )
  assert.match(visitor.text, /id="mobile-phoneNumber-error">This is not a mobile number of this country\./)
  assert.match(visitor.text, /value="at" checked/)
  assert.deepEqual(await attemptsOf(visitor.id), [])
  await visitor.send(MOBILE, { phoneNumber: AMA })
  assert.equal(visitor.state, 'prompt')
})

test('a number that looks like another network than the page had guessed is asked about once', async () => {
  const visitor = await visit()
  await visitor.send(MOBILE, { phoneNumber: '0271234987' })
  assert.equal(visitor.state, 'choose')
  assert.match(visitor.text, /This number looks like AT Money\. Choose its network\./)
  await visitor.send(MOBILE, { phoneNumber: '0271234987', network: 'mtn' })
  assert.equal(visitor.state, 'prompt')
  assert.equal(phones.order().network, 'mtn')
})

test('the same number again is the same request, another number a new one, and the page tells of the first', async () => {
  const visitor = await visit()
  await visitor.send(MOBILE, { phoneNumber: AMA })
  const page = new URL(visitor.url)
  await visitor.go(`${page.origin}${page.pathname}?method=mobile`)
  assert.equal(visitor.state, 'choose')
  assert.match(visitor.text, EARLIER)
  await visitor.send(MOBILE, { phoneNumber: AMA })
  assert.equal((await attemptsOf(visitor.id)).length, 1)
  await visitor.go(`${page.origin}${page.pathname}?method=card`)
  assert.match(visitor.text, EARLIER, 'beside every method')
  await visitor.send(MOBILE, { phoneNumber: '0242222222' })
  assert.equal(visitor.state, 'prompt')
  assert.match(visitor.text, EARLIER, 'beside the second request')
  assert.equal((await attemptsOf(visitor.id)).length, 2)
  phones.approve(phones.order(2))
  await visitor.send({ action: 'check' })
  assert.equal(visitor.state, 'succeeded', 'the first one is asked about, too')
})

test('after its time the page goes on checking, and tells what a second payment would do', async () => {
  const visitor = await visit()
  await visitor.send(MOBILE, { phoneNumber: AMA })
  await letPass(database, visitor, 181)
  await visitor.go(visitor.url)
  assert.equal(visitor.state, 'waiting')
  assert.match(visitor.text, /We are still checking/)
  assert.match(visitor.text, /Pay again only if you did not approve, or you could pay twice\./)
  await visitor.go(`${visitor.url.split('?')[0]}?method=mobile`)
  assert.match(visitor.text, EARLIER)
  phones.approve(phones.order())
  await visitor.go(visitor.url.split('?')[0] as string)
  await visitor.send({ action: 'check' })
  assert.equal(visitor.state, 'succeeded')
})

test('a failure on the phone says what to do there', async () => {
  for (const [code, words] of [
    ['insufficient_funds', /not enough money in the account\. Top it up/],
    ['customer_cancelled', /declined on the phone\. Try again, and approve it with your PIN/],
    ['prompt_expired', /Keep the phone at hand and unlocked/],
    ['subscriber_unknown', /Check the number and the network/],
  ] as const) {
    const visitor = await visit()
    await visitor.send(MOBILE, { phoneNumber: AMA })
    phones.decline(phones.order(), code)
    await visitor.send({ action: 'check' })
    assert.equal(visitor.state, 'failed', code)
    assert.match(visitor.text, words)
    assert.match(visitor.text, /You have not been charged/)
    await visitor.go(`${visitor.url.split('?')[0]}?method=mobile`)
    assert.doesNotMatch(visitor.text, /earlier request/)
  }
})

test('a code: a wrong one can be repeated and stays in its field, the right one leads on', async () => {
  const visitor = await visit()
  await visitor.send(MOBILE, { phoneNumber: '0201234987', network: 'telecel' })
  assert.equal(visitor.state, 'code')
  assert.match(visitor.text, /Dial \*110# to make a voucher\./)
  assert.match(visitor.text, /inputmode="numeric" autocomplete="one-time-code"/)
  await visitor.send({ action: 'code' }, { code: ' ' })
  assert.match(visitor.text, /id="code-error">Please fill in this field/)
  for (const code of ['111111', '222222', '333333']) {
    await visitor.send({ action: 'code' }, { code })
    assert.equal(visitor.status, 422)
    assert.equal(visitor.state, 'code')
    assert.match(visitor.text, new RegExp(`name="code" value="${code}"`))
    assert.match(visitor.text, /id="code-error">This code is not right/)
  }
  await visitor.send({ action: 'code' }, { code: '123456' })
  assert.equal(visitor.state, 'prompt')
  phones.approve(phones.order())
  await visitor.send({ action: 'check' })
  assert.equal(visitor.state, 'succeeded')
})

test('one network is not asked for, and a number to pay to needs no phone', async () => {
  const one = await visit({ country: 'RW', currency: 'RWF', user: { email: 'ada@example.com' } })
  assert.doesNotMatch(one.text, /name="network"/)
  assert.match(one.text, /Mobile money number \(MTN MoMo\)/)
  await one.send(MOBILE, { phoneNumber: '0781234567' })
  assert.equal(one.state, 'prompt')
  const paybill = await visit({ country: 'KE', currency: 'KES', user: { email: 'ada@example.com' } })
  await paybill.send(MOBILE, { network: 'mpesa-paybill' })
  assert.equal(paybill.state, 'pay_to')
  assert.match(paybill.text, /Business number<\/dt><dd><bdi>4000<\/bdi>[\s\S]*data-copy="4000"/)
  assert.match(paybill.text, /data-copy="AB12"/)
})

test('USSD: the bank is chosen, and the code can be pressed, with # as %23', async () => {
  const visitor = await visit({ country: 'NG', currency: 'NGN' }, '?method=ussd')
  assert.deepEqual(methodsOn(visitor), ['ussd', 'bank', 'qr'])
  await visitor.send({ action: 'pay', method: 'ussd' }, { bank: '' })
  assert.match(visitor.text, /id="ussd-bank-error">Choose your bank/)
  await visitor.send({ action: 'pay', method: 'ussd' }, { bank: '058' })
  assert.equal(visitor.state, 'dial')
  assert.match(visitor.text, /href="tel:\*737\*33\*4\*18791%23"/)
  assert.match(visitor.text, /data-copy="\*737\*33\*4\*18791#"/)
  await visitor.go(`${visitor.url.split('?')[0]}?method=ussd`)
  assert.match(visitor.text, EARLIER_CODE)
  await visitor.send({ action: 'pay', method: 'ussd' }, { bank: '044' })
  assert.equal(visitor.state, 'dial')
  assert.match(visitor.text, EARLIER_CODE, 'beside the second code')
})

test('a code to dial that has run out gives way to a new one, and a payment by the old one counts', async () => {
  const visitor = await visit({ country: 'NG', currency: 'NGN' }, '?method=ussd')
  const getCode = () => visitor.send({ action: 'pay', method: 'ussd' }, { bank: '058' })
  await getCode()
  const old = phones.order()
  await letPass(database, visitor, 1_801)
  await visitor.go(`${visitor.url.split('?')[0]}?method=ussd`)
  assert.match(visitor.text, EARLIER_CODE)
  await getCode()
  assert.equal(visitor.state, 'dial')
  assert.equal((await attemptsOf(visitor.id)).length, 2)
  phones.approve(old)
  await visitor.send({ action: 'check' })
  assert.equal(visitor.state, 'succeeded')
})

test('QR and bank: a code drawn here, and a page of the bank that is not framed', async () => {
  const qr = await visit({ country: 'NG', currency: 'NGN' }, '?method=qr')
  await qr.send({ action: 'pay', method: 'qr' })
  assert.equal(qr.state, 'qr')
  assert.match(qr.text, /<svg class="qr" role="img" aria-label="QR code"/)
  const bank = await visit({ country: 'NG', currency: 'NGN' }, '?method=bank')
  await bank.send({ action: 'pay', method: 'bank' }, { bank: '044' })
  assert.equal(bank.state, 'provider')
  assert.match(bank.text, /data-go="https:\/\/phone\.example\/pay"[\s\S]*Pay with bank/)
})

test('a page that was opened by reference neither fills in a number nor shows one', async () => {
  const { reference } = await newPayment()
  const visitor = newVisitor()
  const query = { 'client-id': shop.headers['client-id'], reference }
  await visitor.go(`${baseUrl}/widget/open?${new URLSearchParams(query)}`)
  assert.doesNotMatch(visitor.text, /551234987/)
  await visitor.send(MOBILE, { phoneNumber: AMA })
  assert.equal(visitor.state, 'prompt')
  assert.match(visitor.text, /We sent a request for GH₵120\.00 to your phone/)
  assert.doesNotMatch(visitor.text, /4987/)
  await visitor.go(`${visitor.url.split('?')[0]}?method=mobile`)
  assert.doesNotMatch(visitor.text, /4987/)
})

test('in Swahili, from the link of a shop to the request', async () => {
  const visitor = await visit({ country: 'KE', currency: 'KES' }, '?lang=sw')
  assert.match(visitor.text, /<html lang="sw" dir="ltr"/)
  assert.match(visitor.text, /Utapokea ombi kwenye simu yako/)
  await visitor.send(MOBILE, { phoneNumber: '0712345678', network: 'mpesa' })
  assert.match(visitor.text, /Thibitisha kwenye simu yako/)
})
