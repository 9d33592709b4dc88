import { isWebAddress } from '../../kernel/web-address.ts'
import type { Payment } from './payment.ts'

/** Where the customer goes afterwards: the merchant's own address, with `status` and `reference` set and all else kept. */
export function returnAddress({ redirectURL, status, reference }: Payment): string | undefined {
  // Checked when it was taken in, and again here, for this is where it would do harm.
  if (redirectURL === null || !isWebAddress(redirectURL)) return undefined
  const address = new URL(redirectURL)
  address.searchParams.set('status', status)
  address.searchParams.set('reference', reference)
  return address.href
}
