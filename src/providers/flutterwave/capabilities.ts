import type { FeeSchedule } from '../../kernel/fee.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, offersAt, type Setting } from '../capabilities.ts'

const CURRENCIES = ['NGN', 'GHS', 'KES', 'ZAR', 'USD']

// 1.4 %, at most NGN 2,000; 7.5 % VAT on that; NGN 50 of stamp duty. Their page says "above NGN 10,000", their own
// sample takes it of 10,000 already: we reckon with the sample, for a merchant must never get less than we said.
const NAIRA: FeeSchedule = {
  basisPoints: 140,
  cap: 200_000,
  taxBasisPoints: 750,
  duty: { amount: 5_000, above: 999_999 },
}
// The highest that is told of cards; their own price list for these currencies could not be read.
const OTHERS: FeeSchedule = { basisPoints: 480 }

export const capabilities: Capabilities = {
  name: 'flutterwave',
  title: 'Flutterwave',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  countries: ['NG', 'GH', 'KE', 'ZA'],
  currencies: CURRENCIES,
  // They publish no limits. One whole unit keeps slips out; what is too much for them, they refuse.
  limits: Object.fromEntries(CURRENCIES.map((currency) => [currency, { min: 100, max: MAX_AMOUNT }])),
  offers: {
    card: offersAt(Object.fromEntries(CURRENCIES.map((each) => [each, each === 'NGN' ? NAIRA : OTHERS]))),
    // A temporary account ends an hour after it was made, or after use.
    'virtual-bank-account': offersAt({ NGN: NAIRA }, { lifetimeSeconds: 3_600 }),
  },
  // Up to 15 working days to a card.
  refundTakesDays: 21,
}

export const settings: readonly Setting[] = [
  {
    name: 'secretKey',
    about: 'The secret key, in the dashboard under Settings, API keys (v3).',
    secret: true,
    pattern: { sandbox: /^FLWSECK_TEST-[0-9A-Za-z-]{8,200}-X$/, live: /^FLWSECK-[0-9A-Za-z-]{8,200}-X$/ },
    looksLike: { sandbox: 'FLWSECK_TEST-…-X', live: 'FLWSECK-…-X' },
  },
  {
    name: 'publicKey',
    about: 'The public key, beside the secret key.',
    secret: false,
    pattern: { sandbox: /^FLWPUBK_TEST-[0-9A-Za-z-]{8,200}-X$/, live: /^FLWPUBK-[0-9A-Za-z-]{8,200}-X$/ },
    looksLike: { sandbox: 'FLWPUBK_TEST-…-X', live: 'FLWPUBK-…-X' },
  },
  {
    name: 'secretHash',
    about: 'The secret hash, a long random word of your own that you enter in the dashboard under Settings, Webhooks.',
    secret: true,
    pattern: { sandbox: /^[\x21-\x7e]{8,200}$/, live: /^[\x21-\x7e]{8,200}$/ },
    looksLike: { sandbox: 'at least 8 characters, no spaces', live: 'at least 8 characters, no spaces' },
  },
]
