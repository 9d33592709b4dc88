import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import type {
  ListAnswer,
  ListedTransaction,
  ListReader,
  OfOrder,
  Provider,
  ProviderClient,
  Receipt,
} from '../../src/providers/provider.ts'
import {
  closeDispute,
  disputeAtProvider,
  listReversals,
  paid,
  refundAtProvider,
  withWrongKeys,
} from './conformance-reversals.ts'
import type { Features, Rig } from './conformance-rig.ts'
import { byTransfer, handleOf, newReference, orderOf, startedOrder } from './rig.ts'

/** Conformance of the lists by account: they say the same as the answers by order. */
export function listsConformance(
  provider: Provider,
  features: Features,
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const { listsTransactions = false, listsDisputes = false } = features
  const { name } = provider.capabilities
  const testIf = (applies: boolean, what: string, run: (t: TestContext) => Promise<void>) =>
    listsTransactions && applies && nodeTest(`${name}: ${what}`, run)
  const test = (what: string, run: (t: TestContext) => Promise<void>) => testIf(true, what, run)

  test('every payment of a range is listed once, page by page, and says what the check of its order says', async (t) => {
    const rig = await rigFor(t)
    rig.limitPages?.(2)
    const sold = await sell(rig, listsDisputes)
    const failed = await startedOrder(rig)
    await rig.customer.failByCard(failed.reference)
    await startedOrder(rig)
    const { transactions, refunds, disputes } = await everything(rig.connection)
    const ours = transactions.filter(({ reference }) => sold.some((sale) => isOf(sale, reference)))
    assert.equal(ours.length, sold.length)
    for (const sale of sold) {
      const outcome = await rig.connection.check(sale.handle)
      assert.ok(outcome.kind === 'paid')
      const [receipt, ...more] = outcome.receipts
      const [entry, ...others] = ours.filter(({ reference }) => isOf(sale, reference))
      assert.ok(entry && receipt && more.length === 0 && others.length === 0, 'one payment, listed once')
      assert.equal(entry.transactionId, receipt.transactionId)
      assert.equal(entry.amount.currency, receipt.amount.currency)
      if (entry.isOfOrder) assert.ok(entry.amount.amount <= receipt.amount.amount && !entry.idIsProviders)
      else assert.deepEqual([entry.amount, entry.idIsProviders], [receipt.amount, receipt.idIsProviders])
      if (!entry.isOfOrder) assert.equal(entry.returnedIsOfOrder, receipt.returnedIsOfOrder)
      // What went back is in the entry, or in one of the other lists.
      const isNamed = [...refunds, ...disputes].some((each) => isAbout(sale, each))
      if (sale.gone > 0 && entry.returned === undefined) assert.ok(entry.isReversed || isNamed)
      if (entry.returned !== undefined && !entry.isReversed) assert.equal(entry.returned, sale.gone)
      if (sale.gone === 0) assert.equal(entry.returned, undefined)
    }
  })

  test('refunds and disputes of the account are those of its orders, and other shops are told apart', async (t) => {
    const rig = await rigFor(t)
    rig.limitPages?.(2)
    const sold = await sell(rig, listsDisputes)
    rig.otherShopSells?.()
    const { transactions, refunds, disputes } = await everything(rig.connection)
    for (const sale of sold) {
      const byOrder = await listReversals(rig, sale.handle, sale.transactionIds)
      assert.ok(byOrder.kind === 'reversals', byOrder.kind)
      const ofIt = <Entry extends OfOrder>(all: Entry[]) => all.filter((each) => isAbout(sale, each))
      assert.deepEqual(sorted(withoutNames(ofIt(refunds))), sorted(withCurrencyOf(refunds, byOrder.refunds)))
      assert.deepEqual(sorted(withoutNames(ofIt(disputes))), sorted(withCurrencyOf(disputes, byOrder.disputes)))
    }
    const foreign = refunds.filter((each) => !sold.some((sale) => isAbout(sale, each)))
    assert.ok(foreign.length <= 1, 'the refund of the other shop')
    const others = transactions.filter(({ reference }) => !sold.some((sale) => isOf(sale, reference)))
    assert.ok(others.length <= 1, 'the payment of the other shop')
  })

  const hasAccounts = provider.capabilities.offers['virtual-bank-account'] !== undefined
  testIf(
    hasAccounts,
    'a transfer is listed as its order is checked, and only an id that they said is theirs',
    async (t) => {
      const rig = await rigFor(t)
      const order = orderOf(rig)
      const account = await rig.connection.start(byTransfer(order))
      assert.ok(account.kind === 'account')
      await rig.customer.transfer?.(order.reference, account.amountToTransfer)
      const said: string[] = []
      rig.upstream.garble = (answer) => {
        said.push(answer.text)
        return answer
      }
      const outcome = await rig.connection.check(handleOf(order, account, 'virtual-bank-account'))
      assert.ok(outcome.kind === 'paid')
      for (const { transactionId, idIsProviders } of outcome.receipts)
        assert.equal(idIsProviders ?? false, said.join().includes(transactionId))
      const { transactions } = await everything(rig.connection)
      const [entry, ...more] = transactions
      assert.ok(entry && more.length === 0)
      if (entry.isOfOrder)
        assert.deepEqual([entry.transactionId, entry.amount], [account.providerReference, order.amount])
      else assert.deepEqual(outcome.receipts, [withoutReference(entry)])
    },
  )

  test('what a list shows late is there later, and a range before it has nothing', async (t) => {
    const rig = await rigFor(t)
    await sell(rig, listsDisputes)
    rig.listsLag?.(60_000)
    const none = { transactions: [], refunds: [], disputes: [] }
    assert.deepEqual(await everything(rig.connection), none)
    rig.listsLag?.(0)
    assert.notDeepEqual(await everything(rig.connection), none)
    const day = 86_400_000
    const before = { from: new Date(Date.now() - 3 * day), to: new Date(Date.now() - 2 * day) }
    assert.deepEqual(await everything(rig.connection, before), none)
  })

  test('a list takes one call for each page, whatever is in it', async (t) => {
    const rig = await rigFor(t)
    await sell(rig, listsDisputes)
    for (const list of listsOf(rig.connection)) {
      let calls = 0
      rig.upstream.garble = (said) => {
        if (!said.text.includes('accessToken')) calls++
        return said
      }
      assert.equal((await list(lately(), null)).kind, 'page')
      assert.equal(calls, 1)
    }
  })

  test('a page that cannot be read, and refused keys, are no empty list', async (t) => {
    const rig = await rigFor(t)
    await sell(rig, listsDisputes)
    for (const list of listsOf(withWrongKeys(rig))) {
      const { kind } = await list(lately(), null)
      assert.ok(kind === 'unknown' || kind === 'unsupported', kind)
    }
    for (const text of ['{"data":[{}]}', '<html>', '{}']) {
      rig.upstream.garble = (said) => (said.text.includes('accessToken') ? said : { status: 200, text })
      for (const list of listsOf(rig.connection)) assert.equal((await list(lately(), null)).kind, 'unknown', text)
    }
  })
}

