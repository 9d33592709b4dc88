import type { CommandDeps } from '../../compose.ts'
import { readConfig } from '../../config/config.ts'
import { knownKeys } from '../../config/generated-keys.ts'
import type { Database } from '../../database/database.ts'
import { ensureDefaultSecret, findDefaultSecret } from '../../events/webhook-secret-store.ts'
import { createMerchant } from '../../integrations/create-merchant.ts'
import { parseCountry } from '../../kernel/country.ts'
import { type MerchantId, parseId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { setMerchantStatus } from '../../merchants/manage-merchants.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import { listMerchants } from '../../merchants/merchant-store.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { actor, openSecrets, withDatabase } from '../with-database.ts'

export const merchantCreate: Command = {
  name: 'merchant create',
  summary: 'Create a merchant and show its webhook secrets once',
  options: {
    name: { value: 'NAME', summary: 'What customers see on the payment page', required: true },
    country: { value: 'COUNTRY', summary: 'NG, NGA or Nigeria', required: true },
  },
  async run(options) {
    const name = parseMerchantName(options.required('name'))
    const country = parseCountry(options.required('country'))
    if (!country) throw new UsageError('--country must be a country of ISO 3166-1: NG, NGA or Nigeria.')
    if (!name) throw new UsageError('--name must have at most 200 characters, on one line.')
    const create = async (deps: CommandDeps) => {
      const created = await createMerchant(deps, actor(), { name, country })
      return { merchant: created, webhookSecrets: await createWebhookSecrets(deps.database, created.id) }
    }
    const { merchant, webhookSecrets } = await withDatabase(create, { mayCreate: true })
    const secrets = webhookSecrets
      ? `\nwebhook secret (sandbox)  ${webhookSecrets.sandbox}\nwebhook secret (live)     ${webhookSecrets.live}\n\nThese sign the \`webhook\` of the merchant’s requests. They are not shown again: store them now.\n`
      : ''
    print(
      options.json,
      { ...merchant, webhookSecrets },
      `Created merchant ${merchant.id} (${merchant.name}, ${merchant.country}).\n${secrets}Next: manilla credential create --merchant ${merchant.id} --mode sandbox`,
    )
  },
}

/** Null before the first start of the service: there is no key yet to encrypt them with. */
async function createWebhookSecrets(database: Database, merchantId: MerchantId): Promise<Record<Mode, string> | null> {
  const config = readConfig(process.env)
  if (!(await knownKeys(config)).secretKey) return null
  const secrets = await openSecrets(config, database)
  const create = async (mode: Mode) => {
    await ensureDefaultSecret(database, secrets, { merchantId, mode })
    return (await findDefaultSecret(database, secrets, { merchantId, mode })) ?? ''
  }
  return { sandbox: await create('sandbox'), live: await create('live') }
}

export const merchantList: Command = {
  name: 'merchant list',
  summary: 'List the merchants',
  options: {},
  async run(options) {
    const merchants = await withDatabase(({ database }) => listMerchants(database))
    print(
      options.json,
      merchants,
      table(merchants.map(({ id, name, country, status }) => ({ id, name, country, status }))),
    )
  },
}

export const merchantSuspend = statusCommand('suspend', 'suspended', 'Refuse all requests of a merchant')
export const merchantResume = statusCommand('resume', 'active', 'Resume a suspended merchant')

function statusCommand(verb: string, status: 'active' | 'suspended', summary: string): Command {
  return {
    name: `merchant ${verb}`,
    summary,
    options: { merchant: { value: 'mer_…', summary: 'The merchant', required: true } },
    async run(options) {
      const id = merchantOption(options)
      const merchant = await withDatabase((deps) => setMerchantStatus(deps, actor(), id, status))
      print(options.json, merchant, `${merchant.name} is ${merchant.status}. Every process applies it within 2 s.`)
    },
  }
}

export function merchantOption(options: Options): MerchantId {
  const id = parseId('merchant', options.required('merchant'))
  if (!id) throw new UsageError('--merchant must be an id like mer_…; see: manilla merchant list')
  return id
}
