import { flutterwave } from './flutterwave/adapter.ts'
import { gateway } from './gateway/adapter.ts'
import { monnify } from './monnify/adapter.ts'
import { mpesa } from './mpesa/adapter.ts'
import { pawapay } from './pawapay/adapter.ts'
import { paystack } from './paystack/adapter.ts'
import type { Provider } from './provider.ts'
import { stripe } from './stripe/adapter.ts'

/** Every provider there is. Adding one is adding a folder, and a line here. */
export const PROVIDERS: readonly Provider[] = [gateway, paystack, flutterwave, monnify, stripe, pawapay, mpesa]

export function findProvider(name: string): Provider | undefined {
  return PROVIDERS.find(({ capabilities }) => capabilities.name === name)
}
