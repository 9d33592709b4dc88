import type { Database } from '../../../../src/database/database.ts'
import { sql } from '../../../../src/database/sql.ts'
import { type Currency, money } from '../../../../src/kernel/money.ts'
import { providerHttp } from '../../../../src/outbound/provider-http.ts'
import type { Order } from '../../../../src/providers/provider.ts'
import type { Random } from '../../random.ts'
import { HOUR } from './clock.ts'
import type { Stage } from './sale.ts'
import { ANSWERED } from './weather.ts'

/** Of all payments: so many more of another shop. */
const SHARE = 0.05
const NAME = 'other-shop-'

/** Another shop with the same account: its payments are in the lists, too, and are no case of ours. */
export function planOtherShop(stage: Stage, payments: number, random: Random): void {
  const { fake, agenda, post, now } = stage
  const { price, provider, settings, upstream } = fake
  const client = provider.connect({
    mode: 'sandbox',
    settings,
    baseURL: fake.baseURL ?? upstream.url,
    http: providerHttp(),
  })
  for (let number = 0; number < Math.ceil(payments * SHARE); number++) {
    const reference = `${NAME}${number}`
    agenda.at(random.between(...random.pick(ANSWERED)), async () => {
      const [startedAt, expiresAt] = [new Date(), new Date(Date.now() + 23 * HOUR)]
      const order: Order = {
        ...{ channel: 'card', input: {} },
        ...{ reference, startedAt, expiresAt, country: price.country, saveCard: false },
        amount: money(random.between(60_000, 5_000_000), price.currency as Currency),
        customer: { email: 'other@example.com', name: null, phoneNumber: null },
        ...{ merchantName: 'Another shop', returnURL: 'https://other.example/return' },
      }
      if ((await client.start(order)).kind !== 'link') return
      const act = async () => {
        await fake.customer.payByCard(reference, { save: false })
        if (random.chance(0.5)) await fake.refundAtProvider(reference, Math.ceil(order.amount.amount / 3))
      }
      agenda.at(now() + HOUR, () => post.during('lost', act))
    })
  }
}

/** What the service has on record about them. `cases`: the open ones. */
export async function compareOtherShop(
  database: Database,
  { fake }: Pick<Stage, 'fake'>,
  cases: string[],
): Promise<{ payments: number; found: string[] }> {
  const theirs = fake.ledger().taken.filter(({ reference }) => reference.startsWith(NAME))
  const ids = theirs.map(({ id }) => id)
  const booked = await database.rows<{ id: string }>(
    sql`select transaction_id as id from receipts where transaction_id = any(${ids}::text[])`,
  )
  const found = [
    ...booked.map(({ id }) => `the transaction ${id} of another shop is in the books`),
    ...cases.filter((text) => text.includes(NAME)).map((text) => `a case is about a payment of another shop: ${text}`),
  ]
  return { payments: theirs.length, found }
}
