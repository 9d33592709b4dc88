import { userInfo } from 'node:os'
import { type Dependencies, openDependencies } from '../compose.ts'
import { type Config, readConfig } from '../config.ts'
import { checkSecretKey } from '../database/check-secret-key.ts'
import type { Database } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { knownKeys } from '../generated-keys.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type SecretBox, secretBox } from '../kernel/secret-box.ts'

/** Works on the database of the running service, or starts the embedded one for as long as the work takes. */
export async function withParts<Result>(work: (parts: Dependencies) => Promise<Result>): Promise<Result> {
  const parts = await openDependencies(readConfig(process.env), 'join')
  try {
    await migrate(parts.databaseUrl)
    return await work(parts)
  } finally {
    await parts.close()
  }
}

/** Opens what the service has sealed in this database. */
export async function openSecrets(config: Config, database: Database): Promise<SecretBox> {
  const { secretKey } = await knownKeys(config)
  if (!secretKey) {
    throw new OperatorError(
      `There are no keys in ${config.dataDir} yet. Start the service once (npm start), or set DATA_DIR or SECRET_KEY to its own.`,
    )
  }
  const secrets = secretBox(secretKey)
  await checkSecretKey(database, secrets)
  return secrets
}

/** For the audit log: who is at the keyboard. */
export function actor(): string {
  try {
    return `cli:${userInfo().username}`
  } catch {
    return `cli:uid ${process.getuid?.()}` // a container may run as a user that has no name
  }
}
