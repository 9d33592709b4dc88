import { hkdfSync, randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newWebhookSecret, type WebhookSecret } from '../events/webhook-secret.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type NewCredential, newCredential } from '../merchants/credential.ts'
import type { Config } from './config.ts'

/**
 * Keys that are not set in the environment. They are generated once and stored in DATA_DIR, readable only by this user.
 * With SECRET_KEY the others are derived from it, so that they are the same on each machine and in a container that
 * keeps no files.
 */
export interface Keys {
  secretKey: Buffer
  /** During a rotation. Never generated. */
  previousSecretKey: Buffer | undefined
  sandbox: NewCredential
  /** Signs the webhooks of the sandbox merchant's requests. */
  sandboxWebhookSecret: WebhookSecret
}

interface KeyFile {
  secretKey: string
  sandboxClientId: string
  sandboxClientSecret: string
  /** Absent in files of earlier versions. */
  sandboxWebhookSecret?: string
}

export async function loadKeys(config: Config): Promise<Keys> {
  const { secretKey, previousSecretKey, sandboxClientId, sandboxClientSecret, sandboxWebhookSecret } = config
  if (secretKey && sandboxClientId && sandboxClientSecret && sandboxWebhookSecret) {
    return {
      secretKey,
      previousSecretKey,
      sandbox: { clientId: sandboxClientId, clientSecret: sandboxClientSecret },
      sandboxWebhookSecret,
    }
  }
  const file = join(config.dataDir, 'keys.json')
  const kept = (await read(file)) ?? (secretKey ? derivedFrom(secretKey) : await make(file, config.dataDir))
  const webhookSecret = sandboxWebhookSecret ?? kept.sandboxWebhookSecret ?? (await addWebhookSecret(file, kept))
  return {
    secretKey: secretKey ?? Buffer.from(kept.secretKey, 'base64'),
    previousSecretKey,
    sandbox: {
      clientId: sandboxClientId ?? kept.sandboxClientId,
      clientSecret: sandboxClientSecret ?? kept.sandboxClientSecret,
    },
    sandboxWebhookSecret: webhookSecret,
  }
}

/**
 * Keys that are set, derived, or were generated before. Generates none: two processes at once would generate different
 * ones.
 */
export async function knownKeys(config: Config): Promise<Partial<Pick<Keys, 'secretKey' | 'sandbox'>>> {
  const kept = (await read(join(config.dataDir, 'keys.json'))) ?? (config.secretKey && derivedFrom(config.secretKey))
  const secretKey = config.secretKey ?? (kept && Buffer.from(kept.secretKey, 'base64'))
  const clientId = config.sandboxClientId ?? kept?.sandboxClientId
  const clientSecret = config.sandboxClientSecret ?? kept?.sandboxClientSecret
  return { ...(secretKey && { secretKey }), ...(clientId && clientSecret && { sandbox: { clientId, clientSecret } }) }
}

async function addWebhookSecret(file: string, kept: KeyFile): Promise<WebhookSecret> {
  const sandboxWebhookSecret = newWebhookSecret()
  await write(file, { ...kept, sandboxWebhookSecret })
  return sandboxWebhookSecret
}

async function read(file: string): Promise<KeyFile | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new OperatorError(
      `The keys in ${file} cannot be read (${(error as Error).message}). Restore the file from a backup: what is encrypted needs them.`,
    )
  }
}

function derivedFrom(secretKey: Buffer): KeyFile {
  const derive = (name: string, length: number) => Buffer.from(hkdfSync('sha256', secretKey, '', name, length))
  return keyFileOf(secretKey, derive('sandbox credential', 48), derive('sandbox webhook secret', 32))
}

function keyFileOf(secretKey: Buffer, credential: Buffer, webhookSecret: Buffer): KeyFile {
  const { clientId, clientSecret } = newCredential('sandbox', credential)
  return {
    secretKey: secretKey.toString('base64'),
    sandboxClientId: clientId,
    sandboxClientSecret: clientSecret,
    sandboxWebhookSecret: newWebhookSecret(webhookSecret),
  }
}

async function make(file: string, folder: string): Promise<KeyFile> {
  const made = keyFileOf(randomBytes(32), randomBytes(48), randomBytes(32))
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await write(file, made)
  return made
}

/** Atomic write: a partial key file would make all encrypted data unreadable. */
async function write(file: string, keys: KeyFile): Promise<void> {
  const half = `${file}.${process.pid}`
  await writeFile(half, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(half, file)
}
