import type { Provider } from '../../src/providers/provider.ts'

export type Keys =
  | { kind: 'there'; settings: Record<string, string>; baseURL: string }
  /** Left out: no keys, and not chosen by name. */
  | { kind: 'none'; hint: string }
  /** Cannot run: keys are missing or wrong. */
  | { kind: 'wrong'; because: string }

/** `LIVE_PAYSTACK_SECRET_KEY` for the setting `secretKey` of paystack. */
export const variableOf = (provider: string, setting: string) =>
  `LIVE_${provider}_${setting.replaceAll(/[A-Z]/g, (letter) => `_${letter}`)}`.toUpperCase()

/**
 * The keys of a sandbox, from the environment. A value that does not match the sandbox pattern is neither used nor
 * printed. `shared` are keys that the provider publishes; they are used when the environment has none and the provider
 * was chosen by name.
 */
export function readKeys(
  { capabilities, settings, baseURL }: Provider,
  env: NodeJS.ProcessEnv,
  shared?: Record<string, string>,
): Keys {
  const given = settings.map((setting) => {
    const variable = variableOf(capabilities.name, setting.name)
    return { ...setting, variable, value: env[variable] || undefined }
  })
  const isShared = shared !== undefined && given.every(({ value }) => value === undefined)
  const asked = isShared ? given.map((setting) => ({ ...setting, value: shared[setting.name] })) : given
  const missing = asked.filter(({ value, optional }) => value === undefined && !optional)
  const toSet = missing.map(({ variable, looksLike }) => `${variable} (${looksLike.sandbox})`).join(', ')
  if (asked.every(({ value }) => value === undefined)) {
    return { kind: 'none', hint: `set ${toSet}, with keys of its sandbox: docs/providers/${capabilities.name}.md` }
  }
  if (missing.length > 0) return { kind: 'wrong', because: `also set ${toSet}` }
  const odd = asked.filter(({ value, pattern }) => value !== undefined && !pattern.sandbox.test(value))
  if (odd.length > 0) {
    const names = odd.map(({ variable, looksLike }) => `${variable} does not look like one (${looksLike.sandbox})`)
    return { kind: 'wrong', because: `keys of the sandbox alone are used here, and ${names.join(', ')}` }
  }
  return {
    kind: 'there',
    settings: Object.fromEntries(asked.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    baseURL: env[variableOf(capabilities.name, 'baseUrl')] || (baseURL?.sandbox ?? ''),
  }
}

/** A wrong key of the same form: its last eight letters and digits are changed. */
export const brokenKey = (key: string) =>
  key.replace(/[0-9A-Za-z]{8}(?=(-X)?$)/, (end) => (end === '00000000' ? '11111111' : '00000000'))
