import type { FeeSchedule } from '../../kernel/fee.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, type Offer, offersAt } from '../capabilities.ts'

const CURRENCIES = ['NGN', 'GHS', 'KES', 'ZAR', 'UGX', 'RWF', 'ZMW', 'TZS', 'XOF', 'USD']

/** One schedule for naira, one for the others. */
function fees(naira: FeeSchedule, others: FeeSchedule): Record<string, FeeSchedule> {
  return Object.fromEntries(CURRENCIES.map((currency) => [currency, currency === 'NGN' ? naira : others]))
}

/** Where people pay by mobile money, and with which networks. */
const NETWORKS: Record<string, Offer['networks']> = {
  GHS: { GH: ['mtn', 'telecel', 'at'] },
  KES: { KE: ['mpesa', 'mpesa-paybill', 'airtel'] },
  UGX: { UG: ['mtn', 'airtel'] },
  RWF: { RW: ['mtn', 'airtel'] },
  ZMW: { ZM: ['mtn', 'airtel', 'zamtel'] },
  TZS: { TZ: ['vodacom', 'airtel', 'tigo', 'halopesa'] },
  XOF: { CI: ['mtn', 'orange', 'moov', 'wave'], SN: ['orange', 'wave', 'free'] },
}

/** A few of each country, with codes of our own. No customer has an account at a bank in dollars. */
const BANKS: Record<string, Offer['banks']> = {
  NGN: [
    { code: '058', name: 'Guaranty Trust Bank' },
    { code: '057', name: 'Zenith Bank' },
    { code: '033', name: 'United Bank for Africa' },
    { code: '044', name: 'Access Bank' },
    { code: '011', name: 'First Bank of Nigeria' },
  ],
  GHS: banksOf('GCB Bank', 'Ecobank Ghana', 'Absa Bank Ghana'),
  KES: banksOf('Equity Bank', 'KCB Bank', 'Co-operative Bank'),
  ZAR: banksOf('Capitec Bank', 'Standard Bank', 'First National Bank'),
  UGX: banksOf('Stanbic Bank Uganda', 'Centenary Bank'),
  RWF: banksOf('Bank of Kigali', 'I&M Bank Rwanda'),
  ZMW: banksOf('Zanaco', 'Stanbic Bank Zambia'),
  TZS: banksOf('CRDB Bank', 'NMB Bank'),
  XOF: banksOf('Ecobank', 'NSIA Banque'),
}

function banksOf(...names: string[]): NonNullable<Offer['banks']> {
  return names.map((name, index) => ({ code: String(index + 1).padStart(3, '0'), name }))
}

const offersBy = (of: Record<string, unknown>, offer: (currency: string) => Offer): Record<string, Offer> =>
  Object.fromEntries(Object.keys(of).map((currency) => [currency, offer(currency)]))

/** The sandbox provider: plays every part of a real one, with test cards, test phone numbers and play money. */
export const capabilities = {
  name: 'gateway',
  title: 'Sandbox gateway',
  sandboxOnly: true,
  framed: true,
  pageTakesSavedCards: true,
  pageAsksToSave: true,
  countries: ['NG', 'GH', 'KE', 'ZA', 'UG', 'RW', 'ZM', 'TZ', 'CI', 'SN'],
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
    'mobile-money': offersBy(NETWORKS, (currency) => ({
      fee: { basisPoints: 195 },
      networks: NETWORKS[currency],
      lifetimeSeconds: 120,
    })),
    ussd: offersBy(BANKS, (currency) => ({ fee: { basisPoints: 100 }, banks: BANKS[currency], lifetimeSeconds: 600 })),
    bank: offersBy(BANKS, (currency) => ({
      fee: { basisPoints: 100 },
      banks: BANKS[currency],
      lifetimeSeconds: 1_800,
    })),
    qr: offersBy(BANKS, () => ({ fee: { basisPoints: 50 }, lifetimeSeconds: 600 })),
  },
  settles: { workingDays: 1 },
  // It runs in the same process and answers in milliseconds, or by a simulated fault never. A long wait gains nothing.
  answersWithinMs: 5_000,
} satisfies Capabilities
