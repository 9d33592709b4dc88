import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { newWebhookSecret, type WebhookSecret } from './signature.ts'

export const defaultSecretPlace = ({ merchantId, mode }: Scope) => `webhook_secrets.sealed_secret:${merchantId}:${mode}`

/** A merchant who names a `webhook` has a secret to check it with. Made when it is first needed; safe to repeat. */
export async function ensureDefaultSecret(
  db: Queries,
  secrets: SecretBox,
  owner: Scope,
): Promise<'made' | 'was there'> {
  const made = await db.rows(sql`
    insert into webhook_secrets (merchant_id, mode, sealed_secret)
    values (${uuidOf(owner.merchantId)}, ${owner.mode}, ${secrets.seal(newWebhookSecret(), defaultSecretPlace(owner))})
    on conflict do nothing returning mode`)
  return made.length > 0 ? 'made' : 'was there'
}

export async function findDefaultSecret(
  db: Queries,
  secrets: SecretBox,
  owner: Scope,
): Promise<WebhookSecret | undefined> {
  const row = await db.row<{ sealed_secret: Buffer }>(sql`
    select sealed_secret from webhook_secrets where merchant_id = ${uuidOf(owner.merchantId)} and mode = ${owner.mode}`)
  return row && secrets.open(row.sealed_secret, defaultSecretPlace(owner))
}

/** Sets it; the one before signs beside it for a day. The same one again changes nothing. */
export async function replaceDefaultSecret(
  db: Queries,
  secrets: SecretBox,
  owner: Scope,
  secret: WebhookSecret,
  { overlapHours }: { overlapHours: number },
): Promise<void> {
  await db.rows(sql`
    insert into webhook_secrets as s (merchant_id, mode, sealed_secret)
    values (${uuidOf(owner.merchantId)}, ${owner.mode}, ${secrets.seal(secret, defaultSecretPlace(owner))})
    on conflict (merchant_id, mode) do update
       set sealed_secret = excluded.sealed_secret, sealed_previous_secret = s.sealed_secret,
           previous_until = now() + ${overlapHours}::double precision * interval '1 hour'`)
}
