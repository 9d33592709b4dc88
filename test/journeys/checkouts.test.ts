import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addMerchant, BASE_URL, CHECKOUT, call, checkout, startService } from '../support/service.ts'

const { app, database } = await startService()
const shop = await addMerchant(database)
const liveShop = await addMerchant(database, { mode: 'live' })

const read = async (reference: string) =>
  (await call(app, 'GET', `/payments/v1/payments/${encodeURIComponent(reference)}`, { headers: shop.headers })).body
    .data

/** What the body is refused for, by pointer. */
async function mistakesOf(changes: Record<string, unknown>, merchant = shop): Promise<Record<string, string>> {
  const { status, body } = await checkout(app, merchant, changes)
  assert.equal(status, 400, JSON.stringify(body))
  return Object.fromEntries(
    body.errors.map((error: { pointer: string; message: string }) => [error.pointer, error.message]),
  )
}

test('a checkout answers 201 with exactly id, url, shortURL, reference and amount', async () => {
  const { status, body, headers } = await checkout(app, shop)
  assert.equal(status, 201)
  assert.deepEqual(Object.keys(body), ['data'])
  assert.deepEqual(Object.keys(body.data).sort(), ['amount', 'id', 'reference', 'shortURL', 'url'])
  assert.match(body.data.id, /^chk_[1-9A-HJ-NP-Za-km-z]{24}$/)
  assert.equal(body.data.url, `${BASE_URL}/pay/${body.data.id}`)
  assert.match(body.data.shortURL, /^http:\/\/pay\.test\/s\/[1-9A-HJ-NP-Za-km-z]{15}$/)
  assert.equal(body.data.amount, CHECKOUT.amount)
  assert.equal(headers.location, body.data.url)
})

test('what was asked for is what is kept', async () => {
  const asked = {
    amount: 999_999_999_999,
    currency: 'ghs',
    country: 'Ghana',
    reference: 'ORD/20931?x=1#y&z%',
    customerBearsCharge: true,
    redirectURL: 'https://shop.example/thanks?order=1#top',
    webhook: 'http://localhost:4000/hook',
    metadata: { order: '20931', note: 'naïve ☕ <b>' },
    user: { email: 'Ada.O@Example.com', name: 'Ada Ọbí', phoneNumber: '+234 800 000 0000' },
  }
  const { body } = await checkout(app, shop, asked)
  const kept = await read(body.data.reference)
  assert.deepEqual(
    { ...kept, url: '', shortURL: '', createdAt: '', expiresAt: '' },
    {
      id: body.data.id,
      reference: asked.reference,
      mode: 'sandbox',
      status: 'pending',
      late: false,
      amount: asked.amount,
      currency: 'GHS',
      country: 'GH',
      customerBearsCharge: true,
      fee: null,
      feeCharged: null,
      amountCharged: null,
      amountPaid: 0,
      amountRefunded: 0,
      user: { id: null, ...asked.user },
      redirectURL: asked.redirectURL,
      webhook: asked.webhook,
      metadata: asked.metadata,
      url: '',
      shortURL: '',
      link: null,
      attempts: [],
      refunds: [],
      createdAt: '',
      expiresAt: '',
      completedAt: null,
    },
  )
})

