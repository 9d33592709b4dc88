import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { gateway } from '../../../src/providers/gateway/adapter.ts'
import type { ChannelSample } from '../../fakes/conformance-rig.ts'
import type { Entry } from '../../fakes/fake-provider.ts'
import { CARD } from '../../support/simulator.ts'
import type { Random } from '../random.ts'
import type { Button, PlayedProvider } from './customers.ts'
import { LATE_BY_SECONDS } from './records.ts'
import type { Shop } from './shop.ts'

/** A payment in the provider's ledger, as its control call returns it. */
interface LedgerRecord {
  reference: string
  requested: number
  amount: number
  transactions: { id: string; kind: string; status: string; amount: number; currency: string }[]
}

const BAD_CARDS = [CARD.insufficientFunds, CARD.declined, CARD.expired]

const ACCRA = { amount: 12_000, currency: 'GHS', country: 'GH' }
const LAGOS = { amount: 1_250_000, currency: 'NGN', country: 'NG' }
const byPhone = (ends: string) => ({
  ...{ channel: 'mobile-money' as const, price: ACCRA, starts: 'prompt' as const },
  input: { network: 'mtn' as const, phoneNumber: `+233551234${ends}` },
})
/** Customers who wait to be played, and some who act by themselves. */
export const SANDBOX_CHANNELS: readonly ChannelSample[] = [
  ...['000', '000', '789', '049', '149'].map(byPhone),
  {
    ...{ ...byPhone('059'), starts: 'code wanted', input: { network: 'telecel', phoneNumber: '+233201234059' } },
    code: { right: '123456', leadsTo: 'paid' },
  },
  {
    ...{ channel: 'mobile-money', price: { amount: 12_000, currency: 'KES', country: 'KE' }, starts: 'pay to' },
    input: { network: 'mpesa-paybill' },
  },
  { channel: 'ussd', price: LAGOS, input: { bank: '058' }, starts: 'dial' },
  { channel: 'bank', price: LAGOS, input: { bank: '058' }, starts: 'link' },
  { channel: 'qr', price: LAGOS, input: {}, starts: 'qr' },
]

/** The sandbox provider, which runs in the service's own processes. Customers act on it over its control calls. */
export class Sandbox implements PlayedProvider {
  readonly provider = gateway
  readonly price = { amount: 1_250_000, currency: 'NGN', country: 'NG' }
  readonly savedCards = {}
  readonly takesWrongAmounts = true
  readonly customer: PlayedProvider['customer']
  readonly #shop: Shop
  readonly #database: Database
  /** By order: what the provider has told a customer that it took. */
  readonly #confirmed = new Map<string, number>()
  /** By order. */
  readonly #disputes = new Map<string, string>()

