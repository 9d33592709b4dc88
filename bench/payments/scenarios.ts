import type { Version } from '../against.ts'
import type { BenchDatabase } from '../bench-database.ts'
import { CREDENTIAL, callManilla, headersOf, originOf, type Subject, startFloor, startManilla } from '../subjects.ts'
import type { Scenario } from './measure.ts'
import { type Merchant, settingsOf } from './merchant.ts'

/** The service on a new database, with so many merchants. Each has set up the provider with an account of its own. */
export async function openManilla(
  { database, provider }: { database: BenchDatabase; provider: Subject },
  name: string,
  { merchants: count = 1, version }: { merchants?: number; version?: Version | undefined } = {},
): Promise<Scenario> {
  const databaseUrl = await database.create(name)
  const server = await startManilla(databaseUrl, version)
  const clientIds = [CREDENTIAL.clientId, ...(await insertMerchants(database, databaseUrl, count - 1))]
  const merchants: Merchant[] = []
  for (const [number, clientId] of clientIds.entries()) {
    const merchant = { account: `${name}_${number}`, headers: headersOf({ ...CREDENTIAL, clientId }) }
    const { account, headers } = merchant
    const integration = {
      ...{ settings: settingsOf(account), baseURL: `${originOf(provider)}/${account}`, priority: 0 },
    }
    const path = '/payments/v1/integrations/paystack'
    const { data } = await callManilla(server, path, integration, { method: 'PUT', headers })
    await setNoticeURL(provider, account, originOf(server) + new URL(data.noticeURL).pathname)
    merchants.push(merchant)
  }
  return { name, server, databaseUrl, merchants }
}

/**
 * Merchants beside that of the sandbox, at places of their own. By SQL, because the command line needs a second for
 * each; only the columns that every version has are named. Returns their client ids.
 */
async function insertMerchants(database: BenchDatabase, url: string, count: number): Promise<string[]> {
  await database.ask(
    url,
    `with made as (
       insert into merchants (id, place, name, country)
       select ('01900000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, n * 16, 'Merchant ' || n, 'NG' from generate_series(1, ${count}) n
       returning id, place)
     insert into credentials (client_id, merchant_id, mode, secret_digest)
     select 'bench-' || place / 16, id, 'sandbox', sha256('${CREDENTIAL.clientSecret}') from made`,
  )
  return Array.from({ length: count }, (_, index) => `bench-${index + 1}`)
}

export async function openFloor(database: BenchDatabase, provider: Subject): Promise<Scenario> {
  const account = 'floor'
  const databaseUrl = await database.create('payments_floor')
  const server = await startFloor(databaseUrl, `${originOf(provider)}/${account}`)
  await setNoticeURL(provider, account, `${originOf(server)}/notices`)
  return { name: 'floor', server, databaseUrl, merchants: [{ account, headers: {} }] }
}

async function setNoticeURL(provider: Subject, account: string, url: string): Promise<void> {
  await fetch(`${originOf(provider)}/${account}/notices`, { method: 'PUT', body: JSON.stringify({ url }) })
}
