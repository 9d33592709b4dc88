import type { FeeSchedule } from '../../kernel/fee.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, offersAt } from '../capabilities.ts'

const CURRENCIES = ['NGN', 'GHS', 'KES', 'ZAR', 'USD']

/** One schedule for naira, one for the others. */
function fees(naira: FeeSchedule, others: FeeSchedule): Record<string, FeeSchedule> {
  return Object.fromEntries(CURRENCIES.map((currency) => [currency, currency === 'NGN' ? naira : others]))
}

/** The sandbox provider: plays every part of a real one, with test cards and play money. */
export const capabilities: Capabilities = {
  name: 'gateway',
  title: 'Sandbox gateway',
  sandboxOnly: true,
  framed: true,
  pageTakesSavedCards: true,
  pageAsksToSave: true,
  countries: ['NG', 'GH', 'KE', 'ZA'],
  currencies: CURRENCIES,
  // As wide as amounts go, so that any of them can be tried.
  limits: Object.fromEntries(CURRENCIES.map((currency) => [currency, { min: 1, max: MAX_AMOUNT }])),
  // Like those of real ones, with each kind of jump in them.
  offers: {
    card: offersAt(
      fees({ basisPoints: 150, flat: 10_000, flatWaivedBelow: 250_000, cap: 200_000 }, { basisPoints: 290 }),
    ),
    'virtual-bank-account': offersAt(fees({ basisPoints: 100, cap: 30_000 }, { basisPoints: 150 }), {
      lifetimeSeconds: 1_800,
    }),
  },
  // It runs in the same process and answers in milliseconds, or by a simulated fault never. A long wait gains nothing.
  answersWithinMs: 5_000,
}
