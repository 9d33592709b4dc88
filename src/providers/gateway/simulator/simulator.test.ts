import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMerchant } from '../../../../test/support/service.ts'
import { CARD, newReference, paymentRequest, startSimulator } from '../../../../test/support/simulator.ts'
import { createCredential } from '../../../merchants/manage-merchants.ts'

const rig = await startSimulator()
const shop = await rig.addShop()
const later = () => new Date(Date.now() + 3_600_000).toISOString()
const past = () => new Date(Date.now() - 1_000).toISOString()

test('a card payment is opened with a link, an empty ledger and the key of its merchant', async () => {
  const request = paymentRequest()
  const { status, body } = await shop.api('POST', '/payments', request)
  assert.equal(status, 201)
  const { link, ...record } = body.data
  assert.match(link, new RegExp(`^${rig.baseUrl}/sandbox/gateway/pay/[1-9A-Za-z]{32}$`))
  assert.deepEqual(record, {
    reference: request.reference,
    channel: 'card',
    status: 'pending',
    requested: 1_250_000,
    amount: 0,
    refunded: 0,
    currency: 'NGN',
    publicKey: shop.publicKey,
    expiresAt: request.expiresAt,
    transactions: [],
  })
  assert.deepEqual((await shop.api('GET', `/payments/${request.reference}`)).body, body)
})

test('a transfer is opened with an account number of ten digits that no other has', async () => {
  const expiresAt = later()
  const [one, other] = await Promise.all([
    shop.open({ channel: 'transfer', expiresAt }),
    shop.open({ channel: 'transfer' }),
  ])
  const { number, ...account } = one.account
  assert.match(number, /^\d{10}$/)
  assert.notEqual(number, other.account.number)
  assert.deepEqual(account, { name: 'Adaeze Kitchen', bank: 'Sandbox Bank', expiresAt })
  assert.equal(one.link, undefined)
})

test('the same request again, even twenty times at once, opens one payment; another with its reference is refused', async () => {
  const request = paymentRequest()
  const answers = await Promise.all(Array.from({ length: 20 }, () => shop.api('POST', '/payments', request)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(19).fill(200), 201])
  assert.equal(new Set(answers.map(({ body }) => body.data.link)).size, 1)
  const { status, body } = await shop.api('POST', '/payments', { ...request, amount: 1 })
  assert.deepEqual([status, body.code], [409, 'duplicate_reference'])
  assert.equal(
    (await (await rig.addShop()).api('POST', '/payments', request)).status,
    201,
    'another merchant may use it',
  )
})

test('a request with a mistake is refused before anything is opened', async () => {
  const mistakes: Record<string, unknown>[] = [
    { amount: 0 },
    { amount: 1.5 },
    { amount: '100' },
    { amount: 2 ** 53 },
    { currency: 'EUR' },
    { channel: 'cash' },
    { reference: 'a b' },
    { reference: '' },
    { email: '' },
    { merchantName: 'a\u0000b' },
    { returnURL: 'javascript:alert(1)' },
    { expiresAt: 'soon' },
    { name: 5 },
    { channel: 'transfer', savedCard: 'gct_x' },
  ]
  for (const mistake of mistakes) {
    const { status, body } = await shop.api('POST', '/payments', paymentRequest(mistake))
    assert.deepEqual([status, body.code], [422, 'invalid_request'], JSON.stringify(mistake))
    assert.equal(typeof body.detail, 'string')
  }
  assert.equal((await shop.api('POST', '/payments', [])).status, 422)
  const broken = await shop.api('POST', '/payments', '{"reference":')
  assert.deepEqual([broken.status, broken.body.code], [400, 'invalid_request'])
  const unknownCard = await shop.api('POST', '/payments', paymentRequest({ savedCard: 'gct_nobody' }))
  assert.deepEqual([unknownCard.status, unknownCard.body.code], [422, 'invalid_token'])
})

