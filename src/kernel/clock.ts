/**
 * The current time, replaceable in tests. The service runs with the clock of the database (database-clock.ts), because
 * that of the machine may jump.
 */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
