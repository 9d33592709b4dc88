import type { FeeSchedule } from '../../kernel/fee.ts'
import type { Capabilities, Setting } from '../capabilities.ts'

/** "8 digits": 999,999.99 of any currency that is counted in hundredths. */
const MAX = 99_999_999

/**
 * What one charge costs and how small it may be, by currency. Data like a price list: copied from public tables,
 * changed by agreement with Stripe. Of the rates that a currency has, all but the dollar's are the dearest one, for the
 * card's country is not known before it is paid.
 */
const CURRENCIES: Record<string, { min: number; fee: FeeSchedule }> = {
  // An account in the US: 2.9 % + 30 c. (A foreign card costs 1.5 % more.)
  USD: { min: 50, fee: { basisPoints: 290, flat: 30 } },
  // An account in the EEA or the UK, with a card from neither: 3.25 % + 25 c or 20 p. (Cards from nearby cost 1.5 %.)
  EUR: { min: 50, fee: { basisPoints: 325, flat: 25 } },
  GBP: { min: 30, fee: { basisPoints: 325, flat: 20 } },
  // No account is held in these, so each charge is a foreign card's and is converted: 2.9 + 1.5 + 1 %. The 30 c and the
  // least charge of 50 c are rounded up, since rates move and a charge below the minimum is refused.
  NGN: { min: 100_000, fee: { basisPoints: 540, flat: 50_000 } },
  KES: { min: 10_000, fee: { basisPoints: 540, flat: 4_000 } },
  ZAR: { min: 1_000, fee: { basisPoints: 540, flat: 600 } },
}

const AFRICA = ['NG', 'KE', 'ZA', 'GH']
const EUROPE = [
  ...['AT', 'BE', 'BG', 'CH', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GB', 'GR', 'HR', 'HU'],
  ...['IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'NO', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'],
]

/**
 * Cards alone: account numbers exist for EUR, GBP, JPY, MXN and USD only, belong to a customer for good, and take money
 * without an order.
 */
export const capabilities: Capabilities = {
  name: 'stripe',
  title: 'Stripe',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  // Where customers are. Where the merchant's account may be is another matter: docs/providers/stripe.md.
  countries: [...AFRICA, 'US', ...EUROPE],
  currencies: Object.keys(CURRENCIES),
  limits: mapped(({ min }) => ({ min, max: MAX })),
  offers: { card: mapped(({ fee }) => ({ fee })) },
}

function mapped<T>(pick: (currency: { min: number; fee: FeeSchedule }) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(CURRENCIES).map(([code, terms]) => [code, pick(terms)]))
}

const key = (kind: string, mode: string) => new RegExp(`^${kind}_${mode}_[A-Za-z0-9_]{8,250}$`)
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/=_-]{8,250}$/

export const settings: readonly Setting[] = [
  {
    name: 'secretKey',
    about:
      'The secret key, or a restricted key that may write Checkout Sessions, PaymentIntents, Customers and Refunds, and read Charges and Disputes: Developers, API keys.',
    secret: true,
    pattern: { sandbox: key('(sk|rk)', 'test'), live: key('(sk|rk)', 'live') },
    looksLike: { sandbox: 'sk_test_…', live: 'sk_live_…' },
  },
  {
    name: 'publicKey',
    about: 'The publishable key, beside the secret one.',
    secret: false,
    pattern: { sandbox: key('pk', 'test'), live: key('pk', 'live') },
    looksLike: { sandbox: 'pk_test_…', live: 'pk_live_…' },
  },
  {
    name: 'webhookSecret',
    about:
      'The signing secret of the webhook endpoint with our notice URL, one for each endpoint and mode: Developers, Webhooks.',
    secret: true,
    // It looks the same in both modes; the notices themselves say which one they are of.
    pattern: { sandbox: WEBHOOK_SECRET, live: WEBHOOK_SECRET },
    looksLike: { sandbox: 'whsec_…', live: 'whsec_…' },
  },
]
