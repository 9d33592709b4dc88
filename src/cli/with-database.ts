import { userInfo } from 'node:os'
import { type Dependencies, openDependencies } from '../compose.ts'
import { type Config, readConfig } from '../config.ts'
import { checkSecretKey } from '../database/check-secret-key.ts'
import type { Database } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { knownKeys } from '../generated-keys.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type SecretBox, secretBox } from '../kernel/secret-box.ts'

/** Uses the database of the running service, or starts the embedded one for the duration of the command. */
export async function withDatabase<Result>(work: (parts: Dependencies) => Promise<Result>): Promise<Result> {
  const parts = await openDependencies(readConfig(process.env), 'join')
  try {
    await migrate(parts.directUrl)
    return await work(parts)
  } finally {
    await parts.close()
  }
}

/** Decrypts and encrypts the secrets of this database. */
export async function openSecrets(config: Config, database: Database): Promise<SecretBox> {
  const { secretKey } = await knownKeys(config)
  if (!secretKey) {
    throw new OperatorError(
      `There are no keys in ${config.dataDir} yet. Start the service once (npm start), or set DATA_DIR or SECRET_KEY as for the service.`,
    )
  }
  const secrets = secretBox(secretKey, config.previousSecretKey)
  await checkSecretKey(database, secrets)
  return secrets
}

/** The actor in the audit log. */
export function actor(): string {
  try {
    return `cli:${userInfo().username}`
  } catch {
    return `cli:uid ${process.getuid?.()}` // a container may run as a user without a name
  }
}
