import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Currency, money } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { ListedTransaction, ProviderClient } from '../../providers/provider.ts'
import { confirmMoney } from './confirm-money.ts'

const receipt = {
  transactionId: 'trx-1',
  amount: money(10_000, 'NGN' as Currency),
  at: new Date('2026-11-16T12:00:00Z'),
}
const listed: ListedTransaction = { ...receipt, reference: null }

/** The problem, or undefined if the money is confirmed. */
async function confirm(
  connection: Partial<ProviderClient>,
  money = receipt,
  deadlineMs?: number,
  current = connection,
) {
  type Options = { keysVersion?: number }
  const connect = async (_: unknown, __: string, options?: Options) =>
    options?.keysVersion === 1 ? connection : current
  const providers = { find: () => undefined, connect }
  const database = { transaction: (work: (tx: unknown) => unknown) => work(undefined) }
  const deps = { providers, database } as unknown as Parameters<typeof confirmMoney>[0]
  const scope = {} as Parameters<typeof confirmMoney>[1]
  try {
    await confirmMoney(deps, scope, { provider: 'bank', keysVersion: 1, receipt: money }, deadlineMs)
    return undefined
  } catch (error) {
    assert.ok(error instanceof Problem, String(error))
    return { code: error.code, detail: error.message }
  }
}

test('money of an order that cannot be checked now is not reported as unknown to the provider', async () => {
  const found = await confirm({
    findReference: async () => ({ kind: 'found', reference: 'order-1' }),
    check: async () => ({ kind: 'unknown', because: 'it answered 500' }),
    verifyKeys: async () => ({ kind: 'good' }),
    lists: { transactions: async () => ({ kind: 'page', entries: [], nextCursor: null }) },
  })
  assert.deepEqual([found?.code, found?.detail.includes('it answered 500')], ['provider_timeout', true])
})

test('money of a busy day is found: the list is read around its time first', async () => {
  let calls = 0
  const problem = await confirm({
    // A transaction each second, newest first, 100 on a page.
    lists: {
      async transactions({ from, to }, cursor) {
        calls++
        const page = Number(cursor ?? 0)
        const newest = to.getTime() - page * 100_000
        const isHere = receipt.at.getTime() <= newest && receipt.at.getTime() > newest - 100_000
        const isLast = newest - 100_000 <= from.getTime()
        return { kind: 'page', entries: isHere ? [listed] : [], nextCursor: isLast ? null : String(page + 1) }
      },
    },
  })
  assert.equal(problem, undefined)
  assert.ok(calls <= 20, `${calls} calls`)
})

test('a list that takes long does not keep a person waiting, and is not read to its end', async () => {
  let calls = 0
  const problem = await confirm(
    {
      lists: {
        async transactions() {
          calls++
          await sleep(30)
          return { kind: 'page', entries: [], nextCursor: 'more' }
        },
      },
    },
    receipt,
    100,
  )
  assert.deepEqual([problem?.code, problem?.detail.includes('too long')], ['provider_timeout', true])
  const callsThen = calls
  await sleep(120)
  assert.ok(calls <= callsThen + 1, 'nothing is asked after the answer')
})

test('money of which the provider has given back less than is on record is refused, with that reason', async () => {
  const transactions = async () => ({ kind: 'page' as const, entries: [listed], nextCursor: null })
  const problem = await confirm({ lists: { transactions } }, { ...receipt, returned: 4_000 } as typeof receipt)
  assert.deepEqual([problem?.code, problem?.detail.includes('given back less')], ['conflict', true])
})

test('a list that does not say how much went back, or names orders alone, confirms nothing by itself', async () => {
  const listOf = (changes: Partial<ListedTransaction>) => ({
    verifyKeys: async () => ({ kind: 'good' as const }),
    lists: {
      transactions: async () => ({ kind: 'page' as const, entries: [{ ...listed, ...changes }], nextCursor: null }),
    },
  })
  const reversed = listOf({ reference: 'order-1', isReversed: true })
  const returned = { ...receipt, returned: 4_000 }
  const check = async () => ({ kind: 'paid' as const, receipts: [returned] })
  assert.equal(await confirm({ ...reversed, check }, returned), undefined, 'the check of its order says it')
  const unsaid = await confirm({ ...reversed, check: async () => ({ kind: 'missing' }) }, returned)
  assert.deepEqual([unsaid?.code, unsaid?.detail.includes('how much')], ['provider_timeout', true])
  const order = await confirm(listOf({ isOfOrder: true }))
  assert.deepEqual([order?.code, order?.detail.includes('does not know')], ['conflict', true])
})

test('money of a link that was made days before it was paid is found', async () => {
  const madeAt = new Date(receipt.at.getTime() - 2.5 * 86_400_000)
  const problem = await confirm({
    lists: {
      async transactions({ from, to }) {
        return { kind: 'page', entries: madeAt >= from && madeAt < to ? [listed] : [], nextCursor: null }
      },
    },
  })
  assert.equal(problem, undefined)
})

test('after a rotation of keys money is confirmed with the current ones; another account cannot deny it', async () => {
  const transactions = async () => ({ kind: 'unknown' as const, because: 'it refused the keys' })
  const refused = { lists: { transactions }, verifyKeys: async () => ({ kind: 'bad' as const, because: 'refused' }) }
  const listOf = (entries: ListedTransaction[]) => ({
    lists: { transactions: async () => ({ kind: 'page' as const, entries, nextCursor: null }) },
  })
  assert.equal(await confirm(refused, receipt, undefined, listOf([listed])), undefined)
  const problem = await confirm(refused, receipt, undefined, listOf([]))
  assert.deepEqual([problem?.code, problem?.detail.includes('refused the keys')], ['provider_timeout', true])
  const silent = {
    lists: { transactions },
    verifyKeys: async () => ({ kind: 'unknown' as const, because: 'no answer' }),
  }
  const unasked = await confirm(silent, receipt, undefined, listOf([listed]))
  assert.equal(unasked?.code, 'provider_timeout', 'keys that may be good are not replaced')
})
