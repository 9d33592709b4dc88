import type { Payment } from './payment.ts'

/** Where the customer goes afterwards: the merchant's own address, with `status` and `reference` set and all else kept. */
export function returnAddress({ redirectURL, status, reference }: Payment): string | undefined {
  const address = redirectURL === null ? null : URL.parse(redirectURL)
  // Checked when it was taken in, and again here, for this is where it would do harm.
  if (!address || !['http:', 'https:'].includes(address.protocol)) return undefined
  address.searchParams.set('status', status)
  address.searchParams.set('reference', reference)
  return address.href
}
