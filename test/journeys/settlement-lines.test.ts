import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { recordNoticed } from '../../src/payments/settlements/import-settlements.ts'
import type { AccountLists, ListedSettlement, ListedSettlementLine } from '../../src/providers/provider.ts'
import { NotSetUp } from '../../src/providers/provider.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import type { Json } from '../support/payment-records.ts'
import { makeDue, runDue, runOf } from '../support/reconciling.ts'
import { AMOUNT, paid } from '../support/sandbox-payments.ts'
import { get, hears, LINE, only, page, SETTLEMENT, settlementsOf, withLists } from '../support/settlements.ts'

// Lines that cannot be read, that come twice, or that are settled more than once. Lists are read when a test says so.
const service = await startPaying({ inOneProcess: true })
const { database, parts } = service

const DAY_MS = 86_400_000
const openCases = async (shop: Shop) =>
  (await shop.call('GET', '/payments/v1/cases?status=open')).body.data.map(({ summary }: Json) => summary) as string[]
const announced = async (shop: Shop) =>
  (await shop.call('GET', '/payments/v1/events?type=settlement.paid')).body.data.map(
    ({ data }: Json) => data.settlement.providerId,
  ) as string[]
const byId = async (shop: Shop) =>
  Object.fromEntries((await settlementsOf(shop)).map((each) => [each.providerId, each])) as Record<string, Json>
const unsettled = async (shop: Shop) =>
  ((await get(shop, 'settlements/unsettled')) as Json[]).map(({ payment }) => payment)

async function reads(shop: Shop, lists: AccountLists, window: '10 days' | '60 days' = '10 days', deps = parts) {
  await makeDue(database, shop, window)
  await runDue(withLists(deps, lists))
}

const settles =
  (listed: Partial<ListedSettlement>[]): AccountLists['settlements'] =>
  async () =>
    page(listed.map((each) => ({ ...SETTLEMENT, ...each })))

/** A payment, and the line that a settlement without fees has for it. */
async function paidLine(shop: Shop): Promise<{ reference: string; line: ListedSettlementLine }> {
  const { reference, order } = await paid(shop)
  const { transactions } = (await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)).body.data
  return {
    reference,
    line: { ...LINE, id: null, transactionId: transactions[0].id, gross: AMOUNT, fee: 0, net: AMOUNT },
  }
}
const ofOne = { gross: AMOUNT, fees: 0, net: AMOUNT }

test('a settlement whose lines cannot be read blocks no other, and is a case until they can', async () => {
  const shop = await service.addShop()
  const old = { madeAt: new Date(Date.now() - 5 * DAY_MS), paidAt: new Date(Date.now() - 5 * DAY_MS) }
  const lists = (bad: boolean): AccountLists => ({
    settlements: settles([
      { id: 'bad', ...old },
      { id: 'good', ...old, madeAt: new Date() },
    ]),
    settlementLines: async (id) => (bad && id === 'bad' ? { kind: 'unknown', because: '404' } : page([LINE])),
  })
  await reads(shop, lists(true))
  const { bad, good } = await byId(shop)
  assert.deepEqual([bad?.lines, good?.lines.count], [null, 1])
  assert.deepEqual([await openCases(shop), await announced(shop)], [[], ['good']])
  assert.ok((await runOf(database, shop, 'settlements', '10 days')).finished_at, 'the list is read again')
  for (let day = 0; day < 2; day++) await reads(shop, lists(true), '60 days')
  assert.equal(only(await openCases(shop)), 'The provider does not list its lines.')
  assert.deepEqual((await announced(shop)).toSorted(), ['bad', 'good'], 'its money may be looked for at the bank')
  await reads(shop, lists(false))
  assert.equal((await byId(shop)).bad?.lines.count, 1)
  assert.deepEqual([await openCases(shop), (await announced(shop)).length], [[], 2])
})

test('a settlement whose lines the key may not read is announced, and compared without them', async () => {
  const shop = await service.addShop()
  const lists: AccountLists = {
    settlements: settles([{ fees: 2_000 }]),
    settlementLines: async () => ({ kind: 'unsupported', because: 'the key may not' }),
  }
  for (let hour = 0; hour < 2; hour++) await reads(shop, lists)
  assert.deepEqual(await announced(shop), ['set_1'])
  assert.match(only(await openCases(shop)), /^Gross less fees and deductions is ₦980.00, and net is ₦985.00.$/)
})

test('lines are read with the current keys when those that listed the settlement are deleted', async () => {
  const shop = await service.addShop()
  const settlements = settles([{}])
  await reads(shop, { settlements, settlementLines: async () => ({ kind: 'unknown', because: 'away' }) })
  await database.rows(sql`update settlements set account = 99 where merchant_id = ${shop.merchantUuid}`)
  const deleted: PaymentDeps = {
    ...parts,
    providers: {
      ...parts.providers,
      async connect(scope, provider, wanted) {
        if (wanted?.keysVersion === 99) throw new NotSetUp()
        return parts.providers.connect(scope, provider, wanted)
      },
    },
  }
  await reads(shop, { settlements: settles([]), settlementLines: async () => page([LINE]) }, '10 days', deleted)
  assert.equal(only(await settlementsOf(shop)).lines.count, 1)
})

test('a list of lines that does not end is not read for ever, and a line that a page lists twice counts once', async () => {
  const shop = await service.addShop()
  let pages = 0
  const settlementLines: AccountLists['settlementLines'] = async (id) =>
    id === 'endless' ? { ...page<ListedSettlementLine>([]), nextCursor: String(++pages) } : page([LINE, LINE])
  await reads(shop, { settlements: settles([{ id: 'endless' }, { id: 'twice' }]), settlementLines })
  const { endless, twice } = await byId(shop)
  assert.deepEqual([endless?.lines, twice?.lines.count, twice?.difference], [null, 1, null])
  assert.ok(pages < 150, `${pages} pages`)
})

