import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { FAKES_WITH_CARDS, findFake } from '../../fakes/index.ts'
import { closedPort } from '../../support/listener.ts'
import { eventually } from '../../support/paying.ts'
import { letPass } from '../../support/payment-records.ts'
import { type At, at, newUser, startProviderWorld } from '../../support/provider-world.ts'
import { newVisitor, SHOP, type Visitor } from '../../support/visitor.ts'

// Two providers are set up, and one press of the customer's button goes to the first of them that begins. What is not
// known is never begun twice: docs/decisions/0011-failover-only-when-nothing-started.md.

const ANSWERS_WITHIN_MS = 1_500
let passedMs = 0
const providerHttp = { deadlineMs: ANSWERS_WITHIN_MS }
const world = await startProviderWorld({ providerHttp, healthNow: () => Date.now() + passedMs })
const nobodyHere = await closedPort()
const AMOUNT = 1_250_000

/** A shop that asks `first`, then `second`; what passes between it and either. */
interface Two {
  first: At
  second: At
  /** How many orders each has heard of since. */
  heardOf(): [number, number]
}

type Wish = Parameters<typeof world.setUp>[3]

/** Each has a shop of its own: what is known of a provider's health is known for one merchant. */
async function openShop(first: FakeProvider, second: FakeProvider, changes: Wish = {}): Promise<Two> {
  const shop = await world.addShop('Adaeze Kitchen', { bare: true })
  await world.setUp(shop, first, 1, changes)
  await world.setUp(shop, second, 2)
  const before = [first.ordersMade(), second.ordersMade()] as const
  return {
    first: at(world, shop, first),
    second: at(world, shop, second),
    heardOf: () => [first.ordersMade() - before[0], second.ordersMade() - before[1]],
  }
}

const inNaira = { amount: AMOUNT, currency: 'NGN', country: 'NG' }

/** One press on our page. */
async function press({ first }: Two, method: string, changes: Record<string, unknown> = {}) {
  const { reference, url } = await first.checkout({ ...inNaira, ...changes })
  const customer = newVisitor()
  await customer.go(`${url}?method=${method}`)
  await customer.send({ action: 'pay', method }, method === 'card' ? { card: 'new' } : {})
  return { customer, reference, url }
}

/** For a provider that has to be logged in to: a login that fails is one more way in which nothing begins. */
const logIn = (two: Two) => press(two, 'card')

async function attemptsOf({ first }: Two, reference: string): Promise<[string, string, string | undefined][]> {
  const { attempts } = await first.payment(reference)
  return attempts.map((each: { provider: string; status: string; failure: { code: string } | null }) => [
    each.provider,
    each.status,
    each.failure?.code,
  ])
}

async function callsOf({ first }: Two, reference: string): Promise<[string, string][]> {
  const { body } = await first.shop.call('GET', `/payments/v1/payments/${reference}/timeline`)
  const calls = body.data.filter(({ kind }: { kind: string }) => kind === 'call')
  return calls.map(({ what, detail }: { what: string; detail: { outcome: string } }) => [what, detail.outcome])
}

function assertAtShop(customer: Visitor, reference: string): void {
  assert.equal(customer.url, `${SHOP}/thanks?order=7&status=successful&reference=${reference}`)
}

/** Nobody else is asked after these: somebody may be at work. */
const IN_DOUBT = {
  'is silent after the work': { trouble: 'silent after the work' },
  'breaks the connection before an answer': { trouble: 'reset before the work' },
  'breaks the connection after the work': { trouble: 'reset after the work' },
  'breaks off its answer': { trouble: 'breaking off after the work' },
  redirects: { trouble: 'redirecting' },
  'answers with what nobody can read': { garble: () => ({ status: 200, text: '<html>It works!</html>' }) },
  'says no with what nobody can read': { garble: () => ({ status: 400, text: 'Bad Request' }) },
} as const

/** Nothing has begun, and nothing will. `spoil`: what is wrong with how it is set up. */
const NOTHING_BEGAN: Record<
  string,
  { trouble?: FakeProvider['upstream']['trouble']; spoil?: (fake: FakeProvider) => Wish }
