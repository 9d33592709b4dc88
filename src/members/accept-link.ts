import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { idOf, type MemberId, uuidOf } from '../kernel/ids.ts'
import { Problem, refuse } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import type { MemberDeps } from './deps.ts'
import { deletePasskeys, deleteTotp, insertPasskey } from './factor-store.ts'
import type { HashClient } from './hash-queue.ts'
import { endResetsOf, findLink, type OneTimeLink, useLink } from './link-store.ts'
import { hasSecondFactor, type Member, memberActor, parseEmail, parseMemberName, type Visit } from './member.ts'
import { recordAccountAct } from './member-acts-store.ts'
import {
  findPasswordHash,
  hasOperator,
  insertMember,
  insertMembership,
  isEmailVerified,
  lockMember,
  updateEmailVerified,
  updatePassword,
} from './member-store.ts'
import { hashPassword, passwordMistake } from './password.ts'
import { ownAccount } from './prove-identity.ts'
import { deleteSessions } from './session-store.ts'
import { type StartedSession, startSession } from './sign-in.ts'
import { readRegistration, registrationOptions } from './webauthn.ts'

type JoinLink = Extract<OneTimeLink, { merchantId: unknown }>

/** What the reader of a welcome or invitation link says about themselves. */
export interface NewAccount {
  name: string
  /** For a welcome link only; an invitation names the address. */
  email?: string | undefined
  password?: string | undefined
  passkey?: RegistrationResponseJSON | undefined
}

export async function readLink({ database }: Pick<MemberDeps, 'database'>, token: string): Promise<OneTimeLink> {
  const link = await findLink(database, digestOf(token))
  if (!link) throw deadLink()
  return link
}

function deadLink(): Problem {
  return new Problem('not_found', 'This link was used or has expired. Ask for a new one.')
}

/** The id of the account that a link makes. Passkeys need it before the account exists. */
function memberIdOf({ id }: OneTimeLink): MemberId {
  return idOf('member', uuidOf(id))
}

/** Checks name and e-mail address; lists all mistakes. */
function parseAccount(link: JoinLink, given: Pick<NewAccount, 'name' | 'email'>): { name: string; email: string } {
  const name = parseMemberName(given.name)
  const email = link.email ?? parseEmail(given.email ?? '')
  if (name && email) return { name, email }
  const mistake = (field: string, message: string) => ({ pointer: `/${field}`, code: 'invalid_value', message })
  return refuse([
    ...(name ? [] : [mistake('name', 'name must have 1 to 100 characters, on one line.')]),
    ...(email ? [] : [mistake('email', 'email must be an e-mail address, like ada@example.com.')]),
  ])
}

export async function newAccountPasskeyOptions(
  deps: MemberDeps,
  token: string,
  given: Pick<NewAccount, 'name' | 'email'>,
) {
  const link = await readLink(deps, token)
  if (link.kind === 'reset') throw new Problem('conflict', 'A reset link takes a password.')
  return registrationOptions(deps, { id: memberIdOf(link), ...parseAccount(link, given) }, [])
}

/** Makes an account from a welcome or invitation link and signs it in. */
export async function createAccount(
  deps: MemberDeps,
  visit: Visit,
  token: string,
  given: NewAccount,
): Promise<StartedSession> {
  const link = await readLink(deps, token)
  if (link.kind === 'reset') throw new Problem('conflict', 'A reset link takes a password.')
  const account = parseAccount(link, given)
  const id = memberIdOf(link)
  const { password, passkey: response } = given
  if ((password === undefined) === (response === undefined))
    throw new Problem('invalid_request', 'Send either a password or a passkey.')
  const passwordHash = password === undefined ? null : await hashChecked(password, account, invitedBy(link))
  const passkey = response && (await readRegistration(deps, id, { response, name: 'First passkey' }))

  await deps.database.transaction(async (tx) => {
    if (!(await useLink(tx, link.id))) throw deadLink()
    const operator = link.grantsOperator && !(await hasOperator(tx))
    if (!(await insertMember(tx, { id, ...account, operator, passwordHash, emailVerified: link.mailed })))
      throw new Problem('conflict', 'This e-mail address has an account. Sign in with it, then open the link again.')
    if (passkey && !(await insertPasskey(tx, passkey))) throw new Problem('conflict', 'This passkey is in use.')
    await join(tx, link, id, visit.address)
    if (operator) {
      const actor = memberActor(id, visit.address)
      await recordAct(tx, { actor, act: 'member.operator_granted', merchantId: null, subject: id })
    }
  })
  return startSession(deps, visit, { id }, { method: passkey ? 'passkey' : 'password' })
}

