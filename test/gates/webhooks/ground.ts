import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from '../../../src/database/database.ts'
import { startEmbedded } from '../../../src/database/embedded.ts'
import { newWebhookSecret } from '../../../src/events/webhook-secret.ts'

/** A PostgreSQL that is never killed, and settings for service processes on it. */
export interface Ground {
  database: Database
  env: Record<string, string>
  secretKey: Buffer
  /** Of the sandbox merchant. */
  webhookSecret: string
  headers: Record<string, string>
}

export async function onGround<Result>(work: (ground: Ground) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-webhooks-'))
  const server = await startEmbedded({ dataDir: folder, purpose: 'own' })
  const database = connect({ url: server.url, connections: 4 })
  const secretKey = randomBytes(32)
  const webhookSecret = newWebhookSecret()
  const clientId = `cid_sandbox_${randomBytes(8).toString('hex')}`
  const clientSecret = `sec_sandbox_${randomBytes(32).toString('hex')}`
  const env = {
    DATABASE_URL: server.url,
    DATA_DIR: join(folder, 'unused'),
    SECRET_KEY: secretKey.toString('base64'),
    SANDBOX_CLIENT_ID: clientId,
    SANDBOX_CLIENT_SECRET: clientSecret,
    SANDBOX_WEBHOOK_SECRET: webhookSecret,
    RATE_LIMIT: 'off',
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    LOG_LEVEL: 'warn',
  }
  try {
    const headers = { 'client-id': clientId, 'client-secret': clientSecret }
    return await work({ database, env, secretKey, webhookSecret, headers })
  } finally {
    await database.close()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
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

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
