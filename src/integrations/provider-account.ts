/** The account of a provider that has nothing to set up. */
export const NO_ACCOUNT = 0

/** One version of a merchant's keys for a provider. It never changes: other keys are another version. */
export interface ProviderAccount {
  version: number
  settings: Record<string, string>
  /** Null: the provider's own. */
  baseURL: string | null
}
