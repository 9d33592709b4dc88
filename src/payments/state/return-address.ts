import { isWebAddress } from '../../kernel/web-address.ts'
import type { Payment } from './payment.ts'

/** The merchant's redirect URL with `status` and `reference` added. */
export function returnAddress({ redirectURL, status, reference }: Payment): string | undefined {
  // Validated at creation and again here, to prevent a redirect to a javascript: URL.
  if (redirectURL === null || !isWebAddress(redirectURL)) return undefined
  const address = new URL(redirectURL)
  address.searchParams.set('status', status)
  address.searchParams.set('reference', reference)
  return address.href
}
