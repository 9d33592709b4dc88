import type { Logger } from 'pino'
import type { Database, Transaction } from '../database/database.ts'
import type { Event } from '../events/event.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Providers } from '../providers/provider.ts'
import type { Links } from './links.ts'

/** What every verb about attempts works with. */
export interface PaymentDependencies {
  database: Database
  clock: Clock
  log: Logger
  links: Links
  providers: Providers
  secrets: SecretBox
  /** Puts an event on record, in the transaction that makes it true, with all that follows from it. */
  record: (tx: Transaction, event: Event) => Promise<void>
}
