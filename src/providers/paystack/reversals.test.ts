import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handle, naira, order, paidCard, setUp, unknown } from '../../../test/fakes/paystack/rig.ts'
import type { ListAnswer, ListedTransaction } from '../provider.ts'

const { reference } = order()

async function check(connection: Awaited<ReturnType<typeof paidCard>>['connection']) {
  const outcome = await connection.check(handle())
  assert.ok(outcome.kind === 'paid', outcome.kind)
  return outcome.receipts.map(({ amount, returned }) => [amount.amount, returned])
}

test('paystack: a reversed transaction was given back as far as its refunds say', async (t) => {
  const { connection, refundAtProvider, find, refunds, wanted } = await paidCard(t)
  assert.deepEqual(await check(connection), [[500_000, undefined]])
  await refundAtProvider(reference, 120_000)
  assert.equal(find(reference).status, 'reversed', 'a part reverses the whole')
  assert.deepEqual(await check(connection), [[500_000, 120_000]])
  await connection.refund(wanted)
  assert.equal(find(reference).status, 'reversal-pending')
  assert.deepEqual(await check(connection), [[500_000, 320_000]], 'a pending refund has left the balance')
  for (const refund of refunds) if (refund.status === 'pending') refund.status = 'failed'
  find(reference).status = 'reversed'
  assert.deepEqual(await check(connection), [[500_000, 120_000]], 'a failed one is back')
})

test('paystack: a reversed transaction with only failed refunds is unknown', async (t) => {
  const { connection, refundAtProvider, refunds } = await paidCard(t)
  await refundAtProvider(reference, 120_000)
  for (const refund of refunds) refund.status = 'failed'
  const because = 'it says reversed, and lists nothing that was given back'
  assert.deepEqual(await connection.check(handle()), unknown(because))
})

for (const namesDispute of [true, false]) {
  const how = namesDispute ? 'names' : 'does not name'
  test(`paystack: a lost dispute counts once when its refund ${how} it`, async (t) => {
    const { connection, disputeAtProvider, closeDispute, behaviour, ledger, transactionId } = await paidCard(t)
    behaviour.namesDispute = namesDispute
    const id = (await disputeAtProvider?.(reference, { amount: 300_000, reason: 'fraud' })) ?? assert.fail()
    assert.deepEqual(await check(connection), [[500_000, undefined]], 'an open dispute takes nothing')
    await closeDispute?.(id, 'lost')
    assert.deepEqual(await check(connection), [[500_000, 300_000]])
    const answer = await connection.listReversals?.(handle(), [transactionId])
    assert.ok(answer?.kind === 'reversals')
    assert.deepEqual(
      answer.refunds.map(({ amount, disputeId }) => [amount, disputeId]),
      [[naira(300_000), namesDispute ? id : undefined]],
    )
    assert.deepEqual([answer.disputes.length, answer.disputes[0]?.status], [1, 'lost'])
    assert.equal(ledger().givenBack.length, 1)
  })
}

test('paystack: a lost dispute without a refund has taken its money', async (t) => {
  const { connection, disputeAtProvider, closeDispute, refunds } = await paidCard(t)
  const id = (await disputeAtProvider?.(reference, { amount: 300_000, reason: 'fraud' })) ?? assert.fail()
  await closeDispute?.(id, 'lost')
  refunds.length = 0
  assert.deepEqual(await check(connection), [[500_000, 300_000]])
})

test('paystack: a dispute that names no amount is about the whole payment', async (t) => {
  const { connection, disputeAtProvider, behaviour, transactionId } = await paidCard(t)
  behaviour.hidesDisputedAmount = true
  await disputeAtProvider?.(reference, { amount: 300_000, reason: 'chargeback' })
  const answer = await connection.listReversals?.(handle(), [transactionId])
  assert.ok(answer?.kind === 'reversals')
  const [dispute] = answer.disputes
  assert.deepEqual([dispute?.amount, dispute?.reason, dispute?.status], [naira(500_000), 'chargeback', 'open'])
})

