import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import fc from 'fast-check'
import { money } from '../../src/kernel/money.ts'
import type { OrderHandle, Provider } from '../../src/providers/provider.ts'
import { channelsConformance } from './conformance-channels.ts'
import {
  assertDeclined,
  assertSensible,
  change,
  changed,
  everyCall,
  findByTransaction,
  GARBAGE,
  noticeOf,
  ODD,
} from './conformance-checks.ts'
import { listsConformance } from './conformance-lists.ts'
import { noticesConformance } from './conformance-notices.ts'
import { offlineConformance } from './conformance-offline.ts'
import { reversalsConformance } from './conformance-reversals.ts'
import type { Features, Rig } from './conformance-rig.ts'
import { settlementsConformance } from './conformance-settlements.ts'
import { byTransfer, handleOf, newReference, orderOf, refundable, startedOrder } from './rig.ts'
import { TROUBLES } from './upstream.ts'

/** The conformance suite: what every adapter must do. */
export function conformanceSuite(
  { provider, features }: { provider: Provider; features: Features },
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const { notices, asksForSteps = false, hidesAccountNames = false, ordersLackOurReference = false } = features
  offlineConformance(provider, async (t) => (await rigFor(t)).settings, features.channels?.[0])
  reversalsConformance(provider, features, rigFor)
  listsConformance(provider, features, rigFor)
  settlementsConformance(provider, features, rigFor)
  noticesConformance(provider, features, rigFor)
  channelsConformance(provider, features, rigFor)
  const { name, pageTakesSavedCards, offers } = provider.capabilities
  const test = (what: string, run: (t: TestContext) => Promise<void>) => nodeTest(`${name}: ${what}`, run)
  const testIf = (applies: boolean, what: string, run: (t: TestContext) => Promise<void>) => applies && test(what, run)
  const hasAccounts = offers['virtual-bank-account'] !== undefined
  const hasCards = offers.card !== undefined

  testIf(provider.settings.length > 0, 'keys are verified as good, bad or unknown', async (t) => {
    const rig = await rigFor(t)
    assert.deepEqual(await rig.connection.verifyKeys(), { kind: 'good' })
    rig.upstream.garble = () => ({ status: 401, text: '{"status":false,"message":"Invalid key"}' })
    assert.equal((await rig.connection.verifyKeys()).kind, 'bad')
    for (const trouble of TROUBLES) {
      rig.upstream.garble = undefined
      rig.upstream.trouble = trouble
      assert.equal((await rig.connection.verifyKeys()).kind, 'unknown', trouble)
    }
  })

  for (const trouble of TROUBLES) {
    test(`an upstream ${trouble} is unknown to every call, never declined or paid`, async (t) => {
      const rig = await rigFor(t)
      const { reference, handle } = await startedOrder(rig)
      await rig.customer.payByCard(reference, { save: false })
      rig.upstream.trouble = trouble
      for (const [call, kind, said] of await everyCall(rig, handle)) {
        assert.equal(kind, 'unknown', `${call}: ${said}`)
        for (const secret of rig.secrets) assert.ok(!said.includes(secret), `${call} tells a secret`)
        assert.doesNotMatch(said, /neverSent/, call)
      }
    })
  }

  test('calls to a closed port are unknown and known to be unsent', async (t) => {
    const rig = await rigFor(t)
    await rig.upstream.close()
    const reference = newReference()
    const handle: OrderHandle = { reference, providerReference: reference, channel: 'card', startedAt: new Date() }
    for (const [call, kind, said] of await everyCall(rig, handle)) {
      assert.equal(kind, 'unknown', `${call}: ${said}`)
      assert.match(said, /"neverSent":true/, call)
    }
  })

  test('an answer without the documented shape is unknown, under any HTTP status', async (t) => {
    const rig = await rigFor(t)
    const { reference, handle } = await startedOrder(rig)
    await rig.customer.payByCard(reference, { save: false })
    for (const status of [200, 201, 204, 400, 402, 404, 409, 422]) {
      for (const text of GARBAGE) {
        rig.upstream.garble = () => ({ status, text: status === 204 ? '' : text })
        for (const [call, kind] of await everyCall(rig, handle)) {
          assert.equal(kind, 'unknown', `${call} hears ${status} ${text.slice(0, 60)}`)
        }
      }
    }
  })

  test('an answer with a random change never throws, and gives a valid outcome', async (t) => {
    const rig = await rigFor(t)
    const { reference, handle } = await startedOrder(rig)
    await rig.customer.payByCard(reference, { save: true })
    await fc.assert(
      fc.asyncProperty(change, async (change) => {
        rig.upstream.garble = (said) => ({ ...said, text: changed(said.text, change) })
        assertSensible(await rig.connection.check(handle))
        const order = orderOf(rig)
        assertSensible(await rig.connection.start(order))
        if (hasCards) assertSensible(await rig.connection.chargeSavedCard(orderOf(rig), rig.savedCards.paying))
        if (hasAccounts) assertSensible(await rig.connection.start(byTransfer(orderOf(rig))))
      }),
      { numRuns: 150 },
    )
  })

  test('a refused key is unknown to a check, never missing or declined', async (t) => {
    const rig = await rigFor(t)
    const { handle } = await startedOrder(rig)
    for (const status of [401, 403]) {
      rig.upstream.garble = () => ({ status, text: '{"status":false,"message":"Invalid key","error":{"code":"x"}}' })
      assert.equal((await rig.connection.check(handle)).kind, 'unknown')
    }
  })

  testIf(hasCards, 'starting a card payment gives a link to the hosted page, and the order is pending', async (t) => {
    const rig = await rigFor(t)
    const { start, handle } = await startedOrder(rig)
    assert.ok(start.kind === 'link')
    assert.match(start.link, /^https?:\/\//)
    assert.ok(start.expiresAt > new Date())
    assert.equal((await rig.connection.check(handle)).kind, 'pending')
  })

  test('a paid order has receipts, the same at every check', async (t) => {
    const rig = await rigFor(t)
    const { order, reference, handle } = await startedOrder(rig)
    await rig.customer.payByCard(reference, { save: false })
    const said: string[] = []
    rig.upstream.garble = (answer) => {
      said.push(answer.text)
      return answer
    }
    const outcome = await rig.connection.check(handle)
    assert.equal(outcome.kind, 'paid')
    assertSensible(outcome)
    for (const { transactionId, idIsProviders } of outcome.receipts)
      assert.equal(idIsProviders ?? false, said.join().includes(transactionId), 'only an id that it said is its own')
    assert.deepEqual(
      outcome.receipts.map(({ amount }) => amount),
      [order.amount],
    )
    if (rig.provider.capabilities.pageAsksToSave) assert.equal(outcome.savedCard, undefined)
    assert.deepEqual(await rig.connection.check(handle), outcome)
  })

  test('two orders never share a transaction id', async (t) => {
    const rig = await rigFor(t)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      const { reference, handle } = await startedOrder(rig)
      await rig.customer.payByCard(reference, { save: false })
      const outcome = await rig.connection.check(handle)
      ids.push(...(outcome.kind === 'paid' ? outcome.receipts : []).map(({ transactionId }) => transactionId))
    }
    assert.equal(new Set(ids).size, 3)
  })

  testIf(hasCards, 'a card that the customer saves is part of the paid outcome', async (t) => {
    const rig = await rigFor(t)
    const { reference, handle } = await startedOrder(rig, { saveCard: true })
    await rig.customer.payByCard(reference, { save: true })
    const outcome = await rig.connection.check(handle)
    assert.ok(outcome.kind === 'paid' && outcome.savedCard)
    assert.match(outcome.savedCard.last4, /^\d{4}$/)
    assert.ok(outcome.savedCard.token.length > 0)
  })

  testIf(
    hasCards,
    'a decline has one of our failure codes and the provider code; a later try may succeed',
    async (t) => {
      const rig = await rigFor(t)
      const { reference, handle } = await startedOrder(rig)
      await rig.customer.failByCard(reference)
      const first = await rig.connection.check(handle)
      assertDeclined(first)
      assert.notEqual(first.failure.code, 'other')
      await rig.customer.failByCard(reference)
      const second = await rig.connection.check(handle)
      assertDeclined(second)
      if (first.tryId !== null) assert.notEqual(second.tryId, first.tryId)
      await rig.customer.payByCard(reference, { save: false })
      assert.equal((await rig.connection.check(handle)).kind, 'paid')
    },
  )

  test('starting again with the same reference makes one order', async (t) => {
    const rig = await rigFor(t)
    const { start, order } = await startedOrder(rig)
    const again = await rig.connection.start(order)
    // A provider that cannot repeat its first answer is checked instead.
    if (ordersLackOurReference) assert.equal(again.kind, 'declined')
    else if (again.kind !== 'unknown') assert.deepEqual(again, start)
    assert.equal(rig.ordersMade(), 1)
  })

  test('a repeated start sends the same body, however much later', async (t) => {
    const rig = await rigFor(t)
    const sent: string[] = []
    rig.upstream.trouble = ({ path, body }) => {
      if (body) sent.push(`${path} ${body}`)
      return undefined
    }
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    for (const minutes of [5, 120, 40 * 60]) {
      const order = { ...orderOf(rig), expiresAt: new Date(Date.now() + minutes * 60_000) }
      const account = { ...order, reference: newReference() }
      const startBoth = async () => {
        await rig.connection.start(order)
        if (hasAccounts) await rig.connection.start(byTransfer(account))
        return sent.splice(0)
      }
      const first = await startBoth()
      t.mock.timers.tick(4 * 60_000 + 1_234)
      // A provider that refuses the repeat gets fewer requests, but none that is new.
      for (const request of await startBoth()) assert.ok(first.includes(request), request)
    }
  })

  test('a start whose answer was lost and is repeated makes one order', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    rig.upstream.trouble = 'reset after the work'
    assert.equal((await rig.connection.start(order)).kind, 'unknown')
    rig.upstream.trouble = undefined
    const again = await rig.connection.start(order)
    if (ordersLackOurReference) assert.equal(again.kind, 'declined')
    else assert.ok(again.kind === (rig.pays?.starts ?? 'link') || again.kind === 'unknown', again.kind)
    assert.equal(rig.ordersMade(), 1)
  })

  testIf(hasCards, 'an unknown order is missing', async (t) => {
    const { connection } = await rigFor(t)
    const reference = newReference()
    const outcome = await connection.check(handleOf({ reference }, { providerReference: reference }, 'card'))
    assert.deepEqual(outcome, { kind: 'missing' })
  })

  testIf(hasCards, 'a saved card is charged at once', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    const outcome = await rig.connection.chargeSavedCard(order, rig.savedCards.paying)
    assert.equal(outcome.kind, 'paid')
    assertSensible(outcome)
    assert.deepEqual(outcome.receipts[0]?.amount, order.amount)
  })

  testIf(pageTakesSavedCards, 'a saved card can be offered on their page', async (t) => {
    const rig = await rigFor(t)
    assert.equal((await rig.connection.start(orderOf(rig, { savedCard: rig.savedCards.paying }))).kind, 'link')
  })

  testIf(asksForSteps, 'a saved card that needs the customer leads to a step', async (t) => {
    const rig = await rigFor(t)
    const { askingForAStep } = rig.savedCards
    assert.ok(askingForAStep, 'the rig has such a card')
    const order = orderOf(rig)
    const charge = await rig.connection.chargeSavedCard(order, askingForAStep)
    assert.equal(charge.kind, 'step')
    assert.match(charge.link, /^https?:\/\//)
    assert.ok(charge.providerReference)
    if (!rig.customer.letStepRunOut) return
    await rig.customer.letStepRunOut(order.reference)
    assertDeclined(await rig.connection.check(handleOf(order, charge, 'card')))
  })

  testIf(hasCards, 'a declined or unknown saved card is declined', async (t) => {
    const rig = await rigFor(t)
    assertDeclined(await rig.connection.chargeSavedCard(orderOf(rig), rig.savedCards.declining))
    assertDeclined(await rig.connection.chargeSavedCard(orderOf(rig), rig.savedCards.unheardOf))
  })

  testIf(
    hasCards,
    'a saved card that was charged without an answer is unknown, and a check finds the money once',
    async (t) => {
      const rig = await rigFor(t)
      const order = orderOf(rig)
      rig.upstream.trouble = 'silent after the work'
      assert.equal((await rig.connection.chargeSavedCard(order, rig.savedCards.paying)).kind, 'unknown')
      rig.upstream.trouble = undefined
      const handle = handleOf(order, { providerReference: order.reference }, 'card')
      const outcome = await rig.connection.check(handle)
      assert.ok(outcome.kind === 'paid' && outcome.receipts.length === 1)
    },
  )

  testIf(hasAccounts, 'an account is for one order, and says how much to transfer', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    const account = await rig.connection.start(byTransfer(order))
    assert.equal(account.kind, 'account')
    assert.equal(account.amountToTransfer, order.amount.amount)
    assert.match(account.accountNumber, /^\d{6,20}$/)
    assert.ok(account.bankName && account.expiresAt > new Date())

    const handle = handleOf(order, account, 'virtual-bank-account')
    assert.equal((await rig.connection.check(handle)).kind, 'pending')
    await rig.customer.transfer?.(order.reference, order.amount.amount)
    const outcome = await rig.connection.check(handle)
    assert.ok(outcome.kind === 'paid' && outcome.receipts.length === 1)
    assertSensible(outcome)
  })

  testIf(hasAccounts, 'less than was asked for is not paid', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    const account = await rig.connection.start(byTransfer(order))
    assert.equal(account.kind, 'account')
    await rig.customer.transfer?.(order.reference, order.amount.amount - 1)
    const outcome = await rig.connection.check(handleOf(order, account, 'virtual-bank-account'))
    assert.notEqual(outcome.kind, 'paid')
    assertSensible(outcome)
  })

  testIf(hidesAccountNames, 'an account without a name is an account', async (t) => {
    const rig = await rigFor(t)
    assert.ok(rig.hideAccountNames, 'the rig can hide them')
    rig.hideAccountNames()
    const account = await rig.connection.start(byTransfer(orderOf(rig)))
    assert.ok(account.kind === 'account' && account.accountName === null)
  })

  test('a refund is given once, however often it is asked for', async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    const first = await rig.connection.refund(wanted)
    assert.ok(first.kind === 'refunded' || first.kind === 'pending', first.kind)
    const again = await rig.connection.refund(wanted)
    if (again.kind !== 'unknown') assert.deepEqual(again, first)
    assert.equal(rig.refundsMade(), 1)
  })

  test('a refund whose answer was lost is given once', async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    rig.upstream.trouble = 'reset after the work'
    assert.equal((await rig.connection.refund(wanted)).kind, 'unknown')
    rig.upstream.trouble = undefined
    assert.notEqual((await rig.connection.refund(wanted)).kind, 'refused')
    assert.equal(rig.refundsMade(), 1)
  })

  test('more than was paid is not refunded', async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    const { amount, currency } = wanted.amount
    const outcome = await rig.connection.refund({ ...wanted, amount: money(amount * 100, currency) })
    assert.equal(outcome.kind, 'refused')
    assert.equal(rig.refundsMade(), 0)
  })

  for (const kind of notices) {
    test(`a signed notice that says ${kind} is read`, async (t) => {
      const rig = await rigFor(t)
      const notice = await noticeOf(rig, kind)
      assert.ok(notice, 'the rig has a body for each kind that the provider sends')
      const reading = rig.connection.readNotice(notice.signed)
      assert.equal(reading.kind, 'notice')
      assert.equal(reading.says, kind)
      const named = reading.reference ?? (await findByTransaction(rig, reading.transactionId))
      assert.ok([notice.handle.reference, notice.handle.providerReference].includes(named))
      if (kind === 'paid') assert.deepEqual(reading.receipts[0]?.amount, notice.order.amount)
      if (kind === 'failed') assert.deepEqual(reading.receipts, [])
      assertSensible(reading)
    })
  }
}

ODD.push('x'.repeat(100_000), 'javascript:alert(1)', '2026-13-45T99:99:99Z', { __proto__: null, id: 'x' }, [null], [{}])
