import assert from 'node:assert/strict'
import { privateAllowedBy } from '../compose.ts'
import type { Config } from '../config/config.ts'
import { knownKeys } from '../config/generated-keys.ts'
import type { Database } from '../database/database.ts'
import { providerClients } from '../integrations/provider-clients.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Provider, Providers } from '../providers/provider.ts'
import { findServiceUrls } from './running-service.ts'

/**
 * The clients of the merchants' providers, as the service makes them. The sandbox provider is part of the running
 * service.
 */
export async function openProviders(
  config: Config,
  { database, secrets }: { database: Database; secrets: SecretBox },
  providers: readonly Provider[],
  url?: string,
): Promise<Providers> {
  const { secretKey: masterKey } = await knownKeys(config)
  assert(masterKey, 'openSecrets has checked it')
  const serverUrl = url ?? (await findServiceUrls(config)).serverUrl
  return providerClients({
    database,
    secrets,
    masterKey,
    serverUrl: () => serverUrl,
    allowPrivate: privateAllowedBy(config),
    providers,
  })
}