test('paystack: how a dispute ended is told by its resolution', async (t) => {
  const { connection, disputeAtProvider, disputes, transactionId } = await paidCard(t)
  await disputeAtProvider?.(reference, { amount: 300_000, reason: 'chargeback' })
  const [dispute] = disputes
  assert.ok(dispute)
  const statuses: [string, string | null, string][] = [
    ['awaiting-merchant-feedback', null, 'open'],
    ['awaiting-bank-feedback', 'declined', 'open'],
    ['pending', null, 'open'],
    ['resolved', 'merchant-accepted', 'lost'],
    ['resolved', 'auto-accepted', 'lost'],
    ['resolved', 'declined', 'won'],
    ['resolved', null, 'open'],
  ]
  for (const [status, resolution, expected] of statuses) {
    Object.assign(dispute, { status, resolution })
    const answer = await connection.listReversals?.(handle(), [transactionId])
    assert.ok(answer?.kind === 'reversals')
    assert.equal(answer.disputes[0]?.status, expected, `${status} ${resolution}`)
  }
})

test('paystack: a refund of the dashboard that repeats the payment’s reference is not ours', async (t) => {
  const { connection, refundAtProvider, refunds, transactionId } = await paidCard(t)
  await refundAtProvider(reference, 1_000)
  assert.match(refunds[0]?.merchantNote ?? '', new RegExp(reference))
  const answer = await connection.listReversals?.(handle(), [transactionId])
  assert.ok(answer?.kind === 'reversals')
  assert.equal(answer.refunds[0]?.reference, null)
})

test('paystack: refunds and disputes of other transactions are left out', async (t) => {
  const { connection, refundAtProvider, disputeAtProvider, upstream, transactionId } = await paidCard(t)
  await refundAtProvider(reference, 1_000)
  await disputeAtProvider?.(reference, { amount: 1_000, reason: 'fraud' })
  upstream.garble = ({ status, text }) => ({
    status,
    text: text.includes('retrieved') ? text.replaceAll(transactionId, '17') : text,
  })
  const none = { kind: 'reversals', refunds: [], disputes: [] }
  assert.deepEqual(await connection.listReversals?.(handle(), [transactionId]), none)
  upstream.garble = ({ status, text }) => ({
    status,
    text: text.includes('retrieved') ? text.replaceAll('"domain":"test"', '"domain":"live"') : text,
  })
  const answer = await connection.listReversals?.(handle(), [transactionId])
  assert.deepEqual(answer, unknown('it answered in another mode'))
})

test('paystack: a full refund with the fees that were passed on gives back the order', async (t) => {
  const { connection, refundAtProvider, find, transactionId } = await paidCard(t)
  find(reference).amount += 17_767
  await refundAtProvider(reference, 517_767)
  assert.deepEqual(await check(connection), [[500_000, 500_000]])
  const answer = await connection.listReversals?.(handle(), [transactionId])
  assert.ok(answer?.kind === 'reversals')
  assert.deepEqual(answer.refunds[0]?.amount, naira(500_000))
})

test('paystack: lists go by the time of creation, and are asked for that range alone', async (t) => {
  const { connection, find, transactionId, asked } = await paidCard(t)
  const at = Date.parse(find(reference).createdAt)
  find(reference).paidAt = new Date(at + 3 * 86_400_000).toISOString()
  const ids = async (from: number, to: number) => {
    const answer = await connection.lists?.transactions?.({ from: new Date(from), to: new Date(to) }, null)
    assert.ok(answer?.kind === 'page')
    return answer.entries.map((transaction) => transaction.transactionId)
  }
  assert.deepEqual(await ids(at, at + 60_000), [transactionId])
  assert.deepEqual(await ids(at - 60_000, at - 1), [])
  assert.deepEqual(await ids(at + 1, at + 60_000), [])
  const query = new URL(asked.at(-1)?.path ?? '', 'http://paystack').searchParams
  assert.deepEqual(
    [query.get('from'), query.get('to')].map((text) => Date.parse(text ?? '')),
    [at + 1, at + 60_000],
  )
})

