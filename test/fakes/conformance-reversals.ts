import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import { money } from '../../src/kernel/money.ts'
import type { OrderHandle, Provider, ProviderClient, ReversalsAnswer } from '../../src/providers/provider.ts'
import type { Features, Rig } from './conformance-rig.ts'
import { byTransfer, handleOf, newReference, orderOf, refundable, startedOrder } from './rig.ts'
import { httpTo } from './upstream.ts'

/** Conformance of refunds and disputes made at the provider, and of refused keys. */
export function reversalsConformance(
  provider: Provider,
  features: Features,
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const { listsReversals = false, listsDisputes = false, reportsRefusedKeys = false } = features
  const { name, offers } = provider.capabilities
  const testIf = (applies: boolean, what: string, run: (t: TestContext) => Promise<void>) =>
    applies && nodeTest(`${name}: ${what}`, run)

  testIf(listsReversals, 'a payment without refunds and disputes lists none', async (t) => {
    const rig = await rigFor(t)
    const { handle, transactionIds } = await paid(rig)
    assert.deepEqual(await listReversals(rig, handle, transactionIds), { kind: 'reversals', refunds: [], disputes: [] })
  })

  testIf(listsReversals, 'an order that the provider does not know has no returns', async (t) => {
    const rig = await rigFor(t)
    const reference = newReference()
    const answer = await listReversals(rig, handleOf({ reference }, { providerReference: reference }, 'card'), [])
    if (answer.kind === 'reversals') assert.deepEqual([answer.refunds, answer.disputes], [[], []])
    else assert.equal(answer.kind, 'missing')
  })

  testIf(listsReversals, 'refunds are listed with our reference, and those of the dashboard without', async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    const part = money(Math.floor(wanted.amount.amount / 4), wanted.amount.currency)
    const made = await rig.connection.refund({ ...wanted, amount: part })
    assert.ok(made.kind === 'refunded' || made.kind === 'pending', made.kind)
    const theirs = await refundAtProvider(rig, wanted.order, part.amount + 100)
    const answer = await listReversals(rig, wanted.order, wanted.transactionIds)
    assert.ok(answer.kind === 'reversals', answer.kind)
    assert.deepEqual(answer.disputes, [])
    assert.equal(answer.refunds.length, 2)

    const ours = answer.refunds.find(({ reference }) => reference === wanted.reference)
    assert.ok(ours, 'one carries our reference')
    assert.deepEqual(ours.amount, part)
    assert.notEqual(ours.status, 'failed')
    if (made.refundId !== null) assert.equal(ours.refundId, made.refundId)

    const other = answer.refunds.find(({ refundId }) => refundId === theirs)
    assert.ok(other, 'the other is known by its id')
    assert.notEqual(other.reference, wanted.reference)
    assert.deepEqual(other.amount, money(part.amount + 100, part.currency))
    assert.equal(other.status, 'successful')
    for (const { at } of answer.refunds) assert.ok(!Number.isNaN(at.getTime()))
  })

  const { refundsByTransaction = false } = features
  testIf(refundsByTransaction, 'money that was matched with another order is refunded once, and listed', async (t) => {
    const rig = await rigFor(t)
    const matched = await refundable(rig)
    const own = await paid(rig)
    const ofOwnOrder = await refundAtProvider(rig, own.handle, 100)
    const madeBefore = rig.refundsMade()
    const never = newReference()
    // A person matched it with a payment whose own order is paid, too, and with one whose order the provider does not
    // know.
    const orders = [own.handle, handleOf({ reference: never }, { providerReference: never }, 'card')]
    const amount = money(Math.floor(matched.amount.amount / 4), matched.amount.currency)
    for (const order of orders) {
      const wanted = { ...matched, order, amount, reference: newReference() }
      for (let tries = 1; tries <= 2; tries++) {
        const made = await rig.connection.refund(wanted)
        assert.ok(made.kind === 'refunded' || made.kind === 'pending', JSON.stringify(made))
      }
      const answer = await listReversals(rig, order, matched.transactionIds)
      assert.ok(answer.kind === 'reversals', answer.kind)
      assert.ok(answer.refunds.some(({ reference }) => reference === wanted.reference))
      const isListed = answer.refunds.some(({ refundId }) => refundId === ofOwnOrder)
      assert.ok(!isListed, 'the refund of a transaction that is not on record is left out')
    }
    assert.equal(rig.refundsMade() - madeBefore, orders.length)
    const ofOwn = await listReversals(rig, own.handle, own.transactionIds)
    assert.ok(ofOwn.kind === 'reversals', ofOwn.kind)
    assert.deepEqual([ofOwn.refunds.map(({ refundId }) => refundId), ofOwn.disputes], [[ofOwnOrder], []])
  })

  testIf(listsDisputes, 'a dispute is open, then won or lost', async (t) => {
    const rig = await rigFor(t)
    for (const outcome of ['won', 'lost'] as const) {
      const { order, handle, transactionIds } = await paid(rig)
      const disputeId = await disputeAtProvider(rig, handle, order.amount.amount)
      const open = await onlyDispute(rig, handle, transactionIds)
      assert.equal(open.disputeId, disputeId)
      assert.equal(open.status, 'open')
      assert.deepEqual(open.amount, order.amount)
      assert.ok(open.reason, 'a reason')
      assert.ok(!Number.isNaN(open.openedAt.getTime()))
      assert.ok(open.respondBy === null || open.respondBy > open.openedAt)
      await closeDispute(rig, disputeId, outcome)
      const closed = await onlyDispute(rig, handle, transactionIds)
      assert.deepEqual([closed.disputeId, closed.status], [disputeId, outcome])
    }
  })

  testIf(listsReversals, 'a refused key is unknown to the list of returns', async (t) => {
    const rig = await rigFor(t)
    const { handle, transactionIds } = await paid(rig)
    const answer = await withWrongKeys(rig).listReversals?.(handle, transactionIds)
    assert.equal(answer?.kind, 'unknown')
  })

  testIf(listsReversals, 'an unreadable page of the returns makes the whole list unknown', async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    await refundAtProvider(rig, wanted.order, 100)
    const calls = await countAnswers(rig, () => listReversals(rig, wanted.order, wanted.transactionIds))
    assert.ok(calls > 0)
    for (let broken = 1; broken <= calls; broken++) {
      let answers = 0
      rig.upstream.garble = (said) => (++answers === broken ? { ...said, text: '{"data":[{}]}' } : said)
      const { kind } = await listReversals(rig, wanted.order, wanted.transactionIds)
      assert.equal(kind, 'unknown', `answer ${broken} of ${calls}`)
    }
  })

  testIf(listsReversals, 'money that was refunded before the first check is told with its receipt', async (t) => {
    const rig = await rigFor(t)
    const { amount } = rig.price
    for (const given of [amount, Math.floor(amount / 3)]) {
      const { reference, handle } = await startedOrder(rig)
      await rig.customer.payByCard(reference, { save: false })
      await refundAtProvider(rig, handle, given)
      const outcome = await rig.connection.check(handle)
      assert.equal(outcome.kind, 'paid')
      assert.deepEqual(
        outcome.receipts.map((receipt) => [receipt.amount.amount, receipt.returned]),
        [[amount, given]],
      )
    }
  })

  testIf(listsReversals, 'the dashboard refuses to refund more than what is left, as the API does', async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    const outcome = await rig.connection.refund(wanted)
    assert.ok(outcome.kind === 'refunded' || outcome.kind === 'pending', outcome.kind)
    assert.equal(await rig.refundAtProvider?.(wanted.order.reference, 100), undefined)
  })

  testIf(reportsRefusedKeys, 'a start that is refused because of the keys says so', async (t) => {
    const rig = await rigFor(t)
    const connection = withWrongKeys(rig)
    for (const status of [401, 403]) {
      rig.upstream.garble = (said) => (said.status === 401 ? { ...said, status } : said)
      const starts = [
        await connection.start(orderOf(rig)),
        ...(offers.card ? [await connection.chargeSavedCard(orderOf(rig), rig.savedCards.paying)] : []),
        ...(offers['virtual-bank-account'] ? [await connection.start(byTransfer(orderOf(rig)))] : []),
      ]
      for (const start of starts) {
        assert.ok(start.kind === 'declined', `${status}: ${start.kind}`)
        assert.equal(start.keysRefused, true)
      }
    }
    assert.equal(rig.ordersMade(), 0)
  })
}

