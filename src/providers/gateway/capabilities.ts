import type { Capabilities } from '../provider.ts'

/** The sandbox provider: plays every part of a real one, with test cards and play money. */
export const capabilities: Capabilities = {
  name: 'gateway',
  sandboxOnly: true,
  channels: ['card', 'virtual-bank-account'],
  countries: ['NG', 'GH', 'KE', 'ZA'],
  currencies: ['NGN', 'GHS', 'KES', 'ZAR', 'USD'],
}