> = {
  'refuses the connection': { spoil: () => ({ baseURL: new URL(nobodyHere).origin }) },
  'answers 500': { trouble: 'answering 500 before the work' },
  'answers 503 after it has made the order': { trouble: 'answering 503 after the work' },
  'answers 429': { trouble: 'answering 429' },
  'rejects the request': {
    spoil: ({ settings }) => ({
      settings: { ...settings, secretKey: String(settings.secretKey).replace(/[0Fk](?=[^0Fk]*$)/, '1') },
    }),
  },
}

/** Each provider is asked first once. */
const pairs = await Promise.all(
  FAKES_WITH_CARDS.map(({ provider, start }) => {
    const second = findFake(provider.capabilities.name === 'paystack' ? 'monnify' : 'paystack') ?? assert.fail()
    return Promise.all([start({ after }), second.start({ after })])
  }),
)

describe('with two providers', { concurrency: true }, () => {
  for (const [first, second] of pairs) {
    const { name, offers } = first.provider.capabilities
    const methods = offers['virtual-bank-account'] ? ['card', 'transfer'] : ['card']
    const other = second.provider.capabilities.name
    describe(`${name}, then ${other}`, { concurrency: 1 }, () => {
      for (const [what, { trouble, spoil }] of Object.entries(NOTHING_BEGAN)) {
        test(`${name} ${what}: the same press ends at ${other}`, async () => {
          for (const method of methods) {
            const two = await openShop(first, second, spoil?.(first))
            first.upstream.trouble = trouble
            const { customer, reference } = await press(two, method)
            first.upstream.trouble = undefined
            const [failed, pending] = await attemptsOf(two, reference)
            assert.deepEqual(failed?.slice(0, 2), [name, 'failed'])
            assert.match(String(failed?.[2]), /^provider_(unavailable|error)$/)
            assert.deepEqual(pending, [other, 'pending', undefined])
            const calls = await callsOf(two, reference)
            const call = 'start'
            assert.deepEqual(calls[1], ['fail over', other])
            assert.deepEqual([calls[0]?.[0], calls[2]?.[0], calls.length], [call, call, 3])
            const [told] = await two.second.hears(reference, ['attempt.failed'])
            assert.equal(told?.data.attempt.provider, name)
            if (method === 'card') {
              assert.equal(customer.state, 'provider')
              await customer.goOn()
              assert.ok(customer.url.startsWith(second.upstream.url), customer.url)
              await customer.press('pay')
              assertAtShop(customer, reference)
            } else {
              assert.equal(customer.state, 'awaiting')
              const { instructions } = (await two.first.payment(reference)).attempts[1]
              assert.ok(customer.text.includes(instructions.accountNumber))
              await second.customer.transfer?.(await two.second.orderOf(reference), AMOUNT)
              await two.second.pump()
            }
            await two.second.hears(reference, ['attempt.failed', 'payment.successful'])
          }
        })
      }

      test(`${name} leaves its order unknown: ${other} is not called`, async () => {
        const troubled = await openShop(first, second)
        await logIn(troubled)
        for (const [what, how] of Object.entries(IN_DOUBT)) {
          passedMs += 60_000 // it is the first choice again, whatever came before
          Object.assign(first.upstream, how)
          const { customer, reference } = await press(troubled, 'card')
          Object.assign(first.upstream, { trouble: undefined, garble: undefined })
          assert.deepEqual(await attemptsOf(troubled, reference), [[name, 'processing', undefined]], what)
          assert.equal(customer.state, 'processing', what)
          assert.equal(troubled.heardOf()[1], 0, what)
          assert.deepEqual(await troubled.first.heard(reference), [], 'and there is nothing to tell')
          await customer.go(customer.url)
          assert.equal(customer.state, 'processing', 'nor does asking again begin anything')
        }
      })

      test(`a card that is saved at ${name} is taken nowhere else`, async () => {
        for (const [what, then, state] of [
          ['refuses the connection', 'failed', 'failed'],
          ['answers 503 after it has made the order', 'processing', 'processing'],
          ['rejects the request', 'failed', 'failed'],
        ] as const) {
          const { trouble, spoil } = NOTHING_BEGAN[what] ?? assert.fail()
          const two = await openShop(first, second, spoil?.(first))
          const user = newUser()
          await two.first.plantCard(user, first.savedCards.paying)
          const [card] = await two.first.cards(user)
          const { reference, url } = await two.first.checkout({ ...inNaira, user })
          const customer = newVisitor()
          await customer.go(url)
          if (trouble) await logIn(two)
          first.upstream.trouble = trouble
          await customer.send({ action: 'pay', method: 'card' }, { card: card.id })
          first.upstream.trouble = undefined
          const [attempt, ...others] = await attemptsOf(two, reference)
          assert.deepEqual([attempt?.slice(0, 2), others], [[name, then], []], what)
          assert.equal(customer.state, state, what)
          assert.equal(two.heardOf()[1], 0, what)
        }
      })

      test(`a merchant who names ${name} gets it, or an error`, async () => {
        for (const [what, { trouble, spoil }] of Object.entries(NOTHING_BEGAN)) {
          const two = await openShop(first, second, spoil?.(first))
          if (trouble) await logIn(two)
          first.upstream.trouble = trouble
          const { status, body } = await two.first.initialize(inNaira)
          first.upstream.trouble = undefined
          const began = trouble !== undefined
          assert.deepEqual([status, body.code], began ? [504, 'provider_timeout'] : [502, 'provider_error'], what)
          const attempts = await attemptsOf(two, body.attempt)
          assert.deepEqual(
            attempts.map(([provider, state]) => [provider, state]),
            [[name, began ? 'processing' : 'failed']],
            what,
          )
          assert.equal(two.heardOf()[1], 0, what)
        }
      })
    })
  }
})

