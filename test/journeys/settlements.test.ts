import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { auditSettlements } from '../../src/payments/settlements/audit-settlements.ts'
import { recordNoticed } from '../../src/payments/settlements/import-settlements.ts'
import type { AccountLists, ListedSettlement } from '../../src/providers/provider.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import type { Json } from '../support/payment-records.ts'
import { makeDue, reconcile, runDue } from '../support/reconciling.ts'
import { AMOUNT, paid } from '../support/sandbox-payments.ts'
import {
  get,
  hears as hearsOf,
  LINE,
  only,
  page,
  SETTLEMENT,
  settlementsOf,
  withLists as withListsOf,
} from '../support/settlements.ts'

// What the providers pay out, and for which payments. No worker: lists are read when a test says so.
const service = await startPaying({ inOneProcess: true })
const { database, parts } = service

const settle = async (shop: Shop) => (await shop.call('POST', '/sandbox/gateway/settlements', {})).body.data
const read = (shop: Shop) => reconcile(parts, shop, '10 days')
const list = settlementsOf
const openCases = async (shop: Shop) =>
  (await shop.call('GET', '/payments/v1/cases?status=open')).body.data.map(
    ({ reason, subject, summary }: Json) => `${subject.kind} ${reason}: ${summary}`,
  ) as string[]
const eventsOf = async (shop: Shop, type: string) =>
  (await shop.call('GET', `/payments/v1/events?type=${type}`)).body.data as Json[]
const sendRefunds = () => sendDueRefunds(parts, 100)
const hears = (...of: Rest<typeof hearsOf>) => hearsOf(service, ...of)
const withLists = (lists: AccountLists) => withListsOf(parts, lists)

type Rest<Of> = Of extends (service: never, ...rest: infer Others) => unknown ? Others : never

test('a settlement has the payments, refunds and fees that it is for, and its lines sum up to what is paid out', async () => {
  const shop = await service.addShop()
  const first = await paid(shop)
  const second = await paid(shop)
  const refund = await shop.call('POST', `/payments/v1/payments/${second.reference}/refunds`, { amount: 250_000 })
  assert.equal(refund.status, 201, JSON.stringify(refund.body))
  await sendRefunds()
  const [made] = await settle(shop)
  await read(shop)
  const settlement = only(await list(shop))
  const fee = (await shop.payment(first.reference)).feeCharged
  assert.ok(fee > 0)
  const { gross, fees, deductions, net, status, providerId, difference } = settlement
  assert.deepEqual(
    { gross, fees, deductions, net, status, providerId, difference },
    {
      ...{ gross: 2 * AMOUNT - 250_000, fees: 2 * fee, deductions: 5_000, net: 2 * AMOUNT - 250_000 - 2 * fee - 5_000 },
      ...{ status: 'paid', providerId: made.id, difference: null },
    },
  )
  const detail = await get(shop, `settlements/${settlement.id}`)
  assert.deepEqual(
    detail.sums.map(({ kind, count, net }: Json) => [kind, count, net]),
    [
      ['payment', 2, 2 * AMOUNT - 2 * fee],
      ['refund', 1, -250_000],
    ],
  )
  const lines: Json[] = await get(shop, `settlements/${settlement.id}/lines`)
  assert.deepEqual(
    lines.map(({ kind, payment, net }) => [kind, payment, net]),
    [
      ['payment', first.reference, AMOUNT - fee],
      ['payment', second.reference, AMOUNT - fee],
      ['refund', second.reference, -250_000],
    ],
  )
  assert.deepEqual(await get(shop, 'settlements/unsettled'), [])
  assert.deepEqual(await get(shop, 'settlements/unsettled/sums'), [])
  const event = only(await eventsOf(shop, 'settlement.paid'))
  assert.deepEqual([event.data.payment, event.data.settlement.id], [null, settlement.id])
  assert.deepEqual(await openCases(shop), [])
})

