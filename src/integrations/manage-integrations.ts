import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { Mode } from '../kernel/mode.ts'
import { type Mistake, Problem, refuse } from '../kernel/problem.ts'
import type { Owner } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { KeysVerdict, Provider, Providers } from '../providers/provider.ts'
import type { IntegrationRecord } from './integration.ts'
import { applyChanges, type IntegrationChanges, type WantedIntegration } from './integration-changes.ts'
import { findIntegration, listIntegrations, lockIntegrations, offersDue, saveIntegration } from './integration-store.ts'

interface Deps {
  database: Database
  secrets: SecretBox
  /** The modes in which a base URL may point to a private network. */
  allowPrivate: (mode: Mode) => boolean
}

/**
 * Creates an integration, changes it, or enables a removed one. `found`: mistakes that the route found, reported
 * together with ours.
 */
export function setIntegration(
  { database, secrets, allowPrivate }: Deps,
  {
    actor,
    owner,
    provider,
    changes,
    found = [],
  }: { actor: string; owner: Owner; provider: Provider; changes: IntegrationChanges; found?: Mistake[] },
): Promise<IntegrationRecord> {
  const { name, sandboxOnly } = provider.capabilities
  const { merchantId, mode } = owner
  if (sandboxOnly && mode !== 'sandbox')
    throw new Problem('invalid_request', `${name} moves no real money. Set it up in sandbox mode.`)
  return database.transaction(async (tx) => {
    if (!(await lockIntegrations(tx, owner)))
      throw new Problem('not_found', `There is no merchant ${merchantId}. List them with: merchant list`)
    const before = await findIntegration(tx, secrets, owner, name)
    const { after, mistakes } = applyChanges(provider, changes, before, { mode, allowPrivate: allowPrivate(mode) })
    const reported = new Set(found.map(({ pointer }) => pointer))
    const all = [...found, ...mistakes.filter(({ pointer }) => !reported.has(pointer))]
    if (all.length > 0) refuse(all)

    const changed = before ? changesBetween(before, after) : []
    if (before && changed.length === 0) return before
    const saved = await saveIntegration(tx, secrets, owner, after)
    if (provider.capabilities.offersOfAccount) offersDue(tx, { owner, provider: name })
    const act = before ? 'integration.changed' : 'integration.created'
    await recordAct(tx, { actor, act, merchantId, subject: [mode, name, ...changed].join(' ') })
    return saved
  })
}

/**
 * Disables the integration for new payments. The sealed keys stay: started payments are still checked and refunded with
 * them.
 */
export function removeIntegration(
  { database, secrets }: Pick<Deps, 'database' | 'secrets'>,
  actor: string,
  owner: Owner,
  name: string,
): Promise<IntegrationRecord> {
  const { merchantId, mode } = owner
  return database.transaction(async (tx) => {
    await lockIntegrations(tx, owner)
    const before = await findIntegration(tx, secrets, owner, name)
    if (!before) throw notSetUp(name, mode)
    if (!before.enabled) return before
    const saved = await saveIntegration(tx, secrets, owner, { ...before, enabled: false })
    await recordAct(tx, { actor, act: 'integration.removed', merchantId, subject: `${mode} ${name}` })
    return saved
  })
}

/** Checks the keys with a provider call that changes nothing. */
export async function checkIntegration(
  { database, secrets, providers }: Pick<Deps, 'database' | 'secrets'> & { providers: Providers },
  owner: Owner,
  name: string,
): Promise<KeysVerdict> {
  if (!(await findIntegration(database, secrets, owner, name))) throw notSetUp(name, owner.mode)
  const client = await providers.connect(owner, name)
  return client.verifyKeys()
}

/** The public addresses of notices, for a provider that has to be told. */
interface NoticeLinks {
  notices(owner: Owner, provider: string): string
}

export interface KeysWarning {
  code: 'keys_refused' | 'keys_not_checked'
  message: string
}

const KEYS_CHECK_TIMEOUT_MS = 5_000

/**
 * Checks keys that were just set, and tells the provider where to send notices, with a timeout. Null: the provider
 * accepts them.
 */
export async function warnOfKeys(
  { providers, links }: { providers: Providers; links?: NoticeLinks },
  owner: Owner,
  name: string,
  waitMs: number = KEYS_CHECK_TIMEOUT_MS,
): Promise<KeysWarning | null> {
  const late = Promise.withResolvers<KeysVerdict>()
  const because = `it did not answer within ${waitMs / 1_000} s`
  const timer = setTimeout(() => late.resolve({ kind: 'unknown', because }), waitMs)
  const asked = providers
    .connect(owner, name)
    .then(async (client) => {
      const verdict = await client.verifyKeys()
      if (verdict.kind !== 'good' || !links || !client.registerNotices) return verdict
      const capabilities = providers.find(name)?.capabilities
      return client.registerNotices(links.notices(owner, capabilities?.nameInAddresses ?? name))
    })
    .catch((): KeysVerdict => ({ kind: 'unknown', because: 'the check failed' }))
  const verdict = await Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
  if (verdict.kind === 'good') return null
  return verdict.kind === 'bad'
    ? { code: 'keys_refused', message: `${name} refused the ${owner.mode} keys: ${verdict.because}. They are saved.` }
    : {
        code: 'keys_not_checked',
        message: `${name} did not confirm the ${owner.mode} keys: ${verdict.because}. They are saved; check them again later.`,
      }
}

/** Whether a request sets keys, which then need a check. */
export function setsKeys(provider: Provider, { settings, baseURL }: IntegrationChanges): boolean {
  return provider.settings.length > 0 && ((settings ?? null) !== null || (baseURL ?? null) !== null)
}

export function notSetUp(name: string, mode: Mode): Problem {
  return new Problem('not_found', `${name} is not set up in ${mode} mode.`)
}

/** The names of the fields that differ, for the audit log. Never their values. */
function changesBetween(before: IntegrationRecord, after: WantedIntegration): string[] {
  const { settings: earlier, ...rest } = before
  const { settings, ...wanted } = after
  const names = new Set([...Object.keys(earlier ?? {}), ...Object.keys(settings ?? {})])
  return [
    ...[...names].filter((name) => earlier?.[name] !== settings?.[name]).map((name) => `settings.${name}`),
    ...Object.keys(wanted).filter(
      (key) => !isDeepStrictEqual(rest[key as keyof typeof rest], wanted[key as keyof typeof wanted]),
    ),
  ]
}

/** Sets the order in which the enabled integrations are used. `names`: all of them, the first is used first. */
export function orderIntegrations(
  { database, secrets }: Pick<Deps, 'database' | 'secrets'>,
  actor: string,
  owner: Owner,
  names: readonly string[],
): Promise<void> {
  const { merchantId, mode } = owner
  return database.transaction(async (tx) => {
    await lockIntegrations(tx, owner)
    const enabled = (await listIntegrations(tx, secrets, owner)).filter((each) => each.enabled)
    if (new Set(names).size !== enabled.length || enabled.some(({ provider }) => !names.includes(provider)))
      throw new Problem('conflict', 'The list must have each provider that is switched on, once. Load it again.')
    for (const record of enabled) {
      const priority = (names.indexOf(record.provider) + 1) * PRIORITY_STEP
      if (priority !== record.priority) await saveIntegration(tx, secrets, owner, { ...record, priority })
    }
    await recordAct(tx, { actor, act: 'integrations.ordered', merchantId, subject: [mode, ...names].join(' ') })
  })
}

/** Room for a provider that the API puts between two others. */
const PRIORITY_STEP = 10
