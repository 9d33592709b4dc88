import assert from 'node:assert/strict'
import type { Channel } from '../../src/kernel/channel.ts'
import { type Currency, type Money, money } from '../../src/kernel/money.ts'
import { providerHttp } from '../../src/outbound/provider-http.ts'
import type {
  ListAnswer,
  Order,
  OrderHandle,
  ProviderCall,
  ProviderClient,
  RefundOrder,
  Started,
} from '../../src/providers/provider.ts'
import type { ChannelSample } from '../fakes/conformance-rig.ts'
import type { FakeProvider } from '../fakes/fake-provider.ts'
import { byTransfer } from '../fakes/rig.ts'

/** A request that an adapter made, and what it was asked to do. */
export interface Made {
  during: keyof ProviderClient
  call: ProviderCall
}

/** Makes every call of an adapter, in every variant that changes a request. The requests are collected in `made`. */
export async function driveEveryCall(
  fake: FakeProvider,
  made: Made[],
  channels: readonly ChannelSample[] = [],
): Promise<void> {
  const connection = watchedConnection(fake, made)
  const journey = { fake, connection }
  assert.equal((await connection.verifyKeys()).kind, 'good')
  await startCards(journey)
  await chargeSavedCards(journey)
  await openAccounts(journey)
  for (const sample of channels) await payBy(journey, sample)
  await loseAnswers(journey)
  await giveBack(journey)
  await giveAccounts(journey)
  await listAll(journey)
  const { findReference, readNotice, publicKey, ...others } = connection
  const silent = [...Object.keys(others), ...(findReference ? ['findReference'] : [])].filter(
    (name) => !made.some(({ during }) => during === name),
  )
  assert.deepEqual(silent, [], 'each of its calls was made')
}

/** Records each request before it is sent, so that a failed one is recorded too. */
function watchedConnection({ provider, settings, upstream }: FakeProvider, made: Made[]): ProviderClient {
  let during: keyof ProviderClient = 'verifyKeys'
  const http = providerHttp()
  const watched: Pick<typeof http, 'request'> = {
    request(call) {
      made.push({ during, call })
      return http.request(call)
    },
  }
  const connection = provider.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: watched })
  return new Proxy(connection, {
    get(target, name: keyof ProviderClient) {
      during = name
      return target[name]
    },
  })
}

interface Journey {
  fake: FakeProvider
  connection: ProviderClient
}

async function startCards({ fake, connection }: Journey): Promise<void> {
  for (const amount of amountsFor(fake, 'card')) {
    for (const saveCard of [true, false]) {
      for (const customer of CUSTOMERS) {
        const order = orderOf(fake, { amount, saveCard, customer })
        const start = await connection.start(order)
        assert.equal(start.kind, 'link', JSON.stringify(amount))
        assert.equal((await connection.check(handleOf(order, start))).kind, 'pending')
      }
    }
  }
  const inAMinute = new Date(Date.now() + 60_000)
  const inAYear = new Date(Date.now() + 365 * 86_400_000)
  for (const changes of [
    ...[{ expiresAt: inAMinute }, { expiresAt: inAYear }, { merchantName: '' }, { merchantName: 'Ọ'.repeat(500) }],
    ...[{ returnURL: 'http://localhost:3000/r' }, { returnURL: `https://shop.example/?q=${'x'.repeat(1_500)}#top` }],
  ]) {
    assert.equal((await connection.start(orderOf(fake, changes))).kind, 'link')
  }
}

async function chargeSavedCards({ fake, connection }: Journey): Promise<void> {
  for (const amount of amountsFor(fake, 'card')) {
    for (const token of Object.values(fake.savedCards)) {
      const order = orderOf(fake, { amount })
      const charge = await connection.chargeSavedCard(order, token)
      assert.notEqual(charge.kind, 'unknown')
      const providerReference = 'providerReference' in charge ? charge.providerReference : order.reference
      await connection.check(handleOf(order, { providerReference }))
    }
  }
}

