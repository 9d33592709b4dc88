import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import type { PaymentId } from '../../../src/kernel/ids.ts'
import { type Currency, formatMoney, money } from '../../../src/kernel/money.ts'
import { checkDueAttempts } from '../../../src/payments/settle/check-attempts.ts'
import { listAuditScopes } from '../../../src/payments/store/provider-audit.ts'
import { listUnmatchedMoney } from '../../../src/payments/store/unmatched.ts'
import { matchTransfer } from '../../../src/payments/transfers/handle-transfer.ts'
import { auditProvider } from '../../../src/reconciliation/audit-provider.ts'
import { askByHand } from '../../../src/reconciliation/run-store.ts'
import { eventually } from '../../support/paying.ts'
import { withEach } from '../../support/provider-journey.ts'
import { type At, startProviderWorld } from '../../support/provider-world.ts'
import { runDue } from '../../support/reconciling.ts'
import { payByCard } from '../../support/sandbox-payments.ts'

// No worker: nothing is checked or reconciled unless the test does it.
const world = await startProviderWorld({ worker: false })
const { database, parts } = world

const CUSTOMERS_ACCOUNT = { destinationAccountNumber: '0690000031', destinationAccountBankCode: '058' }

const HOUR_MS = 3_600_000
const range = () => ({ from: new Date(Date.now() - HOUR_MS), to: new Date(Date.now() + HOUR_MS) })

async function scopeOf({ shop, name }: Pick<At, 'shop' | 'name'>) {
  const scope = (await listAuditScopes(database)).find(
    ({ merchantId, provider }) => merchantId === shop.merchantId && provider === name,
  )
  return scope ?? assert.fail()
}

async function auditOf(place: Pick<At, 'shop' | 'name'>) {
  const { agreed, differences, incomplete } = await auditProvider(parts, await scopeOf(place), range())
  return { agreed, incomplete, findings: differences.map(({ finding }) => finding) }
}

/** As `manilla audit --provider --repair`. Then the worker does what it was asked to do. */
async function repair(place: Pick<At, 'shop' | 'name'>) {
  await askByHand(database, await scopeOf(place), range())
  // The test of another provider may have claimed a run of this one.
  await eventually(
    async () => {
      await runDue(parts)
      return database.rows(sql`
        select from reconciliation_runs where time_window = 'by hand' and merchant_id = ${place.shop.merchantUuid}`)
    },
    ({ length }) => length === 0,
  )
  while ((await checkDueAttempts(parts, 10)) > 0);
}

