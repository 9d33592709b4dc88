import { sql } from '../../../src/database/sql.ts'
import type { Entry } from '../../fakes/fake-provider.ts'
import { manilla } from '../manilla.ts'
import { compareNames } from '../provider-chaos/check.ts'
import { type Market, untilSettled } from '../whole-payments/market.ts'
import type { Processes } from '../whole-payments/processes.ts'

const SETTLED_WITHIN_MS = 60_000

/** Each transaction and refund of the provider is on record once, and each payment with money is successful. */
export async function compareWithLedger(market: Market, processes: Processes): Promise<string[]> {
  const { database, fake, world } = market
  const open = await untilSettled(market, SETTLED_WITHIN_MS)
  const { taken, givenBack } = fake.ledger()
  const receipts = await database.rows<Row>(sql`
    select transaction_id as id, amount from receipts where attempt_id is not null`)
  const refunds = await database.rows<Row>(sql`
    select provider_refund_id as id, amount from refunds where status = 'successful'`)
  const unpaid = await database.rows<{ reference: string }>(sql`
    select reference from payments where status <> 'successful'`)
  const known = await database.rows<{ reference: string }>(sql`select reference from payments`)
  const references = new Set(known.map(({ reference }) => reference))
  const audits = await Promise.all([
    manilla(processes, ['audit']),
    manilla(processes, ['audit', '--provider', '--only', 'paystack']),
  ])
  return [
    ...open,
    ...compareRows('receipt', receipts, taken),
    ...compareRows('refund', refunds, givenBack),
    ...unpaid.map(({ reference }) => `${reference} was paid, and is not successful`),
    ...world.told.payments.filter((each) => !references.has(each)).map((each) => `${each} is not there`),
    ...audits.flatMap(({ code, out }) => (code === 0 ? [] : [out.trim()])),
  ]
}

interface Row {
  id: string
  amount: number
}

/** Without the order: a lost payment that was adopted has another one. */
function compareRows(what: string, ours: Row[], theirs: Entry[]): string[] {
  return compareNames(
    what,
    ours.map(({ id, amount }) => `${id} of ${amount}`),
    theirs.map(({ id, amount }) => `${id} of ${amount.amount}`),
  )
}