describe('F3: amount', () => {
  test('a fraction of a kobo is refused, and the message says why', async () => {
    assert.match((await mistakesOf({ amount: 100.5 }))['/amount'] ?? '', /amount is in kobo, so it has no fraction/)
    assert.match((await mistakesOf({ amount: 0.5, currency: 'GHS' }))['/amount'] ?? '', /pesewas/)
  })
  for (const amount of ['100', '', null, true, [5], {}, 0, -1, 0.1, 1e15, 1_000_000_000_000, 2 ** 53 + 1]) {
    test(`${JSON.stringify(amount)} is refused at /amount, never coerced, rounded or cut`, async () => {
      assert.deepEqual(Object.keys(await mistakesOf({ amount })), ['/amount'])
    })
  }
  test('1e400 and 9007199254740993 are refused as they stand in the text', async () => {
    for (const amount of ['1e400', '9007199254740993', '-0', '1e-400']) {
      const body = `{"amount":${amount},"country":"NG","user":{"email":"a@b.co"}}`
      const answer = await call(app, 'POST', '/payments/v1/checkouts', { headers: shop.headers, body })
      assert.equal(answer.status, 400, amount)
      assert.equal(answer.body.errors[0].pointer, '/amount')
    }
  })
  test('1 and 999 999 999 999 are taken, and 1e3 is one thousand', async () => {
    for (const [text, amount] of [
      ['1', 1],
      ['999999999999', 999_999_999_999],
      ['1e3', 1000],
      ['100.0', 100],
    ] as const) {
      const body = `{"amount":${text},"country":"NG","user":{"email":"a@b.co"}}`
      const answer = await call(app, 'POST', '/payments/v1/checkouts', { headers: shop.headers, body })
      assert.equal(answer.body.data.amount, amount)
    }
  })
})

describe('user', () => {
  for (const email of [
    '',
    'ada',
    'ada@',
    '@example.com',
    'a b@example.com',
    'ada@example',
    'ada@exa mple.com',
    'ada@@example.com',
    'a@b..c',
    'ada@example.com\n',
    `${'a'.repeat(250)}@b.co`,
    5,
    null,
  ]) {
    test(`${JSON.stringify(email)?.slice(0, 40)} is not an e-mail address`, async () => {
      assert.deepEqual(Object.keys(await mistakesOf({ user: { email } })), ['/user/email'])
    })
  }
  for (const email of ['ada@example.com', "o'brien+tag@mail.example.co.ng", 'Ünï@bücher.example']) {
    test(`${email} is one`, async () => {
      const { body } = await checkout(app, shop, { user: { email } })
      assert.equal((await read(body.data.reference)).user.email, email)
    })
  }
  test('a name of 201 characters, a phone number of 33 and a line break are refused', async () => {
    const user = { email: 'a@b.co', name: 'x'.repeat(201), phoneNumber: '1'.repeat(33) }
    assert.deepEqual(Object.keys(await mistakesOf({ user })), ['/user/phoneNumber', '/user/name'])
    assert.deepEqual(Object.keys(await mistakesOf({ user: { email: 'a@b.co', name: 'A\nB' } })), ['/user/name'])
  })
  test('a user that is missing, null or a list is refused', async () => {
    for (const user of [undefined, null, [], 'ada'])
      assert.deepEqual(Object.keys(await mistakesOf({ user })), ['/user'])
  })
})

describe('reference', () => {
  test('absent, null: one is made, letters and digits only, a new one each time', async () => {
    const made = await Promise.all([undefined, null, undefined].map((reference) => checkout(app, shop, { reference })))
    const references = made.map(({ body }) => body.data.reference)
    for (const reference of references) assert.match(reference, /^[0-9a-z]{21}$/)
    assert.equal(new Set(references).size, 3)
  })
  for (const reference of ['', ' ', 'a b', 'é', 'a\tb', 'x'.repeat(101), '.', '..', 5]) {
    test(`${JSON.stringify(reference).slice(0, 20)} is refused`, async () => {
      assert.deepEqual(Object.keys(await mistakesOf({ reference })), ['/reference'])
    })
  }
  test('100 printable characters of any kind are taken and found again', async () => {
    const reference = `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~${'x'.repeat(68)}`
    assert.equal(reference.length, 100)
    const { body } = await checkout(app, shop, { reference })
    assert.equal((await read(reference)).id, body.data.id)
  })
  test('a used reference is a 409 that carries the first checkout, and nothing changes', async () => {
    const first = await checkout(app, shop, { reference: 'once' })
    const second = await checkout(app, shop, { reference: 'once', amount: 5 })
    assert.equal(second.status, 409)
    assert.equal(second.body.code, 'duplicate_reference')
    assert.deepEqual(second.body.existing, first.body.data)
    assert.equal((await read('once')).amount, CHECKOUT.amount)
  })
  test('it is matched to the letter: ABC and abc are two', async () => {
    assert.equal((await checkout(app, shop, { reference: 'ABC-1' })).status, 201)
    assert.equal((await checkout(app, shop, { reference: 'abc-1' })).status, 201)
  })
})

