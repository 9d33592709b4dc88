import type { Database } from '../../src/database/database.ts'
import type { HttpDeps } from '../../src/http/app.ts'
import type { App } from '../../src/http/server/framework.ts'
import { providerClients } from '../../src/integrations/provider-clients.ts'
import type { Provider, Providers } from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { BASE_URL, startOn } from './service.ts'

/** A process of the service that knows this provider, too. */
export async function startWithAcme(
  database: Database,
  acme: Provider,
  { secrets, allowPrivate, ...others }: Pick<HttpDeps, 'secrets' | 'allowPrivate'> & Partial<HttpDeps>,
): Promise<{ app: App; providers: Providers }> {
  const providers = providerClients({
    ...{ database, secrets, allowPrivate, masterKey: Buffer.alloc(32, 7) },
    serverUrl: () => BASE_URL,
    providers: [...PROVIDERS, acme],
  })
  return { providers, app: await startOn(database, { secrets, providers, allowPrivate, ...others }) }
}
