import type { Random } from '../random.ts'
import { Visit, type World } from './customers.ts'

type Story = (visit: Visit, random: Random) => Promise<void>

const BANK = 'virtual-bank-account'

/** The behaviours of customers, with their weights. */
const BY_CARD: [number, Story][] = [
  [12, paidOnPage],
  [10, async (visit) => visit.pay(await visit.initialize())],
  [4, paidInTwoTabs],
  [6, declinedThenPaid],
  [5, declinedThenAnotherTry],
  [3, async (visit) => visit.pay(await visit.initialize(), 'decline')],
  [4, async (visit) => void (await visit.initialize())],
  [2, neverPaysOnPage],
  [7, keepsCardThenPaysWithIt],
  [6, paidTwice],
  [4, cancelledThenPaid],
  [3, cancelled],
]
/** Of a provider whose fake has saved cards of every kind. */
const BY_SAVED_CARD: [number, Story][] = [
  [4, async (visit) => visit.pay(await withCard(visit, 'paying'))],
  [4, cardDeclinesThenAnother],
  [5, bankAsks],
]
/** Of the sandbox provider, which has a card for each. */
const BY_TEST_CARD: [number, Story][] = [
  [6, async (visit) => visit.pay(await visit.initialize(), 'code')],
  [6, async (visit) => visit.pay(await visit.initialize(), 'silence')],
  [4, paidThenRefunded],
]
const BY_TRANSFER: [number, Story][] = [
  [6, async (visit) => visit.transfer(await visit.initialize(BANK), [1])],
  [4, onPageByTransfer],
  [4, async (visit) => visit.transfer(await visit.initialize(BANK), [0.4, 0.6])],
  [2, async (visit) => visit.transfer(await visit.initialize(BANK), [0.7])],
  [3, async (visit) => visit.transfer(await visit.initialize(BANK), [1.3])],
  [3, async (visit) => visit.transfer(await visit.initialize(BANK), [1, 1])],
  [2, async (visit) => visit.transfer(await visit.initialize(BANK), [0.5, 0.5, 0.5, 0.5])],
  [3, partThenCard],
  [2, accountAndCard],
  [2, cancelledThenTransferred],
  [1, async (visit) => void (await visit.initialize(BANK))],
]
/** By a channel beside cards and bank transfers, of which the visit has a sample. */
const BY_CHANNEL: [number, Story][] = [
  [8, approved],
  [3, async (visit) => visit.decide(await visit.startChannel(), 'refuse')],
  [2, async (visit) => void (await visit.startChannel())],
  [4, approvedLate],
  [3, (visit) => notApprovedThenCard(visit, 'refuse')],
  [3, (visit) => notApprovedThenCard(visit, 'expire')],
  [4, promptAndCard],
  [3, wrongCodesThenCard],
  [2, cancelledThenApproved],
]
const CHANNEL_STORIES: ReadonlySet<Story> = new Set(BY_CHANNEL.map(([, story]) => story))
/** What happens to payments that were paid once and in full, as cumulative probabilities. */
const LATER: [number, (visit: Visit) => Promise<void>][] = [
  [0.3, (visit) => visit.refund()],
  [0.4, (visit) => visit.refundAtProvider()],
  [0.5, async (visit) => void (await Promise.all([visit.refundAtProvider(), visit.refund()]))],
  [0.65, (visit) => visit.dispute()],
]
const REFUNDABLE: ReadonlySet<Story> = new Set([
  paidOnPage,
  declinedThenPaid,
  onPageByTransfer,
  declinedThenAnotherTry,
  approved,
])

/** One customer from the first call to the last; with what the merchant does later, if anything. */
export async function visit(world: World, random: Random, number: number): Promise<(() => Promise<void>) | undefined> {
  const { provider, press } = world.fake
  const hasAccounts = provider.capabilities.offers[BANK] !== undefined
  const byCard = [...BY_CARD, ...(press ? BY_TEST_CARD : BY_SAVED_CARD)]
  const stories = [
    ...(provider.capabilities.offers.card ? byCard : []),
    ...(hasAccounts ? BY_TRANSFER : []),
    ...(world.channels.length > 0 ? BY_CHANNEL : []),
  ]
  const total = stories.reduce((sum, [weight]) => sum + weight, 0)
  let drawn = random.between(1, total)
  const story = stories.find(([weight]) => {
    drawn -= weight
    return drawn <= 0
  })?.[1] as Story
  const sample = CHANNEL_STORIES.has(story) ? random.pick([...world.channels]) : undefined
  const customer = new Visit(world, random, number, { sample })
  await story(customer, random)
  if (!REFUNDABLE.has(story)) return undefined
  const next = random.next()
  const later = LATER.find(([share]) => next < share)?.[1]
  return (
    later &&
    (async () => {
      await customer.untilSuccessful()
      await later(customer)
    })
  )
}

async function approved(visit: Visit): Promise<void> {
  await visit.decide(await visit.startChannel(), 'approve')
}

async function approvedLate(visit: Visit): Promise<void> {
  const attempt = await visit.startChannel()
  await visit.decide(attempt, 'expire')
  await visit.moment()
  await visit.decide(attempt, 'approve')
}