await withEach(world, 'the audit against the provider’s own list', (_way, place) => {
  const { fake, amount, currency, pump, hears, payment } = place
  const text = (of: number) => formatMoney(money(of, currency as Currency))

  async function started(): Promise<{ reference: string; order: string }> {
    const { body } = await place.initialize()
    const { reference } = await payment(body.data.reference)
    return { reference, order: await place.orderOf(reference) }
  }

  test('paid and recorded money agrees', async () => {
    const { reference, order } = await started()
    await fake.customer.payByCard(order, { save: false })
    await pump()
    await hears(reference, ['payment.successful'])
    assert.deepEqual(await auditOf(place), { agreed: 1, incomplete: null, findings: [] })
  })

  test('money at the provider without a record of ours is a difference', async () => {
    const { order } = await started()
    await fake.customer.payByCard(order, { save: false })
    fake.takeNotices() // lost
    const { agreed, findings } = await auditOf(place)
    assert.deepEqual([agreed, findings.length], [1, 1], findings.join('\n'))
    assert.match(String(findings[0]), /^the provider took .* our records (do not have it|have ₦0.00)/)
  })

  test('a refund that was made at the provider is a difference until it is reconciled', async () => {
    const { reference, order } = await started()
    await fake.customer.payByCard(order, { save: false })
    await pump()
    await hears(reference, ['payment.successful'])
    const part = Math.floor(amount / 4)
    await fake.refundAtProvider?.(order, part)
    fake.takeNotices()
    const { findings } = await auditOf(place)
    const isOfRefund = /the provider (refunded|gave back) .*, our records (do not have it|have .?0.00)/
    assert.ok(
      findings.some((finding) => isOfRefund.test(finding)),
      findings.join('\n'),
    )
    await repair(place)
    assert.deepEqual((await auditOf(place)).findings, [])
    assert.equal((await payment(reference)).amountRefunded, part)
  })

  test('the repair checks orders and refunds that are not on record, and records unknown money as unmatched', async () => {
    const { reference, order } = await started()
    await fake.customer.payByCard(order, { save: false })
    fake.takeNotices()
    // As in a restored database: the order of this attempt is not known.
    const lost = await started()
    await fake.customer.payByCard(lost.order, { save: false })
    fake.takeNotices()
    await database.rows(sql`
      update attempts set order_reference = 'unknown', provider_reference = 'unknown' where order_reference = ${lost.order}`)
    // An operator repeats it until nothing is left: a provider may not answer at once.
    for (const _ of [1, 2]) await repair(place)
    assert.equal((await payment(reference)).status, 'successful')
    assert.deepEqual((await auditOf(place)).findings, [])
    const unmatched = await database.rows(sql`
      select id from receipts where attempt_id is null and merchant_id = ${place.shop.merchantUuid}`)
    assert.equal(unmatched.length, 1)
  })

  test('unknown money is open without what went back at the provider, and pays a payment that can be refunded', async () => {
    const lose = async () => {
      const { order } = await started()
      await fake.customer.payByCard(order, { save: false })
      const name = `lost-${order}`
      await database.rows(sql`
        update attempts set order_reference = ${name}, provider_reference = ${name} where order_reference = ${order}`)
      return order
    }
    const [whole, part] = [await lose(), await lose()]
    const quarter = Math.floor(amount / 4)
    await fake.refundAtProvider?.(whole, amount)
    await repair(place)
    await fake.refundAtProvider?.(part, quarter) // after it was recorded
    fake.takeNotices()
    await repair(place)
    assert.deepEqual((await auditOf(place)).findings, [])
    const scope = await scopeOf(place)
    const open = await listUnmatchedMoney(database, scope, { before: undefined, limit: 10 })
    assert.deepEqual(
      open.map((each) => each.amount),
      [amount - quarter, amount],
      'and the money of the test before',
    )
    const { id, reference } = await place.checkout()
    const by = { scope, actor: 'cli:test', note: null }
    await matchTransfer(parts, by, { kind: 'receipt', id: open[1]?.id ?? 0 }, id as PaymentId, amount)
    assert.equal((await payment(reference)).status, 'successful')
    const refund = (wish: object) => place.shop.call('POST', `/payments/v1/payments/${reference}/refunds`, wish)
    const asked = await refund({ amount: quarter })
    const needsAccount = asked.body.code === 'refund_account_required'
    assert.equal(needsAccount, place.name === 'monnify')
    const { body } = needsAccount ? await refund({ amount: quarter, ...CUSTOMERS_ACCOUNT }) : asked
    assert.notEqual(body.data?.status ?? 'failed', 'failed', JSON.stringify(body))
  })

  test('an amount that differs, and money that the provider does not list, are differences', async () => {
    const { reference, order } = await started()
    await fake.customer.payByCard(order, { save: false })
    await pump()
    await hears(reference, ['payment.successful'])
    const { id } = await payment(reference)
    const change = (set: ReturnType<typeof sql>) => database.rows(set)
    const row = await database.row<{ id: string; transaction_id: string }>(sql`
      select r.id::text as id, r.transaction_id from receipts r join attempts a on a.id = r.attempt_id
       where a.order_reference = ${order}`)
    assert.ok(row, `a receipt of ${id}`)
    await change(sql`update receipts set amount = amount - 1 where id = ${row.id}::bigint`)
    const [less] = (await auditOf(place)).findings
    assert.match(String(less), /^the provider took .*, our records have /)
    assert.ok(less?.endsWith(text(amount - 1)), less)
    await change(sql`update receipts set transaction_id = 'made-up' where id = ${row.id}::bigint`)
    // Monnify's list has orders, and no ids of transactions.
    const unlisted = `our records have ${text(amount - 1)}, the provider does not list it`
    assert.equal((await auditOf(place)).findings.includes(unlisted), place.name !== 'monnify')
    await change(
      sql`update receipts set amount = amount + 1, transaction_id = ${row.transaction_id} where id = ${row.id}::bigint`,
    )
  })

  test('a provider that does not answer leaves the audit incomplete, and says so', async () => {
    fake.upstream.trouble = 'answering 500 before the work'
    const { incomplete } = await auditOf(place)
    fake.upstream.trouble = undefined
    assert.match(String(incomplete), /500/)
  })
})

test('the sandbox provider is audited, and the command prints each difference and ends with 1', async () => {
  const shop = await world.addShop('Audited')
  await payByCard(shop, { amount: 700_000 })
  const args = ['audit', '--provider', '--only', 'gateway', '--merchant', shop.merchantId, '--url', world.baseUrl]
  await database.rows(sql`delete from receipts where merchant_id = ${shop.merchantUuid}`)
  const found = await world.manilla(...args)
  assert.equal(found.code, 1, found.output)
  assert.match(found.output, /transaction \S+ of order \w+: the provider took ₦7,000.00, our records do not have it/)
  assert.match(found.output, /1 provider accounts compared, .*: 1 differences/)

  const bad = await world.manilla('audit', '--provider', '--from', 'yesterday')
  assert.equal(bad.code, 2)
  assert.match(bad.output, /--from must be a day/)
})
