/** When money that was taken should reach the bank account. Pure; days are of UTC. */

const DAY_MS = 24 * 3_600_000
/** Of a provider that names no delay of its own. */
const USUAL_DAYS = 2
/** After the usual delay: bank holidays, a late file. Then it is a case. */
const PATIENCE_DAYS = 3

export interface SettlesIn {
  /** Working days after the payment. */
  workingDays: number
  /** Where they differ, by country of the payment. */
  byCountry?: Record<string, number>
}

export function usualDays(settles: SettlesIn | undefined, country: string): number {
  return settles?.byCountry?.[country] ?? settles?.workingDays ?? USUAL_DAYS
}

/** The last time at which money must have been taken to be settled by now. Saturday and Sunday are no working days. */
export function settledBefore(now: Date, workingDays: number): Date {
  let at = now.getTime()
  while (!isWorkingDay(at)) at -= DAY_MS
  for (let left = workingDays; left > 0; ) {
    at -= DAY_MS
    if (isWorkingDay(at)) left--
  }
  return new Date(at)
}

export const overdueBefore = (now: Date, workingDays: number): Date => settledBefore(now, workingDays + PATIENCE_DAYS)

/** The day on which money is expected that was taken then. */
export function expectedOn(takenAt: Date, workingDays: number): string {
  let at = takenAt.getTime()
  while (!isWorkingDay(at)) at += DAY_MS
  for (let left = workingDays; left > 0; ) {
    at += DAY_MS
    if (isWorkingDay(at)) left--
  }
  return new Date(at).toISOString().slice(0, 10)
}

function isWorkingDay(at: number): boolean {
  const day = new Date(at).getUTCDay()
  return day !== 0 && day !== 6
}
