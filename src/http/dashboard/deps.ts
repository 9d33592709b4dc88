import type { IntegrationCache } from '../../integrations/integration-cache.ts'
import type { MemberDeps } from '../../members/deps.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import type { PaymentBatch } from '../../payments/start/create-payment.ts'
import type { DeliveryDependencies } from '../../webhooks/delivery-loop.ts'
import type { ExportSlots } from '../api/exports.ts'
import type { Documents } from '../checkout/document.ts'
import type { LivePayments } from '../checkout/live-payments.ts'
import type { Limits } from '../server/limits.ts'

/** The dependencies of the dashboard's routes. */
export interface DashboardDeps
  extends Omit<MemberDeps, 'later'>,
    PaymentDeps,
    Pick<DeliveryDependencies, 'http' | 'allowPrivate'> {
  exportSlots: ExportSlots
  integrationCache: IntegrationCache
  paymentBatch: PaymentBatch
  limits: Limits
  live: LivePayments
  documents: Documents
}
