import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import type { Json } from '../support/payment-records.ts'
import { get, hears, settlementsOf } from '../support/settlements.ts'

// The credits on the merchant's bank statement beside what the providers paid out.
const service = await startPaying({ inOneProcess: true })
const { database } = service

const COLUMNS = { date: 'Value Date', amount: 'Credit' }
const upload = (shop: Shop, csv: string, columns: object | undefined = COLUMNS) =>
  shop.call('POST', '/payments/v1/bank-statements', { csv, ...(columns && { columns }) })
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const facts = (net: number) => ({ gross: net, fees: 0, net, hasLines: false })

test('a credit is matched with the one settlement of that amount and day, whichever comes first', async () => {
  const shop = await service.addShop()
  const settlement = await hears(service, shop, facts(98_500))
  const { body } = await upload(
    shop,
    `Value Date,Narration,Credit\n${day(1)},NIP,985.00\n${day(1)},POS,1200.00\n${day(0)},Rent,`,
  )
  assert.deepEqual(body.data, { credits: 2, skipped: 1, added: 2, matched: 1 })
  const [matched] = await settlementsOf(shop)
  assert.deepEqual(matched?.bankCredit?.day, day(1))
  const unmatched: Json[] = await get(shop, 'bank-credits?unmatched=true')
  assert.deepEqual(
    unmatched.map(({ amount, line, settlement }) => [amount, line, settlement]),
    [[120_000, 3, null]],
  )
  const later = await hears(service, shop, { ...facts(120_000), id: 'set_2' })
  assert.equal(later.bankCredit.id, unmatched[0]?.id)
  assert.deepEqual(await get(shop, 'bank-credits?unmatched=true'), [])
  assert.deepEqual(await get(shop, 'settlements?withoutBankCredit=true'), [])
  assert.notEqual(settlement.id, later.id)
})

test('the same lines can be uploaded again, with the columns of the last time', async () => {
  const shop = await service.addShop()
  const csv = `Value Date,Credit\n${day(0)},10.00\n${day(0)},10.00\n`
  assert.equal((await upload(shop, csv)).body.data.added, 2)
  assert.deepEqual(await get(shop, 'bank-statements/columns'), { ...COLUMNS, dateOrder: 'day-month' })
  const again = await shop.call('POST', '/payments/v1/bank-statements', { csv: `${csv}${day(0)},10.00\n` })
  assert.deepEqual(again.body.data, { credits: 3, skipped: 0, added: 1, matched: 0 })
})

test('J19: what fits twice is not guessed: a person says it', async () => {
  const shop = await service.addShop()
  for (const id of ['set_1', 'set_2']) await hears(service, shop, { ...facts(98_500), id })
  const { body } = await upload(shop, `Value Date,Credit\n${day(0)},985.00\n`)
  assert.equal(body.data.matched, 0)
  const [credit] = await get(shop, 'bank-credits')
  const [one] = await get(shop, 'settlements?withoutBankCredit=true')
  const assign = (settlement: string | null) =>
    shop.call('PUT', `/payments/v1/bank-credits/${credit.id}`, { settlement })
  assert.equal((await assign(one.id)).status, 200)
  assert.equal((await get(shop, 'bank-credits'))[0].settlement, one.id)
  assert.equal((await get(shop, `settlements/${one.id}`)).bankCredit.id, credit.id)
  await assign(null)
  assert.equal((await get(shop, 'bank-credits'))[0].settlement, null)
  const stranger = await service.addShop()
  const refused = await stranger.call('PUT', `/payments/v1/bank-credits/${credit.id}`, { settlement: null })
  assert.equal(refused.status, 404)
})

test('a file that cannot be read is refused with its lines, and nothing of it is kept', async () => {
  const shop = await service.addShop()
  const { status, body } = await upload(shop, `Value Date,Credit\n${day(0)},10.00\n31/31/2026,5.00\n`)
  assert.equal(status, 400)
  assert.deepEqual(
    body.errors.map(({ pointer, message }: Json) => [pointer, message]),
    [['/csv', 'Line 3: "31/31/2026" in the column "Value Date" is no day.']],
  )
  assert.deepEqual(await get(shop, 'bank-credits'), [])
  const without = await shop.call('POST', '/payments/v1/bank-statements', { csv: 'a,b' })
  assert.deepEqual([without.status, without.body.errors[0].pointer], [400, '/columns'])
  const large = await upload(shop, `Value Date,Credit\n${`${day(0)},1.00\n`.repeat(100_000)}`)
  assert.ok(large.status === 400 || large.status === 413, String(large.status))
  assert.equal((await upload(shop, `Value Date,Credit\n${`${day(0)},1.00\n`.repeat(9_000)}`)).body.data.added, 9_000)
})

test('the CSV of settlements has amounts as integers and decimals, and local days', async () => {
  const shop = await service.addShop()
  await database.rows(sql`update merchants set time_zone = 'Africa/Lagos' where id = ${shop.merchantUuid}`)
  const paidAt = new Date('2026-05-31T23:30:00Z')
  const line = {
    id: 'l',
    kind: 'refund' as const,
    transactionId: null,
    orderReference: 'x',
    gross: -150,
    fee: 0,
    net: -150,
  }
  await hears(service, shop, { gross: -150, fees: 0, deductions: 0, net: -150, paidAt }, [line])
  const rows = async (name: string): Promise<Json[]> => {
    const answer = await fetch(`${service.baseUrl}/payments/v1/exports/${name}`, { headers: shop.headers })
    const [header = '', ...lines] = (await answer.text()).trim().split('\r\n')
    return lines.map((each) => Object.fromEntries(each.split(',').map((cell, at) => [header.split(',')[at], cell])))
  }
  const [settlement] = await rows('settlements')
  assert.deepEqual(
    [settlement.net, settlement.netDecimal, settlement.paidOn, settlement.paidAt],
    ['-150', '-1.5', '2026-06-01', '2026-05-31T23:30:00.000Z'],
  )
  const [exported] = await rows('settlement-lines')
  assert.deepEqual([exported.kind, exported.netDecimal, exported.paidOn], ['refund', '-1.5', '2026-06-01'])
})