test('paystack: the list says that money went back, and not how much; one that never came is left out', async (t) => {
  const { connection, refundAtProvider, find } = await paidCard(t)
  const listed = async () => {
    const answer = await connection.lists?.transactions?.(lately(), null)
    assert.ok(answer?.kind === 'page', answer?.kind)
    return answer.entries.map(({ returned, isReversed }) => [returned, isReversed])
  }
  assert.deepEqual(await listed(), [[undefined, undefined]])
  await refundAtProvider(reference, 1_000)
  assert.deepEqual(await listed(), [[undefined, true]])
  find(reference).paidAt = null
  assert.deepEqual(await listed(), [])
})

const lately = () => ({ from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) })

test('paystack: lists of refunds and disputes as their documents show them are read', async (t) => {
  const { connection, say } = await setUp(t)
  const sample = {
    ...{ id: 2, integration: 100_982, domain: 'test', transaction: 323_896, dispute: 45, amount: 500_000 },
    ...{ deducted_amount: null, currency: 'NGN', channel: 'migs', fully_deducted: null, settlement: null },
    ...{ refunded_by: 'customer@gmail.com', refunded_at: '2017-09-24T21:11:53.000Z', status: 'pending' },
    ...{ customer_note: 'xxx', merchant_note: 'xxx', created_at: '2017-09-24T21:11:53.000Z' },
  }
  const live = { ...sample, id: 1, domain: 'live', transaction: 1641 }
  const newer = { ...sample, id: 3, transaction_reference: 'qufywna9w9a5d8v', refunded_at: null, dispute: null }
  say(200, { status: true, message: 'Refunds retrieved', data: [live, sample, newer] })
  const refund = { refundId: '2', reference: null, status: 'pending', at: new Date('2017-09-24T21:11:53Z') }
  const ofOrder = { transactionId: '323896', orderReference: null, amount: naira(500_000) }
  assert.deepEqual(await connection.lists?.refunds?.(lately(), null), {
    kind: 'page',
    entries: [
      { ...refund, disputeId: '45', ...ofOrder },
      { ...refund, refundId: '3', ...ofOrder, orderReference: 'qufywna9w9a5d8v' },
    ],
    nextCursor: null,
  })

  const transaction = {
    ...{ id: 5_991_760, domain: 'test', status: 'success', reference: 'asjck8gf76zd1dr', amount: 39_100, fees: 587 },
    ...{ paid_at: '2017-11-09T00:01:56.000Z', created_at: '2017-11-09T00:01:36.000Z', currency: 'NGN', metadata: '' },
  }
  const dispute = {
    ...{
      id: 2867,
      refund_amount: null,
      currency: null,
      status: 'archived',
      resolution: null,
      domain: 'test',
      transaction,
    },
    ...{ transaction_reference: null, category: null, dueAt: null, createdAt: '2017-11-16T16:12:24.000Z' },
  }
  const meta = { total: 1, skipped: 0, perPage: 50, page: 1, pageCount: 1 }
  say(200, { status: true, message: 'Disputes retrieved', data: [dispute], meta })
  assert.deepEqual(await connection.lists?.disputes?.(lately(), null), {
    kind: 'page',
    entries: [
      {
        ...{ disputeId: '2867', status: 'won', reason: null, respondBy: null },
        openedAt: new Date('2017-11-16T16:12:24Z'),
        ...{ transactionId: '5991760', orderReference: 'asjck8gf76zd1dr', amount: naira(39_100) },
      },
    ],
    nextCursor: null,
  })
})

test('paystack: a list goes on while it names its next page, without a number of pages', async (t) => {
  const { connection, customer, behaviour, limitPages, refundAtProvider, transactionId, wanted, find } =
    await paidCard(t)
  Object.assign(behaviour, { pages: 'named' })
  limitPages(2)
  const references = ['s', 't', 'u', 'v'].map((letter) => letter.repeat(32))
  for (const each of references) {
    await connection.start(order({ reference: each }))
    await customer.payByCard(each, { save: false })
  }
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  const listed: string[] = []
  let cursor: string | null = null
  do {
    const answer: ListAnswer<ListedTransaction> | undefined = await connection.lists?.transactions?.(range, cursor)
    assert.ok(answer?.kind === 'page', answer?.kind)
    listed.push(...answer.entries.map((each) => each.transactionId))
    cursor = answer.nextCursor
  } while (cursor !== null)
  const all = [...references.toReversed(), reference].map((each) => String(find(each).id))
  assert.deepEqual(listed, all)

  for (let i = 0; i < 5; i++) await refundAtProvider(reference, 1_000)
  const answer = await connection.listReversals?.(handle(), [transactionId])
  assert.ok(answer?.kind === 'reversals', answer?.kind)
  assert.equal(answer.refunds.length, 5)
  assert.equal((await connection.refund(wanted)).kind, 'pending', 'a look through all pages finds none of ours')
})

