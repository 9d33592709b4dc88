import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { newWebhookSecret, type WebhookSecret } from './webhook-secret.ts'

export const defaultSecretContext = ({ merchantId, mode }: Owner) =>
  `webhook_secrets.sealed_secret:${merchantId}:${mode}`

/** Scopes whose secret was read after its commit. It is never deleted, so it need not be looked for again. */
const haveSecret = new Set<string>()
const MAX_REMEMBERED = 100_000

/** Creates the scope's default webhook secret when it is first needed. Safe to repeat. */
export async function ensureDefaultSecret(db: Queries, secrets: SecretBox, scope: Owner): Promise<void> {
  const name = defaultSecretContext(scope)
  if (haveSecret.has(name)) return
  const known = await db.row(sql`
    select from webhook_secrets where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}`)
  const isCommitted = known && !('inTransaction' in db)
  if (isCommitted && haveSecret.size < MAX_REMEMBERED) haveSecret.add(name)
  if (known) return
  await db.rows(sql`
    insert into webhook_secrets (merchant_id, mode, sealed_secret)
    values (${uuidOf(scope.merchantId)}, ${scope.mode}, ${secrets.seal(newWebhookSecret(), defaultSecretContext(scope))})
    on conflict do nothing`)
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