async function notApprovedThenCard(visit: Visit, what: 'refuse' | 'expire'): Promise<void> {
  await visit.decide(await visit.startChannel(), what)
  await visit.moment()
  await visit.pay(await visit.initialize())
}

/** A second try while the phone still asks, and both take money. */
async function promptAndCard(visit: Visit, random: Random): Promise<void> {
  const prompt = await visit.startChannel()
  const card = await visit.initialize()
  if (random.chance(0.5)) return void (await Promise.all([visit.decide(prompt, 'approve'), visit.pay(card)]))
  await visit.pay(card)
  await visit.moment()
  await visit.decide(prompt, 'approve')
}

/** Where no code is wanted, it is a card after all. */
async function wrongCodesThenCard(visit: Visit): Promise<void> {
  const { channel = 'card', input = {}, code } = visit.sample ?? {}
  const attempt = code && (await visit.initialize(channel, { input }))
  for (let tries = 0; attempt && tries < 3; tries++) await visit.giveCode(attempt, '999999')
  await visit.moment()
  await visit.pay(await visit.initialize())
}

async function cancelledThenApproved(visit: Visit): Promise<void> {
  const attempt = await visit.startChannel()
  await visit.cancel()
  await visit.moment()
  await visit.decide(attempt, 'approve')
}

async function paidOnPage(visit: Visit): Promise<void> {
  await visit.checkout()
  await visit.pay(await visit.press())
}

async function onPageByTransfer(visit: Visit): Promise<void> {
  await visit.checkout()
  await visit.transfer(await visit.press(BANK), [1])
}

async function neverPaysOnPage(visit: Visit): Promise<void> {
  await visit.checkout()
  await visit.press()
}

/** On the same page of the provider's. */
async function declinedThenPaid(visit: Visit): Promise<void> {
  const attempt = await visit.initialize()
  await visit.pay(attempt, 'decline')
  await visit.moment()
  await visit.pay(attempt)
}

async function declinedThenAnotherTry(visit: Visit): Promise<void> {
  await visit.checkout()
  await visit.pay(await visit.press(), 'decline')
  await visit.moment()
  await visit.pay(await visit.initialize())
}

async function keepsCardThenPaysWithIt(visit: Visit, random: Random): Promise<void> {
  await visit.payAndKeep(await visit.initialize('card', { saveCard: true }))
  await visit.untilSuccessful()
  const next = visit.again()
  if (random.chance(0.5)) return next.pay(await next.initialize())
  await next.checkout()
  await next.pay(await next.press('card', { card: 'saved' }))
}

/** With a card of that kind on file, and a checkout to use it on. */
async function withCard(visit: Visit, kind: 'paying' | 'declining' | 'askingForAStep') {
  await visit.hasCard(kind)
  await visit.checkout()
  return visit.press('card', { card: 'saved' })
}

async function cardDeclinesThenAnother(visit: Visit): Promise<void> {
  await withCard(visit, 'declining')
  await visit.moment()
  await visit.pay(await visit.press('card', { card: 'new' }))
}

async function bankAsks(visit: Visit, random: Random): Promise<void> {
  await visit.pay(await withCard(visit, 'askingForAStep'), random.pick(['pay', 'pay', 'pay', 'decline']))
}

/** One link, open in two tabs. Most providers close it after the first. */
async function paidInTwoTabs(visit: Visit): Promise<void> {
  const attempt = await visit.initialize()
  await visit.pay(attempt)
  await visit.moment()
  await visit.pay(attempt)
}

/** A link that has expired here and the one after it are both paid. */
async function paidTwice(visit: Visit, random: Random): Promise<void> {
  const first = await visit.initialize()
  await visit.closeInstructions()
  const second = await visit.initialize()
  if (random.chance(0.5)) return void (await Promise.all([visit.pay(first), visit.pay(second)]))
  await visit.pay(second)
  await visit.moment()
  await visit.pay(first)
}

async function cancelledThenPaid(visit: Visit): Promise<void> {
  const attempt = await visit.initialize()
  await visit.cancel()
  await visit.moment()
  await visit.pay(attempt)
}

async function cancelledThenTransferred(visit: Visit): Promise<void> {
  const attempt = await visit.initialize(BANK)
  await visit.cancel()
  await visit.transfer(attempt, [1])
}

async function cancelled(visit: Visit, random: Random): Promise<void> {
  await visit.checkout()
  if (random.chance(0.7)) await visit.press()
  await visit.cancel()
}

/** While other customers pay and copies are killed. */
async function paidThenRefunded(visit: Visit): Promise<void> {
  await visit.pay(await visit.initialize())
  await visit.untilSuccessful()
  await visit.refund()
}

/** Partial money is surplus after another attempt paid, and is refunded. */
async function partThenCard(visit: Visit, random: Random): Promise<void> {
  await visit.transfer(await visit.initialize(BANK), random.pick([[0.5], [0.3, 0.4]]))
  await visit.pay(await visit.initialize())
}

async function accountAndCard(visit: Visit, random: Random): Promise<void> {
  const account = await visit.initialize(BANK)
  const card = await visit.initialize()
  if (random.chance(0.5)) {
    await visit.transfer(account, [1])
    return visit.pay(card)
  }
  await Promise.all([visit.transfer(account, [1]), visit.pay(card)])
}