test('paystack: a page of fifty is not the last one although a hundred were asked for', async (t) => {
  const { connection, upstream } = await paidCard(t)
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  const list = (cursor: string | null) => connection.lists?.transactions?.(range, cursor)
  upstream.garble = ({ status, text }) => {
    const { data, ...envelope } = JSON.parse(text)
    return { status, text: JSON.stringify({ ...envelope, data: Array(50).fill(data[0]), meta: { perPage: 50 } }) }
  }
  const answer = await list(null)
  assert.ok(answer?.kind === 'page')
  assert.equal(answer.nextCursor, '2')
  upstream.garble = ({ status, text }) => ({
    status,
    text: JSON.stringify({
      ...JSON.parse(text),
      meta: { next: 'dW5kZWZpbmVkOjQwMTM3MDk2MzU=', previous: 'null', perPage: 50 },
    }),
  })
  assert.deepEqual(await list('next:dW5kZWZpbmVkOjQwMTM3MDk2MzU='), unknown('its list does not go on'))
})

test('paystack: fifty entries are no whole list while something says, or nothing denies, that more follows', async (t) => {
  const { connection, upstream } = await paidCard(t)
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  const nextAfter = async (meta: unknown, entries: number, cursor: string | null = null) => {
    upstream.garble = ({ status, text }) => {
      const { data, ...envelope } = JSON.parse(text)
      return { status, text: JSON.stringify({ ...envelope, data: Array(entries).fill(data[0]), meta }) }
    }
    const answer = await connection.lists?.transactions?.(range, cursor)
    assert.ok(answer?.kind === 'page', answer?.kind)
    return answer.nextCursor
  }
  assert.equal(await nextAfter({ total: 150, per_page: 50, page: 1 }, 50), '2')
  assert.equal(await nextAfter(undefined, 50), '2')
  assert.equal(await nextAfter(undefined, 49), null)
  assert.equal(await nextAfter({ perPage: 0 }, 0), null)
  assert.equal(await nextAfter({ perPage: 50, pageCount: 1, next: 'abc' }, 50), 'next:abc')
  assert.equal(await nextAfter({ perPage: 50, next: 12_345 }, 50), 'next:12345')
  assert.equal(await nextAfter({ perPage: 50, next: null }, 50, 'next:dW5kZWZpbmVkOjA='), null)
})

// status, resolution, ours
const ENDS: [string, string | null, string][] = [
  ['resolved', 'merchant-accepted', 'lost'],
  ['resolved', 'declined', 'won'],
  ['archived', null, 'won'], // as in their sample of a list
  ['archived', 'declined', 'won'],
  ['archived', 'auto-accepted', 'lost'],
  ['archived', 'new-to-us', 'open'],
  ['resolved', null, 'open'],
  ['awaiting-bank-feedback', null, 'open'],
]
for (const [status, resolution, ours] of ENDS) {
  test(`paystack: a dispute that is ${status} (${resolution}) is ${ours}`, async (t) => {
    const { connection, disputeAtProvider, disputes, transactionId } = await paidCard(t)
    await disputeAtProvider?.(reference, { amount: 1_000, reason: 'fraud' })
    Object.assign(disputes[0] ?? {}, { status, resolution })
    const answer = await connection.listReversals?.(handle(), [transactionId])
    assert.ok(answer?.kind === 'reversals')
    assert.equal(answer.disputes[0]?.status, ours)
  })
}