describe('currency', () => {
  for (const currency of [undefined, null, '']) {
    test(`${JSON.stringify(currency)} means NGN`, async () => {
      const { body } = await checkout(app, shop, { currency })
      assert.equal((await read(body.data.reference)).currency, 'NGN')
    })
  }
  test('any case will do, and it is answered in upper case', async () => {
    const { body } = await checkout(app, shop, { currency: 'uSd' })
    assert.equal((await read(body.data.reference)).currency, 'USD')
  })
  for (const currency of ['NAIRA', 'XX', 'N1N', 566, 'ZZZ']) {
    test(`${JSON.stringify(currency)} is refused`, async () => {
      assert.deepEqual(Object.keys(await mistakesOf({ currency })), ['/currency'])
    })
  }
})

describe('country', () => {
  for (const country of ['NG', 'ng', 'NGA', 'nga', 'Nigeria', 'NIGERIA', 'nigeria']) {
    test(`${country} is NG`, async () => {
      const { body } = await checkout(app, shop, { country })
      assert.equal((await read(body.data.reference)).country, 'NG')
    })
  }
  for (const country of [undefined, null, '', 'XX', 'XXX', 'Narnia', 234]) {
    test(`${JSON.stringify(country)} is refused`, async () => {
      assert.deepEqual(Object.keys(await mistakesOf({ country })), ['/country'])
    })
  }
})

describe('G2: redirectURL and webhook', () => {
  const bad = [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://shop.example',
    '//shop.example',
    '/thanks',
    'shop.example',
    'https://',
    'https:///x',
    'https://user:pass@shop.example',
    'https://user@shop.example',
    'https://@shop.example',
    'https:\\\\shop.example',
    'https://shop.example\\@evil.example',
    ' https://shop.example',
    'https://shop.example ',
    'https://shop.example/a b',
    'https://shop.example/\r\nSet-Cookie: a=b',
    'https://shop.example/\t',
    'java\nscript:alert(1)',
    'https://[::1',
    `https://shop.example/${'x'.repeat(2_048)}`,
    5,
    {},
  ]
  for (const address of bad) {
    test(`${JSON.stringify(address).slice(0, 50)} is refused for both`, async () => {
      assert.deepEqual(Object.keys(await mistakesOf({ redirectURL: address, webhook: address })), [
        '/redirectURL',
        '/webhook',
      ])
    })
  }
  test('in live mode only https is taken', async () => {
    const plain = { redirectURL: 'http://shop.example', webhook: 'HTTP://shop.example' }
    assert.deepEqual(Object.keys(await mistakesOf(plain, liveShop)), ['/redirectURL', '/webhook'])
    assert.equal((await checkout(app, liveShop, { redirectURL: 'https://shop.example' })).status, 201)
    assert.equal((await checkout(app, shop, plain)).status, 201)
  })
})

