import type { Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { type MemberId, type MerchantId, type OneTimeLinkId, parseId, type SessionId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import type { MemberDeps } from './deps.ts'
import { endInvitation, endLinksBy, endResetsOf } from './link-store.ts'
import {
  countMerchantsOf,
  deleteMembership,
  findMember,
  lockMember,
  lockOperators,
  lockRole,
  updateOperator,
  updateRequireSecondFactor,
  updateRole,
} from './member-store.ts'
import { type CreatedLink, createResetLink, lockCreator } from './one-time-links.ts'
import type { GrantedRole } from './permissions.ts'
import { deleteSessions, replaceToken } from './session-store.ts'
import { newToken } from './token.ts'

type Deps = Pick<MemberDeps, 'database'>

function unknownMember(): Problem {
  return new Problem('not_found', 'This merchant has no such member.')
}

/** The role of a member below the owner; throws for the owner. */
async function lockBelowOwner(tx: Transaction, merchantId: MerchantId, memberId: MemberId): Promise<GrantedRole> {
  const role = await lockRole(tx, memberId, merchantId)
  if (!role) throw unknownMember()
  if (role === 'owner') throw new Problem('conflict', 'This is the owner. The owner can transfer the ownership first.')
  return role
}

/** Changes the role and ends the member's sessions and the links that the member created. */
export function changeRole(
  { database }: Deps,
  actor: string,
  { merchantId, memberId, role }: { merchantId: MerchantId; memberId: MemberId; role: GrantedRole },
): Promise<void> {
  return database.transaction(async (tx) => {
    const before = await lockBelowOwner(tx, merchantId, memberId)
    if (before === role) return
    await updateRole(tx, memberId, merchantId, role)
    await deleteSessions(tx, memberId)
    await endLinksBy(tx, merchantId, memberId)
    const subject = `${memberId} ${before} to ${role}`
    await recordAct(tx, { actor, act: 'member.role_changed', merchantId, subject })
  })
}

/** Removes a member from a merchant and ends their sessions and links. The account stays. */
export function removeMember(
  { database }: Deps,
  actor: string,
  { merchantId, memberId }: { merchantId: MerchantId; memberId: MemberId },
): Promise<void> {
  return database.transaction(async (tx) => {
    const before = await lockBelowOwner(tx, merchantId, memberId)
    await deleteMembership(tx, memberId, merchantId)
    await endResetsOf(tx, memberId)
    await deleteSessions(tx, memberId)
    await endLinksBy(tx, merchantId, memberId)
    await recordAct(tx, { actor, act: 'member.removed', merchantId, subject: `${memberId} ${before}` })
  })
}

/**
 * Makes another member the owner; the owner becomes an admin. The sessions of both end, except the one that asked,
 * which gets another token. Returns that token.
 */
export async function transferOwnership(
  { database }: Deps,
  actor: string,
  { merchantId, from, to, sessionId }: { merchantId: MerchantId; from: MemberId; to: MemberId; sessionId: SessionId },
): Promise<string> {
  const token = newToken()
  await database.transaction(async (tx) => {
    if ((await lockRole(tx, from, merchantId)) !== 'owner')
      throw new Problem('forbidden', 'You are no longer the owner.')
    await lockBelowOwner(tx, merchantId, to)
    // In this order: a merchant has one owner at any moment (unique index).
    await updateRole(tx, from, merchantId, 'admin')
    await updateRole(tx, to, merchantId, 'owner')
    await endResetsOf(tx, to)
    await replaceToken(tx, sessionId, digestOf(token))
    await deleteSessions(tx, from, sessionId)
    await deleteSessions(tx, to)
    await recordAct(tx, { actor, act: 'merchant.owner_changed', merchantId, subject: `${from} to ${to}` })
  })
  return token
}

export function requireSecondFactor(
  { database }: Deps,
  actor: string,
  merchantId: MerchantId,
  required: boolean,
): Promise<void> {
  return database.transaction(async (tx) => {
    if (!(await updateRequireSecondFactor(tx, merchantId, required))) return
    const subject = required ? 'required' : 'optional'
    await recordAct(tx, { actor, act: 'merchant.second_factor_changed', merchantId, subject })
  })
}

export function withdrawInvitation(
  { database }: Deps,
  actor: string,
  merchantId: MerchantId,
  name: string,
): Promise<void> {
  return database.transaction(async (tx) => {
    const id: OneTimeLinkId | undefined = parseId('oneTimeLink', name)
    const email = id && (await endInvitation(tx, merchantId, id))
    if (!email) throw new Problem('not_found', 'This merchant has no such invitation.')
    await recordAct(tx, { actor, act: 'member.invitation_withdrawn', merchantId, subject: email })
  })
}

/**
 * A reset link for a member of this merchant only. The link gives full access to the account, so a member of another
 * merchant and an operator are refused: they use the e-mail of "forgot password" or the command line. The link ends
 * when the member joins another merchant, leaves this one, or becomes owner or operator.
 */
export async function resetMember(
  deps: MemberDeps,
  actor: string,
  where: { merchantId: MerchantId; memberId: MemberId; clearsSecondFactor: boolean; address: string; by: MemberId },
): Promise<CreatedLink & { sent: boolean }> {
  const { merchantId, memberId, clearsSecondFactor, address, by } = where
  const member = await findMember(deps.database, memberId)
  if (!member) throw unknownMember()
  const check = async (tx: Transaction) => {
    await lockCreator(tx, by, merchantId)
    await lockBelowOwner(tx, merchantId, memberId)
    await lockMember(tx, memberId)
    if ((await findMember(tx, memberId))?.operator || (await countMerchantsOf(tx, memberId)) > 1)
      throw new Problem(
        'conflict',
        'This account reaches beyond this merchant. Ask the operator for a link: manilla dashboard link --member …',
      )
  }
  return createResetLink(deps, actor, member, { clearsSecondFactor, address, check })
}

/** Command line only. The last operator stays, unless `force` is given. */
export function setOperator(
  { database }: Deps,
  actor: string,
  memberId: MemberId,
  { operator, force }: { operator: boolean; force: boolean },
): Promise<void> {
  return database.transaction(async (tx) => {
    const operators = await lockOperators(tx)
    if (!operator && !force && operators.length === 1 && operators[0] === memberId)
      throw new Problem('conflict', 'This is the last operator. Name another one first, or use --force.')
    if (!(await updateOperator(tx, memberId, operator))) return
    await endResetsOf(tx, memberId)
    await deleteSessions(tx, memberId)
    const act = operator ? 'member.operator_granted' : 'member.operator_withdrawn'
    await recordAct(tx, { actor, act, merchantId: null, subject: memberId })
  })
}