const [[paystack, monnify] = []] = pairs
assert.ok(paystack && monnify)

test('when no provider starts, the page says so, nothing is pending, and the next try works', async () => {
  const two = await openShop(paystack, monnify)
  await Promise.all([logIn(two), two.second.initialize(inNaira)])
  paystack.upstream.trouble = monnify.upstream.trouble = 'answering 503 after the work'
  const { customer, reference } = await press(two, 'card')
  assert.deepEqual(await attemptsOf(two, reference), [
    ['paystack', 'failed', 'provider_unavailable'],
    ['monnify', 'failed', 'provider_unavailable'],
  ])
  assert.equal(customer.state, 'failed')
  await two.first.hears(reference, ['attempt.failed', 'attempt.failed'])
  paystack.upstream.trouble = monnify.upstream.trouble = undefined
  await customer.send({ action: 'pay', method: 'card' })
  assert.equal(customer.state, 'provider')
  await customer.goOn()
  await customer.press('pay')
  assertAtShop(customer, reference)
  await two.first.hears(reference, ['attempt.failed', 'attempt.failed', 'payment.successful'])
})

test('a single provider that answers 503 is called again by the next try', async () => {
  const shop = await world.addShop('Adaeze Kitchen', { bare: true })
  await world.setUp(shop, paystack, 1)
  const place = at(world, shop, paystack)
  const two: Two = { first: place, second: place, heardOf: () => [0, 0] }
  paystack.upstream.trouble = 'answering 503 after the work'
  const { customer, reference } = await press(two, 'card')
  paystack.upstream.trouble = undefined
  assert.deepEqual(await attemptsOf(two, reference), [['paystack', 'failed', 'provider_unavailable']])
  assert.equal(customer.state, 'failed')
  await customer.send({ action: 'pay', method: 'card' })
  assert.equal(customer.state, 'provider')
})

test('one press that is sent twice is one attempt with each provider', async () => {
  const two = await openShop(paystack, monnify)
  const { reference, url } = await two.first.checkout(inNaira)
  paystack.upstream.trouble = 'answering 503 after the work'
  const [one, same] = [newVisitor(), newVisitor()]
  await one.go(url)
  Object.assign(same, { url: one.url, text: one.text, state: one.state })
  await Promise.all([one, same].map((each) => each.send({ action: 'pay', method: 'card' })))
  await same.send({ action: 'pay', method: 'card' }).catch(() => {}) // unless that page has gone on
  paystack.upstream.trouble = undefined
  assert.deepEqual(await attemptsOf(two, reference), [
    ['paystack', 'failed', 'provider_unavailable'],
    ['monnify', 'pending', undefined],
  ])
  assert.equal(two.heardOf()[1], 1)
})

