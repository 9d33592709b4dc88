import { readConfig } from '../../config/config.ts'
import { databaseClock } from '../../database/database-clock.ts'
import { writeDemoPayments } from '../../demo-data/payments.ts'
import { hasDemoPayments, insertDemoDeliveries } from '../../demo-data/payments-store.ts'
import { writeDemoSettlements } from '../../demo-data/settlements.ts'
import { demoReference } from '../../demo-data/story.ts'
import { newWebhookSecret } from '../../events/webhook-secret.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { newId } from '../../kernel/ids.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { findMerchant } from '../../merchants/merchant-store.ts'
import { linksOn } from '../../payments/links.ts'
import { resetRollups } from '../../payments/store/rollups.ts'
import { foldRollups, sumUpDays } from '../../payments/upkeep/fold-rollups.ts'
import type { Endpoint } from '../../webhooks/endpoint.ts'
import { endpointSecretContext, insertEndpoint, saveEndpoint } from '../../webhooks/endpoint-store.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { openSecrets, withDatabase } from '../with-database.ts'

const DAY_MS = 24 * 3_600_000
/** Webhooks are on record for these days, and were not delivered between the other two. */
const [RECORDED_DAYS, FAILED_FROM_DAYS, FAILED_TO_DAYS] = [20, 4, 1]

/** Only into the sandbox of the sandbox merchant: there is no option for another one. */
export const demoData: Command = {
  name: 'demo-data',
  summary: 'Fill the sandbox of the sandbox merchant with payments of the last months, to see the dashboard with',
  options: {
    payments: { value: 'N', summary: 'How many (default: 3000)' },
    days: { value: 'N', summary: 'Over how many days until now (default: 90)' },
    seed: { value: 'N', summary: 'Another number gives other payments (default: 1)' },
  },
  async run(options) {
    const [payments, days, seed] = [
      wholeNumber(options, 'payments', 3_000, 100_000),
      wholeNumber(options, 'days', 90, 365),
      wholeNumber(options, 'seed', 1, 9_999),
    ]
    const config = readConfig(process.env)
    await withDatabase(async ({ database }) => {
      const merchant = await findMerchant(database, SANDBOX_MERCHANT_ID)
      if (!merchant)
        throw new OperatorError(
          'This database has no sandbox merchant yet. Start the service once (npm start), then try again.',
        )
      const scope = { place: merchant.place, merchantId: merchant.id, mode: 'sandbox' as const }
      if (await hasDemoPayments(database, scope, demoReference({ seed }, 1)))
        throw new OperatorError(`The sandbox has the demo data of seed ${seed} already. Add more with another --seed.`)
      const clock = await databaseClock(database)
      const now = clock.now()
      const secrets = await openSecrets(config, database)
      const links = linksOn(() => config.publicUrl ?? 'http://localhost:3000')
      await writeDemoPayments({ database, links, secrets }, scope, { payments, days, seed, now })
      await writeDemoSettlements(database, scope, { seed, now })
      const endpoint: Endpoint = {
        id: newId('endpoint', now),
        ...{
          merchantId: merchant.id,
          mode: 'sandbox',
          url: 'https://shop.example/webhooks',
          events: [],
          enabled: false,
        },
        ...{
          disabledReason: 'The demo data switched it off: shop.example does not exist.',
          failingSince: null,
          createdAt: now,
        },
      }
      await database.transaction(async (tx) => {
        await insertEndpoint(tx, endpoint, secrets.seal(newWebhookSecret(), endpointSecretContext(endpoint.id)))
        await saveEndpoint(tx, endpoint)
        const daysAgo = (days: number) => new Date(now.getTime() - days * DAY_MS)
        await insertDemoDeliveries(tx, scope, endpoint, {
          ...{
            since: daysAgo(RECORDED_DAYS),
            failedFrom: daysAgo(FAILED_FROM_DAYS),
            failedTo: daysAgo(FAILED_TO_DAYS),
          },
        })
        // Their ids are of the past, which the rollups have passed.
        await resetRollups(tx, scope.place)
      })
      while (await foldRollups({ database, clock })) {}
      while (await sumUpDays({ database })) {}
    })
    print(
      options.json,
      { payments, days, seed },
      `${payments} payments of the last ${days} days are in the sandbox of Demo Store.`,
    )
  },
}

function wholeNumber(options: Options, name: string, otherwise: number, most: number): number {
  const text = options.text(name)
  if (text === undefined) return otherwise
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > most) throw new UsageError(`--${name} must be a number from 1 to ${most}.`)
  return number
}
