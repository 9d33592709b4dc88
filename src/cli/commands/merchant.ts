import { createMerchant } from '../../integrations/create-merchant.ts'
import { parseCountry } from '../../kernel/country.ts'
import { type MerchantId, parseId } from '../../kernel/ids.ts'
import { setMerchantStatus } from '../../merchants/manage-merchants.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import { listMerchants } from '../../merchants/merchant-store.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { actor, withParts } from '../with-parts.ts'

export const merchantCreate: Command = {
  name: 'merchant create',
  summary: 'Add a merchant',
  options: {
    name: { value: 'NAME', summary: 'What customers see on the payment page', required: true },
    country: { value: 'COUNTRY', summary: 'NG, NGA or Nigeria', required: true },
  },
  async run(options) {
    const name = parseMerchantName(options.required('name'))
    const country = parseCountry(options.required('country'))
    if (!country) throw new UsageError('--country must be a country of ISO 3166-1: NG, NGA or Nigeria.')
    if (!name) throw new UsageError('--name must have at most 200 characters, on one line.')
    const merchant = await withParts((parts) => createMerchant(parts, actor(), { name, country }))
    print(
      options.json,
      merchant,
      `Created merchant ${merchant.id} (${merchant.name}, ${merchant.country}).\nNext: manilla credential create --merchant ${merchant.id} --mode sandbox`,
    )
  },
}

export const merchantList: Command = {
  name: 'merchant list',
  summary: 'Show the merchants',
  options: {},
  async run(options) {
    const merchants = await withParts(({ database }) => listMerchants(database))
    print(
      options.json,
      merchants,
      table(merchants.map(({ id, name, country, status }) => ({ id, name, country, status }))),
    )
  },
}

export const merchantSuspend = statusCommand('suspend', 'suspended', 'Refuse every call of a merchant')
export const merchantResume = statusCommand('resume', 'active', 'Let a suspended merchant work again')

function statusCommand(verb: string, status: 'active' | 'suspended', summary: string): Command {
  return {
    name: `merchant ${verb}`,
    summary,
    options: { merchant: { value: 'mer_…', summary: 'Which merchant', required: true } },
    async run(options) {
      const id = merchantOption(options)
      const merchant = await withParts((parts) => setMerchantStatus(parts, actor(), id, status))
      print(options.json, merchant, `${merchant.name} is ${merchant.status}; every process knows within 2 s.`)
    },
  }
}

export function merchantOption(options: Options): MerchantId {
  const id = parseId('merchant', options.required('merchant'))
  if (!id) throw new UsageError('--merchant must be an id like mer_…; see: manilla merchant list')
  return id
}
