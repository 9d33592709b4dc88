import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { type CommandDeps, openDeps } from '../compose.ts'
import { type Config, readConfig } from '../config/config.ts'
import { knownKeys } from '../config/generated-keys.ts'
import { checkSecretKey } from '../database/check-secret-key.ts'
import type { Database } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type SecretBox, secretBox } from '../kernel/secret-box.ts'

/** Uses the database of the running service, or starts the embedded one for the duration of the command. */
export async function withDatabase<Result>(
  work: (deps: CommandDeps) => Promise<Result>,
  { mayCreate = false } = {},
): Promise<Result> {
  const config = readConfig(process.env)
  if (!mayCreate) requireDatabase(config)
  const deps = await openDeps(config, 'join')
  try {
    await migrate(deps.directUrl)
    return await work(deps)
  } finally {
    await deps.close()
  }
}

/** A command that was given no settings would make an empty database and report that all is well in it. */
export function requireDatabase(config: Config): void {
  if (hasDatabase(config)) return
  throw new OperatorError(
    `There is no database in ${resolve(config.dataDir)}. Start the service once (npm start), or set DATABASE_URL or DATA_DIR as for the service.`,
  )
}

/** False for an embedded PostgreSQL that was never started. */
export function hasDatabase({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl !== undefined || existsSync(join(dataDir, 'postgres'))
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
