import { hash } from 'node:crypto'

/** A merchant of the benchmark, with an account of its own at the provider. */
export interface Merchant {
  /** The first part of the provider's paths. */
  account: string
  /** Its credential. */
  headers: Record<string, string>
}

/** The keys of an account at the provider. */
export function settingsOf(account: string): { secretKey: string; publicKey: string } {
  const digest = hash('sha1', account)
  return { secretKey: `sk_test_${digest}`, publicKey: `pk_test_${digest}` }
}
