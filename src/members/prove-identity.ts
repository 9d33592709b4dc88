import { randomBytes } from 'node:crypto'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { MemberId } from '../kernel/ids.ts'
import { networkOf } from '../kernel/network.ts'
import { Problem } from '../kernel/problem.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { MemberDeps } from './deps.ts'
import { findTotp, useRecoveryCode, useTotpStep } from './factor-store.ts'
import type { HashClient } from './hash-queue.ts'
import { hasSecondFactor, type Member, type Visit } from './member.ts'
import { recordAccountAct } from './member-acts-store.ts'
import { findPasswordHash } from './member-store.ts'
import { passwordMatches } from './password.ts'
import { recoveryCodeDigest } from './token.ts'
import { totpStep } from './totp.ts'
import { countTry, forgiveTries, type TryCounter } from './tries-store.ts'
import { type ChallengePurpose, verifySignature } from './webauthn.ts'

/** One way to prove an identity; exactly one member is given. */
export interface Proof {
  /** Six digits of the authenticator app. */
  code?: string | undefined
  recoveryCode?: string | undefined
  passkey?: AuthenticationResponseJSON | undefined
  /** Only for a step-up of a member without a second factor. */
  password?: string | undefined
}

const FREE_TRIES = { account: 5, address: 20, device: 5, devices: 20, passkey: 20 }

/** The associated data of a sealed TOTP secret. */
export const totpContext = (id: MemberId) => `members.totp_secret:${id}`

/**
 * The counters that a guess uses up. A browser with a device cookie of this account has its own counter: guesses of
 * others do not slow it down.
 */
export function countersFor(
  secrets: SecretBox,
  what: 'password' | 'second factor',
  email: string,
  { address, device = '' }: Visit,
): TryCounter[] {
  const nonce = nonceOf(secrets, email, device)
  if (nonce)
    return [
      { name: `device ${nonce} ${what} of ${email}`, free: FREE_TRIES.device },
      // Who once had access may have collected many cookies.
      { name: `devices ${what} of ${email}`, free: FREE_TRIES.devices },
    ]
  return [
    { name: `address ${networkOf(address)}`, free: FREE_TRIES.address },
    { name: `account ${what} of ${email}`, free: FREE_TRIES.account },
  ]
}

/** The nonce of a device cookie of this account. */
function nonceOf(secrets: SecretBox, email: string, device: string): string | undefined {
  const [nonce = '', signature = ''] = device.split('.')
  return secrets.verify(signature, `${nonce} ${email}`, 'dashboard device') ? nonce : undefined
}

/** Whose place in the queue for password hashes a sign-in takes. It does not tell whether the account exists. */
export function hashClientOf(secrets: SecretBox, email: string, { address, device = '' }: Visit): HashClient {
  return nonceOf(secrets, email, device) ? ownAccount({ email }) : { known: false, name: networkOf(address) }
}

/** All sessions, browsers and reset links of an account share its places. */
export function ownAccount({ email }: { email: string }): HashClient {
  return { known: true, name: email }
}

/** The value of the device cookie after a complete sign-in. It proves nothing but that. */
export function deviceCookieOf(secrets: SecretBox, email: string): string {
  const nonce = randomBytes(16).toString('base64url')
  return `${nonce}.${secrets.sign(`${nonce} ${email}`, 'dashboard device')}`
}

/** Runs a check that could be guessed. The try is counted first and forgiven when the check succeeds. */
export async function limitTries<Result>(
  { database }: Pick<MemberDeps, 'database'>,
  counters: TryCounter[],
  check: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const seconds = await countTry(database, counters)
  if (seconds !== undefined)
    throw new Problem('rate_limited', `Too many tries. Try again in ${seconds} s.`, { retryAfterSeconds: seconds })
  const names = counters.map(({ name }) => name)
  const result = await check().catch(async (error) => {
    await forgiveTries(database, [], names) // nothing was checked, such as when too many passwords wait
    throw error
  })
  if (result !== undefined) {
    const isShared = (name: string) => name.startsWith('address ')
    await forgiveTries(
      database,
      names.filter((name) => !isShared(name)),
      names.filter(isShared),
    )
  }
  return result
}

/** Checks a second factor, or the password of a member who has none. Throws `sign_in_refused`. Returns the method. */
export async function proveIdentity(
  deps: MemberDeps,
  visit: Visit,
  member: Member,
  purpose: ChallengePurpose,
  proof: Proof,
): Promise<string> {
  const counters = countersFor(deps.secrets, 'second factor', member.email, visit)
  const method = await (proof.passkey // cannot be guessed
    ? checkProof(deps, member, purpose, proof)
    : limitTries(deps, counters, () => checkProof(deps, member, purpose, proof)))
  if (method) return method
  await recordRefusal(deps, visit, member.id, purpose, proof)
  throw new Problem('sign_in_refused', 'That is not right, or it was used before. Try again.')
}

/** Passkeys never wait, so only their entries in the audit log are limited. */
export async function recordRefusal(
  { database }: Pick<MemberDeps, 'database'>,
  { address }: Visit,
  id: MemberId,
  purpose: ChallengePurpose,
  { passkey }: Pick<Proof, 'passkey'>,
): Promise<void> {
  if (passkey && (await countTry(database, [{ name: `refused passkeys of ${id}`, free: FREE_TRIES.passkey }]))) return
  await recordAccountAct(database, id, address, { act: 'sign_in.refused', subject: purpose.split(' ')[0] ?? '' })
}

async function checkProof(
  deps: MemberDeps,
  { id, email, factors }: Member,
  purpose: ChallengePurpose,
  { code, recoveryCode, passkey, password }: Proof,
): Promise<string | undefined> {
  if (passkey) {
    const used = await verifySignature(deps, purpose, passkey)
    return used?.memberId === id ? 'passkey' : undefined
  }
  if (code !== undefined) return (await useCode(deps, id, code)) ? 'totp' : undefined
  if (recoveryCode !== undefined)
    return (await useRecoveryCode(deps.database, id, recoveryCodeDigest(id, recoveryCode)))
      ? 'recovery code'
      : undefined
  if (password !== undefined && purpose.startsWith('step-up') && !hasSecondFactor(factors))
    return (await passwordMatches(password, await findPasswordHash(deps.database, id), ownAccount({ email })))
      ? 'password'
      : undefined
  return undefined
}

async function useCode(deps: MemberDeps, id: MemberId, code: string): Promise<boolean> {
  const sealed = (await findTotp(deps.database, id))?.secret
  if (!sealed) return false
  const step = totpStep(deps.secrets.open(sealed, totpContext(id)), code.replaceAll(/\s/g, ''), deps.clock.now())
  return step !== undefined && useTotpStep(deps.database, id, step)
}