/** Adds a merchant to the account of a signed-in member who was invited. */
export async function acceptInvitation(
  deps: MemberDeps,
  address: string,
  { id, email }: Member,
  token: string,
): Promise<void> {
  const link = await readLink(deps, token)
  if (link.kind !== 'invitation' || link.email !== email)
    throw new Problem('forbidden', 'This link is for another e-mail address. Sign out to use it.')
  await deps.database.transaction(async (tx) => {
    if (!(await useLink(tx, link.id))) throw deadLink()
    await join(tx, link, id, address)
  })
}

async function join(tx: Transaction, link: JoinLink, id: MemberId, address: string): Promise<void> {
  const { merchantId, role } = link
  if (!(await insertMembership(tx, id, merchantId, role)))
    throw new Problem(
      'conflict',
      role === 'owner'
        ? 'This merchant has an owner by now. Ask the owner for an invitation.'
        : 'You are a member of this merchant already.',
    )
  await endResetsOf(tx, id)
  await recordAct(tx, { actor: memberActor(id, address), act: 'member.joined', merchantId, subject: `${id} ${role}` })
}

/**
 * Sets the password from a reset link and ends all sessions and other reset links. A second factor that is left must
 * still be given. The first mailed link of an address that is not verified leaves none: somebody else may have made the
 * account and added a passkey. A link that was read elsewhere proves no mailbox, so the address counts as not verified.
 */
export async function resetPassword(
  deps: MemberDeps,
  visit: Visit,
  token: string,
  password: string,
): Promise<StartedSession> {
  const link = await readLink(deps, token)
  if (link.kind !== 'reset') throw new Problem('conflict', 'This link makes an account; it does not reset a password.')
  const { memberId } = link
  const hash = await hashChecked(password, link, ownAccount(link))
  await deps.database.transaction(async (tx) => {
    await lockMember(tx, memberId)
    if (!(await useLink(tx, link.id))) throw deadLink()
    await endResetsOf(tx, memberId)
    await updatePassword(tx, memberId, hash)
    const clears = link.clearsSecondFactor || (link.mailed && !(await isEmailVerified(tx, memberId)))
    if (clears) {
      await deleteTotp(tx, memberId)
      await deletePasskeys(tx, memberId)
    }
    await updateEmailVerified(tx, memberId, link.mailed)
    await deleteSessions(tx, memberId)
    const act = clears ? 'member.second_factors_reset' : 'member.password_reset'
    await recordAccountAct(tx, memberId, visit.address, { act, subject: memberId })
  })
  return startSession(
    deps,
    visit,
    { id: memberId },
    {
      method: 'reset link',
      isComplete: ({ factors }) => !hasSecondFactor(factors),
      isProved: async (tx) => (await findPasswordHash(tx, memberId)) === hash,
    },
  )
}

/** The holders of a merchant's links share their places, because a merchant can invite without end. */
function invitedBy({ merchantId }: JoinLink): HashClient {
  return { known: true, name: merchantId }
}

export async function hashChecked(
  password: string,
  account: { email: string; name: string },
  client: HashClient,
): Promise<string> {
  const message = passwordMistake(password, account)
  if (message) refuse([{ pointer: '/password', code: 'invalid_value', message }])
  return hashPassword(password, client)
}
