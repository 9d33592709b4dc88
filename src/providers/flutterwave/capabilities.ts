import type { FeeSchedule } from '../../kernel/fee.ts'
import type { MobileNetwork } from '../../kernel/mobile-networks.ts'
import { type Currency, decimalsOf, MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, type Offer, offersAt, type Setting } from '../capabilities.ts'

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

/** `null`: a network that is not named in the request. */
interface MobileMoney {
  currency: string
  type: string
  networks: Partial<Record<MobileNetwork, string | null>>
  /** One `type` for several countries. */
  wantsCountry?: true
  wantsOrderId?: true
}

const francs = (currency: string, networks: MobileMoney['networks']): MobileMoney => {
  return { currency, type: 'mobile_money_franco', networks, wantsCountry: true }
}

/** By country: the `type` of the charge, and what they call each network. README.md has the sources. */
export const MOBILE_MONEY: Record<string, MobileMoney> = {
  GH: { currency: 'GHS', type: 'mobile_money_ghana', networks: { mtn: 'MTN', telecel: 'Telecel', at: 'TIGO' } },
  KE: { currency: 'KES', type: 'mpesa', networks: { mpesa: null } },
  UG: { currency: 'UGX', type: 'mobile_money_uganda', networks: { mtn: 'MTN', airtel: 'AIRTEL' } },
  RW: {
    ...{ currency: 'RWF', type: 'mobile_money_rwanda', wantsOrderId: true },
    networks: { mtn: 'MTN', airtel: 'AIRTEL' },
  },
  ZM: {
    ...{ currency: 'ZMW', type: 'mobile_money_zambia', wantsOrderId: true },
    networks: { mtn: 'MTN', airtel: 'AIRTEL', zamtel: 'ZAMTEL' },
  },
  TZ: {
    ...{ currency: 'TZS', type: 'mobile_money_tanzania' },
    networks: { vodacom: 'Vodacom', tigo: 'Tigo', airtel: 'Airtel', halopesa: 'Halopesa' },
  },
  CI: francs('XOF', { mtn: 'MTN', orange: 'ORANGEMONEY', wave: 'WAVE' }),
  SN: francs('XOF', { orange: 'ORANGEMONEY' }),
  BF: francs('XOF', { orange: 'ORANGEMONEY' }),
  CM: francs('XAF', { mtn: 'MTN', orange: 'ORANGEMONEY' }),
}

/** `app_fee` in their samples and notices, the highest there is; UGX: their support page. */
const MOBILE_MONEY_FEES: Record<string, FeeSchedule> = {
  GHS: { basisPoints: 250 },
  KES: { basisPoints: 290 },
  UGX: { basisPoints: 300 },
  XAF: { basisPoints: 250 },
  ...Object.fromEntries(['RWF', 'ZMW', 'TZS', 'XOF'].map((currency) => [currency, OTHERS])),
}

/** Not documented. A prompt is answered within minutes; where a page comes first, there is more to do. */
export const PROMPT_SECONDS = 180
const PAGE_SECONDS = 900
/** Ours, too. After it the customer can have a new code; what is paid by the old one is found all the same. */
const CODE_SECONDS = 900
const PROMPTS_ALONE = new Set(['KES', 'TZS'])

function mobileMoneyOffer(currency: string, fee: FeeSchedule): Offer {
  const served = Object.entries(MOBILE_MONEY).filter(([, each]) => each.currency === currency)
  return {
    fee,
    networks: Object.fromEntries(
      served.map(([country, { networks }]) => [country, Object.keys(networks) as MobileNetwork[]]),
    ),
    lifetimeSeconds: PROMPTS_ALONE.has(currency) ? PROMPT_SECONDS : PAGE_SECONDS,
  }
}

/** As their page about USSD lists them. */
export const USSD_BANKS: readonly { code: string; name: string }[] = [
  { code: '044', name: 'Access Bank' },
  { code: '050', name: 'Ecobank' },
  { code: '214', name: 'FCMB' },
  { code: '070', name: 'Fidelity Bank' },
  { code: '011', name: 'First Bank' },
  { code: '058', name: 'GTBank' },
  { code: '030', name: 'Heritage Bank' },
  { code: '082', name: 'Keystone Bank' },
  { code: '303', name: 'Lotus Bank' },
  { code: '105', name: 'Premium Trust Bank' },
  { code: '221', name: 'Stanbic IBTC Bank' },
  { code: '232', name: 'Sterling Bank' },
  { code: '032', name: 'Union Bank' },
  { code: '033', name: 'UBA' },
  { code: '215', name: 'Unity Bank' },
  { code: '090110', name: 'VFD Microfinance Bank' },
  { code: '035', name: 'Wema Bank' },
  { code: '057', name: 'Zenith Bank' },
]

const CARD_FEES: Record<string, FeeSchedule> = {
  NGN: NAIRA,
  ...Object.fromEntries(['GHS', 'KES', 'ZAR', 'USD', 'RWF', 'TZS', 'XOF', 'XAF'].map((each) => [each, OTHERS])),
  // Their support page, for international cards.
  UGX: { basisPoints: 380 },
}

const CURRENCIES = ['NGN', 'GHS', 'KES', 'ZAR', 'USD', 'UGX', 'RWF', 'ZMW', 'TZS', 'XOF', 'XAF']

export const capabilities: Capabilities = {
  name: 'flutterwave',
  title: 'Flutterwave',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  countries: ['NG', 'GH', 'KE', 'ZA', 'UG', 'RW', 'ZM', 'TZ', 'CI', 'SN', 'BF', 'CM'],
  currencies: CURRENCIES,
  // They publish no limits. One whole unit keeps slips out; what is too much for them, they refuse.
  limits: Object.fromEntries(
    CURRENCIES.map((code) => [code, { min: 10 ** decimalsOf(code as Currency), max: MAX_AMOUNT }]),
  ),
  offers: {
    card: offersAt(CARD_FEES),
    // A temporary account ends an hour after it was made, or after use.
    'virtual-bank-account': offersAt({ NGN: NAIRA, GHS: OTHERS }, { lifetimeSeconds: 3_600 }),
    'mobile-money': Object.fromEntries(
      Object.entries(MOBILE_MONEY_FEES).map(([currency, fee]) => [currency, mobileMoneyOffer(currency, fee)]),
    ),
    ussd: offersAt({ NGN: NAIRA }, { banks: USSD_BANKS, lifetimeSeconds: CODE_SECONDS }),
    bank: offersAt({ NGN: NAIRA }),
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
