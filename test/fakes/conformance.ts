import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import fc from 'fast-check'
import { money, parseCurrency } from '../../src/kernel/money.ts'
import {
  type Declined,
  FAILURE_CODES,
  type OrderHandle,
  type Provider,
  type ProviderClient,
  type RawNotice,
  type Receipt,
} from '../../src/providers/provider.ts'
import { offlineConformance } from './conformance-offline.ts'
import { reversalsConformance } from './conformance-reversals.ts'
import { handleOf, newReference, orderOf, priceOf, refundable, startedCard } from './rig.ts'
import { TROUBLES, type Upstream } from './upstream.ts'

/** Input of the conformance suite: a server that speaks the provider's protocol, a connection to it, and a customer. */
export interface Rig {
  provider: Provider
  /** As the merchant would paste them. */
  settings: Record<string, string>
  /** Over a real way out to `upstream`, with a deadline of about half a second at most. */
  connection: ProviderClient
  upstream: Upstream
  /** Texts that must never appear in an outcome. */
  secrets: string[]
  /** An amount that this provider takes. */
  price: { amount: number; currency: string; country: string }
  /** How many orders, and how many refunds, the upstream has written down, under whatever reference. */
  ordersMade(): number
  refundsMade(): number
  customer: {
    payByCard(reference: string, options: { save: boolean }): Promise<void>
    failByCard(reference: string): Promise<void>
    transfer?(reference: string, amount: number): Promise<void>
    /** Nobody entered the PIN or code that the bank had asked for, if it had, and the bank ends the try. */
    letStepRunOut?(reference: string): Promise<void>
  }
  /** Tokens of saved cards and what becomes of them; absent when the provider knows no such thing. */
  savedCards: { paying: string; declining: string; unheardOf: string; askingForAStep?: string }
  /** Where its API is, when that is not the root of `upstream`. */
  baseURL?: string
  /** From now on accounts have no name to show. */
  hideAccountNames?(): void
  notices: NoticeRig
  /**
   * A refund made in the provider's dashboard, completed at once. `amount` is in our minor units. Returns the provider's id of the refund,
   * or undefined when the amount is more than what is left: a dashboard refuses that as the API does. A fake with notices also queues the notice that the provider sends, and enters the refund in `ledger().givenBack`.
   */
  refundAtProvider?(reference: string, amount: number): Promise<string | undefined>
  /** A cardholder disputes the payment. Returns the provider's id of the dispute. Queues the provider's notice. */
  disputeAtProvider?(reference: string, dispute: { amount: number; reason: string }): Promise<string>
  /** `lost`: the money is taken from the merchant, and `ledger().givenBack` has it exactly once. Queues the provider's notice. */
  closeDispute?(disputeId: string, outcome: 'won' | 'lost'): Promise<void>
  /** From now on a list holds at most this many entries per page, whatever the adapter asks for. */
  limitPages?(size: number): void
}

export interface NoticeRig {
  /** Signed as the provider signs. */
  sign(body: Buffer, at: Date): RawNotice
  /** The body of a notice about what has become of an order. */
  bodyOf(kind: NoticeKind, reference: string): Buffer | undefined
  /** Whether the signature covers the body, and its time. */
  covers: { body: boolean; time: boolean }
  /** Another account's signature on the same body. */
  signAsAnother(body: Buffer, at: Date): RawNotice
}

export type NoticeKind = 'paid' | 'failed' | 'processing' | 'pending' | 'refund' | 'dispute'

/** Optional features of a provider. A test of a feature is registered only for the providers that have it. */
export interface Features {
  /** The kinds of notices that the provider sends. */
  notices: readonly NoticeKind[]
  /** Charging a saved card may need a PIN or an OTP first. */
  asksForSteps?: boolean
  /** A virtual bank account may come without an account name. */
  hidesAccountNames?: boolean
  /** `Declined.tryId` differs between two tries on the provider's page. */
  numbersTries?: boolean
  /** What happens to a transfer of another amount than the order's. Absent: the provider has no virtual bank accounts. */
  wrongTransferAmounts?: 'rejected' | 'kept'
  /** A repeated refund request with the same reference makes no second refund. */
  idempotentRefunds?: boolean
  /** The adapter implements `listReversals`; the fake has `refundAtProvider`. */
  listsReversals?: boolean
  /** `listReversals` includes disputes; the fake has `disputeAtProvider` and `closeDispute`. */
  listsDisputes?: boolean
  /** The adapter implements `listTransactions`; the fake has `limitPages`. */
  listsTransactions?: boolean
  /** `refund` and `listReversals` go by the transactions, so that money which a person matched with another order can be refunded. */
  refundsByTransaction?: boolean
  /** 401 and 403 at a start call are a decline with `keysRefused`. */
  reportsRefusedKeys?: boolean
}

