/** The version of the keys of a provider that needs no settings. */
export const NO_KEYS = 0

/** One immutable version of a merchant's keys for a provider. New keys are a new version. */
export interface ProviderKeys {
  version: number
  settings: Record<string, string>
  /** Null: the provider's own URL. */
  baseURL: string | null
}
