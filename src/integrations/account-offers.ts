import type { Database } from '../database/database.ts'
import type { Providers } from '../providers/provider.ts'
import { type AccountKey, claimDueOffers, saveOffers } from './integration-store.ts'
import { findCurrentKeysVersion } from './provider-keys-store.ts'

interface Deps {
  database: Database
  providers: Providers
}

/**
 * Reads what an account can do and stores it with the integration. Without an answer the offers that were read last
 * stay, however old they are: the provider refuses what it no longer does.
 */
export async function readOffers({ database, providers }: Deps, { owner, provider }: AccountKey): Promise<void> {
  if (!providers.find(provider)?.capabilities.offersOfAccount) return
  const keysVersion = await findCurrentKeysVersion(database, owner, provider)
  const client = await providers.connect(owner, provider, { keysVersion })
  const answer = await client.readOffers?.()
  if (answer?.kind === 'offers') await saveOffers(database, { owner, provider }, keysVersion, answer.offers)
}

/** Of the accounts for which that is due. */
export async function readDueOffers(deps: Deps, limit: number): Promise<number> {
  const due = await claimDueOffers(deps.database, limit)
  await Promise.allSettled(due.map((each) => readOffers(deps, each)))
  return due.length
}
