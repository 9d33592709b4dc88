import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Initialized, Manilla, ManillaApiError } from '../../clients/typescript/src/index.ts'
import { sql, statementOf } from '../../src/database/sql.ts'
import { CHANNELS, type Channel } from '../../src/kernel/channel.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { eraseCustomer } from '../../src/payments/upkeep/erase-customer.ts'
import { BANKS, RIGHT_CODE, startWithPhones } from '../support/mobile-provider.ts'
import { becomes } from '../support/sandbox-payments.ts'
import { codesOf } from '../support/service.ts'

const { phones, service, openShop } = await startWithPhones()
const shop = await openShop()

const GHANA = { provider: 'phone-mobile-money', amount: 12_000, currency: 'GHS', country: 'GH' }
const MTN = { ...GHANA, phoneNumber: '055 123 4987' }
const TELECEL = { ...GHANA, phoneNumber: '0201234987', network: 'telecel' }
const NAIRA = { amount: 12_000, currency: 'NGN', country: 'NG' }
const OPEN = { preAuthorisationCode: false, available: true }
let orders = 0
const newReference = () => `PHONE-${++orders}`

test('a mobile money payment: the phone asks, the customer approves, the shop is told', async () => {
  const reference = newReference()
  const { status, body } = await shop.initialize({ ...MTN, reference })
  assert.equal(status, 200, JSON.stringify(body))
  const { expiresAt, ...data } = body.data.data
  assert.deepEqual(
    [body.data.channel, data],
    [
      'mobile-money',
      {
        message:
          'Approve the request for <strong>GH₵120.00</strong> on your phone. It shows the name PHONE &lt;LTD&gt;.',
        phoneNumber: '+233•••••4987',
        network: 'mtn',
        shownAs: 'PHONE <LTD>',
      },
    ],
  )
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 180_000) < 30_000, 'how long the customer has')
  const order = phones.order()
  assert.deepEqual([order.phoneNumber, order.network], ['+233551234987', 'mtn'])
  phones.approve(order)
  assert.equal(await phones.notify(service, shop, order), 200)
  const paid = await becomes(shop, { id: reference }, (payment) => payment.status === 'successful')
  assert.deepEqual([paid.amountPaid, paid.attempts[0].channel], [12_000, 'mobile-money'])
})

test('the number of the user is the default; the network is guessed from it, and can be left out when there is one', async () => {
  const user = { email: 'ama@example.com', phoneNumber: '+233 26 123 4987' }
  const guessed = await shop.initialize({ ...GHANA, user })
  assert.deepEqual([guessed.status, guessed.body.data.data.network], [200, 'at'])
  const other = await shop.initialize({ ...GHANA, user, phoneNumber: '0241234987' })
  assert.deepEqual(
    [other.body.data.data.network, other.body.data.data.phoneNumber],
    ['mtn', '+233•••••4987'],
    'what is given wins',
  )
  const moved = await shop.initialize({ ...MTN, network: ' Telecel ' })
  assert.equal(moved.body.data.data.network, 'telecel', 'people keep their number when they change network')
  const rwanda = { ...GHANA, currency: 'RWF', country: 'RW', phoneNumber: '0731234567' }
  assert.equal((await shop.initialize(rwanda)).body.data.data.network, 'mtn', 'there is only one')
  const byCurrency = await shop.initialize({ ...MTN, country: undefined })
  assert.equal(byCurrency.status, 200, 'the country of the currency')
})

test('a network that is missing or unknown is 400 unknown_network with the list', async () => {
  for (const wrong of [{ network: 'vodafone' }, { phoneNumber: '0281234987' }]) {
    const { status, body } = await shop.initialize({ ...MTN, ...wrong })
    assert.deepEqual([status, body.code, body.errors[0].pointer], [400, 'unknown_network', '/network'])
    assert.match(body.detail, /mtn \(MTN MoMo\), telecel \(Telecel Cash\), at \(AT Money\)/)
  }
  const nothing = await shop.initialize(GHANA)
  assert.equal(nothing.body.code, 'unknown_network')
  assert.deepEqual(codesOf(nothing), { '/network': 'required', '/phoneNumber': 'required' })
})

