import { listActs } from '../../events/audit-log-store.ts'
import { type MemberId, parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { MemberDeps } from '../../members/deps.ts'
import { listInvitations } from '../../members/link-store.ts'
import {
  changeRole,
  removeMember,
  requireSecondFactor,
  resetMember,
  transferOwnership,
  withdrawInvitation,
} from '../../members/manage-members.ts'
import { hasSecondFactor, parseEmail } from '../../members/member.ts'
import { findMemberNames, listMembers } from '../../members/member-store.ts'
import { type CreatedLink, createInvitation } from '../../members/one-time-links.ts'
import type { App } from '../server/framework.ts'
import {
  AuditAnswer,
  AuditQuery,
  MembersAnswer,
  NewInvitation,
  NewOwner,
  NewRole,
  OneTimeLinkAnswer,
  ResetMember,
  SecuritySettings,
} from './contract.ts'
import type { CookieJar } from './cookies.ts'
import { inMerchant } from './guard.ts'

interface Deps extends MemberDeps {
  cookies: CookieJar
}

const MERCHANT = '/merchants/:merchant'
const DEFAULT_PAGE_SIZE = 50

/** Members, roles, invitations, ownership and the audit log of a merchant. */
export function memberRoutes(app: App, deps: Deps): void {
  const { database, cookies } = deps
  const config = { access: 'members' as const }
  const withStepUp = { ...config, stepUp: 'second-factor' as const }
  const forOwner = { access: 'ownership' as const, stepUp: 'second-factor' as const }

  app.get(`${MERCHANT}/members`, { config, schema: { response: { 200: MembersAnswer } } }, async (request) => {
    const { merchantId, requireSecondFactor } = inMerchant(request).membership
    const [members, invitations] = await Promise.all([
      listMembers(database, merchantId),
      listInvitations(database, merchantId),
    ])
    return {
      data: {
        requireSecondFactor,
        members: members.map(({ id, name, email, role, factors, lastSeenAt }) => ({
          ...{ id, name, email, role },
          secondFactor: hasSecondFactor(factors),
          lastSeenAt: lastSeenAt?.toISOString() ?? null,
        })),
        invitations: invitations.flatMap((link) =>
          link.kind === 'reset'
            ? []
            : [{ id: link.id, email: link.email ?? '', role: link.role, expiresAt: link.expiresAt.toISOString() }],
        ),
      },
    }
  })

  app.post(
    `${MERCHANT}/invitations`,
    { config: withStepUp, schema: { body: NewInvitation, response: { 201: OneTimeLinkAnswer } } },
    async (request, reply) => {
      const { membership, actor, session } = inMerchant(request)
      const email = parseEmail(request.body.email)
      if (!email) throw new Problem('invalid_request', 'email must be an e-mail address, like ada@example.com.')
      const { merchantId } = membership
      const link = await createInvitation(deps, actor, {
        merchantId,
        email,
        role: request.body.role,
        by: session.member.id,
      })
      return reply.code(201).send(linkAnswer(link))
    },
  )

  app.delete<{ Params: { invitation: string } }>(
    `${MERCHANT}/invitations/:invitation`,
    { config: withStepUp },
    async (request, reply) => {
      const { membership, actor } = inMerchant(request)
      await withdrawInvitation(deps, actor, membership.merchantId, request.params.invitation)
      return reply.code(204).send()
    },
  )

  app.patch<{ Params: { member: string }; Body: NewRole }>(
    `${MERCHANT}/members/:member`,
    { config: withStepUp, schema: { body: NewRole } },
    async (request, reply) => {
      const { membership, actor } = inMerchant(request)
      const memberId = memberIdOf(request.params.member)
      await changeRole(deps, actor, { merchantId: membership.merchantId, memberId, role: request.body.role })
      return reply.code(204).send()
    },
  )

  app.delete<{ Params: { member: string } }>(
    `${MERCHANT}/members/:member`,
    { config: withStepUp },
    async (request, reply) => {
      const { membership, actor } = inMerchant(request)
      const memberId = memberIdOf(request.params.member)
      await removeMember(deps, actor, { merchantId: membership.merchantId, memberId })
      return reply.code(204).send()
    },
  )

  app.post<{ Params: { member: string }; Body: ResetMember }>(
    `${MERCHANT}/members/:member/reset`,
    { config: withStepUp, schema: { body: ResetMember, response: { 201: OneTimeLinkAnswer } } },
    async (request, reply) => {
      const { membership, actor, address, session } = inMerchant(request)
      const memberId = memberIdOf(request.params.member)
      const clearsSecondFactor = request.body.secondFactors
      const { merchantId } = membership
      const by = session.member.id
      const link = await resetMember(deps, actor, { merchantId, memberId, clearsSecondFactor, address, by })
      return reply.code(201).send(linkAnswer(link))
    },
  )

  app.put(`${MERCHANT}/owner`, { config: forOwner, schema: { body: NewOwner } }, async (request, reply) => {
    const { membership, actor, session } = inMerchant(request)
    const token = await transferOwnership(deps, actor, {
      merchantId: membership.merchantId,
      from: session.member.id,
      to: memberIdOf(request.body.member),
      sessionId: session.id,
    })
    cookies.writeSession(reply, token)
    return reply.code(204).send()
  })

  app.put(`${MERCHANT}/security`, { config: forOwner, schema: { body: SecuritySettings } }, async (request, reply) => {
    const { membership, actor } = inMerchant(request)
    await requireSecondFactor(deps, actor, membership.merchantId, request.body.requireSecondFactor)
    return reply.code(204).send()
  })

  app.get(
    `${MERCHANT}/audit-log`,
    { config, schema: { querystring: AuditQuery, response: { 200: AuditAnswer } } },
    async (request) => {
      const { merchantId } = inMerchant(request).membership
      const { limit, cursor } = request.query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const before = cursor === undefined ? undefined : Number(cursor)
      const found = await listActs(database, merchantId, { before, limit: pageSize + 1 })
      const page = found.slice(0, pageSize)
      const memberOf = (actor: string) => parseId('member', actor.replace(/^member:/, ''))
      const members = [...new Set(page.map(({ actor }) => memberOf(actor)))].filter((id) => id !== undefined)
      const names = await findMemberNames(database, members)
      return {
        data: page.map(({ at, ...each }) => ({
          ...each,
          at: at.toISOString(),
          memberName: names.get(memberOf(each.actor) as MemberId) ?? null,
        })),
        nextCursor: found.length > pageSize ? String(page.at(-1)?.id) : null,
      }
    },
  )
}

function memberIdOf(name: string): MemberId {
  const id = parseId('member', name)
  if (!id) throw new Problem('not_found', 'This merchant has no such member.')
  return id
}

function linkAnswer({ id, url, expiresAt, sent }: CreatedLink & { sent: boolean }) {
  return { data: { id, url, expiresAt: expiresAt.toISOString(), sent } }
}
