import { OperatorError } from '../kernel/operator-error.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Database, Queries } from './database.ts'
import { sql } from './sql.ts'

const CANARY = 'manilla'
const canaryContext = (keyId: string) => `secret_keys.canary:${keyId}`

/**
 * Detects a wrong SECRET_KEY at start, not at the first payment that needs it. The first key used with a database is
 * the right one. Another key is accepted only beside it (SECRET_KEY_PREVIOUS), and all keys that stored values may need
 * must be there.
 */
export async function checkSecretKey(database: Database, secrets: SecretBox): Promise<void> {
  const { keyId } = secrets
  await database.rows(sql`
    insert into secret_keys (key_id, canary)
    select ${keyId}, ${secrets.seal(CANARY, canaryContext(keyId))}
     where not exists (select from secret_keys) on conflict do nothing`)
  const mistake = await findSecretKeyMistake(database, secrets)
  if (mistake) throw new OperatorError(mistake)
  await addSecretKey(database, secrets)
}

/** Why the keys are not those of this database, and what to do; undefined when they are, or when it has none yet. */
export async function findSecretKeyMistake(
  db: Queries,
  { keyId, previousKeyId, open }: SecretBox,
): Promise<string | undefined> {
  const rows = await db.rows<{ key_id: string; canary: Buffer }>(sql`select key_id, canary from secret_keys`)
  if (rows.length === 0) return undefined
  const isOurs = (id: string) => id === keyId || id === previousKeyId
  const isKnown = rows.some(({ key_id: id, canary }) => isOurs(id) && open(canary, canaryContext(id)) === CANARY)
  if (!isKnown)
    return previousKeyId
      ? 'Neither SECRET_KEY nor SECRET_KEY_PREVIOUS is the key that this database was set up with, so what is encrypted in it cannot be read. Set SECRET_KEY_PREVIOUS to the key that was used before.'
      : 'SECRET_KEY is not the one that this database was set up with, so what is encrypted in it cannot be read. Set the key that was used before. To change the key, set that one as SECRET_KEY_PREVIOUS.'
  const missing = rows.find(({ key_id: id }) => !isOurs(id))
  return (
    missing &&
    `Values in this database are still encrypted with another key, which has the id ${missing.key_id}. Set it as SECRET_KEY_PREVIOUS, and keep it until "manilla keys status" says that it can be removed.`
  )
}

/** Notes that values may be sealed with SECRET_KEY. */
async function addSecretKey(db: Queries, secrets: SecretBox): Promise<void> {
  const { keyId } = secrets
  await db.rows(sql`
    insert into secret_keys (key_id, canary) values (${keyId}, ${secrets.seal(CANARY, canaryContext(keyId))})
    on conflict do nothing`)
}

/** No stored value needs the previous key any more. False when that was noted before. */
export function retirePreviousKey(database: Database, secrets: SecretBox): Promise<boolean> {
  return database.transaction(async (tx) => {
    await addSecretKey(tx, secrets)
    const retired = await tx.row(sql`
      delete from secret_keys where key_id = ${secrets.previousKeyId ?? ''} returning key_id`)
    return retired !== undefined
  })
}

/** The keys that values may need, with the time of their first use. */
export async function listSecretKeys(db: Queries): Promise<{ keyId: string; addedAt: Date }[]> {
  const rows = await db.rows<{ key_id: string; added_at: Date }>(sql`select key_id, added_at from secret_keys`)
  return rows.map(({ key_id, added_at }) => ({ keyId: key_id, addedAt: added_at }))
}