test('a bad phone number is 400, and says what one looks like', async () => {
  for (const phoneNumber of ['12', '+254712345678', 'call me']) {
    const { status, body } = await shop.initialize({ ...MTN, network: 'mtn', phoneNumber })
    assert.deepEqual([status, body.code, body.errors[0].pointer], [400, 'invalid_request', '/phoneNumber'])
    assert.match(body.detail, /\+233/)
    assert.ok(!body.detail.includes(phoneNumber), 'the number is not repeated')
  }
  assert.deepEqual(codesOf(await shop.initialize({ ...GHANA, network: 'mtn' })), { '/phoneNumber': 'required' })
})

test('a country without mobile networks is 422 no_integration_available', async () => {
  const { status, body } = await shop.initialize({ ...MTN, country: 'NG' })
  assert.deepEqual([status, body.code], [422, 'no_integration_available'])
  const reference = newReference()
  const checkout = { amount: 12_000, currency: 'GHS', country: 'NG', reference, user: { email: 'ada@example.com' } }
  assert.equal((await shop.call('POST', '/payments/v1/checkouts', checkout)).status, 201)
  const later = await shop.initialize({ ...MTN, country: undefined, reference })
  assert.deepEqual([later.status, later.body.code], [422, 'no_integration_available'])
})

test('a network that is paid from its menu needs no number, and tells where to pay', async () => {
  const wanted = { ...GHANA, currency: 'KES', country: 'KE', network: 'mpesa-paybill' }
  const { status, body } = await shop.initialize(wanted)
  assert.equal(status, 200, JSON.stringify(body))
  const { payTo, phoneNumber, network } = body.data.data
  assert.deepEqual([payTo, phoneNumber, network], [{ number: '4000', account: 'AB12' }, null, 'mpesa-paybill'])
})

