import type { Service } from '../compose.ts'
import type { Config } from '../config.ts'

/** Printed at start: URLs, sandbox credentials and a first request to try. */
export function banner(service: Omit<Service, 'stop'>, { databaseUrl, dataDir }: Config): string {
  const { baseUrl, sandbox, sandboxWebhookSecret, dashboardUrl, demoUrl } = service
  return `
  Manilla is running.

  Base URL        ${baseUrl}${dashboardUrl ? `\n  Dashboard       ${dashboardUrl}` : ''}
  client-id       ${sandbox.clientId}
  client-secret   ${sandbox.clientSecret}
  webhook secret  ${sandboxWebhookSecret}
  Guides          ${baseUrl}/guides
  API docs        ${baseUrl}/docs${demoUrl ? `\n  Demo shop       ${demoUrl}` : ''}
  Database        ${databaseUrl ? 'yours (DATABASE_URL)' : `embedded PostgreSQL in ${dataDir}`}

  Your first checkout link:

  curl -sS ${baseUrl}/payments/v1/checkouts \\
    -H 'client-id: ${sandbox.clientId}' \\
    -H 'client-secret: ${sandbox.clientSecret}' \\
    -H 'Content-Type: application/json' \\
    -d '{"amount": 1250000, "country": "NG", "user": {"email": "ada@example.com"}}'

  Ctrl-C stops it.

`
}