export async function paid(rig: Rig) {
  const { order, reference, handle } = await startedOrder(rig)
  await rig.customer.payByCard(reference, { save: false })
  const outcome = await rig.connection.check(handle)
  assert.equal(outcome.kind, 'paid')
  return { order, handle, transactionIds: outcome.receipts.map(({ transactionId }) => transactionId) }
}

export function listReversals(
  { connection }: Rig,
  order: OrderHandle,
  transactionIds: string[],
): Promise<ReversalsAnswer> {
  assert.ok(connection.listReversals, 'the adapter lists returns')
  return connection.listReversals(order, transactionIds)
}

async function onlyDispute(rig: Rig, order: OrderHandle, transactionIds: string[]) {
  const answer = await listReversals(rig, order, transactionIds)
  assert.ok(answer.kind === 'reversals', answer.kind)
  const [dispute, ...more] = answer.disputes
  assert.ok(dispute && more.length === 0, 'one dispute')
  return dispute
}

export async function refundAtProvider(
  { refundAtProvider }: Rig,
  { reference }: OrderHandle,
  amount: number,
): Promise<string> {
  const id = await refundAtProvider?.(reference, amount)
  assert.ok(id, 'the rig can refund at the provider')
  return id
}

export function disputeAtProvider(
  { disputeAtProvider }: Rig,
  { reference }: OrderHandle,
  amount: number,
): Promise<string> {
  assert.ok(disputeAtProvider, 'the rig can open a dispute')
  return disputeAtProvider(reference, { amount, reason: 'fraudulent' })
}

export function closeDispute({ closeDispute }: Rig, disputeId: string, outcome: 'won' | 'lost'): Promise<void> {
  assert.ok(closeDispute, 'the rig can close a dispute')
  return closeDispute(disputeId, outcome)
}

/** The same account with other secrets, which still match their patterns. */
export function withWrongKeys({ provider, settings, upstream, baseURL = upstream.url }: Rig): ProviderClient {
  const declared = provider.settings.filter(({ secret }) => secret).map(({ name }) => name)
  // A provider whose keys follow from ours declares no settings.
  const secrets = new Set(provider.settings.length > 0 ? declared : ['secretKey'])
  const wrong = Object.entries(settings).map(([name, value]) => [
    name,
    secrets.has(name) ? value.replace(/[0-9a-z](?=[^0-9a-z]*$)/, (last) => (last === '1' ? '2' : '1')) : value,
  ])
  const http = httpTo(upstream)
  return provider.connect({ mode: 'sandbox', settings: Object.fromEntries(wrong), baseURL, http })
}

async function countAnswers({ upstream }: Rig, work: () => Promise<unknown>): Promise<number> {
  let answers = 0
  upstream.garble = (said) => {
    answers++
    return said
  }
  await work()
  upstream.garble = undefined
  return answers
}