test('money on a link that the first provider made before its 503 is surplus and is refunded', async () => {
  const two = await openShop(paystack, monnify)
  paystack.upstream.trouble = 'answering 503 after the work'
  const { customer, reference } = await press(two, 'card')
  paystack.upstream.trouble = undefined
  const { attempts } = await two.first.payment(reference)
  await customer.goOn()
  await customer.press('pay')
  await two.first.hears(reference, ['attempt.failed', 'payment.successful'])
  await paystack.customer.payByCard(attempts[0].providerReference, { save: false })
  await two.first.pump()
  await two.first.hears(reference, ['attempt.failed', 'payment.successful', 'payment.surplus'])
  const paid = await two.first.payment(reference)
  assert.equal(paid.amountPaid, AMOUNT)
  await letPass(world.database, paid, 61) // it goes back when the provider has named it again
  await eventually(
    async () => paystack.ledger().givenBack,
    (given) => given.some((entry) => entry.reference === attempts[0].providerReference),
  )
})

test('a provider that has not been answering is asked last, and first again after a minute', async () => {
  const two = await openShop(paystack, monnify)
  const asksFirst = async () => (await attemptsOf(two, (await press(two, 'card')).reference))[0]?.[0]
  paystack.upstream.trouble = 'answering 500 before the work'
  for (let time = 0; time < 3; time++) assert.equal(await asksFirst(), 'paystack')
  paystack.upstream.trouble = undefined
  const before = two.heardOf()[0]
  assert.equal(await asksFirst(), 'monnify', 'three bad answers in a row')
  assert.equal(two.heardOf()[0], before, 'and the other is left in peace')
  passedMs += 60_000
  assert.equal(await asksFirst(), 'paystack')
})

test('no provider charges more than the page showed', async () => {
  // The customer pays the fee: monnify keeps less than paystack does.
  const dear = { customerBearsCharge: true }
  const cheaper = await openShop(paystack, monnify)
  paystack.upstream.trouble = 'answering 500 before the work'
  const { reference } = await press(cheaper, 'card', dear)
  paystack.upstream.trouble = undefined
  const [first, second] = (await cheaper.first.payment(reference)).attempts
  assert.ok(second.amountCharged < first.amountCharged, 'the second is cheaper, so they pay less')

  const two = await openShop(monnify, paystack, { baseURL: new URL(nobodyHere).origin })
  const { reference: open, url } = await two.first.checkout({ ...inNaira, ...dear })
  const customer = newVisitor()
  await customer.go(url)
  const shown = customer.text
  const totalIn = (text: string) => Number(/name="total" value="(\d+)"/.exec(text)?.[1])
  await customer.send({ action: 'pay', method: 'card' })
  assert.equal(customer.state, 'failed')
  assert.deepEqual(await attemptsOf(two, open), [['monnify', 'failed', 'provider_unavailable']])
  assert.equal(two.heardOf()[1], 0, 'the dearer one is not asked at that price')

  for (let time = 0; time < 2; time++) await customer.send({ action: 'pay', method: 'card' })
  await customer.go(`${url}?method=card`)
  const totalNow = totalIn(customer.text)
  assert.ok(totalNow > totalIn(shown), 'now that is the price')
  await customer.send({ action: 'pay', method: 'card' }, { total: String(totalIn(shown)) })
  assert.equal(two.heardOf()[1], 0, 'an old page is not charged the new price')
  await customer.go(`${url}?method=card`)
  await customer.send({ action: 'pay', method: 'card' })
  assert.equal(customer.state, 'provider')
  await customer.goOn()
  await customer.press('pay')
  assertAtShop(customer, open)
  const { amountPaid, amountCharged } = await two.first.payment(open)
  assert.deepEqual([amountPaid, amountCharged], [totalNow, totalNow])
})
