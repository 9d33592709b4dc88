import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SANDBOX_MERCHANT_ID } from '../src/integrations/create-merchant.ts'
import { uuidOf } from '../src/kernel/ids.ts'

/** Marks the rows of pgbench, which have no answer of a server. */
export const PGBENCH_EMAIL = 'pgbench@example.com'

export const HAS_PGBENCH = spawnSync('pgbench', ['--version']).status === 0

// The row that the servers write. Reference and code start with the time here too; the code is 6 characters longer than
// ours, for hexadecimal digits hold less.
const SCRIPT = `\\set amount random(1, 1250000)
with unique_part as (select replace(uuidv7()::text, '-', '') as hex)
insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge,
                      user_email, user_phone_number, user_name, redirect_url, webhook_url, metadata,
                      idempotency_key, request_digest, expires_at)
select 1, uuidv7(), '${uuidOf(SANDBOX_MERCHANT_ID)}', 'sandbox', left(hex, 12) || right(hex, 7), left(hex, 11) || right(hex, 8),
       :amount, 'NGN', 'NG', false, '${PGBENCH_EMAIL}', null, 'Ada', 'https://shop.example/thanks', null, '{}',
       null, null, now() + 86400 * interval '1 second'
  from unique_part;
`

/** Creates per second of PostgreSQL's own client, written in C: one committed INSERT each, no HTTP at all. */
export async function runPgbench(databaseUrl: string, connections: number, measureMs: number): Promise<number> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'manilla-pgbench-'))
  try {
    const script = join(folder, 'insert.sql')
    await writeFile(script, SCRIPT)
    const seconds = Math.max(1, Math.round(measureMs / 1_000))
    const args = ['-n', '-M', 'prepared', '-f', script, '-c', String(connections), '-j', '2', '-T', String(seconds)]
    const { stdout } = await promisify(execFile)('pgbench', [...args, pathname.slice(1)], {
      env: { PATH: process.env.PATH, PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password },
    })
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
