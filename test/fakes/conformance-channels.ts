import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import fc from 'fast-check'
import { type Currency, money } from '../../src/kernel/money.ts'
import { channelsOf } from '../../src/providers/capabilities.ts'
import type { Order, OrderHandle, Provider, Started, Submitted } from '../../src/providers/provider.ts'
import { assertDeclined, assertSensible, change, changed, findByTransaction, GARBAGE } from './conformance-checks.ts'
import type { ChannelSample, Features, Rig } from './conformance-rig.ts'
import { handleOf, newReference, orderOf, withNotices } from './rig.ts'
import { TROUBLES } from './upstream.ts'

const WRONG_CODE = '999999'

/** Conformance of the channels beside cards and bank transfers: each of them, as `Features.channels` describes it. */
export function channelsConformance(
  provider: Provider,
  { notices, channels = [], ordersLackOurReference = false }: Features,
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const { name } = provider.capabilities
  const others = channelsOf(provider.capabilities).filter((each) => each !== 'card' && each !== 'virtual-bank-account')

  if (others.length > 0) {
    nodeTest(`${name}: each channel that it offers is tried`, () => {
      assert.deepEqual(new Set(channels.map(({ channel }) => channel)), new Set(others))
    })
  }

  for (const sample of channels) {
    const { channel, input, price, starts, code, refused, expired, makesNoCall } = sample
    const what = [name, channel, input.network ?? input.bank, price.currency].filter(Boolean).join(' ')
    const test = (does: string, run: (t: TestContext) => Promise<void>) => nodeTest(`${what}: ${does}`, run)

    test('a start says what the customer does, and the order is open', async (t) => {
      const rig = await rigFor(t)
      const { start, handle } = await started(rig, sample)
      assert.ok(start.providerReference && start.expiresAt > new Date())
      assertSensible(start)
      assert.match(payableWith(start), start.kind === 'dial' ? /^[*#][\d*#.]+#$/ : /^\S.*$/s)
      assertOpen(await check(rig, handle))
    })

    test('what was approved is paid, the same at every check, and can be refunded', async (t) => {
      const rig = await rigFor(t)
      const { order, handle } = await approved(rig, sample)
      const outcome = await check(rig, handle)
      assert.equal(outcome.kind, 'paid')
      assertSensible(outcome)
      assert.deepEqual(
        outcome.receipts.map(({ amount }) => amount),
        [order.amount],
      )
      assert.deepEqual(await check(rig, handle), outcome)
      const transactionIds = outcome.receipts.map(({ transactionId }) => transactionId)
      const needsAccount = provider.capabilities.refundNeedsAccount?.includes(channel)
      const refund = await rig.connection.refund({
        ...{ reference: newReference(), order: withNotices(rig, handle), transactionIds },
        ...{ amount: order.amount, reason: null },
        ...(needsAccount && { account: { accountNumber: '0690000031', bankCode: '058' } }),
      })
      assert.ok(refund.kind === 'refunded' || refund.kind === 'pending', refund.kind)
    })

    if (notices.includes('paid')) {
      test('the notice of an approval is the same money as its check, also when it comes twice', async (t) => {
        const rig = await rigFor(t)
        const { reference, handle } = await approved(rig, sample)
        const body = rig.notices.bodyOf('paid', reference) ?? assert.fail('the rig has its notice')
        const outcome = await check(rig, handle)
        assert.equal(outcome.kind, 'paid')
        const readings = [1, 2].map(() => rig.connection.readNotice(rig.notices.sign(body, new Date())))
        assert.deepEqual(readings[0], readings[1])
        const [reading] = readings
        assert.ok(reading?.kind === 'notice' && reading.says === 'paid')
        const named = reading.reference ?? (await findByTransaction(rig, reading.transactionId))
        assert.ok([reference, handle.providerReference].includes(named))
        const ids = outcome.receipts.map(({ transactionId }) => transactionId)
        for (const { transactionId } of reading.receipts) assert.ok(ids.includes(transactionId), 'money is known once')
      })
    }

    if (starts !== 'pay to') {
      test('what the customer refuses is not paid', async (t) => {
        const rig = await rigFor(t)
        const { reference, handle } = await ready(rig, sample)
        if (await isPaid(rig, handle)) return
        await customerOf(rig).refuse(reference)
        const outcome = await check(rig, handle)
        if (refused === undefined) return assert.notEqual(outcome.kind, 'paid')
        assertDeclined(outcome)
        assert.equal(outcome.failure.code, refused)
      })
    }

    test('after its time it is not paid, and an approval that comes late is found', async (t) => {
      const rig = await rigFor(t)
      const { order, reference, handle } = await ready(rig, sample)
      if (await isPaid(rig, handle)) return
      await customerOf(rig).expire(reference)
      const outcome = await check(rig, handle)
      if (expired === undefined) assertOpen(outcome)
      else {
        assertDeclined(outcome)
        assert.equal(outcome.failure.code, expired)
      }
      await customerOf(rig).approve(reference)
      const late = await check(rig, handle)
      assert.ok(late.kind === 'paid', late.kind)
      assert.deepEqual(
        late.receipts.map(({ amount }) => amount),
        [order.amount],
      )
    })

    if (code) {
      test('a wrong code is refused or ends the order, and never pays', async (t) => {
        const rig = await rigFor(t)
        const { handle } = await started(rig, sample)
        for (let tries = 0; tries < 3; tries++) {
          const said = await submit(rig, handle, WRONG_CODE)
          assertSensible(said)
          if (said.kind === 'declined') return assertDeclined(said)
          assert.ok(said.kind === 'code refused' || said.kind === 'unknown', said.kind)
          assert.notEqual((await check(rig, handle)).kind, 'paid')
        }
      })
    }

    // Two seconds each, so for one sample of each channel, and for those with a code.
    if (code || (!makesNoCall && channels.find((each) => each.channel === channel) === sample)) {
      test('an upstream in trouble is unknown to a start, a code and a check', async (t) => {
        const rig = await rigFor(t)
        const { handle } = await started(rig, sample)
        for (const trouble of TROUBLES) {
          rig.upstream.trouble = trouble
          const calls = [rig.connection.start(orderFor(rig, sample)), check(rig, handle)]
          const said: { kind: string }[] = await Promise.all(code ? [...calls, submit(rig, handle, code.right)] : calls)
          assert.deepEqual(new Set(said.map(({ kind }) => kind)), new Set(['unknown']), trouble.toString())
          for (const secret of rig.secrets) assert.ok(!JSON.stringify(said).includes(secret))
        }
      })
    }

    if (!makesNoCall) {
      test('an answer without the documented shape is unknown', async (t) => {
        const rig = await rigFor(t)
        const { handle } = await started(rig, sample)
        for (const status of [200, 201, 400, 404, 409]) {
          for (const text of GARBAGE) {
            rig.upstream.garble = () => ({ status, text })
            const heard = `hears ${status} ${text.slice(0, 60)}`
            assert.equal((await rig.connection.start(orderFor(rig, sample))).kind, 'unknown', `start ${heard}`)
            if (code) assert.equal((await submit(rig, handle, code.right)).kind, 'unknown', `submit ${heard}`)
          }
        }
      })
    }

    test('an answer with a random change never throws, and gives a valid outcome', async (t) => {
      const rig = await rigFor(t)
      const { handle } = await started(rig, sample)
      await fc.assert(
        fc.asyncProperty(change, async (change) => {
          rig.upstream.garble = (said) => ({ ...said, text: changed(said.text, change) })
          assertSensible(await rig.connection.start(orderFor(rig, sample)))
          assertSensible(await check(rig, handle))
          if (code) assertSensible(await submit(rig, handle, WRONG_CODE))
        }),
        { numRuns: 60 },
      )
    })

    if (!makesNoCall) {
      test('a start that is repeated, or whose answer was lost, makes one order', async (t) => {
        const rig = await rigFor(t)
        const [first, second] = [orderFor(rig, sample), orderFor(rig, sample)]
        const start = await rig.connection.start(first)
        const again = await rig.connection.start(first)
        // A provider that cannot repeat its first answer is checked instead.
        if (ordersLackOurReference) assert.equal(again.kind, 'declined')
        else if (again.kind !== 'unknown') assert.deepEqual(again, start)
        const before = rig.ordersMade()
        rig.upstream.trouble = 'reset after the work'
        assert.equal((await rig.connection.start(second)).kind, 'unknown')
        rig.upstream.trouble = undefined
        const found = await rig.connection.start(second)
        if (ordersLackOurReference) assert.equal(found.kind, 'declined')
        else assert.ok(found.kind === starts || found.kind === 'unknown', found.kind)
        assert.equal(rig.ordersMade(), before + 1)
      })
    }

    test('a repeated start sends the same body, however much later', async (t) => {
      const rig = await rigFor(t)
      const order = orderFor(rig, sample)
      const sent: string[] = []
      rig.upstream.trouble = ({ path, body }) => {
        if (body) sent.push(`${path} ${body}`)
        return undefined
      }
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
      await rig.connection.start(order)
      const first = sent.splice(0)
      t.mock.timers.tick(61_234)
      await rig.connection.start(order)
      for (const request of sent) assert.ok(first.includes(request), request)
    })

    test('an order that it does not know is missing, or unknown where it cannot be asked for', async (t) => {
      const rig = await rigFor(t)
      const reference = newReference()
      const handle = handleOf({ reference }, { providerReference: reference }, channel)
      const { kind } = await check(rig, handle)
      assert.equal(kind, ordersLackOurReference ? 'unknown' : 'missing')
    })
  }
}

function orderFor(rig: Rig, { channel, input, price }: ChannelSample): Order {
  return orderOf(rig, {
    channel,
    input,
    amount: money(price.amount, price.currency as Currency),
    country: price.country,
    customer: { email: 'ada@example.com', name: 'Adébáyọ̀ Ọlá', phoneNumber: input.phoneNumber ?? null },
  })
}

async function started(rig: Rig, sample: ChannelSample) {
  const order = orderFor(rig, sample)
  const start = await rig.connection.start(order)
  assert.equal(start.kind, sample.starts, JSON.stringify(start))
  const given = start as Started
  return { order, start: given, reference: order.reference, handle: handleOf(order, given, sample.channel) }
}

/** Up to where the customer decides: with the code, where one is wanted. */
async function ready(rig: Rig, sample: ChannelSample) {
  const open = await started(rig, sample)
  if (sample.code) assert.equal((await submit(rig, open.handle, sample.code.right)).kind, sample.code.leadsTo)
  return open
}

async function approved(rig: Rig, sample: ChannelSample) {
  const open = await ready(rig, sample)
  if (!(await isPaid(rig, open.handle))) await customerOf(rig).approve(open.reference)
  return open
}

/** Some providers need no more than the code. */
const isPaid = async (rig: Rig, handle: OrderHandle) => (await check(rig, handle)).kind === 'paid'

/** With what notices said. */
const check = (rig: Rig, handle: OrderHandle) => rig.connection.check(withNotices(rig, handle))

async function submit({ connection }: Rig, handle: ReturnType<typeof handleOf>, code: string): Promise<Submitted> {
  assert.ok(connection.submit, 'an adapter that asks for codes takes them')
  return connection.submit(handle, code)
}

function customerOf({ customer: { approve, refuse, expire } }: Rig) {
  assert.ok(approve && refuse && expire, 'the rig has approve, refuse and expire')
  return { approve, refuse, expire }
}

const assertOpen = ({ kind }: { kind: string }) => assert.ok(kind === 'pending' || kind === 'processing', kind)

/** What the customer gets to see; a prompt may have no words. */
function payableWith(start: Started): string {
  switch (start.kind) {
    case 'link':
      return start.link
    case 'account':
      return start.accountNumber
    case 'prompt':
      return start.message ?? 'a prompt'
    case 'pay to':
      return `${start.number} ${start.account}`
    case 'code wanted':
      return start.message
    case 'dial':
      return start.code
    case 'qr':
      return start.text
  }
}
