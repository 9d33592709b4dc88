import { OperatorError } from '../kernel/operator-error.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

const CANARY = 'manilla'

/** Detects a wrong SECRET_KEY at start, not at the first payment that needs it. The first key used with a database is the right one. */
export async function checkSecretKey(database: Database, secrets: SecretBox): Promise<void> {
  const { keyId } = secrets
  await database.rows(sql`
    insert into secret_keys (key_id, canary)
    select ${keyId}, ${secrets.seal(CANARY, `secret_keys.canary:${keyId}`)}
     where not exists (select from secret_keys) on conflict do nothing`)
  const row = await database.row<{ canary: Buffer }>(sql`select canary from secret_keys where key_id = ${keyId}`)
  if (row && secrets.open(row.canary, `secret_keys.canary:${keyId}`) === CANARY) return
  throw new OperatorError(
    'SECRET_KEY is not the one that this database was set up with, so what is encrypted in it cannot be read. Set the key that was used before.',
  )
}