test('a list that says the same again changes nothing, and another process goes on at the page that was read last', async () => {
  const shop = await service.addShop()
  const lines = Array.from({ length: 3 }, (_, n) => ({
    ...LINE,
    id: null,
    transactionId: `t_${n}`,
    gross: 100,
    fee: 0,
    net: 100,
  }))
  const asked: (string | null)[] = []
  const lists: AccountLists = {
    settlements: async () => page([{ ...SETTLEMENT, gross: 300, fees: 0, net: 300 }]),
    async settlementLines(_, cursor) {
      asked.push(cursor)
      if (asked.length === 2) return { kind: 'unknown', because: 'it is away' }
      const at = Number(cursor ?? 0)
      return { kind: 'page', entries: lines.slice(at, at + 1), nextCursor: at < 2 ? String(at + 1) : null }
    },
  }
  await makeDue(database, shop, '10 days')
  await runDue(withLists(lists))
  await database.rows(
    sql`update reconciliation_runs set due_at = now() where merchant_id = ${shop.merchantUuid} and time_window = '10 days'`,
  )
  await runDue(withLists(lists))
  assert.deepEqual(asked, [null, '1', '1', '2'], 'no page is read again that was written')
  const rows = () =>
    database.rows(sql`select to_jsonb(s) as row from settlements s where merchant_id = ${shop.merchantUuid}
                      union all select to_jsonb(l) from settlement_lines l where merchant_id = ${shop.merchantUuid}`)
  const before = await rows()
  await makeDue(database, shop, '10 days')
  await runDue(withLists(lists))
  assert.deepEqual(await rows(), before)
  assert.equal(before.length, 4)
  const settlement = only(await list(shop))
  assert.deepEqual(settlement.lines, { count: 3, foreign: 3 }, 'lines of other shops are seen, and no case')
  assert.deepEqual(await openCases(shop), [])
  const foreign: Json[] = await get(shop, `settlements/${settlement.id}/lines?foreign=true&limit=2`)
  assert.deepEqual(
    foreign.map(({ payment }) => payment),
    [null, null],
  )
  only(await eventsOf(shop, 'settlement.paid'))
})

for (const [what, changes, lines, said] of [
  [
    'lines that sum up to another amount',
    {},
    [{ ...LINE, gross: 90_000, fee: 1_500, net: 88_500 }],
    /lines sum up to ₦885.00, and net is ₦985.00/,
  ],
  [
    'gross, fees and net that do not fit',
    { fees: 2_000 },
    undefined,
    /Gross less fees and deductions is ₦980.00, and net is ₦985.00/,
  ],
  ['an equation of the provider', { difference: 'Total is ₦1, effective ₦2.' }, undefined, /Total is ₦1, effective ₦2/],
  [
    'a line whose fee and net do not fit',
    {},
    [{ ...LINE, fee: 1_400 }],
    /Line l_1 .*gross ₦1,000.00 less fee ₦14.00 is not net ₦985.00/,
  ],
  [
    'a payout that failed',
    { status: 'failed', because: 'account closed' },
    undefined,
    /The payout of ₦985.00 failed: account closed/,
  ],
] as const) {
  test(`${what}: a case with both numbers, which the books close when a later list agrees`, async () => {
    const shop = await service.addShop()
    const wrong = await hears(shop, changes, lines && [...lines])
    assert.match(wrong.difference, said)
    assert.match(only(await openCases(shop)), said)
    const event = only(await eventsOf(shop, 'settlement.difference'))
    assert.match(event.data.settlement.difference, said)
    await database.rows(sql`
      update settlements set status = 'pending', lines_state = 'none' where merchant_id = ${shop.merchantUuid}`)
    assert.equal((await hears(shop, {})).difference, null)
    assert.deepEqual(await openCases(shop), [])
  })
}

test('a settlement that changes after it was paid keeps its amounts, and is a case until the list agrees', async () => {
  const shop = await service.addShop()
  await hears(shop, {})
  const changed = await hears(shop, { net: 90_000 })
  assert.equal(changed.net, 98_500)
  assert.match(only(await openCases(shop)), /paid with net ₦985.00, and names net ₦900.00 now/)
  await hears(shop, { net: 90_000 })
  assert.equal((await eventsOf(shop, 'case.opened')).length, 1, 'it is said once')
  await hears(shop, { bankReference: 'TRACE-1' })
  assert.deepEqual(await openCases(shop), [])
  assert.equal(only(await list(shop)).bankReference, 'TRACE-1', 'what was not known is filled in')
})