async function openAccounts({ fake, connection }: Journey): Promise<void> {
  for (const amount of amountsFor(fake, 'virtual-bank-account')) {
    for (const customer of CUSTOMERS) {
      const order = orderOf(fake, { amount, customer })
      const account = await connection.start(byTransfer(order))
      assert.equal(account.kind, 'account')
      await connection.check(handleOf(order, account, 'virtual-bank-account'))
    }
  }
}

/** Each channel beside cards and accounts, with a wrong code before the right one. */
async function payBy({ fake, connection }: Journey, sample: ChannelSample): Promise<void> {
  const { channel, input, price, starts, code } = sample
  const amount = money(price.amount, price.currency as Currency)
  const order = orderOf(fake, { channel, input, amount, country: price.country })
  const start = await connection.start(order)
  assert.equal(start.kind, starts)
  const handle = handleOf(order, start as Started, channel)
  if (code) {
    assert.equal((await connection.submit?.(handle, '999999'))?.kind, 'code refused')
    assert.equal((await connection.submit?.(handle, code.right))?.kind, code.leadsTo)
  }
  assert.equal((await connection.check(handle)).kind, 'pending')
  await fake.customer.approve?.(order.reference)
  assert.equal((await connection.check(handle)).kind, 'paid')
}

/** Orders that are known by our reference alone, among more than fit on a page of a list. */
async function loseAnswers({ fake, connection }: Journey): Promise<void> {
  const { upstream, savedCards } = fake
  const order = orderOf(fake)
  const charge = orderOf(fake)
  upstream.trouble = 'reset after the work'
  assert.equal((await connection.start(order)).kind, 'unknown')
  assert.equal((await connection.chargeSavedCard(charge, savedCards.paying)).kind, 'unknown')
  upstream.trouble = undefined
  for (let more = 0; more < 51; more++) await connection.start(orderOf(fake))
  for (let more = 0; more < 51; more++) await connection.chargeSavedCard(orderOf(fake), savedCards.paying)
  const lost = ({ reference }: Order) => connection.check(handleOf({ reference }, { providerReference: reference }))
  assert.equal((await lost(order)).kind, 'pending')
  assert.equal((await lost(charge)).kind, 'paid')
  assert.equal((await lost(orderOf(fake))).kind, 'missing')
}

async function giveBack({ fake, connection }: Journey): Promise<void> {
  const { upstream, customer } = fake
  // Partial refunds.
  for (const amount of amountsFor(fake, 'card').filter(({ amount }) => amount > 100)) {
    const order = orderOf(fake, { amount })
    const start = await connection.start(order)
    assert.equal(start.kind, 'link')
    await customer.payByCard(order.reference, { save: false })
    const handle = handleOf(order, start)
    const outcome = await connection.check(handle)
    assert.ok(outcome.kind === 'paid')
    const transactionIds = outcome.receipts.map(({ transactionId }) => transactionId)
    for (const id of transactionIds) assert.equal((await connection.findReference?.(id))?.kind, 'found')

    const part = money(Math.floor(amount.amount / 4), amount.currency)
    const wanted = (changes: Partial<RefundOrder> = {}): RefundOrder => {
      return { reference: newReference(), order: handle, transactionIds, amount: part, reason: null, ...changes }
    }
    const first = wanted({ reason: 'Returned: “too small”' })
    assert.notEqual((await connection.refund(first)).kind, 'refused')
    assert.notEqual((await connection.refund(first)).kind, 'refused')
    assert.notEqual((await connection.refund(wanted({ reason: 'x'.repeat(2_000) }))).kind, 'refused')
    assert.equal(
      (await connection.refund(wanted({ amount: money(amount.amount * 2, amount.currency) }))).kind,
      'refused',
    )
    const lost = wanted()
    upstream.trouble = 'reset after the work'
    assert.equal((await connection.refund(lost)).kind, 'unknown')
    upstream.trouble = undefined
    assert.notEqual((await connection.refund(lost)).kind, 'refused')
  }
  assert.equal((await connection.findReference?.('1'))?.kind ?? 'missing', 'missing')
}