test('a wrong key is refused, and merchants see only their own payments', async () => {
  const { reference } = await shop.open()
  const [last] = shop.secretKey.slice(-1)
  const wrongKeys = [
    undefined,
    'Bearer x',
    `Bearer ${shop.publicKey}`,
    `Bearer ${shop.secretKey.slice(0, -1)}${last === 'a' ? 'b' : 'a'}`,
  ]
  for (const authorization of wrongKeys) {
    const { status, body } = await rig.send('GET', `/v1/payments/${reference}`, authorization ? { authorization } : {})
    assert.deepEqual([status, body.code], [401, 'unauthorized'])
  }
  const stranger = await rig.addShop()
  for (const path of [`/payments/${reference}`, '/payments/none', '/payments/%00', `/payments/${'x'.repeat(90)}`]) {
    const { status, body } = await stranger.api('GET', path)
    assert.deepEqual([status, body.code], [404, 'not_found'])
  }
  assert.equal((await stranger.charge(reference, { card: CARD.pays })).status, 404)
  assert.equal((await stranger.control('GET', `/ledger?reference=${reference}`)).status, 404)
  assert.deepEqual((await stranger.control('GET', '/ledger')).body, { data: [], nextCursor: null })
  assert.equal((await rig.send('GET', '/nowhere', {})).body.code, 'not_found')
})

test('errors of the API and of the control routes are problem+json', async () => {
  for (const answer of [
    await shop.api('GET', '/payments/none?x=1'),
    await shop.control('GET', '/ledger?reference=none'),
  ]) {
    assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/)
    const { instance, requestId, ...problem } = answer.body
    assert.ok(instance.startsWith('/sandbox/gateway/') && !instance.includes('?') && requestId)
    assert.deepEqual(problem, {
      type: 'urn:manilla:problem:not_found',
      title: 'The sandbox provider refused the request',
      status: 404,
      detail: 'There is no payment with this reference.',
      code: 'not_found',
      retryable: false,
    })
  }
})

test('control calls need a sandbox credential: a live one finds nothing, a wrong one is refused', async () => {
  const live = await addMerchant(rig.database, { mode: 'live' })
  const calls = [
    ['POST', '/charges/x', {}],
    ['POST', '/transfers', { accountNumber: '9000000001', amount: 1 }],
    ['GET', '/ledger', undefined],
    ['PUT', '/faults', {}],
    ['GET', '/faults', undefined],
  ] as const
  for (const [method, path, body] of calls) {
    assert.equal((await rig.send(method, path, live.headers, body)).status, 404, path)
    assert.equal((await rig.send(method, path, { ...live.headers, 'client-secret': 'no' }, body)).status, 401, path)
    assert.equal((await rig.send(method, path, {}, body)).status, 401, path)
  }
  const { merchantId } = await addMerchant(rig.database)
  const limited = await createCredential(rig, 'test', merchantId, 'sandbox', { scopes: ['payments:read'] })
  const headers = { 'client-id': limited.clientId, 'client-secret': limited.clientSecret }
  const refused = await rig.send('GET', '/faults', headers)
  assert.deepEqual([refused.status, refused.body.code], [403, 'insufficient_scope'])
})

test('the good card pays, once', async () => {
  const { reference } = await shop.open()
  const { status, body } = await shop.charge(reference, { card: CARD.pays })
  assert.equal(status, 200)
  assert.deepEqual([body.data.result, body.data.status, body.data.amount], ['paid', 'paid', 1_250_000])
  const [{ id, at, ...charge }] = body.data.transactions
  assert.match(id, /^gtx_/)
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  assert.deepEqual(charge, { kind: 'charge', status: 'paid', amount: 1_250_000, currency: 'NGN', fee: 28_750 })
  const again = await shop.charge(reference, { card: CARD.pays })
  assert.deepEqual([again.status, again.body.code], [409, 'payment_finished'])
  assert.equal((await shop.api('GET', `/payments/${reference}`)).body.data.savedCard, undefined)
})

