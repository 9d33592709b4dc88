import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Queries, Transaction } from '../database/database.ts'
import { type MemberId, newId, type SessionId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import type { MemberDeps } from './deps.ts'
import { findPasskey, listPasskeys } from './factor-store.ts'
import { hasSecondFactor, type Member, parseEmail, type Session, type Visit } from './member.ts'
import { recordAccountAct } from './member-acts-store.ts'
import { findMember, findMemberByEmail, findPasswordHash, lockMember } from './member-store.ts'
import { passwordMatches } from './password.ts'
import { countersFor, hashClientOf, limitTries, type Proof, proveIdentity, recordRefusal } from './prove-identity.ts'
import { confirmSession, deleteOldestSessions, deleteSession, insertSession } from './session-store.ts'
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
  deps: MemberDeps,
  visit: Visit,
  given: { email: string; password: string },
): Promise<StartedSession> {
  const { database, secrets } = deps
  const email = parseEmail(given.email) ?? given.email.trim().toLowerCase()
  const found = await limitTries(deps, countersFor(secrets, 'password', email, visit), async () => {
    const known = await findMemberByEmail(database, email)
    if (await passwordMatches(given.password, known?.passwordHash, hashClientOf(secrets, email, visit))) return known
    const refusal = { act: 'sign_in.refused', subject: 'password' }
    if (known) deps.later(() => recordAccountAct(database, known.member.id, visit.address, refusal))
    return undefined
  })
  if (!found) throw new Problem('sign_in_refused', REFUSED)
  return startSession(deps, visit, found.member, {
    method: 'password',
    isComplete: ({ factors }) => !hasSecondFactor(factors),
    isProved: async (tx) => (await findPasswordHash(tx, found.member.id)) === found.passwordHash,
  })
}

export function passkeySignInOptions(deps: MemberDeps) {
  return signatureOptions(deps, 'sign-in')
}

/** A passkey with user verification is both factors. */
export async function signInWithPasskey(
  deps: MemberDeps,
  visit: Visit,
  response: AuthenticationResponseJSON,
): Promise<StartedSession> {
  const passkey = await verifySignature(deps, 'sign-in', response)
  const member = passkey && (await findMember(deps.database, passkey.memberId))
  if (!member) {
    const known = await findPasskey(deps.database, response.id)
    if (known) await recordRefusal(deps, visit, known.memberId, 'sign-in', { passkey: response })
    throw new Problem('sign_in_refused', 'This passkey is not known here, or it took too long. Try again.')
  }
  const isProved = async (tx: Transaction) => (await findPasskey(tx, response.id)) !== undefined
  return startSession(deps, visit, member, { method: 'passkey', isProved })
}

/** Ends the half-finished session and starts a complete one with another token. */
export async function giveSecondFactor(
  deps: MemberDeps,
  visit: Visit,
  { id, member, complete }: Session,
  proof: Proof,
): Promise<StartedSession> {
  // Else a second factor alone would start another 7 days.
  if (complete) throw new Problem('conflict', 'You are signed in already.')
  const method = await proveIdentity(deps, visit, member, `second-factor ${id}`, proof)
  // Two requests at once may both prove it; the session is exchanged once.
  const isProved = (tx: Transaction) => deleteSession(tx, member.id, id)
  return startSession(deps, visit, member, { method: `password and ${method}`, isProved })
}

/** Step-up: proves the identity again for ten minutes. The session gets another token. */
export async function stepUp(deps: MemberDeps, visit: Visit, { id, member }: Session, proof: Proof): Promise<string> {
  const method = await proveIdentity(deps, visit, member, `step-up ${id}`, proof)
  const token = newToken()
  if (!(await confirmSession(deps.database, id, digestOf(token)))) throw new Problem('not_signed_in', 'Sign in again.')
  await recordAccountAct(deps.database, member.id, visit.address, { act: 'session.confirmed', subject: method })
  return token
}

export async function passkeyProofOptions(
  deps: MemberDeps,
  { id, member }: Session,
  purpose: 'second-factor' | 'step-up',
) {
  const passkeys = await listPasskeys(deps.database, member.id)
  if (passkeys.length === 0) throw new Problem('conflict', 'This account has no passkey.')
  return signatureOptions(deps, `${purpose} ${id}`, passkeys)
}

interface Start {
  /** For the audit log. */
  method: string
  /** False: the session can only give the second factor. */
  isComplete?: (member: Member) => boolean
  /** Whether what was proved still holds. */
  isProved?: (tx: Transaction) => Promise<boolean>
}

/**
 * A new password or second factor ends sessions. A sign-in that was under way meanwhile (a hash may wait for seconds)
 * must not survive it, so the account is locked and read again.
 */
export function startSession(
  { database, clock }: MemberDeps,
  visit: Visit,
  { id: memberId }: Pick<Member, 'id'>,
  { method, isComplete = () => true, isProved }: Start,
): Promise<StartedSession> {
  const token = newToken()
  const id = newId('session', clock.now())
  return database.transaction(async (tx) => {
    await lockMember(tx, memberId)
    const member = await findMember(tx, memberId)
    if (!member || (isProved && !(await isProved(tx)))) throw new Problem('sign_in_refused', 'Sign in again.')
    const complete = isComplete(member)
    await insertSession(tx, { id, memberId, digest: digestOf(token), complete }, visit)
    await deleteOldestSessions(tx, memberId, complete)
    if (complete) await recordAccountAct(tx, memberId, visit.address, { act: 'session.started', subject: method })
    return { token, member, complete }
  })
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
