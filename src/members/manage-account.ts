import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Transaction } from '../database/database.ts'
import { type PasskeyId, parseId, type SessionId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import { hashChecked } from './accept-link.ts'
import type { MemberDeps } from './deps.ts'
import {
  confirmTotp,
  countRecoveryCodes,
  deletePasskey,
  deleteTotp,
  findTotp,
  insertPasskey,
  listPasskeys,
  replaceRecoveryCodes,
  savePendingTotp,
} from './factor-store.ts'
import { endResetsOf } from './link-store.ts'
import { hasSecondFactor, type Member, parseMemberName, type Session } from './member.ts'
import { recordAccountAct } from './member-acts-store.ts'
import { findMember, lockMember, updatePassword } from './member-store.ts'
import { ownAccount, totpContext } from './prove-identity.ts'
import { deleteSessions, replaceToken, requireSession } from './session-store.ts'
import { newRecoveryCodes, newToken, recoveryCodeDigest } from './token.ts'
import { newTotpSecret, totpAddress, totpStep } from './totp.ts'
import { countTry } from './tries-store.ts'
import { readRegistration, registrationOptions } from './webauthn.ts'

/** New passwords of a member in a row before each further one has to wait. */
const FREE_CHANGES = 10

/** Changes the own password. Other sessions and reset links end; this session gets another token, which is returned. */
export async function changePassword(
  deps: MemberDeps,
  address: string,
  { id, member }: Session,
  password: string,
): Promise<string> {
  const seconds = await countTry(deps.database, [{ name: `password changes of ${member.id}`, free: FREE_CHANGES }])
  if (seconds !== undefined)
    throw new Problem('rate_limited', `Too many new passwords. Try again in ${seconds} s.`, {
      retryAfterSeconds: seconds,
    })
  const hash = await hashChecked(password, member, ownAccount(member))
  const token = newToken()
  await deps.database.transaction(async (tx) => {
    await updatePassword(tx, member.id, hash)
    await replaceToken(tx, id, digestOf(token)) // first: the session may have been revoked while the hash was made
    await deleteSessions(tx, member.id, id)
    await endResetsOf(tx, member.id)
    await recordAccountAct(tx, member.id, address, { act: 'member.password_changed', subject: member.id })
  })
  return token
}

/** Starts the set-up of an authenticator app. It counts after its first code is confirmed. */
export async function startTotp({ database, secrets }: MemberDeps, { id, email }: Member) {
  const secret = newTotpSecret()
  await database.transaction((tx) => savePendingTotp(tx, id, secrets.seal(secret, totpContext(id))))
  return { secret, address: totpAddress(secret, email) }
}

/** Confirms the app with its first code. Returns ten recovery codes, which are not shown again. */
export async function finishTotp(
  { database, clock, secrets }: MemberDeps,
  address: string,
  { id: sessionId, member }: Session,
  code: string,
): Promise<string[]> {
  const { id } = member
  const pending = (await findTotp(database, id))?.pending
  if (!pending) throw new Problem('conflict', 'Start the set-up of the authenticator app first.')
  const step = totpStep(secrets.open(pending, totpContext(id)), code.replaceAll(/\s/g, ''), clock.now())
  if (step === undefined)
    throw new Problem(
      'sign_in_refused',
      'The code is not right. Check the time of your device, and send the newest code.',
    )
  const codes = newRecoveryCodes()
  await database.transaction(async (tx) => {
    if (!(await confirmTotp(tx, id, pending, step))) throw new Problem('conflict', 'The set-up was started again.')
    await replaceRecoveryCodes(tx, id, digestsOf(id, codes))
    await endWeakerSessions(tx, member, sessionId)
    await recordAccountAct(tx, id, address, { act: 'member.totp_added', subject: id })
  })
  return codes
}

/** The first second factor ends the other sessions: they were started without one. */
async function endWeakerSessions(tx: Transaction, { id, factors }: Member, except: SessionId): Promise<void> {
  if (!hasSecondFactor(factors)) await deleteSessions(tx, id, except)
}

export async function removeTotp({ database }: MemberDeps, address: string, { id }: Member): Promise<void> {
  await database.transaction(async (tx) => {
    await deleteTotp(tx, id)
    await recordAccountAct(tx, id, address, { act: 'member.totp_removed', subject: id })
  })
}

/** Replaces all recovery codes. */
export async function renewRecoveryCodes(
  { database }: MemberDeps,
  address: string,
  { id, factors }: Member,
): Promise<string[]> {
  if (!factors.totp) throw new Problem('conflict', 'Recovery codes belong to an authenticator app. Set one up first.')
  const codes = newRecoveryCodes()
  await database.transaction(async (tx) => {
    await replaceRecoveryCodes(tx, id, digestsOf(id, codes))
    await recordAccountAct(tx, id, address, { act: 'member.recovery_codes_renewed', subject: id })
  })
  return codes
}

function digestsOf(id: Member['id'], codes: string[]): Buffer[] {
  return codes.map((code) => recoveryCodeDigest(id, code))
}

export async function passkeyOptions(deps: MemberDeps, member: Member) {
  return registrationOptions(deps, member, await listPasskeys(deps.database, member.id))
}

export async function addPasskey(
  deps: MemberDeps,
  address: string,
  { id: sessionId, member }: Session,
  given: { response: RegistrationResponseJSON; name: string },
): Promise<PasskeyId> {
  const name = parseMemberName(given.name)
  if (!name) throw new Problem('invalid_request', 'name must have 1 to 100 characters, on one line.')
  const { id } = member
  const passkey = await readRegistration(deps, id, { response: given.response, name })
  await deps.database.transaction(async (tx) => {
    await lockMember(tx, id)
    await requireSession(tx, sessionId) // a reset that removes all passkeys may have been first
    if (!(await insertPasskey(tx, passkey))) throw new Problem('conflict', 'This passkey is in use.')
    await endWeakerSessions(tx, member, sessionId)
    await recordAccountAct(tx, id, address, { act: 'member.passkey_added', subject: passkey.id })
  })
  return passkey.id
}

export async function removePasskey(
  { database }: MemberDeps,
  address: string,
  { id }: Member,
  name: string,
): Promise<void> {
  const passkeyId = parseId('passkey', name)
  await database.transaction(async (tx) => {
    await lockMember(tx, id)
    const { factors } = (await findMember(tx, id)) as Member
    if (!factors.password && factors.passkeys <= 1)
      throw new Problem('conflict', 'This is your only way to sign in. Set a password or add another passkey first.')
    if (!passkeyId || !(await deletePasskey(tx, id, passkeyId)))
      throw new Problem('not_found', 'You have no such passkey.')
    await recordAccountAct(tx, id, address, { act: 'member.passkey_removed', subject: passkeyId })
  })
}

export async function secondFactors({ database }: MemberDeps, { id, factors }: Member) {
  const [passkeys, recoveryCodesLeft] = await Promise.all([
    listPasskeys(database, id),
    countRecoveryCodes(database, id),
  ])
  return { passkeys, totp: factors.totp, password: factors.password, recoveryCodesLeft }
}
