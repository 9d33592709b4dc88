import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge, isPaid, transfer } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { baseUrl, database, parts } = service
const shop = await service.addShop()

interface Entry {
  at: string
  kind: string
  what: string
  attempt: string | null
  detail: Record<string, unknown>
}

const timeline = async (name: string): Promise<Entry[]> =>
  (await shop.call('GET', `/payments/v1/payments/${name}/timeline`)).body.data
const words = (story: Entry[]) => story.map(({ kind, what }) => `${kind}: ${what}`)

/** Once nothing is under way any more: every notice was worked off. */
function settledStory(name: string, notices: number): Promise<Entry[]> {
  return eventually(
    () => timeline(name),
    (story) => {
      const told = story.filter(({ kind, detail }) => kind === 'notice' && detail.state !== 'waiting')
      return told.length >= notices
    },
  )
}

test('the timeline lists requests, calls, notices, money and refunds in order, with causes', async () => {
  const { data } = (await shop.initialize({ reference: 'story' })).body
  await charge(shop, data.data.reference, CARD.insufficientFunds)
  await eventually(
    () => shop.payment('story'),
    ({ attempts }) => attempts[0].status === 'failed',
  )
  await settledStory('story', 1)
  await charge(shop, data.data.reference)
  await eventually(() => shop.payment('story'), isPaid)
  await settledStory('story', 2)
  await shop.call('POST', '/payments/v1/payments/story/refunds', { amount: 1_000 })
  const story = await settledStory('story', 3)

  assert.deepEqual(words(story), [
    'request: payment created',
    'change: attempt.started',
    'call: start',
    'change: attempt.pending',
    'notice: failed',
    'call: check',
    'change: attempt.failed',
    'notice: paid',
    'call: check',
    'money: received',
    'change: attempt.successful',
    'change: payment.successful',
    'refund: asked for',
    ...words(story).slice(13),
  ])
  assert.deepEqual(words(story).slice(13).sort(), [
    'call: check', // the notice of the refund is a reason to ask, too
    'call: list returns',
    'call: refund',
    'change: refund.successful',
    'notice: refund',
  ])

  for (const entry of story) assert.deepEqual(Object.keys(entry), ['at', 'kind', 'what', 'attempt', 'detail'])
  const times = story.map(({ at }) => at)
  assert.deepEqual(times, times.toSorted())
  const sequences = story.filter(({ kind }) => kind === 'change').map(({ detail }) => detail.sequence)
  assert.deepEqual(sequences, [1, 2, 3, 4, 5, 6])

  const [attempt] = (await shop.payment('story')).attempts
  assert.deepEqual([...new Set(story.map((entry) => entry.attempt))], [null, attempt.id])
  const of = (what: string) => {
    const entry = story.find((each) => each.what === what)
    assert.ok(entry, what)
    return entry.detail
  }
  assert.deepEqual(of('payment created'), { amount: 1_250_000, currency: 'NGN', reference: 'story' })
  assert.equal(of('start').outcome, 'link')
  assert.equal(of('attempt.failed').cause, 'notice (failed): declined')
  assert.equal((of('attempt.failed').failure as { code: string }).code, 'insufficient_funds')
  assert.equal(of('payment.successful').cause, 'notice (paid): paid')
  assert.deepEqual([of('received').amount, of('received').currency, of('received').counted], [1_250_000, 'NGN', true])
  assert.equal((of('refund.successful').refund as { amount: number }).amount, 1_000)
})

test('the timeline shows the customer’s return and the missing amount', async () => {
  const provider = 'gateway-virtual-bank-account'
  await shop.call('PUT', '/sandbox/gateway/faults', { lost: 1 })
  const { data } = (await shop.initialize({ provider, amount: 1_000 })).body
  await transfer(shop, data.data.accountNumber, 400)
  const [{ id }] = (await shop.payment(data.reference)).attempts
  const back = await fetch(`${baseUrl}/return/${id}`, { redirect: 'manual' })
  assert.equal(back.status, 302)
  await shop.call('PUT', '/sandbox/gateway/faults', {})
  const story = await timeline(data.reference)
  const underpaid = story.find(({ what }) => what === 'payment.underpaid')
  assert.equal(underpaid?.detail.cause, 'return: pending')
  assert.deepEqual(underpaid?.detail.missing, { amount: 600, currency: 'NGN' })
  assert.deepEqual(words(story).slice(-3), ['call: check', 'money: received', 'change: payment.underpaid'])
})

test('the timeline of a payment without attempts has its creation and its end', async () => {
  const body = { amount: 5, country: 'NG', user: { email: 'a@b.co' }, reference: 'untried' }
  await shop.call('POST', '/payments/v1/checkouts', body)
  assert.deepEqual(words(await timeline('untried')), ['request: payment created'])
  await shop.call('POST', '/payments/v1/payments/untried/cancel')
  assert.deepEqual(words(await timeline('untried')), ['request: payment created', 'change: payment.cancelled'])
})

test('the timeline is found by reference, attempt and id, by its merchant only', async () => {
  const other = await service.addShop()
  const { data } = (await shop.initialize()).body
  const { id, reference } = await shop.payment(data.reference)
  const story = await timeline(id)
  for (const name of [reference, data.reference]) assert.deepEqual(await timeline(name), story)
  for (const name of [reference, data.reference, id, 'never-was']) {
    const { status } = await other.call('GET', `/payments/v1/payments/${name}/timeline`)
    assert.equal(status, 404, name)
  }
})

test('repeated checks with the same answer are one counted entry; a different answer starts a new one', async () => {
  await shop.call('PUT', '/sandbox/gateway/faults', { lost: 1 })
  const { data } = (await shop.initialize({ reference: 'asked-often' })).body
  const { id } = await shop.payment('asked-often')
  const check = async () => {
    await makeChecksDue(database, id)
    await checkDueAttempts(parts, 100)
  }
  const calls = async () =>
    (await timeline('asked-often'))
      .filter(({ kind }) => kind === 'call')
      .map(({ what, detail }) => [what, detail.outcome, detail.times ?? 1])
  for (let times = 0; times < 5; times++) await check()
  assert.deepEqual(await calls(), [
    ['start', 'link', 1],
    ['check', 'pending', 5],
  ])
  await charge(shop, data.data.reference)
  await check()
  await shop.call('PUT', '/sandbox/gateway/faults', {})
  assert.deepEqual((await calls()).slice(1), [
    ['check', 'pending', 5],
    ['check', 'paid', 1],
  ])
})
