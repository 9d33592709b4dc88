import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakePawapay } from '../../../test/fakes/pawapay/fake.ts'
import { newReference, refundable } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { money } from '../../kernel/money.ts'
import { pawapay } from './adapter.ts'
import { uuidOf } from './mapping.ts'

async function rigFor(t: TestContext) {
  const fake = await startFakePawapay(t)
  const { settings, upstream } = fake
  const connection = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  return { ...fake, connection }
}

const refundsPosted = ({ asked }: Awaited<ReturnType<typeof rigFor>>) =>
  asked.filter(({ method, path }) => method === 'POST' && path === '/v2/refunds')

test('a refund has an id that follows from our reference, the deposit, and our reference of the order', async (t) => {
  const rig = await rigFor(t)
  const wanted = await refundable(rig)
  const part = money(500, wanted.amount.currency)
  const refundId = uuidOf(wanted.reference)
  assert.deepEqual(await rig.connection.refund({ ...wanted, amount: part }), { kind: 'refunded', refundId })
  assert.deepEqual(JSON.parse(refundsPosted(rig)[0]?.body ?? ''), {
    ...{ refundId, depositId: uuidOf(wanted.order.reference), amount: '5', currency: 'ZMW' },
    clientReferenceId: wanted.reference,
    metadata: [{ orderReference: wanted.order.reference }],
  })
})

test('a refund that waits for weeks is asked about and not made again, and can end either way', async (t) => {
  for (const [failureCode, kind] of [
    [undefined, 'refunded'],
    ['RECIPIENT_NOT_FOUND', 'refused'],
  ] as const) {
    const rig = await rigFor(t)
    rig.refundsAre('ENQUEUED')
    const wanted = await refundable(rig)
    const refundId = uuidOf(wanted.reference)
    assert.deepEqual(await rig.connection.refund(wanted), { kind: 'pending', refundId })
    for (let week = 1; week <= 3; week++)
      assert.deepEqual(await rig.connection.refund({ ...wanted, refundId }), { kind: 'pending', refundId })
    const [made] = rig.refundsOf(wanted.order.reference)
    rig.finishRefund(made ?? assert.fail(), failureCode)
    assert.equal((await rig.connection.refund({ ...wanted, refundId })).kind, kind)
    assert.equal(refundsPosted(rig).length, 1)
  }
})

test('a second refund of a deposit waits for the first, and is made after it', async (t) => {
  const rig = await rigFor(t)
  rig.refundsAre('ACCEPTED')
  const wanted = await refundable(rig)
  const [first, second] = [1, 2].map(() => ({
    ...{ ...wanted, reference: newReference(), amount: money(500, wanted.amount.currency) },
  }))
  assert.ok(first && second)
  assert.equal((await rig.connection.refund(first)).kind, 'pending')
  assert.deepEqual(await rig.connection.refund(second), { kind: 'pending', refundId: null })
  const [made] = rig.refundsOf(wanted.order.reference)
  rig.finishRefund(made ?? assert.fail())
  assert.deepEqual(await rig.connection.refund(second), { kind: 'pending', refundId: uuidOf(second.reference) })
  assert.equal(rig.refundsMade(), 2)
})

test('a repeat that is refused because the first was made is not taken for a refusal', async (t) => {
  const rig = await rigFor(t)
  rig.takesTheSameRefundTwice()
  const wanted = await refundable(rig)
  rig.upstream.trouble = 'reset after the work'
  assert.equal((await rig.connection.refund(wanted)).kind, 'unknown')
  rig.upstream.trouble = undefined
  // They say DEPOSIT_ALREADY_REFUNDED.
  assert.deepEqual(await rig.connection.refund(wanted), { kind: 'refunded', refundId: uuidOf(wanted.reference) })
  assert.equal(rig.refundsMade(), 1)
})

for (const [name, reason] of Object.entries({
  rejectionReason: { rejectionCode: 'AMOUNT_TOO_LARGE' },
  failureReason: { failureCode: 'AMOUNT_TOO_LARGE', failureMessage: 'for staff' },
})) {
  test(`a refusal with ${name} is read`, async (t) => {
    const rig = await rigFor(t)
    const wanted = await refundable(rig)
    const text = JSON.stringify({ refundId: uuidOf(wanted.reference), status: 'REJECTED', [name]: reason })
    rig.upstream.trouble = ({ method }) => (method === 'POST' ? { status: 200, text } : undefined)
    assert.deepEqual(await rig.connection.refund(wanted), { kind: 'refused', because: 'AMOUNT_TOO_LARGE' })
  })
}

test('a refund that they accepted and do not find any more is unknown, and not made again', async (t) => {
  const rig = await rigFor(t)
  const wanted = await refundable(rig)
  const outcome = await rig.connection.refund({ ...wanted, refundId: uuidOf(wanted.reference) })
  assert.equal(outcome.kind, 'unknown')
  assert.equal(refundsPosted(rig).length, 0)
})

test('another amount under the id of a refund is not its completion', async (t) => {
  const rig = await rigFor(t)
  const wanted = await refundable(rig)
  await rig.connection.refund({ ...wanted, amount: money(500, wanted.amount.currency) })
  const outcome = await rig.connection.refund({ ...wanted, amount: money(600, wanted.amount.currency) })
  assert.equal(outcome.kind, 'unknown')
})

test('a refund under refused keys is unknown', async (t) => {
  const rig = await rigFor(t)
  const wanted = await refundable(rig)
  const text = '{"status":"REJECTED","failureReason":{"failureCode":"AUTHENTICATION_ERROR"}}'
  for (const status of [401, 403]) {
    rig.upstream.trouble = () => ({ status, text })
    assert.equal((await rig.connection.refund(wanted)).kind, 'unknown')
  }
})

test('the money of a deposit that a person matched with another order goes back from that deposit', async (t) => {
  const rig = await rigFor(t)
  const [matched, own] = [await refundable(rig), await refundable(rig)]
  await rig.connection.refund({ ...matched, order: own.order })
  assert.equal(rig.refundsOf(matched.order.reference).length, 1)
  assert.equal(rig.refundsOf(own.order.reference).length, 0)
})
