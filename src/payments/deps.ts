import type { Logger } from 'pino'
import { type Database, reservedOf } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Providers } from '../providers/provider.ts'
import type { Links } from './links.ts'

/** The dependencies of the payment operations. */
export interface PaymentDeps {
  database: Database
  clock: Clock
  log: Logger
  links: Links
  providers: Providers
  secrets: SecretBox
}

/** The same, with the connections that are reserved for settling and notices. */
export function withReserved(deps: PaymentDeps): PaymentDeps {
  return { ...deps, database: reservedOf(deps.database) }
}