test('a declined card says why, takes nothing, and leaves the way open for another', async () => {
  const { reference } = await shop.open()
  const declines = {
    [CARD.insufficientFunds]: 'insufficient_funds',
    [CARD.declined]: 'card_declined',
    [CARD.expired]: 'card_expired',
    '4111 1111 1111 1111': 'card_not_supported',
    'no number at all': 'card_not_supported',
  }
  for (const [card, code] of Object.entries(declines)) {
    const { status, body } = await shop.charge(reference, { card })
    assert.equal(status, 200)
    assert.deepEqual([body.data.result, body.data.status, body.data.amount], ['failed', 'failed', 0])
    assert.equal(body.data.failure.code, code)
    assert.deepEqual(body.data.transactions.at(-1).failure, body.data.failure)
  }
  const { body } = await shop.charge(reference, { card: CARD.pays })
  assert.deepEqual([body.data.status, body.data.transactions.length], ['paid', 6])
})

test('a card with a code waits for it: a wrong one fails, the right one pays', async () => {
  const { reference } = await shop.open()
  const asked = await shop.charge(reference, { card: CARD.asksForCode })
  assert.deepEqual([asked.body.data.result, asked.body.data.status], ['otp_required', 'pending'])
  const wrong = await shop.charge(reference, { card: CARD.asksForCode, otp: '000000' })
  assert.deepEqual([wrong.body.data.result, wrong.body.data.failure.code], ['failed', 'incorrect_otp'])
  const right = await shop.charge(reference, { card: CARD.asksForCode, otp: '123456' })
  assert.deepEqual([right.body.data.result, right.body.data.amount], ['paid', 1_250_000])

  const twoSteps = await shop.open()
  await shop.charge(twoSteps.reference, { card: CARD.asksForCode, save: true })
  const { body } = await shop.charge(twoSteps.reference, { otp: '123456' })
  assert.deepEqual([body.data.result, body.data.savedCard.brand], ['paid', 'Verve'])
})

test('a card is kept only when the customer agreed and it paid; its token charges it again', async () => {
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.declined, save: true })
  assert.equal((await shop.api('GET', `/payments/${reference}`)).body.data.savedCard, undefined)
  await shop.charge(reference, { card: CARD.pays, save: true })
  const { savedCard } = (await shop.api('GET', `/payments/${reference}`)).body.data
  const { token, ...shown } = savedCard
  assert.match(token, /^gct_[1-9A-Za-z]{30}$/)
  assert.deepEqual(shown, {
    brand: 'Visa',
    last4: '4081',
    expiryMonth: 12,
    expiryYear: new Date().getUTCFullYear() + 4,
  })

  const { channel: _, ...request } = paymentRequest({ savedCard: token, amount: 777 })
  const charged = await shop.api('POST', '/charges', request)
  assert.deepEqual([charged.status, charged.body.data.status, charged.body.data.amount], [200, 'paid', 777])
  assert.deepEqual((await shop.api('POST', '/charges', request)).body, charged.body, 'a repeat charges nothing')
  const other = await shop.api('POST', '/charges', { ...request, amount: 778 })
  assert.deepEqual([other.status, other.body.code], [409, 'duplicate_reference'])
  const unknown = await shop.api('POST', '/charges', { ...request, reference: newReference(), savedCard: 'gct_no' })
  assert.deepEqual([unknown.status, unknown.body.code], [422, 'invalid_token'])
  const thief = await (await rig.addShop()).api('POST', '/charges', { ...request, reference: newReference() })
  assert.equal(thief.body.code, 'invalid_token', 'a token is of use to its own merchant alone')

  const offered = await shop.open({ savedCard: token })
  assert.equal((await shop.charge(offered.reference, {})).body.data.result, 'paid')
  const none = await shop.open()
  assert.equal((await shop.charge(none.reference, {})).status, 422)
})

test('a saved card with a code answers with a link to the page that asks for it', async () => {
  const first = await shop.open()
  await shop.charge(first.reference, { card: CARD.asksForCode, otp: '123456', save: true })
  const { token } = (await shop.api('GET', `/payments/${first.reference}`)).body.data.savedCard
  const request = paymentRequest({ savedCard: token })
  const { status, body } = await shop.api('POST', '/charges', request)
  assert.deepEqual([status, body.data.status, body.data.amount], [200, 'pending', 0])
  const page = await (await fetch(body.data.link)).text()
  assert.match(page, /autocomplete="one-time-code"/)
  assert.equal((await shop.charge(request.reference, { otp: '123456' })).body.data.result, 'paid')
})

