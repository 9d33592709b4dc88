import { readConfig } from '../../config/config.ts'
import { knownKeys } from '../../config/generated-keys.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { webhookHttp } from '../../outbound/webhook-http.ts'
import { muteWebhook } from '../../payments/store/payments.ts'
import { apiOf } from '../api.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { gradeShop, type ShopGrade } from '../grade-shop.ts'
import { print, table } from '../print.ts'
import { findServiceUrls } from '../running-service.ts'
import { sandboxProvider } from '../sandbox-provider.ts'
import { withDatabase } from '../with-database.ts'
import { givenSecret, sandboxSecret } from './webhooks-verify.ts'

export const shopVerify: Command = {
  name: 'shop verify',
  summary: 'Buy in your shop, pay, fail and lose things, and check that it delivers exactly the paid orders',
  options: {
    checkout: {
      value: 'URL',
      summary: 'A POST to it makes an order and leads to the payment page: http://localhost:8080/buy',
      required: true,
    },
    delivered: {
      value: 'URL',
      summary: 'A GET of it lists the references of the delivered orders, each once for each delivery, in any format',
      required: true,
    },
    webhook: { value: 'URL', summary: 'Your webhook handler (default: the `webhook` of the payments of your shop)' },
    secret: {
      value: 'whsec_…',
      summary: 'The secret that it verifies with (default: the secret of the sandbox merchant)',
    },
    form: { value: 'NAME=VALUE', summary: 'A form field of the POST to --checkout', repeats: true },
    url: { value: 'URL', summary: 'URL of the service (default: the running service of DATA_DIR)' },
  },
  word: 'checkout',
  async run(options) {
    const [checkout, delivered, webhook] = ['checkout', 'delivered', 'webhook'].map((name) => addressOf(options, name))
    if (!checkout || !delivered) throw new UsageError('--checkout and --delivered are needed. See: shop verify --help')
    const config = readConfig(process.env)
    const { sandbox } = await knownKeys(config)
    if (!sandbox)
      throw new OperatorError(`There are no sandbox credentials in ${config.dataDir}. Start the service (npm start).`)
    const api = apiOf(options.text('url') ?? (await findServiceUrls(config)).serverUrl, sandbox)
    const secret = givenSecret(options) ?? (await sandboxSecret())
    const { provider } = await sandboxProvider(api)
    const http = webhookHttp()
    const grades = await withDatabase(({ database }) =>
      gradeShop({
        ...{ checkout, delivered, webhook, secret, provider, api, post: http.post },
        form: options.texts('form').map((field) => field.split(/=(.*)/s, 2) as [string, string]),
        mute: (id) => muteWebhook(database, id),
      }),
    ).finally(() => http.close())
    const failed = grades.filter(({ mend }) => mend !== null)
    print(options.json, { passed: failed.length === 0, grades }, describe(grades))
    if (failed.length > 0) process.exitCode = 1
  },
}

function addressOf(options: Options, name: string): string | undefined {
  const text = options.text(name)
  if (text !== undefined && !/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new UsageError(`--${name} must be an http or https URL.`)
  return text
}

function describe(grades: ShopGrade[]): string {
  const rows = grades.map(({ what, wanted, was, mend }) => ({
    ' ': mend === null ? '✓' : '✗',
    played: what,
    'must be': wanted,
    was,
  }))
  const failed = grades.filter(({ mend }) => mend !== null)
  const verdict =
    failed.length === 0
      ? 'The shop delivered exactly the paid orders.'
      : `${failed.length} of ${grades.length} to fix:\n${failed.map(({ what, mend }) => `✗ ${what}: ${mend}`).join('\n')}`
  return `${table(rows)}\n\n${verdict}`
}
