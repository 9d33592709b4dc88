import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES } from '../../kernel/place.ts'
import type { Owner } from '../../kernel/scope.ts'

export interface PurgedKeys extends Owner {
  provider: string
  version: number
}

/** Late payments, refunds and disputes of payments with the keys can occur for this long. */
export const KEYS_KEPT_DAYS = 180

/**
 * Deletes keys that have been retired for `KEYS_KEPT_DAYS`, where no attempt is open or was resolved within that time,
 * no refund is pending or was resolved within that time, no dispute is open, and neither is a case of their payments or
 * unmatched money of theirs. At most `limit` versions at once.
 */
export async function purgeRetiredKeys(tx: Transaction, limit: number): Promise<PurgedKeys[]> {
  const { first, last } = ALL_PLACES
  const rows = await tx.rows<{ merchant_id: string; mode: Mode; provider: string; version: number }>(sql`
    update provider_accounts set sealed_settings = null, base_url = null
     where (merchant_id, mode, provider, version) in (
       select p.merchant_id, p.mode, p.provider, p.version from provider_accounts p join merchants m on m.id = p.merchant_id
        where p.sealed_settings is not null and p.retired_at < now() - ${KEYS_KEPT_DAYS} * interval '1 day'
          and not exists (select from attempts a
                           where a.place = m.place and a.place between ${first} and ${last}
                             and (a.merchant_id, a.mode, a.provider, a.account) = (p.merchant_id, p.mode, p.provider, p.version)
                             and a.account > 0 and a.resolved_at is null)
          and not exists (select from attempts a
                           where a.place = m.place and a.place between ${first} and ${last}
                             and (a.merchant_id, a.mode, a.provider, a.account) = (p.merchant_id, p.mode, p.provider, p.version)
                             and a.account > 0 and a.resolved_at > now() - ${KEYS_KEPT_DAYS} * interval '1 day')
          and not exists (select from refunds r
                             join attempts a on a.place = r.place and a.place between ${first} and ${last} and a.id = r.attempt_id
                           where r.place = m.place and r.place between ${first} and ${last} and r.merchant_id = p.merchant_id and r.mode = p.mode
                             -- A refund can fail long after it was done.
                             and (r.status = 'pending' or r.resolved_at > now() - ${KEYS_KEPT_DAYS} * interval '1 day')
                             and a.provider = p.provider and a.account = p.version)
          and not exists (select from disputes d
                             join attempts a on a.place = d.place and a.place between ${first} and ${last} and a.id = d.attempt_id
                           where d.place = m.place and d.place between ${first} and ${last} and d.status = 'open'
                             and d.merchant_id = p.merchant_id and d.mode = p.mode and a.provider = p.provider and a.account = p.version)
          and not exists (select from cases c
                             join attempts a on a.place = c.place and a.place between ${first} and ${last} and a.payment_id = c.payment_id
                           where c.place = m.place and c.place between ${first} and ${last} and c.closed_at is null
                             and c.merchant_id = p.merchant_id and c.mode = p.mode and a.provider = p.provider and a.account = p.version)
          and not exists (select from receipts r
                           where r.place = m.place and r.place between ${first} and ${last} and r.attempt_id is null
                             and (r.merchant_id, r.mode, r.provider, r.account) = (p.merchant_id, p.mode, p.provider, p.version)
                             and r.amount > r.returned
                             and not exists (select from reviews v
                                              where v.place = r.place and v.place between ${first} and ${last} and v.receipt_id = r.id))
        order by p.retired_at limit ${limit} for update of p skip locked)
    returning merchant_id, mode, provider, version`)
  return rows.map(({ merchant_id, ...rest }) => ({ merchantId: idOf('merchant', merchant_id), ...rest }))
}
