import { isPublic, readConfig } from '../../config/config.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { MODES, type Mode } from '../../kernel/mode.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { findMerchant } from '../../merchants/merchant-store.ts'
import { ROTATION_HOURS } from '../../webhooks/endpoint.ts'
import { rotateDefaultSecret } from '../../webhooks/manage-endpoints.ts'
import { type Command, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { actor, openSecrets, withDatabase } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

export const webhooksSecret: Command = {
  name: 'webhooks secret',
  summary: 'Rotate the secret that signs the `webhook` of a merchant’s requests (the new one is shown once)',
  options: {
    merchant: { value: 'mer_…', summary: 'The merchant (default: the sandbox merchant)' },
    mode: { value: 'sandbox|live', summary: 'The mode (default: sandbox)' },
    rotate: { summary: 'Rotate now; without it, only show what would happen' },
  },
  async run(options) {
    const config = readConfig(process.env)
    const merchantId = options.text('merchant') === undefined ? SANDBOX_MERCHANT_ID : merchantOption(options)
    const mode = (options.text('mode') ?? 'sandbox') as Mode
    if (!MODES.includes(mode)) throw new UsageError('--mode must be sandbox or live.')
    const isSetByOperator =
      merchantId === SANDBOX_MERCHANT_ID && mode === 'sandbox' && config.sandboxWebhookSecret !== undefined
    if (isSetByOperator && options.on('rotate'))
      throw new OperatorError(
        `SANDBOX_WEBHOOK_SECRET sets this secret. Change it there and restart the service; both secrets then sign for ${ROTATION_HOURS} hours.`,
      )

    const { name, secret } = await withDatabase(async (deps) => {
      const merchant = await findMerchant(deps.database, merchantId)
      if (!merchant) throw new OperatorError(`There is no merchant ${merchantId}. See: manilla merchant list`)
      if (!options.on('rotate')) return { name: merchant.name, secret: null }
      const secrets = await openSecrets(config, deps.database)
      return {
        name: merchant.name,
        secret: await rotateDefaultSecret({ ...deps, secrets }, actor(), { merchantId, mode }),
      }
    })
    const isPrinted = merchantId === SANDBOX_MERCHANT_ID && mode === 'sandbox' && !isPublic(config)
    const known = isPrinted ? ' npm start prints it.' : ''
    print(
      options.json,
      { merchantId, mode, rotated: secret !== null, secret },
      secret === null
        ? `The ${mode} webhook secret of ${name} is stored encrypted and is not shown again.${known}\nmanilla webhooks secret --merchant ${merchantId} --mode ${mode} --rotate creates a new one; the old one keeps signing for ${ROTATION_HOURS} hours.`
        : `${secret}\n\nThis is the new ${mode} webhook secret of ${name}. The previous one keeps signing for ${ROTATION_HOURS} hours; update your handler by then.${known || ' It is not shown again: store it now.'}`,
    )
  },
}
