/** Days in which a provider finishes a refund, as in src/providers/; test/dashboard-refund-days.test.ts compares. */
const REFUND_DAYS: Record<string, number> = { flutterwave: 21 }
const DEFAULT_DAYS = 3

export function refundDays(provider: string | undefined): number {
  return REFUND_DAYS[provider ?? ''] ?? DEFAULT_DAYS
}
