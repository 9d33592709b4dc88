import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parseCurrency } from '../../src/kernel/money.ts'
import { type Declined, FAILURE_CODES, type OrderHandle, type Receipt } from '../../src/providers/provider.ts'
import type { NoticeKind, Rig } from './conformance-rig.ts'
import { byTransfer, newReference, orderOf, priceOf, startedOrder, withNotices } from './rig.ts'

export const GARBAGE = [
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
export const change = fc.record({
  where: fc.nat(),
  odd: fc.option(fc.jsonValue({ depthSize: 'small' })),
  pick: fc.nat(),
})

export type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

export const ODD: unknown[] = [
  undefined,
  null,
  '',
  'x',
  'PAID',
  -1,
  0.5,
  1e300,
  2 ** 53,
  '100',
  true,
  [],
  {},
  '\0',
  '\ud800',
]

export function changed(text: string, { where, odd, pick }: Change): string {
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
export function assertSensible(said: { kind: string }): void {
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

export function assertDeclined(said: { kind: string }): asserts said is Declined {
  assert.equal(said.kind, 'declined')
  const { failure } = said as Declined
  assert.ok(FAILURE_CODES.includes(failure.code), failure.code)
  assert.ok(failure.message.length > 0)
  assert.ok(failure.providerCode, 'their own code is kept')
}

/** Each call, once, about orders of its own where it makes one. */
export async function everyCall(rig: Rig, handle: OrderHandle): Promise<[string, string, string][]> {
  const { connection, savedCards } = rig
  const order = withNotices(rig, handle)
  const transactionIds = [order.notices ? transactionIn(rig, handle) : '1']
  const refund = { reference: newReference(), order, transactionIds, amount: priceOf(rig), reason: null }
  const calls: [string, () => Promise<{ kind: string }>][] = [
    ['start', () => connection.start(orderOf(rig))],
    ['check', () => connection.check(handle)],
    ['refund', () => connection.refund(refund)],
  ]
  const { offers } = rig.provider.capabilities
  if (offers.card) calls.push(['chargeSavedCard', () => connection.chargeSavedCard(orderOf(rig), savedCards.paying)])
  if (offers['virtual-bank-account']) {
    calls.push(['start by transfer', () => connection.start(byTransfer(orderOf(rig)))])
  }
  const { listReversals, lists } = connection
  if (listReversals) calls.push(['listReversals', () => listReversals(handle, ['1'])])
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  const { settlementLines, ...byTime } = lists ?? {}
  for (const [name, list] of Object.entries(byTime)) calls.push([`lists.${name}`, () => list(range, null)])
  if (settlementLines) calls.push(['lists.settlementLines', () => settlementLines('1', null)])
  return Promise.all(
    calls.map(async ([name, call]): Promise<[string, string, string]> => {
      const said = await call()
      return [name, said.kind, JSON.stringify(said)]
    }),
  )
}

/** The transaction that a notice names. */
function transactionIn({ connection, notices }: Rig, { reference, providerReference }: OrderHandle): string {
  const body = notices.bodyOf('paid', reference)
  const reading = body && connection.readNotice(notices.sign(body, new Date()))
  return (reading?.kind === 'notice' && reading.receipts[0]?.transactionId) || providerReference
}

/** Some notices name a transaction and no order. */
export async function findByTransaction({ connection }: Rig, transactionId: string | undefined): Promise<string> {
  assert.ok(transactionId, 'a notice names an order or a transaction')
  const found = await connection.findReference?.(transactionId)
  assert.equal(found?.kind, 'found')
  return found.reference
}

/** Something happens to an order, and they tell us. */
export async function noticeOf(rig: Rig, kind: NoticeKind) {
  const { order, reference, handle } = await startedOrder(rig)
  if (kind === 'failed') await rig.customer.failByCard(reference)
  else if (kind !== 'pending' && kind !== 'processing') await rig.customer.payByCard(reference, { save: false })
  if (kind === 'dispute') {
    assert.ok(rig.disputeAtProvider, 'the rig can open a dispute')
    await rig.disputeAtProvider(reference, { amount: order.amount.amount, reason: 'fraudulent' })
  }
  if (kind === 'refund') {
    const outcome = await rig.connection.check(handle)
    const transactionIds = outcome.kind === 'paid' ? outcome.receipts.map((receipt) => receipt.transactionId) : []
    const paid = withNotices(rig, handle)
    const wanted = { reference: newReference(), order: paid, transactionIds, amount: order.amount, reason: null }
    await rig.connection.refund(wanted)
  }
  const body = rig.notices.bodyOf(kind, reference)
  return body && { order, handle, signed: rig.notices.sign(body, new Date()) }
}
