import { type Config, isPublic } from '../config/config.ts'
import { SANDBOX_MERCHANT_ID } from '../integrations/create-merchant.ts'
import type { ReadyService } from './cluster.ts'

/**
 * Printed at start: URLs, sandbox credentials and a first request to try. Without the secrets when customers use the
 * service and the output is not a terminal: it is a log then, and others read it.
 */
export function banner(service: ReadyService, config: Config, isTerminal: boolean): string {
  const { baseUrl, sandbox, dashboardUrl, demoUrl } = service
  const hasSecrets = isTerminal || !isPublic(config)
  const dashboard = hasSecrets ? dashboardUrl : dashboardUrl?.split('/welcome#', 1)[0]
  return `
  Manilla is running.

  Base URL        ${baseUrl}${dashboard ? `\n  Dashboard       ${dashboard}` : ''}
  client-id       ${sandbox.clientId}${hasSecrets ? secretsOf(service) : ''}
  Guides          ${baseUrl}/guides
  API docs        ${baseUrl}/docs${demoUrl ? `\n  Demo shop       ${demoUrl}` : ''}
  Database        ${config.databaseUrl ? 'yours (DATABASE_URL)' : `embedded PostgreSQL in ${config.dataDir}`}
${hasSecrets ? firstRequest(service) : commandsFor(config)}
  Ctrl-C stops it.

`
}

function secretsOf({ sandbox, sandboxWebhookSecret }: ReadyService): string {
  return `
  client-secret   ${sandbox.clientSecret}
  webhook secret  ${sandboxWebhookSecret}`
}

function firstRequest({ baseUrl, sandbox }: ReadyService): string {
  return `
  Your first checkout link:

  curl -sS ${baseUrl}/payments/v1/checkouts \\
    -H 'client-id: ${sandbox.clientId}' \\
    -H 'client-secret: ${sandbox.clientSecret}' \\
    -H 'Content-Type: application/json' \\
    -d '{"amount": 1250000, "country": "NG", "user": {"email": "ada@example.com"}}'
`
}

/** Secrets that are not set can only be made: the database has their digests, or has them encrypted. */
function commandsFor({ sandboxClientSecret, sandboxWebhookSecret }: Config): string {
  const commands = [
    'manilla dashboard link',
    !sandboxClientSecret && `manilla credential create --merchant ${SANDBOX_MERCHANT_ID} --mode sandbox`,
    !sandboxWebhookSecret && 'manilla webhooks secret --rotate',
  ]
  return `
  This is not a terminal, so no secrets are printed. Make a link for the first account of the dashboard, a sandbox
  credential and a webhook secret with:

${commands.flatMap((command) => (command ? `  ${command}\n` : [])).join('')}`
}
