import { connect, type Database } from '../../../src/database/database.ts'
import { newWebhookSecret } from '../../../src/events/webhook-secret.ts'
import { withServer } from '../server.ts'
import { headersOf, serviceSettings } from '../settings.ts'

/** A PostgreSQL that is never killed, and settings for service processes on it. */
export interface Ground {
  database: Database
  env: Record<string, string>
  secretKey: Buffer
  /** Of the sandbox merchant. */
  webhookSecret: string
  headers: Record<string, string>
}

export function onGround<Result>(work: (ground: Ground) => Promise<Result>): Promise<Result> {
  return withServer('webhooks', async ({ folder, databaseUrl }) => {
    const database = connect({ url: databaseUrl, connections: 4 })
    const webhookSecret = newWebhookSecret()
    const settings = serviceSettings(databaseUrl, folder)
    const env = { ...settings, SANDBOX_WEBHOOK_SECRET: webhookSecret, LOG_LEVEL: 'warn' }
    const secretKey = Buffer.from(env.SECRET_KEY, 'base64')
    try {
      return await work({ database, env, secretKey, webhookSecret, headers: headersOf(settings) })
    } finally {
      await database.close()
    }
  })
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  body: any
}

const ANSWER_WITHIN_MS = 8_000

/** One call. Undefined without a complete answer. */
export async function ask(
  port: number,
  headers: Record<string, string>,
  path: string,
  body?: unknown,
): Promise<Answer | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/payments/v1${path}`, {
      method: 'POST',
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    return { status: response.status, body: await response.json() }
  } catch {
    return undefined
  }
}
