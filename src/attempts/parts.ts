import type { Logger } from 'pino'
import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Links } from '../payments/links.ts'
import type { Providers } from '../providers/provider.ts'

/** What every verb about attempts works with. */
export interface AttemptParts {
  database: Database
  clock: Clock
  log: Logger
  links: Links
  providers: Providers
  secrets: SecretBox
}
