/** What members, and the operator, are told of: docs/alerts.md. */
export const ALERT_KINDS = [
  'dispute_opened',
  'dispute_due',
  'refund_failed',
  'case_opened',
  'settlement',
  'provider_failing',
  'webhooks_failing',
  'live_key',
] as const
export type AlertKind = (typeof ALERT_KINDS)[number]