test('a payout that failed and is paid after all has its payments again, also if it failed while it was read', async () => {
  const shop = await service.addShop()
  const { reference, line } = await paidLine(shop)
  await hears(service, shop, ofOne, [line])
  await hears(service, shop, { ...ofOne, status: 'failed' }, [line])
  assert.deepEqual(await unsettled(shop), [reference])
  const failed = settles([{ ...ofOne, status: 'failed' }])
  await reads(shop, { settlements: failed, settlementLines: async () => page([line]) }, '60 days')
  assert.deepEqual(await unsettled(shop), [reference], 'the lines of a failed one are not read again')
  await hears(service, shop, ofOne, [line])
  assert.deepEqual([await unsettled(shop), await openCases(shop)], [[], []])
  await database.rows(sql`
    update settlements set lines_state = 'wanted' where merchant_id = ${shop.merchantUuid}`)
  await hears(service, shop, { ...ofOne, status: 'failed' }, [line])
  assert.deepEqual(await unsettled(shop), [reference])
})

test('a payment in two settlements is in the second when the first fails', async () => {
  const shop = await service.addShop()
  const { line } = await paidLine(shop)
  await hears(service, shop, ofOne, [line])
  await hears(service, shop, { ...ofOne, id: 'set_2' }, [line])
  assert.match(only(await openCases(shop)), /is in another settlement, too/)
  await hears(service, shop, { ...ofOne, status: 'failed' }, [line])
  assert.deepEqual(await unsettled(shop), [])
  await hears(service, shop, { ...ofOne, id: 'set_2' }, [line])
  assert.match(only(await openCases(shop)), /^The payout of .* failed/)
})

test('a payment whose line has another number when the lines are read again is settled still', async () => {
  const shop = await service.addShop()
  const [first, second] = [await paidLine(shop), await paidLine(shop)]
  await hears(service, shop, { gross: 2 * AMOUNT, fees: 0, net: 2 * AMOUNT }, [first.line, second.line])
  assert.deepEqual(await unsettled(shop), [])
  await database.rows(sql`update settlements set status = 'pending' where merchant_id = ${shop.merchantUuid}`)
  await hears(service, shop, ofOne, [second.line])
  assert.deepEqual(await unsettled(shop), [first.reference])
})

test('a fee that the customer bears on top is in no line, and what differs more than the fee is a case', async () => {
  const shop = await service.addShop()
  const { line } = await paidLine(shop)
  const onTop = { ...line, id: 'l_1', gross: AMOUNT + 700, fee: 1_000, net: AMOUNT - 300, hasFeeOnTop: true as const }
  const made = await hears(service, shop, { gross: AMOUNT + 700, fees: 1_000, net: AMOUNT - 300 }, [onTop])
  const { gross, fee, net } = only<Json>(await get(shop, `settlements/${made.id}/lines`))
  assert.deepEqual([gross, fee, net, await openCases(shop)], [AMOUNT, 300, AMOUNT - 300, []])
  const more = { ...onTop, gross: AMOUNT + 1_001, net: AMOUNT + 1 }
  await hears(service, shop, { id: 'set_2', gross: AMOUNT + 1_001, fees: 1_000, net: AMOUNT + 1 }, [more])
  assert.match((await openCases(shop)).join(), /in another settlement|our records have/)
})

test('what the provider’s own equation says is said once', async () => {
  const shop = await service.addShop()
  const { difference } = await hears(service, shop, { fees: 2_000, difference: 'Total is ₦1, effective ₦2.' })
  assert.equal(difference, 'Total is ₦1, effective ₦2.')
})

test('a notice that comes before its payment is read again, and payments that no notice names are a case', async () => {
  const shop = await service.addShop()
  const scope = { ...shop, mode: 'sandbox' as const, provider: 'gateway', keysVersion: 0 }
  const { reference, line } = await paidLine(shop)
  const orderOf = sql`select order_reference as "order" from attempts where merchant_id = ${shop.merchantUuid}`
  const [{ order } = { order: '' }] = await database.rows<{ order: string }>(orderOf)
  const take = (id: string) =>
    database.rows(sql`update receipts set transaction_id = ${id} where merchant_id = ${shop.merchantUuid}`)
  const noticed = { settlement: { ...SETTLEMENT, ...ofOne }, lines: [{ ...line, orderReference: order }] }
  await database.rows(
    sql`update receipts set transaction_id = 'later', amount = amount + 1 where merchant_id = ${shop.merchantUuid}`,
  )
  assert.equal(await recordNoticed(parts, scope, noticed), true)
  await database.rows(sql`update receipts set amount = amount - 1 where merchant_id = ${shop.merchantUuid}`)
  await take(line.transactionId ?? '')
  assert.deepEqual(await unsettled(shop), [reference])
  assert.equal(await recordNoticed(parts, scope, noticed), false)
  assert.deepEqual(await unsettled(shop), [])
  await paid(shop)
  await database.rows(sql`
    update receipts set taken_at = now() - interval '30 days' where merchant_id = ${shop.merchantUuid}`)
  await database.rows(sql`
    update integrations set created_at = now() - interval '50 days' where merchant_id = ${shop.merchantUuid}`)
  const none: AccountLists = { settlements: async () => ({ kind: 'unsupported', because: 'it has none' }) }
  for (let day = 0; day < 2; day++) await reads(shop, none, '60 days')
  await database.rows(sql`
    update settlements set made_at = now() - interval '40 days' where merchant_id = ${shop.merchantUuid}`)
  await reads(shop, none, '60 days')
  assert.match((await openCases(shop)).join(), /1 payments with ₦12,500.00 are in no settlement yet/)
})