test('twenty equal charges at once take the money once', async () => {
  const { reference } = await shop.open()
  const answers = await Promise.all(Array.from({ length: 20 }, () => shop.charge(reference, { card: CARD.pays })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(409)])
  const { amount, transactions } = await shop.ledger(reference)
  assert.deepEqual([amount, transactions.length], [1_250_000, 1])

  await shop.charge((await shop.open({ reference: 'keeps' })).reference, { card: CARD.pays, save: true })
  const savedCard = (await shop.api('GET', '/payments/keeps')).body.data.savedCard.token
  const request = paymentRequest({ savedCard })
  const repeats = await Promise.all(Array.from({ length: 20 }, () => shop.api('POST', '/charges', request)))
  assert.ok(repeats.every(({ status, body }) => status === 200 && body.data.transactions.length === 1))
})

test('an expired payment and one by transfer cannot be charged to a card', async () => {
  const expired = await shop.open({ expiresAt: past() })
  const { status, body } = await shop.charge(expired.reference, { card: CARD.pays })
  assert.deepEqual([status, body.code], [409, 'link_expired'])
  const transfer = await shop.open({ channel: 'transfer' })
  assert.equal((await shop.charge(transfer.reference, { card: CARD.pays })).status, 422)
})

test('transfers are counted as they come: short, exact, over, twice and late', async () => {
  const { reference, account } = await shop.open({ channel: 'transfer', amount: 1_000, expiresAt: past() })
  const pay = async (amount: number) =>
    (await shop.control('POST', '/transfers', { accountNumber: account.number, amount })).body.data
  const seen = []
  for (const amount of [400, 600, 600, 1]) {
    const record = await pay(amount)
    seen.push([record.status, record.amount, record.transactions.length])
  }
  assert.deepEqual(seen, [
    ['pending', 400, 1],
    ['paid', 1_000, 2],
    ['paid', 1_600, 3],
    ['paid', 1_601, 4],
  ])
  const { transactions } = await shop.ledger(reference)
  assert.ok(transactions.every(({ kind, status }: Record<string, string>) => kind === 'transfer' && status === 'paid'))
  assert.equal(new Set(transactions.map(({ id }: { id: string }) => id)).size, 4)
  const unknown = await shop.control('POST', '/transfers', { accountNumber: '0000000000', amount: 1 })
  assert.deepEqual([unknown.status, unknown.body.code], [404, 'not_found'])
  const stranger = await rig.addShop()
  const theirs = { accountNumber: account.number, amount: 1 }
  assert.equal((await stranger.control('POST', '/transfers', theirs)).status, 404)
  for (const amount of [0, -1, 0.5, '1']) {
    assert.equal((await shop.control('POST', '/transfers', { accountNumber: account.number, amount })).status, 422)
  }
})

test('twenty transfers at once all count', async () => {
  const { reference, account } = await shop.open({ channel: 'transfer', amount: 2_000 })
  const transfer = { accountNumber: account.number, amount: 100 }
  await Promise.all(Array.from({ length: 20 }, () => shop.control('POST', '/transfers', transfer)))
  const { amount, status, transactions } = await shop.ledger(reference)
  assert.deepEqual([amount, status, transactions.length], [2_000, 'paid', 20])
  const everything = { reference: newReference(), payment: reference, amount: 2_000 }
  assert.equal((await shop.api('POST', '/refunds', everything)).status, 200, 'all of it can be given back')
})

