import { readConfig } from '../../config.ts'
import { isWebhookSecret, type WebhookSecret } from '../../events/webhook-secret.ts'
import { findDefaultSecret } from '../../events/webhook-secret-store.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { webhookHttp } from '../../outbound/webhook-http.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { type Grade, gradeHandler } from '../grade-handler.ts'
import { print, table } from '../print.ts'
import { openSecrets, withParts } from '../with-parts.ts'

export const webhooksVerify: Command = {
  name: 'webhooks verify',
  summary: 'Send a handler of yours good, doubled, stale, forged and odd events, and grade its answers',
  options: {
    url: { value: 'URL', summary: 'Where it listens: http://localhost:8080/webhooks', required: true },
    secret: { value: 'whsec_…', summary: 'What it checks with (default: the secret of the sandbox merchant)' },
    acted: {
      value: 'URL',
      summary:
        'Where GET answers with the ids of the events that your shop acted on, to see whether it drops late money',
    },
    reference: { value: 'REFERENCE', summary: 'Of an order that it knows, if it must know it' },
  },
  word: 'url',
  async run(options) {
    const url = URL.parse(options.text('url') ?? '')
    if (!url || !/^https?:$/.test(url.protocol))
      throw new UsageError('Name the address of your handler: manilla webhooks verify http://localhost:8080/webhooks')
    const secret = givenSecret(options) ?? (await sandboxSecret())
    const http = webhookHttp()
    const acted = options.text('acted')
    const grades = await gradeHandler(http.post, {
      url: url.href,
      secret,
      reference: options.text('reference'),
      ...(acted !== undefined && { readActed: reader(acted) }),
    })
    http.close()
    const failed = grades.filter(({ ok }) => !ok)
    print(options.json, { passed: failed.length === 0, grades }, describe(grades, acted !== undefined))
    if (failed.length > 0) process.exitCode = 1
  },
}

function reader(url: string): () => Promise<string> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new UsageError('--acted must be an http or https URL.')
  return async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    if (!response?.ok) throw new OperatorError(`${url} did not answer with a list of events. Check --acted.`)
    return response.text()
  }
}

function givenSecret(options: Options): WebhookSecret | undefined {
  const secret = options.text('secret')
  if (secret !== undefined && !isWebhookSecret(secret))
    throw new UsageError('--secret must be whsec_ and 24 to 64 bytes in base64.')
  return secret
}

async function sandboxSecret(): Promise<WebhookSecret> {
  const owner = { merchantId: SANDBOX_MERCHANT_ID, mode: 'sandbox' as const }
  const secret = await withParts(async ({ database }) =>
    findDefaultSecret(database, await openSecrets(readConfig(process.env), database), owner),
  )
  if (!secret)
    throw new OperatorError(
      'The sandbox merchant has no webhook secret yet. Start the service once, or name a --secret.',
    )
  return secret
}

function describe(grades: Grade[], sawActs: boolean): string {
  const rows = grades.map(({ ok, what, wanted, status, error, tookMs, means }) => ({
    ' ': ok ? '✓' : '✗',
    sent: what,
    'must be': wanted,
    was: String(status ?? error),
    took: `${tookMs} ms`,
    means,
  }))
  const failed = grades.filter(({ ok }) => !ok)
  const mend = failed.map(({ what, mend }) => `✗ ${what}: ${mend}`)
  const verdict =
    failed.length === 0
      ? 'It takes all of it as it should.'
      : `${failed.length} of ${grades.length} to mend:\n${mend.join('\n')}`
  const unseen = sawActs
    ? ''
    : '\nNot checked: whether late money is acted on. Name a list of the events that your shop acted on with --acted (see docs/webhooks.md).'
  return `${table(rows)}\n\n${verdict}${unseen}`
}
