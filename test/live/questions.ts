import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Channel } from '../../src/kernel/channel.ts'
import { providerHttp } from '../../src/outbound/provider-http.ts'
import type { Order, OrderHandle, ProviderClient, RefundOrder } from '../../src/providers/provider.ts'
import { byTransfer } from '../fakes/rig.ts'
import { brokenKey, type Keys } from './keys.ts'
import type { Sandbox } from './sandboxes.ts'

export interface Answered {
  question: string
  /** What is wrong; undefined if nothing is. */
  wrong?: string
}

/** The questions that need no customer, in this order. */
export async function* askAll(sandbox: Sandbox, keys: Extract<Keys, { kind: 'there' }>): AsyncGenerator<Answered> {
  for (const [question, ask] of questionsFor(sandbox, keys)) {
    try {
      await ask()
      yield { question }
    } catch (error) {
      yield { question, wrong: (error as Error).message }
    }
  }
}

type Question = [string, () => Promise<unknown>]

function questionsFor(sandbox: Sandbox, { settings, baseURL }: Extract<Keys, { kind: 'there' }>): Question[] {
  const { provider, keyToBreak, wrongToken } = sandbox
  const connect = (settings: Record<string, string>): ProviderClient =>
    provider.connect({ mode: 'sandbox', settings, baseURL, http: providerHttp() })
  const connection = connect(settings)
  const ofKeys: Question[] = [
    ['the keys are good', async () => expect(await connection.verifyKeys(), 'good')],
    [
      'a wrong key is bad',
      async () => {
        const broken = brokenKey(settings[keyToBreak] ?? '')
        assert.notEqual(broken, settings[keyToBreak], 'the key was broken')
        expect(await connect({ ...settings, [keyToBreak]: broken }).verifyKeys(), 'bad')
      },
    ],
  ]
  const questions = wrongToken ? [...ofKeys, ...ofCards(sandbox, connection, wrongToken)] : ofKeys
  const { settlementLines, ...byTime } = connection.lists ?? {}
  for (const [name, list] of Object.entries(byTime)) {
    const range = { from: new Date(Date.now() - 3_600_000), to: new Date() }
    questions.push([
      `the ${name} of an hour are listed`,
      async () => expect(await list(range, null), 'page', 'unsupported'),
    ])
  }
  const { settlements } = byTime
  if (settlements && settlementLines) {
    const range = { from: new Date(Date.now() - 90 * 86_400_000), to: new Date() }
    questions.push([
      'the lines of a settlement are listed, if there is one',
      async () => {
        const listed = expect(await settlements(range, null), 'page', 'unsupported')
        const id = listed.kind === 'page' ? listed.entries.find(({ hasLines }) => hasLines)?.id : undefined
        if (id) expect(await settlementLines(id, null), 'page')
      },
    ])
  }
  if (provider.capabilities.offers['virtual-bank-account']) {
    questions.push(['an account is opened for one order', () => openAccount(sandbox, connection)])
  }
  for (const { starts, price: amount, ...wanted } of sandbox.channels ?? []) {
    questions.push([
      `${wanted.channel} in ${amount.currency} starts with ${starts}, and the order waits`,
      async () => {
        const order = { ...newOrder(sandbox), ...wanted, amount }
        const start = expect(await connection.start(order), starts)
        const { providerReference = order.reference } = start as { providerReference?: string }
        // Some sandboxes pay an order by themselves.
        expect(await connection.check(handleOf(order, providerReference, order.channel)), 'pending', 'paid')
      },
    ])
  }
  return questions
}

/** An order that is started by card, and what becomes of it. */
function ofCards(sandbox: Sandbox, connection: ProviderClient, wrongToken: string): Question[] {
  const order = newOrder(sandbox)
  let handle: OrderHandle | undefined
  const questions: Question[] = [
    ['an unknown order is missing', async () => expect(await connection.check(handleOf(newOrder(sandbox))), 'missing')],
    [
      'a card is taken on a page, and the order waits for it',
      async () => {
        const start = expect(await connection.start(order), 'link')
        assert.match(start.link, /^https?:\/\//)
        handle = handleOf(order, start.providerReference)
        expect(await connection.check(handle), 'pending')
      },
    ],
    [
      'the same reference makes no second order',
      async () => {
        assert.ok(handle, 'there is a first one')
        const again = expect(await connection.start(order), 'link', 'unknown')
        if (again.kind === 'unknown') assert.ok(!again.neverSent && !again.errorStatus, again.because)
        else if (sandbox.repeated === 'one order') assert.equal(again.providerReference, handle.providerReference)
        expect(await connection.check(handle), 'pending')
      },
    ],
    [
      'an unknown saved card is declined',
      async () => expect(await connection.chargeSavedCard(newOrder(sandbox), wrongToken), 'declined'),
    ],
    [
      'an unpaid order is not refunded',
      async () => {
        assert.ok(handle, 'there is an order')
        const reference = newReference()
        const transactionIds = [sandbox.wrongTransaction]
        const wanted: RefundOrder = { reference, order: handle, transactionIds, amount: order.amount, reason: null }
        expect(await connection.refund(wanted), ...sandbox.refundOfNothing)
      },
    ],
  ]
  const { listReversals } = connection
  if (listReversals) {
    questions.push([
      'an order that was never paid has no refunds and disputes',
      async () => {
        assert.ok(handle, 'there is an order')
        const said = expect(await listReversals(handle, []), 'reversals', 'missing')
        if (said.kind === 'reversals') assert.deepEqual([said.refunds, said.disputes], [[], []])
      },
    ])
  }
  return questions
}

async function openAccount(sandbox: Sandbox, connection: ProviderClient): Promise<void> {
  const order = newOrder(sandbox)
  const account = expect(await connection.start(byTransfer(order)), 'account')
  assert.match(account.accountNumber, /^\d{6,20}$/)
  assert.ok(account.amountToTransfer >= order.amount.amount, 'it is paid by no less than was asked for')
  // Some sandboxes pay an order by themselves.
  expect(await connection.check(handleOf(order, account.providerReference, 'virtual-bank-account')), 'pending', 'paid')
}

function expect<Said extends { kind: string }, Kind extends Said['kind']>(
  said: Said,
  ...kinds: Kind[]
): Extract<Said, { kind: Kind }> {
  const isExpected = (kinds as string[]).includes(said.kind)
  assert.ok(isExpected, `expected ${kinds.join(' or ')}, and it is ${JSON.stringify(said)}`)
  return said as Extract<Said, { kind: Kind }>
}

/** Of the form of our references, and new in each run, because a sandbox keeps its orders. */
const newReference = () => randomBytes(16).toString('hex')

const newOrder = ({ price, country }: Sandbox): Order => ({
  reference: newReference(),
  amount: price,
  country,
  customer: { email: 'ada@example.com', name: 'Ada Obi', phoneNumber: '+2348012345678' },
  merchantName: 'Manilla',
  returnURL: 'https://example.com/return',
  startedAt: new Date(),
  expiresAt: new Date(Date.now() + 2 * 3_600_000),
  channel: 'card',
  input: {},
  saveCard: false,
})

const handleOf = (
  { reference, amount }: Order,
  providerReference = reference,
  channel: Channel = 'card',
): OrderHandle => ({ reference, providerReference, channel, startedAt: new Date(), amount })