test('refunds give back at most what was taken, once for each reference', async () => {
  const { reference } = await shop.open({ amount: 1_000 })
  const refund = (changes: object) =>
    shop.api('POST', '/refunds', { reference: newReference(), payment: reference, amount: 1, ...changes })
  const early = await refund({})
  assert.deepEqual([early.status, early.body.code], [422, 'refund_exceeds_payment'])
  await shop.charge(reference, { card: CARD.pays })

  const request = { reference: newReference(), amount: 400, transactionIds: ['gtx_1'] }
  const first = await refund(request)
  const { id, ...refunded } = first.body.data
  assert.equal(first.status, 200)
  assert.match(id, /^grf_/)
  assert.deepEqual(refunded, {
    reference: request.reference,
    payment: reference,
    amount: 400,
    currency: 'NGN',
    status: 'successful',
  })
  assert.deepEqual((await refund(request)).body, first.body, 'a repeat gives nothing back')
  const changed = await refund({ ...request, amount: 401 })
  assert.deepEqual([changed.status, changed.body.code], [409, 'duplicate_reference'])
  assert.equal((await refund({ amount: 601 })).body.code, 'refund_exceeds_payment')
  assert.deepEqual(pick(await shop.ledger(reference)), ['paid', 1_000, 400])
  assert.equal((await refund({ amount: 600 })).status, 200)
  assert.deepEqual(pick(await shop.ledger(reference)), ['refunded', 1_000, 1_000])
  assert.equal((await shop.charge(reference, { card: CARD.pays })).status, 409)

  assert.equal((await refund({ payment: 'nobody' })).status, 404)
  assert.equal((await refund({ amount: 0 })).status, 422)
  const other = await shop.open()
  await shop.charge(other.reference, { card: CARD.pays })
  const reused = await refund({ ...request, payment: other.reference })
  assert.deepEqual([reused.status, reused.body.code], [409, 'duplicate_reference'])
})

test('twenty refunds at once never give back more than there is', async () => {
  const { reference } = await shop.open({ amount: 1_000 })
  await shop.charge(reference, { card: CARD.pays })
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      shop.api('POST', '/refunds', { reference: newReference(), payment: reference, amount: 300 }),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 3)
  assert.deepEqual(pick(await shop.ledger(reference)), ['paid', 1_000, 900])
})

test('the ledger lists every payment of a merchant, page by page', async () => {
  const other = await rig.addShop()
  const references: string[] = []
  for (let count = 0; count < 5; count++) references.push((await other.open()).reference)
  await other.charge(references[1] as string, { card: CARD.pays })
  const listed: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await other.control('GET', `/ledger?limit=2${cursor && `&cursor=${cursor}`}`)
    for (const { reference, status } of body.data) {
      listed.push(reference)
      assert.equal(status, reference === references[1] ? 'paid' : 'pending')
    }
    cursor = body.nextCursor
  }
  assert.deepEqual(listed, references)
  for (const query of ['limit=0', 'limit=1001', 'cursor=x']) {
    assert.equal((await other.control('GET', `/ledger?${query}`)).status, 422)
  }
})

test('neither the books nor the log hold a card number, a security code or a one-time code', async () => {
  const { link, reference } = await shop.open()
  const form = (fields: Record<string, string>) =>
    fetch(link, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
  await form({ action: 'pay', number: CARD.asksForCode, expiry: '11/39', cvv: '8642', save: 'yes' })
  await form({ action: 'otp', otp: '97531' })
  await form({ action: 'otp', otp: '123456' })
  assert.equal((await shop.ledger(reference)).status, 'paid')
  let written = rig.lines.join('')
  for (const table of ['payments', 'transactions', 'cards', 'notices']) {
    const { rows } = await dump(`gateway_${table}`)
    assert.ok(rows.length > 2, table)
    written += rows
  }
  for (const number of [CARD.asksForCode, CARD.pays])
    assert.ok(!written.includes(number) && !written.includes(number.replaceAll(' ', '')))
  for (const secret of ['8642', '97531', '123456']) assert.ok(!new RegExp(`"${secret}"`).test(written), secret)
})

const pick = ({ status, amount, refunded }: Record<string, unknown>) => [status, amount, refunded]

async function dump(table: string): Promise<{ rows: string }> {
  const text = `select coalesce(json_agg(t), '[]')::text as rows from ${table} t`
  return (await rig.database.row<{ rows: string }>({ name: table, text, values: [] })) as { rows: string }
}
