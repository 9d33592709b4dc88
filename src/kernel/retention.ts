/** The shortest retention that can be set, in days. Newer rows may be in use, so none of them was ever deleted. */
export const LEAST_DAYS = {
  /** Merchants send failed webhooks again for that long. */
  transport: 30,
  /** A link lives for 30 days, and an unknown outcome is checked for 7 more. */
  sandbox: 40,
  /** Refunds and disputes of a payment may come for that long. The trigger on events has the same limit. */
  live: 730,
}
