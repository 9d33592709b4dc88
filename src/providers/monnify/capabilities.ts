import type { FeeSchedule } from '../../kernel/fee.ts'
import { MAX_AMOUNT } from '../../kernel/money.ts'
import type { Capabilities } from '../provider.ts'

/** How long a link and an account number live. Nobody can choose. */
export const LIFETIME_SECONDS = 2_400

// Their headline price. What a merchant really pays is in its contract.
const FEE: FeeSchedule = { basisPoints: 150, cap: 200_000 }

export const capabilities: Capabilities = {
  name: 'monnify',
  title: 'Monnify',
  sandboxOnly: false,
  channels: ['card', 'virtual-bank-account'],
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  countries: ['NG'],
  // Dollars are for merchants whom Monnify has enabled for them, and they cannot be asked for by account.
  currencies: ['NGN'],
  // Twenty naira by their own library; they name no most.
  limits: { NGN: { min: 2_000, max: MAX_AMOUNT } },
  fees: { card: { NGN: FEE }, 'virtual-bank-account': { NGN: FEE } },
  accountLifetimeSeconds: LIFETIME_SECONDS,
}
