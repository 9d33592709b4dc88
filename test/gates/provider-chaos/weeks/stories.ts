import type { ChannelSample, Features } from '../../../fakes/conformance-rig.ts'
import type { Random } from '../../random.ts'
import { orderOf } from '../customers.ts'
import type { AttemptSeen } from '../shop.ts'
import { DAY, HOUR, MINUTE } from './clock.ts'
import { BANK, Sale, type Stage } from './sale.ts'
import { ANSWERED, AWAY, REFUSED, type Window } from './weather.ts'

type Kept = Pick<Features, 'wrongTransferAmounts' | 'channels' | 'refundsWholeOnly'>

interface Story {
  weight: number
  /** When the payment is made; absent: some time in the first days. */
  at?(random: Random): number
  isPossible?(stage: Stage, features: Kept): boolean
  play(sale: Sale): Promise<unknown>
}

/** Payments are made before, between and after the two times at which no call is answered. */
const MADE: Window[] = [...ANSWERED, [REFUSED[1], REFUSED[1] + DAY]]

const hasDisputes = ({ fake }: Stage) => fake.disputeAtProvider !== undefined
const keepsTransfers = (_: Stage, { wrongTransferAmounts }: Kept) => wrongTransferAmounts === 'kept'
const hasChannels = ({ channels }: Stage) => channels.length > 0
/** The customer can pay the same payment by card, too. */
const inSameCurrency = ({ channels, fake }: Stage) =>
  channels.filter(({ price, starts }) => price.currency === fake.price.currency && starts !== 'pay to')
/** A card that is charged twice by one link. */
const takesTwice = ({ fake }: Stage) => fake.takesTwice === true

