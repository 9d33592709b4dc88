import { readConfig } from '../../config/config.ts'
import { isWebhookSecret, type WebhookSecret } from '../../events/webhook-secret.ts'
import { findDefaultSecret } from '../../events/webhook-secret-store.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { webhookHttp } from '../../outbound/webhook-http.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { type Grade, gradeHandler } from '../grade-handler.ts'
import { print, table } from '../print.ts'
import { openSecrets, withDatabase } from '../with-database.ts'

export const webhooksVerify: Command = {
  name: 'webhooks verify',
  summary: 'Test your webhook handler with valid, repeated, stale and forged events',
  options: {
    url: { value: 'URL', summary: 'URL of the handler: http://localhost:8080/webhooks', required: true },
    secret: {
      value: 'whsec_…',
      summary: 'The secret that it verifies with (default: the secret of the sandbox merchant)',
    },
    acted: {
      value: 'URL',
      summary:
        'URL whose GET lists the ids of the events that your shop acted on, to check that it does not drop late money',
    },
    reference: { value: 'REFERENCE', summary: 'Reference of an order that the handler knows, if it needs one' },
  },
  word: 'url',
  async run(options) {
    const url = URL.parse(options.text('url') ?? '')
    if (!url || !/^https?:$/.test(url.protocol))
      throw new UsageError('The URL of your handler is missing: manilla webhooks verify http://localhost:8080/webhooks')
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

export function givenSecret(options: Options): WebhookSecret | undefined {
  const secret = options.text('secret')
  if (secret !== undefined && !isWebhookSecret(secret))
    throw new UsageError('--secret must be whsec_ and 24 to 64 bytes in base64.')
  return secret
}

export async function sandboxSecret(): Promise<WebhookSecret> {
  const owner = { merchantId: SANDBOX_MERCHANT_ID, mode: 'sandbox' as const }
  const secret = await withDatabase(async ({ database }) =>
    findDefaultSecret(database, await openSecrets(readConfig(process.env), database), owner),
  )
  if (!secret)
    throw new OperatorError('The sandbox merchant has no webhook secret yet. Start the service once, or use --secret.')
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
      ? 'The handler passed all checks.'
      : `${failed.length} of ${grades.length} to fix:\n${mend.join('\n')}`
  const unseen = sawActs
    ? ''
    : '\nNot checked: whether the shop acts on late money. Use --acted with a list of the events that it acted on (see docs/webhooks.md).'
  return `${table(rows)}\n\n${verdict}${unseen}`
}
