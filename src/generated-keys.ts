import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { OperatorError } from './kernel/operator-error.ts'
import { type NewCredential, newCredential } from './merchants/credential.ts'

/** Keys that nobody set, made once and kept in the data folder for this user's eyes only. */
export interface Keys {
  secretKey: Buffer
  sandbox: NewCredential
}

interface KeyFile {
  secretKey: string
  sandboxClientId: string
  sandboxClientSecret: string
}

export async function loadKeys(config: Config): Promise<Keys> {
  const { secretKey, sandboxClientId, sandboxClientSecret } = config
  if (secretKey && sandboxClientId && sandboxClientSecret) {
    return { secretKey, sandbox: { clientId: sandboxClientId, clientSecret: sandboxClientSecret } }
  }
  const kept = await readOrMake(join(config.dataDir, 'keys.json'), config.dataDir)
  return {
    secretKey: secretKey ?? Buffer.from(kept.secretKey, 'base64'),
    sandbox: {
      clientId: sandboxClientId ?? kept.sandboxClientId,
      clientSecret: sandboxClientSecret ?? kept.sandboxClientSecret,
    },
  }
}

async function readOrMake(file: string, folder: string): Promise<KeyFile> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new OperatorError(
        `The keys in ${file} cannot be read (${(error as Error).message}). Restore the file from a backup: what is encrypted needs them.`,
      )
    }
  }
  const { clientId, clientSecret } = newCredential('sandbox')
  const made: KeyFile = {
    secretKey: randomBytes(32).toString('base64'),
    sandboxClientId: clientId,
    sandboxClientSecret: clientSecret,
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Whole or not at all: half a key file would lock its owner out of what it protects.
  const half = `${file}.${process.pid}`
  await writeFile(half, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(half, file)
  return made
}