/** A refund that waits for the customer's bank account. */
async function giveAccounts({ fake, connection }: Journey): Promise<void> {
  const listed = await connection.listBanks?.('NGN' as Currency)
  if (!listed) return
  assert.ok(listed.kind === 'banks' && listed.banks.length > 2)
  const [{ code: bankCode } = assert.fail('a bank')] = listed.banks
  const order = orderOf(fake)
  const start = await connection.start(order)
  assert.equal(start.kind, 'link')
  await fake.customer.payByCard(order.reference, { save: false })
  const handle = handleOf(order, start)
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid')
  const transactionIds = outcome.receipts.map(({ transactionId }) => transactionId)
  const wanted = { reference: newReference(), order: handle, transactionIds, amount: order.amount, reason: null }
  fake.refundsNeedAccounts?.()
  const waiting = await connection.refund(wanted)
  assert.ok(waiting.kind === 'pending' && waiting.needsAccount)
  const given = await connection.refund({ ...wanted, account: { accountNumber: '0690000031', bankCode } })
  assert.ok(given.kind === 'pending' && !given.needsAccount)
}

/** Refunds and disputes of one payment, and everything that was paid, over several pages. */
async function listAll({ fake, connection }: Journey): Promise<void> {
  const order = orderOf(fake)
  const start = await connection.start(order)
  assert.equal(start.kind, 'link')
  await fake.customer.payByCard(order.reference, { save: false })
  const handle = handleOf(order, start)
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid')
  const transactionIds = outcome.receipts.map(({ transactionId }) => transactionId)
  await fake.disputeAtProvider?.(order.reference, { amount: order.amount.amount, reason: 'fraudulent' })
  await fake.refundAtProvider(order.reference, 100)
  if (connection.listReversals) {
    assert.equal((await connection.listReversals(handle, transactionIds)).kind, 'reversals')
    assert.equal((await connection.check(handle)).kind, 'paid')
  }
  const range = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 60_000) }
  const settled = fake.settle?.()
  const { settlementLines, ...byTime } = connection.lists ?? {}
  for (const list of Object.values(byTime)) await readToItsEnd((cursor) => list(range, cursor))
  if (settled && settlementLines) await readToItsEnd((cursor) => settlementLines(settled, cursor))
}

async function readToItsEnd(read: (cursor: string | null) => Promise<ListAnswer<unknown>>): Promise<void> {
  let cursor: string | null = null
  do {
    const page: ListAnswer<unknown> = await read(cursor)
    assert.ok(page.kind === 'page', page.kind)
    cursor = page.nextCursor
  } while (cursor !== null)
}

const CUSTOMERS: Order['customer'][] = [
  { email: 'ada@example.com', name: null, phoneNumber: null },
  { email: 'o’neil+shop@sub.example.co', name: 'Adébáyọ̀ Ọlá', phoneNumber: '+2348012345678' },
]

/** The least and a usual amount of each currency that it takes by a channel. */
function amountsFor({ provider }: FakeProvider, channel: Channel): Money[] {
  const { offers, limits } = provider.capabilities
  return Object.keys(offers[channel] ?? {}).flatMap((code) => {
    const { min } = limits[code] ?? assert.fail(`${code} has limits`)
    return [min, min * 100 + 1].map((amount) => money(amount, code as Currency))
  })
}

let references = 0
const newReference = () => `c${String(++references).padStart(31, '0')}`

function orderOf({ price }: FakeProvider, changes: Partial<Order> = {}): Order {
  return {
    reference: newReference(),
    amount: money(price.amount, price.currency as Currency),
    country: price.country,
    customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
    merchantName: 'Ada & Sons',
    returnURL: 'https://shop.example/return?order=1',
    startedAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    channel: 'card',
    input: {},
    saveCard: false,
    ...changes,
  }
}

const handleOf = (
  { reference, amount }: { reference: string; amount?: Money },
  { providerReference }: { providerReference: string },
  channel: Channel = 'card',
): OrderHandle => ({ reference, providerReference, channel, startedAt: new Date(), ...(amount && { amount }) })
