import { PROVIDERS } from '../providers/registry.ts'
import type { Command } from './command.ts'
import { audit } from './commands/audit.ts'
import { credentialCreate, credentialList, credentialRevoke } from './commands/credential.ts'
import { dashboardLink } from './commands/dashboard-link.ts'
import { demoData } from './commands/demo-data.ts'
import { doctor } from './commands/doctor.ts'
import { integrationCommands } from './commands/integration.ts'
import { keysStatus } from './commands/keys-status.ts'
import { memberInvite, memberList, memberOperator, memberRemove } from './commands/member.ts'
import { merchantCreate, merchantList, merchantResume, merchantSuspend } from './commands/merchant.ts'
import { merchantBrand } from './commands/merchant-brand.ts'
import { merchantReceipts } from './commands/merchant-receipts.ts'
import { migrateCommand } from './commands/migrate.ts'
import { openapi } from './commands/openapi.ts'
import { paymentResync, paymentShow, paymentTimeline } from './commands/payment.ts'
import { paymentEndAttempt } from './commands/payment-end-attempt.ts'
import { paymentEndRefund } from './commands/payment-end-refund.ts'
import { serve } from './commands/serve.ts'
import { shopVerify } from './commands/shop-verify.ts'
import { unmatchedList, unmatchedMatch } from './commands/unmatched.ts'
import { webhooksListen } from './commands/webhooks-listen.ts'
import { webhooksSecret } from './commands/webhooks-secret.ts'
import { webhooksTrigger } from './commands/webhooks-trigger.ts'
import { webhooksVerify } from './commands/webhooks-verify.ts'

/** All commands, in the order of the help and of docs/cli.md. */
export const COMMANDS: Command[] = [
  serve,
  migrateCommand,
  doctor,
  merchantCreate,
  merchantList,
  merchantSuspend,
  merchantResume,
  merchantBrand,
  merchantReceipts,
  credentialCreate,
  credentialList,
  credentialRevoke,
  keysStatus,
  dashboardLink,
  memberList,
  memberInvite,
  memberRemove,
  memberOperator,
  ...integrationCommands(PROVIDERS),
  paymentShow,
  paymentTimeline,
  paymentResync,
  paymentEndAttempt,
  paymentEndRefund,
  unmatchedList,
  unmatchedMatch,
  webhooksListen,
  webhooksTrigger,
  webhooksVerify,
  webhooksSecret,
  shopVerify,
  audit,
  demoData,
  openapi,
]