test('a settlement is read until it is paid, and what a failed payout was for may be in another one', async () => {
  const shop = await service.addShop()
  const { reference, order } = await paid(shop)
  const { transactions } = (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data
  const line = { ...LINE, transactionId: transactions[0].id, gross: AMOUNT, fee: 10, net: AMOUNT - 10 }
  const facts = { gross: AMOUNT, fees: 10, net: AMOUNT - 10 }
  const pending = await hears(shop, { ...facts, status: 'pending', paidAt: null }, [line])
  assert.deepEqual([pending.status, pending.lines], ['pending', null])
  assert.equal((await get(shop, 'settlements/unsettled')).length, 1)
  const done = await hears(shop, facts, [line])
  assert.deepEqual([done.status, done.lines.count], ['paid', 1])
  assert.deepEqual(await get(shop, 'settlements/unsettled'), [])
  const failed = await hears(shop, { ...facts, status: 'failed' }, [line])
  assert.equal(failed.status, 'failed')
  const [unsettled] = await get(shop, 'settlements/unsettled')
  assert.equal(unsettled.payment, reference)
  const lists: AccountLists = {
    settlements: async () => page([{ ...SETTLEMENT, ...facts, id: 'set_2' }]),
    settlementLines: async () => page([line]),
  }
  await makeDue(database, shop, '10 days')
  await runDue(withLists(lists))
  assert.deepEqual(await get(shop, 'settlements/unsettled'), [])
  assert.match(only(await openCases(shop)), /The payout of .* failed/)
})

test('the real fee replaces none that the customer was charged, and both are in the answers', async () => {
  const shop = await service.addShop()
  const { reference, order } = await paid(shop)
  const { transactions } = (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data
  const before = await shop.payment(reference)
  assert.equal(before.feeCharged, before.fee, 'the sandbox keeps what its schedule says')
  const fee = before.fee + 700
  const line = { ...LINE, transactionId: transactions[0].id, gross: AMOUNT, fee, net: AMOUNT - fee }
  await hears(shop, { gross: AMOUNT, fees: fee, net: AMOUNT - fee }, [line])
  const after = await shop.payment(reference)
  assert.deepEqual([after.fee, after.feeCharged, after.attempts[0].feeCharged], [before.fee, fee, fee])
  assert.equal(after.amountCharged, before.amountCharged)
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const [month] = await get(shop, `settlements/fees?from=2026-01-01&to=${tomorrow}`)
  assert.deepEqual([month.payments, month.fees, month.feesCharged], [1, before.fee, fee])
})

test('J18: a payment that the settlement has with another amount, or that two settlements have, is a case that names it', async () => {
  const shop = await service.addShop()
  const { reference, order } = await paid(shop)
  const { transactions } = (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data
  const line = { ...LINE, id: null, transactionId: transactions[0].id, gross: AMOUNT - 1, fee: 0, net: AMOUNT - 1 }
  await hears(shop, { gross: AMOUNT - 1, fees: 0, net: AMOUNT - 1 }, [line])
  assert.match(
    only(await openCases(shop)),
    new RegExp(`payment of ${reference}\\) has ₦12,499.99, and our records have ₦12,500.00`),
  )
  const lists: AccountLists = {
    settlements: async () => page([{ ...SETTLEMENT, id: 'set_2', gross: AMOUNT, fees: 0, net: AMOUNT }]),
    settlementLines: async () => page([{ ...line, gross: AMOUNT, net: AMOUNT }]),
  }
  await makeDue(database, shop, '10 days')
  await runDue(withLists(lists))
  assert.match((await openCases(shop)).join(), /is in another settlement, too/)
})

test('J17: a line that somebody changes by SQL is found with the next list: the case names it and both sums', async () => {
  const shop = await service.addShop()
  const { reference } = await paid(shop)
  await settle(shop)
  await read(shop)
  assert.deepEqual(await openCases(shop), [])
  await database.rows(sql`
    update settlement_lines set gross = gross - 100000, net = net - 100000 where merchant_id = ${shop.merchantUuid}`)
  await read(shop)
  const text = only(await openCases(shop))
  assert.match(text, new RegExp(`payment of ${reference}\\) has ₦11,500.00, and our records have ₦12,500.00`))
  assert.match(text, /lines sum up to .* and net is .*: a difference of -₦1,000.00/)
  await database.rows(sql`
    update settlement_lines set gross = gross + 100000, net = net + 100000 where merchant_id = ${shop.merchantUuid}`)
  await read(shop)
  assert.deepEqual(await openCases(shop), [])
})

test('what the audit sums up again is the same, and a changed row is a finding', async () => {
  const shop = await service.addShop()
  const { id } = await hears(shop, {})
  const ofShop = async () =>
    (await auditSettlements(database)).findings
      .filter(({ settlement }) => settlement === id)
      .map(({ finding }) => finding)
  assert.deepEqual(await ofShop(), [])
  await database.rows(sql`update settlement_lines set fee = fee + 1 where merchant_id = ${shop.merchantUuid}`)
  assert.match(only(await ofShop()), /Line l_1 .* gross ₦1,000.00 less fee ₦15.01 is not net ₦985.00/)
  await database.rows(sql`update settlement_lines set net = net - 1 where merchant_id = ${shop.merchantUuid}`)
  assert.match(only(await ofShop()), /lines sum up to ₦984.99, and net is ₦985.00: a difference of -₦0.01/)
})

test('payments that no settlement has are listed, and one case of the account when they are long overdue', async () => {
  const shop = await service.addShop()
  const references = [await paid(shop), await paid(shop), await paid(shop)].map(({ reference }) => reference)
  await read(shop)
  const age = (days: number) =>
    database.rows(
      sql`update receipts set taken_at = now() - make_interval(days => ${days}) where merchant_id = ${shop.merchantUuid}`,
    )
  await database.rows(sql`
    update integrations set created_at = now() - interval '50 days' where merchant_id = ${shop.merchantUuid}`)
  const { body } = await shop.call('GET', '/payments/v1/settlements/unsettled?limit=2')
  const rest = await shop.call('GET', `/payments/v1/settlements/unsettled?limit=2&cursor=${body.nextCursor}`)
  const all: Json[] = [...body.data, ...rest.body.data]
  assert.deepEqual(
    all.map(({ payment, late }) => [payment, late]),
    references.map((each) => [each, false]),
  )
  assert.equal(rest.body.nextCursor, null)
  await age(6)
  await reconcile(withLists({ settlements: async () => page<ListedSettlement>([]) }), shop, '60 days')
  const [sum] = await get(shop, 'settlements/unsettled/sums')
  assert.deepEqual([sum.payments, sum.amount, sum.late, sum.usualDays], [3, 3 * AMOUNT, 3, 1])
  await age(12)
  for (let day = 0; day < 2; day++)
    await reconcile(withLists({ settlements: async () => page<ListedSettlement>([]) }), shop, '60 days')
  assert.match(
    only(await openCases(shop)),
    /^account settlement_difference: 3 payments with ₦37,500.00 are in no settlement yet/,
  )
  await settle(shop)
  await reconcile(parts, shop, '60 days')
  assert.deepEqual(await openCases(shop), [])
})

test('the sandbox settles each day at its hour, less a duty, and late or short if its faults say so', async () => {
  const shop = await service.addShop()
  await shop.call('PUT', '/sandbox/gateway/faults', { seed: 1, shortSettlement: 1, lateSettlement: 1 })
  await paid(shop)
  await database.rows(sql`
    update gateway_transactions set at = at - interval '3 days' where merchant_id = ${shop.merchantUuid}`)
  await database.rows(sql`
    update integrations set created_at = now() - interval '50 days' where merchant_id = ${shop.merchantUuid}`)
  await read(shop)
  const late = only(await list(shop))
  assert.equal(late.status, 'pending')
  assert.equal(late.deductions, 5_000)
  await database.rows(sql`update gateway_settlements set paid_at = now() where merchant_id = ${shop.merchantUuid}`)
  await read(shop)
  const { status, difference } = only(await list(shop))
  assert.equal(status, 'paid')
  assert.match(
    difference,
    /Gross less fees and deductions is .* and net is .*lines sum up to .* after ₦50.00 of deductions/,
  )
})

test('a signed notice brings a settlement with its lines, once', async () => {
  const shop = await service.addShop()
  const { reference, order } = await paid(shop)
  const { transactions } = (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data
  const scope = { ...shop, mode: 'sandbox' as const, provider: 'gateway', keysVersion: 0 }
  const { fee } = transactions[0]
  const line = { ...LINE, id: null, transactionId: transactions[0].id, gross: AMOUNT, fee: null, net: null }
  const settlement = { ...SETTLEMENT, gross: AMOUNT, fees: null, deductions: null, net: AMOUNT - fee }
  for (let time = 0; time < 2; time++) await recordNoticed(parts, scope, { settlement, lines: [line] })
  const { id, difference, fees } = only(await list(shop))
  assert.deepEqual([difference, fees], [null, fee], 'the fee of the line is the one that came with the payment')
  assert.equal(only<Json>(await get(shop, `settlements/${id}/lines`)).payment, reference)
  only(await eventsOf(shop, 'settlement.paid'))
})
