import assert from 'node:assert/strict'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, offersAt, type Setting } from '../capabilities.ts'

// The 100 naira are waived below 2,500, and all of it ends at 2,000. "All local channels" cost the same.
const LOCAL_NAIRA = { basisPoints: 150, flat: 10_000, flatWaivedBelow: 250_000, cap: 200_000 }
const SOUTH_AFRICAN_VAT = 1_500
const IVORIAN_VAT = 1_800
const LOCAL_RAND = { basisPoints: 290, flat: 100, taxBasisPoints: SOUTH_AFRICAN_VAT }

/** The banks whose type of charge their OpenAPI description names: 737, 919, 822 and 966. */
export const USSD_BANKS = [
  { code: '058', name: 'Guaranty Trust Bank' },
  { code: '033', name: 'United Bank for Africa' },
  { code: '232', name: 'Sterling Bank' },
  { code: '057', name: 'Zenith Bank' },
]

/**
 * Ours: they tell no lifetime of a voucher, a code to dial or scan, or a number to pay to. After it the customer can
 * have a new one; what is paid by the old one is found all the same.
 */
const CODE_SECONDS = 900

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
  // Fees: support.paystack.com/en/articles/2130306 (edited 2026-09-15).
  offers: {
    card: offersAt({
      NGN: LOCAL_NAIRA,
      GHS: { basisPoints: 195 },
      ZAR: LOCAL_RAND,
      KES: { basisPoints: 290 },
      USD: { basisPoints: 390 },
      XOF: { basisPoints: 320, taxBasisPoints: IVORIAN_VAT },
    }),
    'virtual-bank-account': {
      // 30 minutes are what their own page gives a customer; they allow 15 minutes to 8 hours.
      NGN: { fee: LOCAL_NAIRA, lifetimeSeconds: 1_800 },
      // Pesalink. The fee is that of their sample of its notice; the most is Pesalink's own: ipsl.co.ke, "FAQs".
      KES: { fee: { basisPoints: 150 }, limits: { min: 300, max: 99_999_900 }, lifetimeSeconds: 1_500 },
    },
    // A prompt ends after three minutes, also with a longer lifetime here.
    'mobile-money': {
      GHS: { fee: { basisPoints: 195 }, networks: { GH: ['mtn', 'telecel', 'at'] }, lifetimeSeconds: CODE_SECONDS },
      // Fee and most (for one payment) are M-PESA's. No price is published for Airtel.
      KES: {
        fee: { basisPoints: 150 },
        limits: { min: 300, max: 25_000_000 },
        networks: { KE: ['mpesa', 'airtel', 'mpesa-paybill'] },
        lifetimeSeconds: CODE_SECONDS,
      },
      XOF: {
        fee: { basisPoints: 195, taxBasisPoints: IVORIAN_VAT },
        networks: { CI: ['mtn', 'orange', 'wave'] },
        lifetimeSeconds: CODE_SECONDS,
        needsSetting: 'xofAmounts',
      },
    },
    ussd: { NGN: { fee: LOCAL_NAIRA, banks: USSD_BANKS, lifetimeSeconds: CODE_SECONDS } },
    // In South Africa EFT by Ozow.
    bank: offersAt({ NGN: LOCAL_NAIRA, ZAR: { basisPoints: 200, taxBasisPoints: SOUTH_AFRICAN_VAT } }),
    // Scan to Pay. By their sample of its notice it costs as much as a card.
    qr: offersAt({ ZAR: LOCAL_RAND }, { lifetimeSeconds: CODE_SECONDS }),
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
  {
    name: 'xofAmounts',
    about: 'Switches on mobile money in XOF, after a look with a test key: docs/providers/paystack.md.',
    secret: false,
    optional: true,
    pattern: { sandbox: /^hundredths$/, live: /^hundredths$/ },
    looksLike: { sandbox: 'hundredths', live: 'hundredths' },
  },
]

export function readSettings({ secretKey, publicKey, xofAmounts }: Record<string, string>) {
  assert(secretKey, 'paystack needs the setting secretKey') // with an empty key anyone could sign a notice
  assert(publicKey, 'paystack needs the setting publicKey')
  return { secretKey, publicKey, hasConfirmedFrancs: xofAmounts === 'hundredths' }
}