/** The conformance suite: what every adapter must do. */
export function conformanceSuite(
  { provider, features }: { provider: Provider; features: Features },
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const { notices, asksForSteps = false, hidesAccountNames = false } = features
  offlineConformance(provider, async (t) => (await rigFor(t)).settings)
  reversalsConformance(provider, features, rigFor)
  const { name, pageTakesSavedCards, channels } = provider.capabilities
  const test = (what: string, run: (t: TestContext) => Promise<void>) => nodeTest(`${name}: ${what}`, run)
  const testIf = (applies: boolean, what: string, run: (t: TestContext) => Promise<void>) => applies && test(what, run)
  const hasAccounts = channels.includes('virtual-bank-account')

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
      const { reference, handle } = await startedCard(rig)
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
    const { reference, handle } = await startedCard(rig)
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
    const { reference, handle } = await startedCard(rig)
    await rig.customer.payByCard(reference, { save: true })
    await fc.assert(
      fc.asyncProperty(change, async (change) => {
        rig.upstream.garble = (said) => ({ ...said, text: changed(said.text, change) })
        assertSensible(await rig.connection.check(handle))
        const order = orderOf(rig)
        assertSensible(await rig.connection.startCard(order))
        assertSensible(await rig.connection.chargeSavedCard(orderOf(rig), rig.savedCards.paying))
        if (hasAccounts) assertSensible(await rig.connection.openVirtualAccount(orderOf(rig)))
      }),
      { numRuns: 150 },
    )
  })

  test('a refused key is unknown to a check, never missing or declined', async (t) => {
    const rig = await rigFor(t)
    const { handle } = await startedCard(rig)
    for (const status of [401, 403]) {
      rig.upstream.garble = () => ({ status, text: '{"status":false,"message":"Invalid key","error":{"code":"x"}}' })
      assert.equal((await rig.connection.check(handle)).kind, 'unknown')
    }
  })

  test('starting a card payment gives a link to the hosted page, and the order is pending', async (t) => {
    const rig = await rigFor(t)
    const { start, handle } = await startedCard(rig)
    assert.match(start.link, /^https?:\/\//)
    assert.ok(start.expiresAt > new Date())
    assert.equal((await rig.connection.check(handle)).kind, 'pending')
  })

  test('a paid order has receipts, the same at every check', async (t) => {
    const rig = await rigFor(t)
    const { order, reference, handle } = await startedCard(rig)
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
      const { reference, handle } = await startedCard(rig)
      await rig.customer.payByCard(reference, { save: false })
      const outcome = await rig.connection.check(handle)
      ids.push(...(outcome.kind === 'paid' ? outcome.receipts : []).map(({ transactionId }) => transactionId))
    }
    assert.equal(new Set(ids).size, 3)
  })

  test('a card that the customer saves is part of the paid outcome', async (t) => {
    const rig = await rigFor(t)
    const { reference, handle } = await startedCard(rig, { saveCard: true })
    await rig.customer.payByCard(reference, { save: true })
    const outcome = await rig.connection.check(handle)
    assert.ok(outcome.kind === 'paid' && outcome.savedCard)
    assert.match(outcome.savedCard.last4, /^\d{4}$/)
    assert.ok(outcome.savedCard.token.length > 0)
  })

  test('a decline has one of our failure codes and the provider code; a later try may succeed', async (t) => {
    const rig = await rigFor(t)
    const { reference, handle } = await startedCard(rig)
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
  })

  test('starting again with the same reference makes one order', async (t) => {
    const rig = await rigFor(t)
    const { start, order } = await startedCard(rig)
    const again = await rig.connection.startCard(order)
    // A provider that cannot repeat its first answer is checked instead.
    if (again.kind !== 'unknown') assert.deepEqual(again, start)
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
        await rig.connection.startCard(order)
        if (hasAccounts) await rig.connection.openVirtualAccount(account)
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
    assert.equal((await rig.connection.startCard(order)).kind, 'unknown')
    rig.upstream.trouble = undefined
    const again = await rig.connection.startCard(order)
    assert.ok(again.kind === 'link' || again.kind === 'unknown', again.kind)
    assert.equal(rig.ordersMade(), 1)
  })

  test('an unknown order is missing', async (t) => {
    const { connection } = await rigFor(t)
    const reference = newReference()
    const outcome = await connection.check(handleOf({ reference }, { providerReference: reference }, 'card'))
    assert.deepEqual(outcome, { kind: 'missing' })
  })

  test('a saved card is charged at once', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    const outcome = await rig.connection.chargeSavedCard(order, rig.savedCards.paying)
    assert.equal(outcome.kind, 'paid')
    assertSensible(outcome)
    assert.deepEqual(outcome.receipts[0]?.amount, order.amount)
  })

  testIf(pageTakesSavedCards, 'a saved card can be offered on their page', async (t) => {
    const rig = await rigFor(t)
    assert.equal((await rig.connection.startCard(orderOf(rig), rig.savedCards.paying)).kind, 'link')
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

  test('a declined or unknown saved card is declined', async (t) => {
    const rig = await rigFor(t)
    assertDeclined(await rig.connection.chargeSavedCard(orderOf(rig), rig.savedCards.declining))
    assertDeclined(await rig.connection.chargeSavedCard(orderOf(rig), rig.savedCards.unheardOf))
  })

  test('a saved card that was charged without an answer is unknown, and a check finds the money once', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    rig.upstream.trouble = 'silent after the work'
    assert.equal((await rig.connection.chargeSavedCard(order, rig.savedCards.paying)).kind, 'unknown')
    rig.upstream.trouble = undefined
    const handle = handleOf(order, { providerReference: order.reference }, 'card')
    const outcome = await rig.connection.check(handle)
    assert.ok(outcome.kind === 'paid' && outcome.receipts.length === 1)
  })

  testIf(hasAccounts, 'an account is for one order, and says how much to transfer', async (t) => {
    const rig = await rigFor(t)
    const order = orderOf(rig)
    const account = await rig.connection.openVirtualAccount(order)
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
    const account = await rig.connection.openVirtualAccount(order)
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
    const account = await rig.connection.openVirtualAccount(orderOf(rig))
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

  test("a notice with another's signature, none, or a broken one is forged", async (t) => {
    const rig = await rigFor(t)
    const { signed } = (await noticeOf(rig, 'paid')) ?? assert.fail('every provider tells of money')
    const { headers, body, receivedAt } = signed
    assert.equal(rig.connection.readNotice(signed).kind, 'notice')
    const bad: Record<string, RawNotice> = {
      'no header': { ...signed, headers: {} },
      "another's": rig.notices.signAsAnother(body, receivedAt),
    }
    for (const [name, value] of Object.entries(headers)) {
      for (const odd of [undefined, '', ' ', '0', `${value}0`, value?.slice(0, -1), value?.slice(1), 'é'.repeat(64)]) {
        bad[`${name}: ${odd}`] = { ...signed, headers: { [name]: odd } }
      }
    }
    if (rig.notices.covers.body) {
      const flipped = Buffer.from(body)
      flipped.writeUInt8(flipped.readUInt8(10) ^ 1, 10)
      bad['a changed byte'] = { ...signed, body: flipped }
      bad['cut short'] = { ...signed, body: body.subarray(0, -1) }
      bad.lengthened = { ...signed, body: Buffer.concat([body, Buffer.from(' ')]) }
      bad.empty = { ...signed, body: Buffer.alloc(0) }
    }
    if (rig.notices.covers.time) {
      bad.old = { ...signed, receivedAt: new Date(receivedAt.getTime() + 302_000) }
      bad['of the future'] = { ...signed, receivedAt: new Date(receivedAt.getTime() - 302_000) }
    }
    for (const [what, notice] of Object.entries(bad)) {
      assert.equal(rig.connection.readNotice(notice).kind, 'forged', what)
    }
  })

  test('an odd or huge notice never throws, signed or not', async (t) => {
    const rig = await rigFor(t)
    const odd = [
      ...GARBAGE.map((text) => Buffer.from(text)),
      Buffer.from([0xff, 0xfe, 0x00]),
      Buffer.alloc(2 ** 20, '['),
    ]
    for (const body of odd) {
      const reading = rig.connection.readNotice(rig.notices.sign(body, new Date()))
      assert.ok(reading.kind === 'unreadable' || (reading.kind === 'notice' && reading.says === 'other'), reading.kind)
    }
    for (const kind of notices) {
      const body = (await noticeOf(rig, kind))?.signed.body.toString()
      if (!body) continue
      fc.assert(
        fc.property(change, (change) => {
          assertSensible(rig.connection.readNotice(rig.notices.sign(Buffer.from(changed(body, change)), new Date())))
        }),
        { numRuns: 200 },
      )
    }
  })
}

const GARBAGE = [
  '',
  ' ',
  'null',
  '[]',
  '{}',
  '0',
  '"paid"',
  'OK',
  '<html>502</html>',
  '{"status":"paid"}',
  '{"status":true,"data":null}',
  '{"status":"success","data":{}}',
  '{"data":{"status":"paid"}}',
  '{"data":{"status":"success","amount":100}}',
  '{"data":[{}]}',
  '{"error":null}',
  '{"__proto__":{"status":"paid"}}',
  '{"data":{"reference":"x"',
  '['.repeat(10_000),
]

// One thing in a real answer becomes another.
const change = fc.record({ where: fc.nat(), odd: fc.option(fc.jsonValue({ depthSize: 'small' })), pick: fc.nat() })
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never
const ODD: unknown[] = [undefined, null, '', 'x', 'PAID', -1, 0.5, 1e300, 2 ** 53, '100', true, [], {}, '\0', '\ud800']
ODD.push('x'.repeat(100_000), 'javascript:alert(1)', '2026-13-45T99:99:99Z', { __proto__: null, id: 'x' }, [null], [{}])

function changed(text: string, { where, odd, pick }: Change): string {
  const root = { value: JSON.parse(text) }
  const places: [Record<string, unknown>, string][] = []
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    for (const key of Object.keys(value)) {
      places.push([value as Record<string, unknown>, key])
      walk((value as Record<string, unknown>)[key])
    }
  }
  walk(root)
  const [holder, key] = places[where % places.length] ?? assert.fail('there is something to change')
  holder[key] = odd ?? ODD[pick % ODD.length]
  return JSON.stringify(root.value) ?? ''
}

/** Whatever came in: amounts are integers in a currency that exists, and text is such as a database takes. */
function assertSensible(said: { kind: string }): void {
  const walk = (value: unknown): void => {
    if (typeof value === 'string') assert.ok(value.isWellFormed() && !value.includes('\0'), 'text can be stored')
    else if (value instanceof Date) assert.ok(!Number.isNaN(value.getTime()), 'a date is a date')
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk)
  }
  walk(said)
  const { receipts = [] } = said as { receipts?: Receipt[] }
  for (const { transactionId, amount } of receipts) {
    assert.ok(transactionId.length > 0 && transactionId.length <= 255)
    assert.ok(Number.isSafeInteger(amount.amount) && amount.amount >= 0)
    assert.equal(parseCurrency(amount.currency), amount.currency)
  }
  if (said.kind === 'paid') assert.ok(receipts.length > 0, 'paid by some money')
  if (said.kind === 'declined') assertDeclined(said)
  if ('link' in said) assert.match(String(said.link), /^https?:\/\//)
}

function assertDeclined(said: { kind: string }): asserts said is Declined {
  assert.equal(said.kind, 'declined')
  const { failure } = said as Declined
  assert.ok(FAILURE_CODES.includes(failure.code), failure.code)
  assert.ok(failure.message.length > 0)
  assert.ok(failure.providerCode, 'their own code is kept')
}

/** Each call, once, about orders of its own where it makes one. */
async function everyCall(rig: Rig, handle: OrderHandle): Promise<[string, string, string][]> {
  const { connection, savedCards } = rig
  const refund = { reference: newReference(), order: handle, transactionIds: ['1'], amount: priceOf(rig), reason: null }
  const calls: [string, () => Promise<{ kind: string }>][] = [
    ['startCard', () => connection.startCard(orderOf(rig))],
    ['chargeSavedCard', () => connection.chargeSavedCard(orderOf(rig), savedCards.paying)],
    ['check', () => connection.check(handle)],
    ['refund', () => connection.refund(refund)],
  ]
  if (rig.provider.capabilities.channels.includes('virtual-bank-account')) {
    calls.push(['openVirtualAccount', () => connection.openVirtualAccount(orderOf(rig))])
  }
  const { listReversals, listTransactions } = connection
  if (listReversals) calls.push(['listReversals', () => listReversals(handle, ['1'])])
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  if (listTransactions) calls.push(['listTransactions', () => listTransactions(range, null)])
  return Promise.all(
    calls.map(async ([name, call]): Promise<[string, string, string]> => {
      const said = await call()
      return [name, said.kind, JSON.stringify(said)]
    }),
  )
}

/** Some notices name a transaction and no order. */
async function findByTransaction({ connection }: Rig, transactionId: string | undefined): Promise<string> {
  assert.ok(transactionId, 'a notice names an order or a transaction')
  const found = await connection.findReference?.(transactionId)
  assert.equal(found?.kind, 'found')
  return found.reference
}

/** Something happens to an order, and they tell us. */
async function noticeOf(rig: Rig, kind: NoticeKind) {
  const { order, reference, handle } = await startedCard(rig)
  if (kind === 'failed') await rig.customer.failByCard(reference)
  else if (kind !== 'pending' && kind !== 'processing') await rig.customer.payByCard(reference, { save: false })
  if (kind === 'dispute') {
    assert.ok(rig.disputeAtProvider, 'the rig can open a dispute')
    await rig.disputeAtProvider(reference, { amount: order.amount.amount, reason: 'fraudulent' })
  }
  if (kind === 'refund') {
    const outcome = await rig.connection.check(handle)
    const transactionIds = outcome.kind === 'paid' ? outcome.receipts.map((receipt) => receipt.transactionId) : []
    const wanted = { reference: newReference(), order: handle, transactionIds, amount: order.amount, reason: null }
    await rig.connection.refund(wanted)
  }
  const body = rig.notices.bodyOf(kind, reference)
  return body && { order, handle, signed: rig.notices.sign(body, new Date()) }
}