describe('customerBearsCharge, metadata and expiresIn', () => {
  test('only true and false are taken for customerBearsCharge', async () => {
    for (const value of ['true', 1, 0, []])
      assert.deepEqual(Object.keys(await mistakesOf({ customerBearsCharge: value })), ['/customerBearsCharge'])
    const { body } = await checkout(app, shop, { customerBearsCharge: null })
    assert.equal((await read(body.data.reference)).customerBearsCharge, false)
  })
  test('absent metadata is answered as {}', async () => {
    const { body } = await checkout(app, shop)
    assert.deepEqual((await read(body.data.reference)).metadata, {})
  })
  test('metadata is flat, strings only, 50 keys, keys to 40 and values to 500 characters', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']))
    assert.equal(
      (await checkout(app, shop, { metadata: { ...many(49), ['k'.repeat(40)]: 'v'.repeat(500) } })).status,
      201,
    )
    assert.deepEqual(Object.keys(await mistakesOf({ metadata: many(51) })), ['/metadata'])
    assert.deepEqual(Object.keys(await mistakesOf({ metadata: { a: 1, b: { c: 'd' }, c: null } })), [
      '/metadata/a',
      '/metadata/b',
      '/metadata/c',
    ])
    assert.deepEqual(Object.keys(await mistakesOf({ metadata: { a: 'x'.repeat(501) } })), ['/metadata/a'])
    assert.deepEqual(Object.keys(await mistakesOf({ metadata: { ['k'.repeat(41)]: 'v' } })), [
      `/metadata/${'k'.repeat(41)}`,
    ])
    for (const metadata of ['x', [], 5]) assert.deepEqual(Object.keys(await mistakesOf({ metadata })), ['/metadata'])
  })
  test('a link lives a day, or 15 minutes to 30 days when asked', async () => {
    for (const [expiresIn, seconds] of [
      [undefined, 86_400],
      [900, 900],
      [2_592_000, 2_592_000],
    ] as const) {
      const { body } = await checkout(app, shop, { expiresIn })
      const { createdAt, expiresAt } = await read(body.data.reference)
      assert.equal((Date.parse(expiresAt) - Date.parse(createdAt)) / 1000, seconds)
    }
    for (const expiresIn of [899, 2_592_001, 1000.5, '3600'])
      assert.deepEqual(Object.keys(await mistakesOf({ expiresIn })), ['/expiresIn'])
  })
})

describe('fields that we do not know', () => {
  for (const [field, meant] of [
    ['redirectUrl', 'redirectURL'],
    ['redirect_url', 'redirectURL'],
    ['customerBearCharge', 'customerBearsCharge'],
    ['webhookUrl', 'webhook'],
    ['refernce', 'reference'],
    ['meta_data', 'metadata'],
  ] as const) {
    test(`${field} gets "did you mean ${meant}?"`, async () => {
      const { status, body } = await checkout(app, shop, { [field]: 'https://shop.example' })
      assert.equal(status, 400)
      assert.equal(body.code, 'unknown_field')
      assert.equal(body.errors[0].pointer, `/${field}`)
      assert.match(body.errors[0].message, new RegExp(`did you mean \`${meant}\``))
    })
  }
  test('user.phone_number gets "did you mean phoneNumber?"', async () => {
    const { body } = await checkout(app, shop, { user: { email: 'a@b.co', phone_number: '1' } })
    assert.deepEqual([body.code, body.errors[0].pointer], ['unknown_field', '/user/phone_number'])
  })
  test('a field that resembles none of ours is ignored', async () => {
    assert.equal(
      (
        await checkout(app, shop, {
          basket: [1, 2],
          channel: 'web',
          description: 'x',
          user: { email: 'a@b.co', vip: true },
        })
      ).status,
      201,
    )
  })
})

test('all mistakes of a body are reported at once', async () => {
  const mistakes = await mistakesOf({
    amount: '5',
    user: { email: 'x' },
    country: 'Narnia',
    redirectUrl: 'x',
    webhook: 'x',
    expiresIn: 1,
  })
  assert.deepEqual(Object.keys(mistakes).sort(), [
    '/amount',
    '/country',
    '/expiresIn',
    '/redirectUrl',
    '/user/email',
    '/webhook',
  ])
})

test('no link is given for what cannot be paid: 422 names what is set up', async () => {
  for (const changes of [{ country: 'KE' }, { currency: 'EUR' }]) {
    const { status, body } = await checkout(app, shop, changes)
    assert.equal(status, 422)
    assert.equal(body.code, 'no_integration_available')
    assert.match(body.detail, /anything takes NGN, GHS, USD in NG, GH/)
  }
})

test('256 checkouts at once share commits, and each gets its own answer', async () => {
  const asked = Array.from({ length: 256 }, (_, index) => ({ reference: `together-${index}`, amount: index + 1 }))
  const answers = await Promise.all(asked.map((changes) => checkout(app, shop, changes)))
  for (const [index, { status, body }] of answers.entries()) {
    assert.equal(status, 201)
    assert.equal(body.data.reference, asked[index]?.reference)
    assert.equal((await read(body.data.reference)).amount, asked[index]?.amount)
  }
  assert.equal(new Set(answers.map(({ body }) => body.data.shortURL)).size, 256)
})
