import { isDeepStrictEqual } from 'node:util'
import type { Database } from '../database/database.ts'
import { alertRaised } from '../events/alert-store.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import { Problem } from '../kernel/problem.ts'
import type { BrandingSettings } from './branding.ts'
import { deleteLogo, lockBrandingSettings, saveBrandingSettings, saveLogo } from './branding-store.ts'
import { digestOf, type NewCredential, newCredential } from './credential.ts'
import { parseLimits, type WantedLimits } from './credential-limits.ts'
import { countCredentials, expireInADay, insertCredential, markRevoked } from './credential-store.ts'
import type { Logo } from './logo.ts'
import type { Merchant, MerchantSettings } from './merchant.ts'
import { findMerchant, lockSettings, saveSettings, updateMerchantStatus } from './merchant-store.ts'

interface Deps {
  database: Database
}

export function setMerchantStatus(
  deps: Deps,
  actor: string,
  id: MerchantId,
  status: Merchant['status'],
): Promise<Merchant> {
  return deps.database.transaction(async (tx) => {
    if (await updateMerchantStatus(tx, id, status)) {
      await recordAct(tx, { actor, act: `merchant.${status}`, merchantId: id, subject: id })
    }
    const merchant = await findMerchant(tx, id)
    if (!merchant) throw unknownMerchant(id)
    return merchant
  })
}

/** Changes the given settings and keeps the others. A null logo removes it. */
export function brandMerchant(
  deps: Deps,
  actor: string,
  id: MerchantId,
  { logo, ...changes }: Partial<Omit<BrandingSettings, 'logo'> & { logo: Logo | null }>,
): Promise<BrandingSettings> {
  return deps.database.transaction(async (tx) => {
    const before = await lockBrandingSettings(tx, id)
    if (!before) throw unknownMerchant(id)
    const after: BrandingSettings = { ...before, ...changes }
    if (logo !== undefined) after.logo = logo && { version: logo.version }

    const changed = changedKeys(before, after)
    if (changed.length === 0) return before
    await saveBrandingSettings(tx, id, after)
    if (logo) await saveLogo(tx, id, logo)
    if (logo === null) await deleteLogo(tx, id)
    await recordAct(tx, { actor, act: 'merchant.branded', merchantId: id, subject: changed.join(' ') })
    return after
  })
}

/** Changes the given settings and keeps the others. */
export function changeSettings(
  deps: Deps,
  actor: string,
  id: MerchantId,
  changes: Partial<MerchantSettings>,
): Promise<MerchantSettings> {
  return deps.database.transaction(async (tx) => {
    const before = await lockSettings(tx, id)
    if (!before) throw unknownMerchant(id)
    const after = { ...before, ...changes }
    const changed = changedKeys(before, after)
    if (changed.length === 0) return before
    await saveSettings(tx, id, after)
    await recordAct(tx, { actor, act: 'merchant.settings_changed', merchantId: id, subject: changed.join(' ') })
    return after
  })
}

function changedKeys<Settings extends object>(before: Settings, after: Settings): string[] {
  const keys = Object.keys(after) as (keyof Settings & string)[]
  return keys.filter((key) => !isDeepStrictEqual(before[key], after[key]))
}

/** One that ends within a day does not count, so that each can be replaced. */
const MAX_CREDENTIALS = 50
/** Revoked ones stay in the list, so they are bounded as well. */
const MAX_CREDENTIALS_A_DAY = 100

interface WantedCredential extends WantedLimits {
  /** The client-id of a credential that ends within a day then. */
  replaces?: string | undefined
  /** The operator can help a merchant who has made too many. */
  isByOperator?: boolean
}

/**
 * Returns the secret, which is not stored and cannot be shown again. The limits can be passed by calls that run at the
 * same time: they are there against scripts.
 */
export function createCredential(
  deps: Deps,
  actor: string,
  merchantId: MerchantId,
  mode: Mode,
  { replaces, isByOperator = false, ...wanted }: WantedCredential = {},
): Promise<NewCredential> {
  const credential = newCredential(mode)
  const limits = parseLimits(wanted, new Date())
  return deps.database.transaction(async (tx) => {
    const merchant = await findMerchant(tx, merchantId)
    if (!merchant) throw unknownMerchant(merchantId)
    if (replaces !== undefined) {
      if (!(await expireInADay(tx, replaces, merchantId, mode)))
        throw new Problem('not_found', 'You have no such API key in this mode.')
      await recordAct(tx, { actor, act: 'credential.replaced', merchantId, subject: replaces })
    }
    const { live, madeToday } = await countCredentials(tx, merchantId, mode)
    if (!isByOperator && live >= MAX_CREDENTIALS)
      throw tooMany(`has ${live} API keys in ${mode} mode, the most. Replace or revoke one.`)
    if (!isByOperator && madeToday >= MAX_CREDENTIALS_A_DAY)
      throw tooMany(`made ${madeToday} API keys in 24 hours, the most in ${mode} mode. The operator can make more.`)
    const { clientId, clientSecret } = credential
    await insertCredential(tx, { clientId, merchantId, mode, digest: digestOf(clientSecret), limits })
    await recordAct(tx, { actor, act: 'credential.created', merchantId, subject: clientId })
    const scope = { place: merchant.place, merchantId, mode }
    if (mode === 'live') tx.write(alertRaised(scope, { kind: 'live_key', subject: clientId }, new Date()))
    return credential
  })
}

export function revokeCredential(deps: Deps, actor: string, clientId: string): Promise<void> {
  return deps.database.transaction(async (tx) => {
    const merchantId = await markRevoked(tx, clientId)
    if (!merchantId)
      throw new Problem('not_found', `There is no live credential ${clientId}. List them with: credential list`)
    await recordAct(tx, { actor, act: 'credential.revoked', merchantId, subject: clientId })
  })
}

function tooMany(what: string): Problem {
  return new Problem('conflict', `This merchant ${what}`)
}

function unknownMerchant(id: MerchantId): Problem {
  return new Problem('not_found', `There is no merchant ${id}. List them with: merchant list`)
}