test('ussd asks for one of the banks, and answers a code to dial', async () => {
  const ussd = { ...NAIRA, provider: 'phone-ussd' }
  for (const [bank, code] of [
    [undefined, 'required'],
    ['999', 'unknown_bank'],
  ]) {
    const refused = await shop.initialize({ ...ussd, bank })
    assert.deepEqual([refused.status, codesOf(refused)], [400, { '/bank': code }])
    assert.match(refused.body.detail, /058 \(GTBank\), 044 \(Access Bank\)/)
  }
  const { body } = await shop.initialize({ ...ussd, bank: '058' })
  const { message, code, bankName, expiresAt } = body.data.data
  assert.deepEqual([code, bankName, phones.order().bank], ['*737*33*4*18791#', 'GTBank', '058'])
  assert.match(message, /Dial <strong>\*737\*33\*4\*18791#<\/strong>/)
  assert.ok(Date.parse(expiresAt) > Date.now())
})

test('bank answers a link, and qr the text to encode', async () => {
  const bank = (await shop.initialize({ ...NAIRA, provider: 'phone-bank', bank: '044' })).body.data
  assert.deepEqual(Object.keys(bank.data).sort(), ['expiresAt', 'link', 'message', 'publicKey', 'reference'])
  const noBanks = await shop.initialize({ ...GHANA, provider: 'phone-bank' })
  assert.equal(noBanks.status, 200, 'nothing is asked that the provider does not need')
  const qr = (await shop.initialize({ ...NAIRA, provider: 'phone-qr' })).body.data
  assert.deepEqual([qr.channel, qr.data.qr], ['qr', '000201010212'])
})

test('the same input again gets the same attempt and one prompt; another number is another attempt', async () => {
  const reference = newReference()
  const first = await shop.initialize({ ...MTN, reference })
  const before = phones.orders.size
  const again = await shop.initialize({ ...MTN, reference, phoneNumber: '+233551234987', network: 'mtn' })
  assert.deepEqual([again.status, again.body, phones.orders.size], [200, first.body, before], 'no second prompt')
  const other = await shop.initialize({ ...MTN, reference, phoneNumber: '0557654321' })
  assert.notEqual(other.body.data.reference, first.body.data.reference)
  const { attempts } = await shop.payment(reference)
  assert.deepEqual(
    attempts.map(({ paidFrom }: { paidFrom: object }) => paidFrom),
    [
      { phoneNumber: '+233•••••4987', network: 'mtn', bank: null },
      { phoneNumber: '+233•••••4321', network: 'mtn', bank: null },
    ],
  )
})

test('a start whose answer was lost may have asked the phone: the same input asks no second time', async () => {
  const reference = newReference()
  phones.upstream.trouble = 'reset after the work'
  const lost = await shop.initialize({ ...MTN, reference })
  phones.upstream.trouble = undefined
  assert.deepEqual([lost.status, lost.body.code], [504, 'provider_timeout'])
  const order = phones.order()
  assert.equal((await shop.initialize({ ...MTN, reference })).body.code, 'attempt_in_progress')
  // A check finds that the provider knows the order.
  await service.database.rows(sql`
    update attempts set next_check_at = now() where order_reference = ${order.reference}`)
  await checkDueAttempts(service.parts, 100)
  const before = phones.orders.size
  const again = await shop.initialize({ ...MTN, reference })
  assert.deepEqual([again.status, phones.orders.size], [200, before])
  assert.match(again.body.data.data.message, /^If your phone asks you to pay/)
  phones.approve(order)
  await phones.notify(service, shop, order)
  const paid = await becomes(shop, { id: reference }, ({ status }) => status === 'successful')
  assert.equal(paid.attempts.length, 1)
})

test('a voucher: wrong three times, then right; the phone asks, and the payment is paid once', async () => {
  const reference = newReference()
  const { body } = await shop.initialize({ ...TELECEL, reference })
  assert.deepEqual(body.data.data.input, { kind: 'voucher', message: 'Dial *110# to make a voucher.' })
  const give = (given: object, headers = {}) =>
    shop.call('POST', `/payments/v1/payments/${reference}/input`, given, headers)
  for (const voucher of ['111111', '222222', '333333']) {
    const refused = await give({ voucher })
    assert.deepEqual([refused.status, refused.body.code], [422, 'input_refused'])
    assert.equal((await shop.payment(reference)).attempts[0].status, 'pending')
  }
  const right = await give({ voucher: RIGHT_CODE }, { 'idempotency-key': reference })
  assert.equal(right.status, 200, JSON.stringify(right.body))
  assert.equal(right.body.data.attempts[0].status, 'pending')
  const replayed = await give({ voucher: RIGHT_CODE }, { 'idempotency-key': reference })
  assert.deepEqual([replayed.headers['idempotent-replayed'], replayed.body], ['true', right.body])
  const late = await give({ voucher: RIGHT_CODE })
  assert.deepEqual([late.status, late.body.code], [409, 'input_not_expected'])
  const order = phones.order()
  assert.deepEqual(order.codes, ['111111', '222222', '333333', RIGHT_CODE])
  phones.approve(order)
  await phones.notify(service, shop, order)
  const paid = await becomes(shop, { id: reference }, ({ status }) => status === 'successful')
  assert.equal(paid.amountPaid, 12_000)
  const stored = await service.database.rows(sql`
    select a.*, c.detail from attempts a join provider_calls c on c.attempt_id = a.id
     where a.order_reference = ${order.reference}`)
  assert.ok(!JSON.stringify(stored).includes(RIGHT_CODE), 'a code is not stored')
})

test('a number without an account fails at once, and says nothing about the health of the provider', async () => {
  for (let times = 0; times < 12; times++) {
    const reference = newReference()
    const { status, body } = await shop.initialize({ ...MTN, reference, phoneNumber: '0551234029' })
    assert.deepEqual([status, body.code], [502, 'provider_error'])
    assert.match(body.detail, /no mobile money account/)
    const payment = await shop.payment(reference)
    assert.deepEqual([payment.status, payment.attempts[0].failure.code], ['pending', 'subscriber_unknown'])
  }
  assert.ok(service.parts.providers.isHealthy({ merchantId: shop.merchantId, mode: 'sandbox' }, 'phone'))
})

test('two codes at once: one is sent, the other waits for its answer', async () => {
  const reference = newReference()
  await shop.initialize({ ...TELECEL, reference })
  const give = () => shop.call('POST', `/payments/v1/payments/${reference}/input`, { voucher: RIGHT_CODE })
  const all = await Promise.all([give(), give(), give()])
  assert.equal(all.filter(({ status }) => status === 200).length, 1)
  for (const { status, body } of all) {
    if (status !== 200) assert.ok(['attempt_in_progress', 'input_not_expected'].includes(body.code), body.code)
  }
  assert.deepEqual(phones.order().codes, [RIGHT_CODE])
})

test('a code without an answer is not sent again: the attempt is in progress until a check has found it', async () => {
  const reference = newReference()
  await shop.initialize({ ...TELECEL, reference })
  const give = () => shop.call('POST', `/payments/v1/payments/${reference}/input`, { voucher: RIGHT_CODE })
  phones.upstream.trouble = 'reset after the work'
  const lost = await give()
  phones.upstream.trouble = undefined
  assert.deepEqual([lost.status, lost.body.data.attempts[0].status], [200, 'processing'])
  const again = await give()
  assert.deepEqual([again.status, again.body.code], [409, 'attempt_in_progress'])
  assert.deepEqual(phones.order().codes, [RIGHT_CODE])
  phones.approve(phones.order())
  await phones.notify(service, shop, phones.order())
  await becomes(shop, { id: reference }, ({ status }) => status === 'successful')
})

test('a code for a payment that asks for none, without a code, and for a payment that has ended', async () => {
  const reference = newReference()
  await shop.initialize({ ...MTN, reference })
  const path = `/payments/v1/payments/${reference}/input`
  assert.equal((await shop.call('POST', path, { otp: '123456' })).body.code, 'input_not_expected')
  assert.equal((await shop.call('POST', path, {})).body.code, 'invalid_request')
  await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
  assert.equal((await shop.call('POST', path, { otp: '123456' })).body.code, 'payment_cancelled')
  assert.equal((await shop.call('POST', '/payments/v1/payments/none/input', { otp: '1' })).status, 404)
})

test('the channels of a country, with what to send and to choose from', async () => {
  const list = async (query: string) => (await shop.call('GET', `/payments/v1/channels?${query}`)).body
  const ghana = await list('country=Ghana&currency=ghs')
  const names = ({ data }: { data: { provider: string }[] }) => data.map(({ provider }) => provider)
  assert.deepEqual(names(ghana), ['phone', 'phone-mobile-money', 'phone-bank'])
  assert.deepEqual(ghana.data[1], {
    ...{ provider: 'phone-mobile-money', channel: 'mobile-money', title: 'Mobile money' },
    ...{ country: 'GH', currency: 'GHS', limits: { min: 100, max: 5_000_000 } },
    fields: ['phoneNumber', 'network'],
    networks: [
      { code: 'mtn', name: 'MTN MoMo', phoneNumber: true, ...OPEN },
      { code: 'telecel', name: 'Telecel Cash', phoneNumber: true, ...OPEN },
      { code: 'at', name: 'AT Money', phoneNumber: true, ...OPEN },
    ],
    ...{ codeHelp: null, phonePrefix: '+233', banks: [], lifetimeSeconds: 180 },
  })
  const nigeria = await list('country=NG&currency=NGN')
  assert.deepEqual(nigeria.data[0].banks, BANKS)
  assert.deepEqual(nigeria.data[0].fields, ['bank'])
  const paybill = (await list('country=KE')).data.find(
    ({ currency, channel }: { currency: string; channel: string }) => currency === 'KES' && channel === 'mobile-money',
  )
  assert.deepEqual(paybill.networks[1], {
    code: 'mpesa-paybill',
    name: 'M-PESA Paybill',
    phoneNumber: false,
    ...OPEN,
  })
  assert.deepEqual((await list('country=FR')).data, [])
  assert.equal((await shop.call('GET', '/payments/v1/channels')).status, 400)
})

test('the phone number of a payment is erased with its customer, in every table', async () => {
  const email = 'akua@example.com'
  const wanted = { ...TELECEL, reference: newReference(), phoneNumber: '+233 20 777 8899', user: { email } }
  await shop.initialize(wanted, { 'idempotency-key': wanted.reference })
  phones.decline(phones.order(), 'subscriber_unknown')
  await phones.notify(service, shop, phones.order())
  await becomes(shop, { id: wanted.reference }, ({ attempts }) => attempts[0].status === 'failed')
  const { database } = service
  await database.rows(sql`
    update provider_calls c set detail = 'sent to 020****899' from attempts a
     where a.id = c.attempt_id and a.order_reference = ${phones.order().reference}`)
  const tables = await database.rows<{ name: string; placed: boolean }>(sql`
    select c.relname as name, exists (select from pg_attribute where attrelid = c.oid and attname = 'place') as placed
      from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`)
  const withNumber = async () => {
    const found: string[] = []
    for (const { name, placed } of tables) {
      const where = `${placed ? 'place >= 0 and' : ''} t::text ~ '207778899|•8899|[*]899'`
      const rows = await database.rows(statementOf(`select t::text from "${name}" t where ${where}`, []))
      if (rows.length > 0) found.push(name)
    }
    return found.sort()
  }
  assert.deepEqual(await withNumber(), ['attempts', 'events', 'idempotent_calls', 'provider_calls'])
  assert.deepEqual(await eraseCustomer(service, 'test', { ...shop, mode: 'sandbox' }, email), {
    payments: 1,
    isComplete: true,
  })
  assert.deepEqual(await withNumber(), [])
})

test('the client library has a type for the answer of each channel', () => {
  const typeOf = (channel: Channel): Initialized['channel'] => channel // else this does not compile
  assert.deepEqual(CHANNELS.map(typeOf), CHANNELS)
})

test('the client library lists the channels, starts a mobile money payment and gives a code', async () => {
  const { 'client-id': clientId, 'client-secret': clientSecret } = shop.headers
  const manilla = new Manilla({ baseUrl: service.baseUrl, clientId, clientSecret })
  const [mobile] = (await manilla.channels.list({ country: 'GH', currency: 'GHS' })).filter(
    ({ channel }) => channel === 'mobile-money',
  )
  assert.equal(mobile?.networks[1]?.code, TELECEL.network)
  const reference = newReference()
  const started = await manilla.payments.initialize({ ...TELECEL, reference, user: { email: 'ada@example.com' } })
  assert.ok(started.channel === 'mobile-money' && started.data.input?.kind === 'voucher')
  const wrong = await manilla.payments.submitInput(reference, { voucher: '1' }).catch((error) => error)
  assert.ok(wrong instanceof ManillaApiError && wrong.is('input_refused'))
  const { attempts } = await manilla.payments.submitInput(reference, { voucher: RIGHT_CODE })
  assert.deepEqual([attempts[0]?.status, attempts[0]?.paidFrom?.network], ['pending', 'telecel'])
})

test('an integration that was set up with fewer channels keeps those, until somebody switches the others on', async () => {
  const old = await openShop()
  const set = (channels: string[]) => old.call('PUT', '/payments/v1/integrations/phone', { channels })
  assert.deepEqual((await set(['card'])).body.data.channels, ['card'])
  const refused = await old.initialize(MTN)
  assert.deepEqual([refused.status, refused.body.code], [422, 'provider_not_configured'])
  assert.match(refused.body.detail, /Yours in sandbox mode: phone\./)
  const all = ['card', 'mobile-money', 'ussd', 'bank', 'qr']
  assert.deepEqual((await set([])).body.data.channels, all)
  assert.equal((await old.initialize(MTN)).status, 200)
})
