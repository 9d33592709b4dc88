import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Queries } from '../database/database.ts'
import { type MemberId, newId, type SessionId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import type { MemberDependencies } from './dependencies.ts'
import { listPasskeys } from './factor-store.ts'
import { hasSecondFactor, type Member, parseEmail, type Session, type Visit } from './member.ts'
import { recordAccountAct } from './member-acts-store.ts'
import { findMember, findMemberByEmail } from './member-store.ts'
import { passwordMatches } from './password.ts'
import { countersFor, limitTries, type Proof, proveIdentity } from './prove-identity.ts'
import { confirmSession, deleteSession, insertSession } from './session-store.ts'
import { newToken } from './token.ts'
import { signatureOptions, verifySignature } from './webauthn.ts'

/** A session that was started just now. The token is not stored and goes into the cookie. */
export interface StartedSession {
  token: string
  member: Member
  complete: boolean
}

// The same words for every reason, so that accounts cannot be probed.
const REFUSED = 'The e-mail address or the password is not right.'

/**
 * Signs in with a password. A member with a second factor gets a session that can only give it. An unknown account
 * takes the same time and gets the same answer as a wrong password.
 */
export async function signInWithPassword(
  deps: MemberDependencies,
  visit: Visit,
  given: { email: string; password: string },
): Promise<StartedSession> {
  const { database, secrets } = deps
  const email = parseEmail(given.email) ?? given.email.trim().toLowerCase()
  const found = await limitTries(deps, countersFor(secrets, 'password', email, visit), async () => {
    const known = await findMemberByEmail(database, email)
    if (await passwordMatches(given.password, known?.passwordHash)) return known?.member
    const refusal = { act: 'sign_in.refused', subject: 'password' }
    if (known) deps.later(() => recordAccountAct(database, known.member.id, visit.address, refusal))
    return undefined
  })
  if (!found) throw new Problem('sign_in_refused', REFUSED)
  return startSession(deps, visit, found, { complete: !hasSecondFactor(found.factors), method: 'password' })
}

export function passkeySignInOptions(deps: MemberDependencies) {
  return signatureOptions(deps, 'sign-in')
}

/** A passkey with user verification is both factors. */
export async function signInWithPasskey(
  deps: MemberDependencies,
  visit: Visit,
  response: AuthenticationResponseJSON,
): Promise<StartedSession> {
  const passkey = await verifySignature(deps, 'sign-in', response)
  const member = passkey && (await findMember(deps.database, passkey.memberId))
  if (!member) throw new Problem('sign_in_refused', 'This passkey is not known here, or it took too long. Try again.')
  return startSession(deps, visit, member, { complete: true, method: 'passkey' })
}

/** Ends the half-finished session and starts a complete one with another token. */
export async function giveSecondFactor(
  deps: MemberDependencies,
  visit: Visit,
  { id, member }: Session,
  proof: Proof,
): Promise<StartedSession> {
  const method = await proveIdentity(deps, visit, member, `second-factor ${id}`, proof)
  // Two requests at once may both prove it; the session is exchanged once.
  if (!(await deleteSession(deps.database, member.id, id))) throw new Problem('not_signed_in', 'Sign in again.')
  return startSession(deps, visit, member, { complete: true, method: `password and ${method}` })
}

/** Step-up: proves the identity again for ten minutes. The session gets another token. */
export async function stepUp(
  deps: MemberDependencies,
  visit: Visit,
  { id, member }: Session,
  proof: Proof,
): Promise<string> {
  const method = await proveIdentity(deps, visit, member, `step-up ${id}`, proof)
  const token = newToken()
  if (!(await confirmSession(deps.database, id, digestOf(token)))) throw new Problem('not_signed_in', 'Sign in again.')
  await recordAccountAct(deps.database, member.id, visit.address, { act: 'session.confirmed', subject: method })
  return token
}

export async function passkeyProofOptions(
  deps: MemberDependencies,
  { id, member }: Session,
  purpose: 'second-factor' | 'step-up',
) {
  const passkeys = await listPasskeys(deps.database, member.id)
  if (passkeys.length === 0) throw new Problem('conflict', 'This account has no passkey.')
  return signatureOptions(deps, `${purpose} ${id}`, passkeys)
}

export async function startSession(
  { database, clock }: MemberDependencies,
  visit: Visit,
  member: Member,
  { complete, method }: { complete: boolean; method: string },
): Promise<StartedSession> {
  const token = newToken()
  const id = newId('session', clock.now())
  await insertSession(database, { id, memberId: member.id, digest: digestOf(token), complete }, visit)
  if (complete) await recordAccountAct(database, member.id, visit.address, { act: 'session.started', subject: method })
  return { token, member, complete }
}

export async function signOut(database: Queries, { id, member }: Session, address: string): Promise<void> {
  await endSession(database, member.id, id, address)
}

/** Ends one of the member's own sessions. */
export async function endSession(
  database: Queries,
  memberId: MemberId,
  id: SessionId,
  address: string,
): Promise<boolean> {
  const ended = await deleteSession(database, memberId, id)
  if (ended) await recordAccountAct(database, memberId, address, { act: 'session.ended', subject: id })
  return ended
}