/** What happens to a payment, by the name that the report has for it. */
export const STORIES: Record<string, Story> = {
  'paid once': { weight: 8, play: (sale) => paid(sale, async () => {}) },
  'never paid': { weight: 2, play: (sale) => sale.start() },
  'paid by two links': {
    weight: 4,
    async play(sale) {
      const [first, second] = [await sale.start(), await sale.start()]
      sale.after(HOUR, () => sale.pay(second))
      sale.after(sale.random.pick([HOUR, 5 * HOUR]), () => sale.pay(first))
    },
  },
  'paid, then not paid for days': {
    weight: 5,
    play: (sale) =>
      paid(sale, async (order) => {
        const from = sale.stage.now() + sale.random.pick([2 * HOUR, DAY])
        sale.stage.weather.set(order, { unpaid: [from, from + 2 * DAY] })
      }),
  },
  'two transfers, then an answer without their list': {
    weight: 6,
    isPossible: (stage, features) => keepsTransfers(stage, features) && stage.weather.canOmitList,
    play: (sale) =>
      transferredInParts(sale, async (order) => {
        const from = sale.stage.now() + 30 * MINUTE
        sale.stage.weather.set(order, { withoutList: [from, from + 2 * DAY] })
      }),
  },
  'two transfers': {
    weight: 4,
    isPossible: keepsTransfers,
    play: (sale) => transferredInParts(sale, async () => {}, sale.random.pick([HOUR, 2 * DAY])),
  },
  'paid, and not shown as paid for three days': {
    weight: 5,
    play: (sale) =>
      paid(sale, async (order) => {
        const now = sale.stage.now()
        sale.stage.weather.set(order, { unpaid: [now, now + 3 * DAY] })
      }),
  },
  'reversed without a refund': {
    weight: 6,
    isPossible: ({ weather }) => weather.canReverse,
    play: (sale) =>
      paid(sale, async (order) => sale.stage.weather.set(order, { reversedFrom: sale.stage.now() + 5 * DAY })),
  },
  'refund fails after 20 days': {
    weight: 5,
    isPossible: ({ weather }) => weather.canChangeRefunds,
    play: (sale) => paid(sale, async (order) => sale.after(DAY, () => refundThatFails(sale, order))),
  },
  'answer to a refund lost, and the list late': {
    weight: 5,
    play: (sale) =>
      paid(sale, async (order, attempt) => {
        sale.after(DAY, async () => {
          sale.stage.weather.set(order, { losesRefundAnswer: true, lagsRefunds: sale.random.pick([HOUR, DAY]) * 2 })
          await sale.refund(part(attempt, 3))
        })
      }),
  },
  'refund of more than was asked for': {
    weight: 3,
    isPossible: ({ weather }) => weather.canChangeRefunds,
    play: (sale) => paid(sale, async (order, attempt) => sale.after(DAY, () => refundThatGrows(sale, order, attempt))),
  },
  'dashboard refund after 25 days': {
    weight: 4,
    play: (sale) =>
      paid(sale, async (order, attempt) => {
        sale.after(25 * DAY, () => inDashboard(sale, order, part(attempt, 3)))
      }),
  },
  'dashboard refund in part': {
    weight: 3,
    play: (sale) =>
      paid(sale, async (order, attempt) => {
        sale.after(2 * DAY, () => sale.refundInDashboard(order, part(attempt, 5)))
      }),
  },
  'dashboard refund equal to one of ours': {
    weight: 4,
    play: (sale) =>
      paid(sale, async (order, attempt) => {
        sale.after(DAY, () => sale.refund(part(attempt, 3)))
        sale.after(sale.random.pick([25 * HOUR, 3 * DAY]), () => inDashboard(sale, order, part(attempt, 3)))
      }),
  },
  'dashboard refund made twice': {
    weight: 4,
    play: (sale) =>
      paid(sale, async (order, attempt) => {
        sale.after(2 * DAY, () => sale.refundInDashboard(order, part(attempt, 3)))
        sale.after(sale.random.pick([2 * DAY, 3 * DAY]), () => inDashboard(sale, order, part(attempt, 3)))
      }),
  },
  'dispute of day 10 closed on day 40, in silence': {
    weight: 6,
    isPossible: hasDisputes,
    play: (sale) => paid(sale, async (order, attempt) => sale.after(10 * DAY, () => disputed(sale, order, attempt))),
  },
  'dashboard refund equal to a lost dispute': {
    weight: 3,
    isPossible: hasDisputes,
    play: (sale) =>
      paid(sale, async (order, attempt) => {
        const amount = part(attempt, 3)
        sale.after(2 * DAY, () => inDashboard(sale, order, amount))
        sale.after(3 * DAY, async () => {
          const dispute = await sale.dispute(order, amount)
          if (dispute) sale.after(2 * DAY, () => sale.close(dispute, 'lost'))
        })
      }),
  },
  'second charge after two days, answered 500': {
    weight: 6,
    isPossible: (stage, features) => takesTwice(stage) || keepsTransfers(stage, features),
    async play(sale) {
      const attempt = await sale.start(takesTwice(sale.stage) ? 'card' : BANK)
      if (!attempt) return
      const pay = () => (attempt.channel === 'card' ? sale.pay(attempt) : sale.transfer(attempt, 1))
      sale.after(HOUR, pay)
      sale.after(HOUR + 2 * DAY, async () => {
        const now = sale.stage.now()
        sale.stage.weather.set(orderOf(attempt), { answers500: [now, now + 3 * HOUR] })
        await sale.stage.post.during('delivered', pay)
      })
    },
  },
  'transfer to an old account number': {
    weight: 5,
    isPossible: keepsTransfers,
    async play(sale) {
      const attempt = await sale.start(BANK)
      if (sale.random.chance(0.5)) sale.after(HOUR, () => sale.transfer(attempt, 1))
      sale.after(sale.random.pick([4, 9, 16]) * DAY, () => sale.transfer(attempt, 1))
    },
  },
  'approved on the phone': {
    weight: 4,
    isPossible: hasChannels,
    play: (sale) => approved(sale, sale.random.pick([...sale.stage.channels]), 5 * MINUTE),
  },
  'approved on the phone when its time was over': {
    weight: 6,
    isPossible: hasChannels,
    async play(sale) {
      const sample = sale.random.pick([...sale.stage.channels])
      await approved(sale, sample, sale.random.pick([3 * HOUR, 2 * DAY, 6 * DAY]))
    },
  },
  'a code that never comes': {
    weight: 2,
    isPossible: hasChannels,
    play: (sale) => sale.startBy(sale.random.pick([...sale.stage.channels]), { givesCode: false }),
  },
  'asked on the phone, and paid by card meanwhile': {
    weight: 6,
    isPossible: (stage) => inSameCurrency(stage).length > 0,
    async play(sale) {
      const { customer } = sale.stage.fake
      const attempt = await sale.startBy(sale.random.pick(inSameCurrency(sale.stage)))
      const byCard = await sale.start()
      sale.after(HOUR, () => sale.pay(byCard))
      if (attempt) sale.after(sale.random.pick([2 * HOUR, 2 * DAY]), async () => customer.approve?.(orderOf(attempt)))
    },
  },
  'paid while the provider was away': {
    weight: 6,
    at: () => AWAY[0] - 2 * HOUR,
    play: (sale) => paid(sale, async () => {}, 2 * HOUR + sale.random.between(0, 12) * HOUR),
  },
  'paid while the keys were refused': {
    weight: 6,
    at: () => REFUSED[0] - 2 * HOUR,
    play: (sale) => paid(sale, async () => {}, 2 * HOUR + sale.random.between(0, 12) * HOUR),
  },
}

