import type { Queries } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'
import type { Faults } from './faults.ts'

export interface SetFaults extends Faults {
  setAt: Date
}

export function findFaults(queries: Queries, merchantUuid: string): Promise<SetFaults | undefined> {
  return queries.row(sql`
    select seed, timeout, server_error as "serverError", lost, doubled, reordered, late, wrong_amount as "wrongAmount",
           short_settlement as "shortSettlement", late_settlement as "lateSettlement", set_at as "setAt"
      from gateway_faults where merchant_id = ${merchantUuid}`)
}

export async function saveFaults(queries: Queries, merchantUuid: string, faults: Faults): Promise<void> {
  const { seed, timeout, serverError, lost, doubled, reordered, late, wrongAmount, shortSettlement, lateSettlement } =
    faults
  await queries.rows(sql`
    insert into gateway_faults (merchant_id, seed, timeout, server_error, lost, doubled, reordered, late, wrong_amount, short_settlement,
                                late_settlement)
    values (${merchantUuid}, ${seed}, ${timeout}, ${serverError}, ${lost}, ${doubled}, ${reordered}, ${late}, ${wrongAmount},
            ${shortSettlement}, ${lateSettlement})
    on conflict (merchant_id) do update
       set seed = excluded.seed, timeout = excluded.timeout, server_error = excluded.server_error, lost = excluded.lost,
           doubled = excluded.doubled, reordered = excluded.reordered, late = excluded.late, wrong_amount = excluded.wrong_amount,
           short_settlement = excluded.short_settlement, late_settlement = excluded.late_settlement,
           set_at = excluded.set_at`)
}
