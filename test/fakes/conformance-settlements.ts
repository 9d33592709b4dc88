import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import fc from 'fast-check'
import type {
  ListAnswer,
  ListedSettlement,
  ListedSettlementLine,
  NoticedSettlement,
  Provider,
} from '../../src/providers/provider.ts'
import { assertSensible, change, changed } from './conformance-checks.ts'
import { paid, refundAtProvider, withWrongKeys } from './conformance-reversals.ts'
import type { Features, Rig, SettlementFault } from './conformance-rig.ts'

/** Conformance of settlements: what the provider pays out, and for which payments. */
export function settlementsConformance(
  provider: Provider,
  { settlements, namesFees = false }: Features,
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const { name } = provider.capabilities
  const testIf = (applies: boolean, what: string, run: (rig: Rig) => Promise<void>) =>
    applies && nodeTest(`${name}: ${what}`, async (t) => run(await rigFor(t)))
  const test = (what: string, run: (rig: Rig) => Promise<void>) => testIf(settlements !== undefined, what, run)
  const testList = (what: string, run: (rig: Rig) => Promise<void>) => testIf(settlements === 'in lists', what, run)

  test('a settlement has each payment once, and its sums are right', async (rig) => {
    rig.limitPages?.(2)
    const sales = [await paid(rig), await paid(rig), await paid(rig)]
    const [first] = sales
    await refundAtProvider(rig, first?.handle ?? assert.fail(), 300)
    const { settlement, lines } = await settled(rig)
    const { status, currency, difference, because, hasLines, net } = settlement
    const expected = { status: 'paid', currency: rig.price.currency, difference: null, because: null, hasLines: true }
    assert.deepEqual({ status, currency, difference, because, hasLines }, expected)
    const ofSales = lines.filter(({ kind }) => kind === 'payment')
    assert.equal(ofSales.length, sales.length)
    let received = 0
    for (const { order, handle, transactionIds } of sales) {
      const names = [handle.reference, handle.providerReference, ...transactionIds]
      const [line, ...more] = ofSales.filter((each) =>
        [each.transactionId, each.orderReference].some((one) => one !== null && names.includes(one)),
      )
      assert.ok(line && more.length === 0, 'one payment, one line')
      assert.equal(line.gross, order.amount.amount)
      const outcome = await rig.connection.check(handle)
      assert.ok(outcome.kind === 'paid')
      const fee = outcome.receipts[0]?.fee
      assert.equal(fee !== undefined, namesFees, 'the receipt names its fee')
      if (fee !== undefined && line.fee !== null) assert.equal(fee, line.fee)
      received += line.net ?? line.gross - (fee ?? 0)
    }
    assert.equal(net, received - (settlements === 'in lists' ? 300 : 0))
    assert.equal(differenceOf({ settlement, lines }), null)
    const ids = lines.flatMap(({ id }) => id ?? [])
    assert.equal(new Set(ids).size, ids.length, 'the ids of lines are unique')
  })

  test('the next settlement has what came after it', async (rig) => {
    await paid(rig)
    const first = await settled(rig)
    const { transactionIds, handle } = await paid(rig)
    const { settlement, lines } = await settled(rig)
    assert.notEqual(settlement.id, first.settlement.id)
    const [line, ...more] = lines
    assert.ok(line && more.length === 0)
    const isOfIt = transactionIds.includes(line.transactionId ?? '') || line.orderReference === handle.reference
    assert.ok(isOfIt)
  })

  testList('one that is late is pending, and says when it was expected', async (rig) => {
    await paid(rig)
    const { status, expectedOn, paidAt } = (await settled(rig, 'late')).settlement
    assert.equal(status, 'pending')
    assert.equal(paidAt, null)
    assert.match(expectedOn ?? '', /^\d{4}-\d\d-\d\d$/)
    assert.ok((expectedOn ?? '') < new Date().toISOString().slice(0, 10))
  })

  for (const fault of ['short', 'member missing'] as const) {
    // What a notice has no sums for, nobody can see.
    testIf(
      settlements === 'in lists' || (settlements !== undefined && fault !== 'short'),
      `${fault}: the sums differ`,
      async (rig) => {
        await paid(rig)
        await paid(rig)
        const noticed = await settled(rig, fault)
        assert.notEqual(differenceOf(noticed), null)
      },
    )
  }

  testList('a range before it has none, and a list takes one call for each page', async (rig) => {
    await paid(rig)
    rig.settle?.()
    const { settlements, settlementLines } = listsOf(rig)
    const day = 86_400_000
    const before = { from: new Date(Date.now() - 9 * day), to: new Date(Date.now() - 8 * day) }
    assert.deepEqual(await settlements(before, null), { kind: 'page', entries: [], nextCursor: null })
    let calls = 0
    rig.upstream.garble = (said) => {
      calls++
      return said
    }
    const page = await settlements(lately(), null)
    assert.ok(page.kind === 'page')
    assert.equal((await settlementLines(page.entries[0]?.id ?? '', null)).kind, 'page')
    assert.equal(calls, 2)
  })

  testList('a page that cannot be read, and refused keys, are no empty list', async (rig) => {
    await paid(rig)
    const id = rig.settle?.() ?? ''
    const refused = listsOf({ ...rig, connection: withWrongKeys(rig) })
    for (const answer of [await refused.settlements(lately(), null), await refused.settlementLines(id, null)])
      assert.ok(answer.kind === 'unknown' || answer.kind === 'unsupported', answer.kind)
    const { settlements, settlementLines } = listsOf(rig)
    for (const text of ['{"data":[{}]}', '<html>', '{}']) {
      rig.upstream.garble = () => ({ status: 200, text })
      for (const answer of [await settlements(lately(), null), await settlementLines(id, null)])
        assert.equal(answer.kind, 'unknown', text)
    }
  })

  testList('a page that repeats ends the list, and no line counts twice', async (rig) => {
    rig.limitPages?.(1)
    await paid(rig)
    rig.settle?.()
    await paid(rig)
    await paid(rig)
    const id = rig.settle?.() ?? ''
    const { settlements, settlementLines } = listsOf(rig)
    for (const read of [
      (cursor: string | null) => settlements(lately(), cursor),
      (cursor: string | null) => settlementLines(id, cursor),
    ] as ((cursor: string | null) => Promise<ListAnswer<{ id: string | null }>>)[]) {
      let first: string | undefined
      rig.upstream.garble = (said) => {
        first ??= said.text
        return { ...said, text: first }
      }
      const page = await read(null)
      assert.ok(page.kind === 'page')
      if (page.nextCursor !== null) assert.equal((await read(page.nextCursor)).kind, 'unknown')
      rig.upstream.garble = undefined
    }
  })

  test('an answer with a random change never throws, and has whole amounts', async (rig) => {
    await refundAtProvider(rig, (await paid(rig)).handle, 300)
    const id = rig.settle?.() ?? ''
    const signed = (body: Buffer) => rig.connection.readNotice(rig.notices.sign(body, new Date()))
    await fc.assert(
      fc.asyncProperty(change, async (change) => {
        const body = rig.settlementNotice?.(id)
        if (body) return assertWhole(signed(Buffer.from(changed(body.toString(), change))))
        rig.upstream.garble = (said) => ({ ...said, text: changed(said.text, change) })
        const { settlements, settlementLines } = listsOf(rig)
        assertWhole(await settlements(lately(), null))
        assertWhole(await settlementLines(id, null))
      }),
      { numRuns: 150 },
    )
  })
}

