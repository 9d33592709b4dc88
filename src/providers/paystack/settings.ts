import assert from 'node:assert/strict'
import type { Setting } from '../provider.ts'

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
  assert(secretKey, 'paystack needs the setting secretKey') // an empty one would let anybody sign
  assert(publicKey, 'paystack needs the setting publicKey')
  return { secretKey, publicKey }
}
