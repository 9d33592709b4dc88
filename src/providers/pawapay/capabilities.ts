import assert from 'node:assert/strict'
import type { FeeSchedule } from '../../kernel/fee.ts'
import type { Capabilities, Setting } from '../capabilities.ts'

/** Each merchant has its own price, and no answer of the API names it. README.md says what that means for reports. */
export const FEE: FeeSchedule = { basisPoints: 0 }

/** How long a network asks on the phone. Not documented: the networks give 20 to 180 seconds. */
export const PROMPT_SECONDS = 180
/** How long the page of a network is open. Not documented either. */
export const PAGE_SECONDS = 900

export const capabilities: Capabilities = {
  name: 'pawapay',
  title: 'pawaPay',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  // `GET /v2/active-conf` says which, for each account.
  offersOfAccount: true,
  signsForAllAccounts: true,
  countries: [],
  currencies: [],
  limits: {},
  offers: { 'mobile-money': {} },
}

// The form of a token is not documented; those of both environments look alike. So each is tried where it belongs.
const TOKEN = /^[\w.~+/=-]{20,2000}$/

export const settings: readonly Setting[] = [
  {
    name: 'apiToken',
    about:
      'The API token, in the dashboard of pawaPay under System configuration, API tokens. Set the callback URLs for deposits and refunds there first, to the notice URL, and turn on signed callbacks.',
    secret: true,
    pattern: { sandbox: TOKEN, live: TOKEN },
    looksLike: { sandbox: 'eyJ…', live: 'eyJ…' },
  },
]

export function readSettings({ apiToken }: Record<string, string>): { apiToken: string } {
  assert(apiToken, 'pawapay needs the setting apiToken')
  return { apiToken }
}