  constructor(shop: Shop, database: Database) {
    this.#shop = shop
    this.#database = database
    this.customer = {
      payByCard: async (order, { save }) => void (await this.#charge(order, { card: CARD.pays, save })),
      failByCard: async (order) => void (await this.#charge(order, { card: CARD.declined })),
      transfer: (order, amount) => this.#transfer(order, amount),
      approve: (order) => this.#answer(order, 'approve'),
      refuse: (order) => this.#answer(order, 'refuse'),
      expire: (order) => this.#answer(order, 'expire'),
    }
  }

  async setFaults(faults: Record<string, number>): Promise<void> {
    const { status, body } = await this.#control('faults', 'PUT', '/faults', faults)
    if (status !== 200) throw new Error(`the faults could not be set: ${JSON.stringify(body)}`)
  }

  async press(order: string, button: Button, random: Random): Promise<void> {
    if (button === 'decline') return void (await this.#charge(order, { card: random.pick(BAD_CARDS) }))
    if (button === 'silence') return void (await this.#charge(order, { card: CARD.staysSilent }))
    if (button === 'code') {
      await this.#charge(order, { card: CARD.asksForCode })
      if (random.chance(0.5)) await this.#charge(order, { card: CARD.asksForCode, otp: '000000' })
      return void (await this.#charge(order, { card: CARD.asksForCode, otp: '123456' }))
    }
    // The page offers a card that the customer saved. 422: it has none to offer.
    if (random.chance(0.5) && (await this.#charge(order, {})) !== 422) return
    await this.#charge(order, { card: CARD.pays })
  }

  async refundAtProvider(order: string, amount: number): Promise<string | undefined> {
    const { status, body } = await this.#control('refund at provider', 'POST', '/refunds', { reference: order, amount })
    return status === 201 ? body.data.id : undefined
  }

  async disputeAtProvider(order: string, dispute: { amount: number; reason: string }): Promise<string> {
    const { status, body } = await this.#control('dispute', 'POST', '/disputes', { reference: order, ...dispute })
    if (status !== 201) throw new Error(`${order} could not be disputed: ${JSON.stringify(body)}`)
    this.#disputes.set(order, body.data.id)
    return body.data.id
  }

  async closeDispute(id: string, outcome: 'won' | 'lost'): Promise<void> {
    const { status, body } = await this.#control('close dispute', 'POST', `/disputes/${id}/close`, { outcome })
    if (status !== 200) throw new Error(`${id} could not be closed: ${JSON.stringify(body)}`)
  }

  async ledger(): Promise<{ taken: Entry[]; givenBack: Entry[] }> {
    const records = await this.#records()
    const entriesOf = (kinds: string[]) =>
      records.flatMap(({ reference, transactions }) =>
        transactions
          .filter(({ kind, status }) => kinds.includes(kind) && status === 'paid')
          // Money that a dispute took is known by the dispute.
          .map(({ id, kind, amount, currency }) => {
            const name = kind === 'dispute' ? this.#disputes.get(reference) : id
            return { reference, id: name, amount: { amount, currency } } as Entry
          }),
      )
    return { taken: entriesOf(['charge', 'transfer']), givenBack: entriesOf(['refund', 'dispute']) }
  }

  /** What the comparison of a fake does not see: orders without money, lost confirmations, and checks that are late. */
  async compareOrders(): Promise<string[]> {
    const records = new Map((await this.#records()).map((record) => [record.reference, record]))
    const attempts = await this.#database.rows<{
      reference: string
      order: string
      charged: number
      status: string
      is_overdue: boolean
      is_unscheduled: boolean
    }>(sql`
      select reference, order_reference as order, amount_charged as charged, status,
             coalesce(greatest(next_check_at, check_leased_until) < now() - ${LATE_BY_SECONDS} * interval '1 second'
                      and next_check_at is not null, false) as is_overdue,
             status = 'processing' and next_check_at is null and not exists (select from cases c where c.subject = attempts.id::text) as is_unscheduled
        from attempts`)
    const chargedOf = new Map(attempts.map(({ order, charged }) => [order, charged]))
    return [
      ...[...records.values()].flatMap(({ reference, requested }) => {
        const charged = chargedOf.get(reference)
        if (charged === undefined) return [`${reference}: the provider has it, and we have no such attempt`]
        return charged === requested
          ? []
          : [`${reference}: we charge ${charged}, the provider was asked for ${requested}`]
      }),
      ...[...this.#confirmed]
        .filter(([order, amount]) => amount > (records.get(order)?.amount ?? 0))
        .map(([order]) => `${order}: the provider confirmed money to a customer that its ledger does not have`),
      ...attempts.flatMap(({ reference, is_overdue, is_unscheduled }) => [
        ...(is_overdue ? [`${reference}: its check is more than ${LATE_BY_SECONDS} s late`] : []),
        ...(is_unscheduled ? [`${reference}: processing, and no check is scheduled`] : []),
      ]),
    ]
  }

  /** The faults that it has made, by what it and the service have written down. */
  async injected(): Promise<Record<string, number>> {
    const row = await this.#database.row<Record<string, number>>(sql`
      select (select count(*) from gateway_notices where state = 'lost') as "notices lost",
             (select count(*) - count(distinct body) from gateway_notices) as "notices doubled",
             (select count(*) from gateway_notices where tries > 1) as "notices sent late",
             (select count(*) from gateway_transactions t join gateway_payments p on p.id = t.payment_id
               where t.kind = 'charge' and t.status = 'paid' and t.amount <> p.requested) as "wrong amounts",
             (select coalesce(sum(times), 0)::integer from provider_calls) as calls,
             (select coalesce(sum(times), 0)::integer from provider_calls
               where detail = 'no whole answer before the deadline') as "calls unanswered",
             (select coalesce(sum(times), 0)::integer from provider_calls
               where detail like 'it answered 5%') as "calls failed"`)
    return row ?? {}
  }

  /** Returns the status. A broken call is repeated: the provider answers that the card is charged already. */
  async #charge(order: string, body: { card?: string; otp?: string; save?: boolean }): Promise<number> {
    const { status, body: answer } = await this.#control('charge', 'POST', `/charges/${order}`, body)
    if (status === 200 && ['paid', 'pending'].includes(answer.data.result)) {
      const { transactions } = answer.data as LedgerRecord
      this.#confirm(order, transactions.findLast((each) => each.status !== 'failed')?.amount)
    }
    return status
  }

  /** A broken call is repeated: the provider answers that it is decided already. */
  async #answer(order: string, answer: 'approve' | 'refuse' | 'expire'): Promise<void> {
    const { status, body } = await this.#control('answer', 'POST', `/prompts/${order}`, { answer })
    if (status === 200 && answer === 'approve') {
      const { transactions } = body.data as LedgerRecord
      this.#confirm(order, transactions.findLast((each) => each.status === 'paid')?.amount)
    }
  }

  /** A broken transfer is not repeated: it may have been made or not. */
  async #transfer(order: string, amount: number): Promise<void> {
    const row = await this.#database.row<{ account: string }>(
      sql`select account_number as account from gateway_payments where reference = ${order}`,
    )
    const wanted = { accountNumber: row?.account, amount }
    const { status } = await this.#shop.ask('transfer', 'POST', '/sandbox/gateway/transfers', wanted)
    if (status === 200) this.#confirm(order, amount)
  }

  #confirm(order: string, amount = 0): void {
    this.#confirmed.set(order, (this.#confirmed.get(order) ?? 0) + amount)
  }

  async #records(): Promise<LedgerRecord[]> {
    const records: LedgerRecord[] = []
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const path = `/ledger?limit=1000&cursor=${cursor}`
      const { status, body }: { status: number; body: Page } = await this.#control('ledger', 'GET', path)
      if (status !== 200) throw new Error(`the ledger cannot be read: ${status}`)
      records.push(...body.data)
      cursor = body.nextCursor
    }
    return records
  }

  #control(name: string, method: string, path: string, body?: unknown) {
    return this.#shop.askUntilKnown(name, method, `/sandbox/gateway${path}`, body)
  }
}

interface Page {
  data: LedgerRecord[]
  nextCursor: string | null
}
