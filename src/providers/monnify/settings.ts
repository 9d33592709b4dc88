import type { Setting } from '../provider.ts'

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
