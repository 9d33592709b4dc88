import type { Database } from '../../database/database.ts'
import { recordAct } from '../../events/audit-log-store.ts'
import { type PurgedKeys, purgeRetiredKeys } from '../store/retired-keys.ts'

/** Deletes provider keys that no payment needs any more, each with an audit log entry. */
export function expireRetiredKeys({ database }: { database: Database }, limit: number): Promise<PurgedKeys[]> {
  return database.transaction(async (tx) => {
    const purged = await purgeRetiredKeys(tx, limit)
    for (const { merchantId, mode, provider, version } of purged) {
      const subject = `${mode} ${provider} account ${version}`
      await recordAct(tx, { actor: 'worker', act: 'provider_account.purged', merchantId, subject })
    }
    return purged
  })
}
