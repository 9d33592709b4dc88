import { capabilities as gateway } from './gateway/capabilities.ts'
import type { Capabilities } from './provider.ts'

/** Every provider there is. Adding one is adding a folder, and a line here. */
export const PROVIDERS: readonly Capabilities[] = [gateway]
