import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { SendMail } from './mail.ts'

export interface MemberDeps {
  database: Database
  clock: Clock
  secrets: SecretBox
  /** The public address of the service. Passkeys are bound to its host. */
  baseUrl: () => string
  /** Runs work that the answer must not wait for, because its time would tell whether an account exists. */
  later: (work: () => Promise<void>) => void
  /** Absent without SMTP_URL. */
  sendMail?: SendMail | undefined
}
