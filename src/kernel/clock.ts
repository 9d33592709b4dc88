/** The current time, replaceable in tests. Leases and expiry use the database's clock instead: see ARCHITECTURE.md. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
