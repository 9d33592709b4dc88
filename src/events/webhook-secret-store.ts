import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { newWebhookSecret, type WebhookSecret } from './webhook-secret.ts'

export const defaultSecretContext = ({ merchantId, mode }: Owner) =>
  `webhook_secrets.sealed_secret:${merchantId}:${mode}`

/** Creates the scope's default webhook secret if it has none. Returns it sealed; several processes get the same one. */
export async function ensureDefaultSecret(db: Queries, secrets: SecretBox, scope: Owner): Promise<Buffer> {
  await db.rows(sql`
    insert into webhook_secrets (merchant_id, mode, sealed_secret)
    select ${uuidOf(scope.merchantId)}, ${scope.mode}, ${secrets.seal(newWebhookSecret(), defaultSecretContext(scope))}
     where not exists (select from webhook_secrets where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode})
    on conflict do nothing`)
  const row = await db.row<{ sealed_secret: Buffer }>(sql`
    select sealed_secret from webhook_secrets where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}`)
  if (!row) throw new Error(`merchant ${scope.merchantId} has no webhook secret`)
  return row.sealed_secret
}

export async function findDefaultSecret(
  db: Queries,
  secrets: SecretBox,
  scope: Owner,
): Promise<WebhookSecret | undefined> {
  const row = await db.row<{ sealed_secret: Buffer }>(sql`
    select sealed_secret from webhook_secrets where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}`)
  return row && secrets.open(row.sealed_secret, defaultSecretContext(scope))
}

/** Replaces the secret. The previous one keeps signing for `overlapHours`. */
export async function replaceDefaultSecret(
  db: Queries,
  secrets: SecretBox,
  scope: Owner,
  secret: WebhookSecret,
  { overlapHours }: { overlapHours: number },
): Promise<void> {
  await db.rows(sql`
    insert into webhook_secrets as s (merchant_id, mode, sealed_secret)
    values (${uuidOf(scope.merchantId)}, ${scope.mode}, ${secrets.seal(secret, defaultSecretContext(scope))})
    on conflict (merchant_id, mode) do update
       set sealed_secret = excluded.sealed_secret, sealed_previous_secret = s.sealed_secret,
           previous_until = now() + ${overlapHours}::double precision * interval '1 hour'`)
}