export const isPossible = (name: string, stage: Stage, features: Kept): boolean =>
  STORIES[name]?.isPossible?.(stage, features) ?? true

/** Plans all payments of a run. */
export function plan(
  stage: Stage,
  features: Kept,
  { payments, random }: { payments: number; random(number: number): Random },
): void {
  const names = Object.keys(STORIES).filter((name) => isPossible(name, stage, features))
  // Each at least once, if there are as many payments; the others by weight.
  const weighted = names.flatMap((name) => Array.from({ length: STORIES[name]?.weight ?? 0 }, () => name))
  for (let number = 0; number < payments; number++) {
    const own = random(number)
    const name = names[number] ?? own.pick(weighted)
    const story = STORIES[name] as Story
    const sale = new Sale(stage, own, { number, fault: name })
    stage.agenda.at(story.at?.(own) ?? own.between(...own.pick(MADE)), () => story.play(sale))
  }
}

type Then = (order: string, attempt: AttemptSeen) => Promise<unknown>

async function paid(sale: Sale, then: Then, afterMs = HOUR): Promise<void> {
  const attempt = await sale.start()
  if (!attempt) return
  sale.after(afterMs, async () => {
    await sale.pay(attempt)
    await then(orderOf(attempt), attempt)
  })
}

/** Asked for so long; after the first hour its time is over. */
async function approved(sale: Sale, sample: ChannelSample, afterMs: number): Promise<void> {
  const { approve, expire } = sale.stage.fake.customer
  const attempt = await sale.startBy(sample)
  if (!attempt) return
  if (afterMs > HOUR && sample.starts !== 'pay to') sale.after(HOUR, async () => expire?.(orderOf(attempt)))
  sale.after(afterMs, async () => approve?.(orderOf(attempt)))
}

async function transferredInParts(sale: Sale, then: Then, apartMs = HOUR): Promise<void> {
  const attempt = await sale.start(BANK)
  if (!attempt) return
  sale.after(10 * MINUTE, () => sale.transfer(attempt, 0.4))
  sale.after(10 * MINUTE + apartMs, async () => {
    await sale.transfer(attempt, 0.6)
    await then(orderOf(attempt), attempt)
  })
}

async function refundThatFails(sale: Sale, order: string): Promise<void> {
  const { fake, weather, now } = sale.stage
  await sale.refund()
  // The service asks the provider for it at some time after the call.
  sale.after(DAY, async () => {
    const refund = fake.ledger().givenBack.find(({ reference }) => reference === order)
    if (refund) weather.changeRefund(refund.id, { order, less: refund.amount.amount, at: now() + 19 * DAY })
  })
}

async function refundThatGrows(sale: Sale, order: string, attempt: AttemptSeen): Promise<void> {
  const { fake, weather, now } = sale.stage
  const amount = part(attempt, 300) * 100
  await sale.refund(amount)
  sale.after(HOUR, async () => {
    const refund = fake.ledger().givenBack.find(({ reference }) => reference === order)
    if (refund) weather.changeRefund(refund.id, { order, less: -amount / 2, at: now() })
  })
}

/** Half of its notices are lost for certain. */
const inDashboard = (sale: Sale, order: string, amount: number) =>
  sale.random.chance(0.5)
    ? sale.stage.post.during('lost', () => sale.refundInDashboard(order, amount))
    : sale.refundInDashboard(order, amount)

async function disputed(sale: Sale, order: string, attempt: AttemptSeen): Promise<void> {
  const { post } = sale.stage
  const outcome = sale.random.pick(['won', 'lost'] as const)
  await post.during('delivered', async () => {
    const dispute = await sale.dispute(order, attempt.amountCharged)
    if (dispute) sale.after(30 * DAY, () => post.during('lost', () => sale.close(dispute, outcome)))
  })
}

const part = ({ amountCharged }: AttemptSeen, of: number) => Math.ceil(amountCharged / of)
