import type { FeeSchedule } from '../../kernel/fee.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import { type Capabilities, offersAt, type Setting } from '../capabilities.ts'

/** The lifetime of a link and of an account number. It cannot be chosen. */
export const LIFETIME_SECONDS = 2_400

// Their headline price. What a merchant really pays is in its contract.
const FEE: FeeSchedule = { basisPoints: 150, cap: 200_000 }

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
  },
  // They know the account that a card is of, and not the one that a transfer came from.
  refundNeedsAccount: ['virtual-bank-account'],
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
