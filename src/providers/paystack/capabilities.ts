import assert from 'node:assert/strict'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, offersAt, type Setting } from '../capabilities.ts'

// The 100 naira are waived below 2,500, and all of it ends at 2,000. A transfer counts as a local channel, at the same
// price.
const LOCAL_NAIRA = { basisPoints: 150, flat: 10_000, flatWaivedBelow: 250_000, cap: 200_000 }

/**
 * As of the fact sheet, for local cards. Where the price list says "excluding VAT", the country's usual rate is added.
 */
export const capabilities: Capabilities = {
  name: 'paystack',
  title: 'Paystack',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  countries: ['NG', 'GH', 'ZA', 'KE', 'CI'],
  currencies: ['NGN', 'GHS', 'ZAR', 'KES', 'USD', 'XOF'],
  // The least is theirs; they publish no most.
  limits: {
    NGN: { min: 5_000, max: MAX_AMOUNT },
    GHS: { min: 10, max: MAX_AMOUNT },
    ZAR: { min: 100, max: MAX_AMOUNT },
    KES: { min: 300, max: MAX_AMOUNT },
    USD: { min: 200, max: MAX_AMOUNT },
    XOF: { min: 1, max: MAX_AMOUNT },
  },
  offers: {
    card: offersAt({
      NGN: LOCAL_NAIRA,
      GHS: { basisPoints: 195 },
      ZAR: { basisPoints: 290, flat: 100, taxBasisPoints: 1_500 },
      KES: { basisPoints: 290 },
      USD: { basisPoints: 390 },
      XOF: { basisPoints: 320, taxBasisPoints: 1_800 },
    }),
    // 30 minutes are what their own page gives a customer; they allow 15 minutes to 8 hours.
    'virtual-bank-account': offersAt({ NGN: LOCAL_NAIRA }, { lifetimeSeconds: 1_800 }),
  },
}

const ABOUT = 'in Paystack’s dashboard under Settings, API Keys & Webhooks'

export const settings: readonly Setting[] = [
  {
    name: 'secretKey',
    about: `The secret key, ${ABOUT}; it signs notices, too.`,
    secret: true,
    pattern: { sandbox: /^sk_test_[0-9A-Za-z]{16,100}$/, live: /^sk_live_[0-9A-Za-z]{16,100}$/ },
    looksLike: { sandbox: 'sk_test_…', live: 'sk_live_…' },
  },
  {
    name: 'publicKey',
    about: `The public key, ${ABOUT}, beside the secret one.`,
    secret: false,
    pattern: { sandbox: /^pk_test_[0-9A-Za-z]{16,100}$/, live: /^pk_live_[0-9A-Za-z]{16,100}$/ },
    looksLike: { sandbox: 'pk_test_…', live: 'pk_live_…' },
  },
]

export function readSettings({ secretKey, publicKey }: Record<string, string>): {
  secretKey: string
  publicKey: string
} {
  assert(secretKey, 'paystack needs the setting secretKey') // with an empty key anyone could sign a notice
  assert(publicKey, 'paystack needs the setting publicKey')
  return { secretKey, publicKey }
}
