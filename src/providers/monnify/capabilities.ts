import type { FeeSchedule } from '../../kernel/fee.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, offersAt, type Setting } from '../capabilities.ts'

/** The lifetime of a link and of an account number. It cannot be chosen. */
export const LIFETIME_SECONDS = 2_400

// Their headline price. What a merchant really pays is in its contract.
const FEE: FeeSchedule = { basisPoints: 150, cap: 200_000 }

/**
 * The banks of `GET /api/v1/sdk/transactions/banks` that have a `ussdTemplate`, as their users have written the list
 * down. A bank that has none by now is declined.
 */
export const USSD_BANKS = [
  { code: '044', name: 'Access Bank' },
  { code: '050', name: 'Ecobank' },
  { code: '214', name: 'FCMB' },
  { code: '070', name: 'Fidelity Bank' },
  { code: '011', name: 'First Bank' },
  { code: '058', name: 'Guaranty Trust Bank' },
  { code: '301', name: 'Jaiz Bank' },
  { code: '082', name: 'Keystone Bank' },
  { code: '076', name: 'Polaris Bank' },
  { code: '221', name: 'Stanbic IBTC Bank' },
  { code: '232', name: 'Sterling Bank' },
  { code: '032', name: 'Union Bank' },
  { code: '033', name: 'United Bank for Africa' },
  { code: '215', name: 'Unity Bank' },
  { code: '035', name: 'Wema Bank' },
  { code: '057', name: 'Zenith Bank' },
]

export const capabilities: Capabilities = {
  name: 'monnify',
  title: 'Monnify',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  countries: ['NG'],
  // Dollars are for merchants whom Monnify has enabled for them, and they cannot be asked for by account.
  currencies: ['NGN'],
  // Twenty naira by their own library; they name no most.
  limits: { NGN: { min: 2_000, max: MAX_AMOUNT } },
  offers: {
    card: offersAt({ NGN: FEE }),
    'virtual-bank-account': offersAt({ NGN: FEE }, { lifetimeSeconds: LIFETIME_SECONDS }),
    ussd: offersAt({ NGN: FEE }, { lifetimeSeconds: LIFETIME_SECONDS, banks: USSD_BANKS }),
  },
  // They know the account that a card is of, and not the one that a transfer came from.
  refundNeedsAccount: ['virtual-bank-account', 'ussd'],
  // A settlement has some 900 bytes for each of its payments.
  maxNoticeBytes: 4 * 1024 * 1024,
}

const both = <T>(value: T) => ({ sandbox: value, live: value })

/** All three stand under Developer, API Keys & Contracts, in the dashboard of the same mode. */
export const settings: readonly Setting[] = [
  {
    name: 'apiKey',
    about: 'The API key: Monnify dashboard, Developer, API Keys & Contracts.',
    secret: false,
    pattern: { sandbox: /^MK_TEST_[A-Za-z0-9]{6,64}$/, live: /^MK_PROD_[A-Za-z0-9]{6,64}$/ },
    looksLike: { sandbox: 'MK_TEST_…', live: 'MK_PROD_…' },
  },
  {
    name: 'secretKey',
    about: 'The secret key beside the API key; it also signs the notices of live mode.',
    secret: true,
    // It says nothing about its mode. One of the other mode does not log in.
    pattern: both(/^[A-Za-z0-9]{16,128}$/),
    looksLike: both('32 letters and digits'),
  },
  {
    name: 'contractCode',
    about: 'The contract code, on the same page as the keys.',
    secret: false,
    pattern: both(/^\d{6,20}$/),
    looksLike: both('ten digits'),
  },
]