/** Five payments; a part of one is refunded, another is lost in a dispute, and one has an open one. */
async function sell(rig: Rig, hasDisputes: boolean) {
  const sold = []
  for (let i = 0; i < 5; i++) sold.push({ ...(await paid(rig)), gone: 0 })
  const [refunded, lost, disputed, ours] = sold
  assert.ok(refunded && lost && disputed && ours)
  refunded.gone = 300
  await refundAtProvider(rig, refunded.handle, refunded.gone)
  ours.gone = ours.order.amount.amount
  const { handle: order, transactionIds } = ours
  const wanted = { reference: newReference(), order, transactionIds, amount: ours.order.amount, reason: null }
  const made = await rig.connection.refund(wanted)
  assert.ok(made.kind === 'refunded' || made.kind === 'pending', made.kind)
  if (!hasDisputes) return sold
  lost.gone = lost.order.amount.amount
  await closeDispute(rig, await disputeAtProvider(rig, lost.handle, lost.gone), 'lost')
  await disputeAtProvider(rig, disputed.handle, 200)
  return sold
}

type Sale = Awaited<ReturnType<typeof paid>>

const isOf = ({ handle }: Sale, reference: string | null) =>
  reference === handle.reference || reference === handle.providerReference

const isAbout = (sale: Sale, { transactionId, orderReference }: OfOrder) =>
  (transactionId !== null && sale.transactionIds.includes(transactionId)) || isOf(sale, orderReference)

const lately = () => ({ from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) })

function listsOf({ lists }: ProviderClient): ListReader<unknown>[] {
  const { transactions, refunds, disputes } = lists ?? {}
  assert.ok(transactions && refunds, 'the adapter lists transactions and refunds')
  return [transactions, refunds, ...(disputes ? [disputes] : [])]
}

async function everything({ lists }: ProviderClient, range = lately()) {
  assert.ok(lists?.transactions && lists.refunds, 'the adapter lists transactions and refunds')
  return {
    transactions: await everyEntry(lists.transactions, range),
    refunds: await everyEntry(lists.refunds, range),
    disputes: lists.disputes ? await everyEntry(lists.disputes, range) : [],
  }
}

async function everyEntry<Entry>(list: ListReader<Entry>, range: ReturnType<typeof lately>): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < 50; pages++) {
    const answer: ListAnswer<Entry> = await list(range, cursor)
    assert.ok(answer.kind === 'page', JSON.stringify(answer))
    entries.push(...answer.entries)
    cursor = answer.nextCursor
    if (cursor === null) return entries
  }
  assert.fail('the list ends')
}

const withoutReference = ({ reference: _, ...entry }: ListedTransaction): Receipt => entry

const withoutNames = <Entry extends OfOrder>(entries: Entry[]) =>
  entries.map(({ transactionId: _, orderReference: __, ...entry }) => entry)

/** A list by account may not name the currency, and then it has no amounts. */
const withCurrencyOf = (listed: { amount: unknown }[], entries: object[]) =>
  listed.every(({ amount }) => amount === null) ? entries.map((entry) => ({ ...entry, amount: null })) : entries

const sorted = (entries: object[]) => entries.map((entry) => JSON.stringify(entry, Object.keys(entry).sort())).sort()