/** The difference that the provider's own sums have, or those of its lines; null when everything is right. */
function differenceOf({ settlement, lines }: NoticedSettlement): string | null {
  const { gross, fees, deductions, net, difference } = settlement
  if (difference !== null) return difference
  if (gross !== null && fees !== null && deductions !== null && gross - fees - deductions !== net) return 'its sums'
  for (const line of lines) if (line.fee !== null && line.gross - line.fee !== line.net) return 'a line'
  const nets = lines.map((line) => line.net)
  if (nets.includes(null)) return null
  const sum = nets.reduce<number>((total, part) => total + (part ?? 0), 0)
  return sum - (deductions ?? 0) === net ? null : 'the sum of its lines'
}

/** Lets the provider pay out, and reads it. */
async function settled(rig: Rig, fault?: SettlementFault): Promise<NoticedSettlement> {
  const id = rig.settle?.(fault) ?? assert.fail('the rig can settle')
  const body = rig.settlementNotice?.(id)
  if (body) {
    const reading = rig.connection.readNotice(rig.notices.sign(body, new Date()))
    assert.ok(reading.kind === 'notice' && reading.settlement, JSON.stringify(reading))
    assert.deepEqual([reading.says, reading.reference, reading.receipts], ['other', null, []])
    return reading.settlement
  }
  const { settlements, settlementLines } = listsOf(rig)
  const all = await everyEntry((cursor) => settlements(lately(), cursor))
  const [settlement, ...more] = all.filter((each: ListedSettlement) => each.id === id)
  assert.ok(settlement && more.length === 0, 'it is listed once')
  if (!settlement.hasLines) return { settlement, lines: [] }
  return { settlement, lines: await everyEntry<ListedSettlementLine>((cursor) => settlementLines(id, cursor)) }
}

function listsOf({ connection: { lists } }: Pick<Rig, 'connection'>) {
  const { settlements, settlementLines } = lists ?? {}
  assert.ok(settlements && settlementLines, 'the adapter lists settlements and their lines')
  return { settlements, settlementLines }
}

const lately = () => ({ from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) })

async function everyEntry<Entry>(read: (cursor: string | null) => Promise<ListAnswer<Entry>>): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < 50; pages++) {
    const answer: ListAnswer<Entry> = await read(cursor)
    assert.ok(answer.kind === 'page', JSON.stringify(answer))
    assert.equal(answer.unreadable, undefined)
    entries.push(...answer.entries)
    cursor = answer.nextCursor
    if (cursor === null) return entries
  }
  assert.fail('the list ends')
}

const SUMS = ['gross', 'fees', 'fee', 'deductions', 'net']

function assertWhole(said: { kind: string }): void {
  assertSensible(said)
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, part] of Object.entries(value)) {
      if (SUMS.includes(name) && part !== null) assert.ok(Number.isSafeInteger(part) && !Object.is(part, -0), name)
      walk(part)
    }
  }
  walk(said)
}
