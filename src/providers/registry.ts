import { gateway } from './gateway/adapter.ts'
import type { Provider } from './provider.ts'
import { stripe } from './stripe/adapter.ts'

/** Every provider there is. Adding one is adding a folder, and a line here. */
export const PROVIDERS: readonly Provider[] = [gateway, stripe]

export function findProvider(name: string): Provider | undefined {
  return PROVIDERS.find(({ capabilities }) => capabilities.name === name)
}
