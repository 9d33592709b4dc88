import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { MemberDeps } from '../../members/deps.ts'
import {
  addPasskey,
  changePassword,
  finishTotp,
  passkeyOptions,
  removePasskey,
  removeTotp,
  renewRecoveryCodes,
  secondFactors,
  startTotp,
} from '../../members/manage-account.ts'
import { recordAccountAct } from '../../members/member-acts-store.ts'
import { deleteSessions, listSessions } from '../../members/session-store.ts'
import { endSession } from '../../members/sign-in.ts'
import type { App } from '../server/framework.ts'
import {
  CreatedAnswer,
  NewPasskey,
  NewPassword,
  RecoveryCodesAnswer,
  SecondFactorsAnswer,
  SessionsAnswer,
  TotpAnswer,
  TotpCode,
} from './contract.ts'
import type { CookieJar } from './cookies.ts'
import { signedIn } from './guard.ts'

interface Deps extends MemberDeps {
  cookies: CookieJar
}

/** The member's own sessions, password and second factors. */
export function accountRoutes(app: App, deps: Deps): void {
  const { database, cookies } = deps
  const config = { access: 'signed-in' as const }
  const withStepUp = { ...config, stepUp: 'identity' as const }

  app.get('/sessions', { config, schema: { response: { 200: SessionsAnswer } } }, async (request) => {
    const { session } = signedIn(request)
    const sessions = await listSessions(database, session.member.id)
    return {
      data: sessions.map(({ createdAt, lastSeenAt, ...each }) => ({
        ...each,
        current: each.id === session.id,
        createdAt: createdAt.toISOString(),
        lastSeenAt: lastSeenAt.toISOString(),
      })),
    }
  })

  app.delete<{ Params: { session: string } }>('/sessions/:session', { config }, async (request, reply) => {
    const { session, address } = signedIn(request)
    const id = parseId('session', request.params.session)
    if (!id || !(await endSession(database, session.member.id, id, address)))
      throw new Problem('not_found', 'You have no such session.')
    return reply.code(204).send()
  })

  app.delete('/sessions', { config }, async (request, reply) => {
    const { session, address } = signedIn(request)
    const { id } = session.member
    const ended = await deleteSessions(database, id, session.id)
    await recordAccountAct(database, id, address, { act: 'session.ended', subject: `${ended} others` })
    return reply.code(204).send()
  })

  app.put('/account/password', { config: withStepUp, schema: { body: NewPassword } }, async (request, reply) => {
    const { session, address } = signedIn(request)
    cookies.writeSession(reply, await changePassword(deps, address, session, request.body.password))
    return reply.code(204).send()
  })

  app.get(
    '/account/second-factors',
    { config, schema: { response: { 200: SecondFactorsAnswer } } },
    async (request) => {
      const { passkeys, ...others } = await secondFactors(deps, signedIn(request).session.member)
      return {
        data: {
          ...others,
          passkeys: passkeys.map(({ id, name, createdAt, lastUsedAt }) => ({
            id,
            name,
            createdAt: createdAt.toISOString(),
            lastUsedAt: lastUsedAt?.toISOString() ?? null,
          })),
        },
      }
    },
  )

  app.post('/account/totp', { config: withStepUp, schema: { response: { 200: TotpAnswer } } }, async (request) => ({
    data: await startTotp(deps, signedIn(request).session.member),
  }))

  app.post(
    '/account/totp/confirm',
    { config: withStepUp, schema: { body: TotpCode, response: { 200: RecoveryCodesAnswer } } },
    async (request) => {
      const { session, address } = signedIn(request)
      return { data: { codes: await finishTotp(deps, address, session, request.body.code) } }
    },
  )

  app.delete('/account/totp', { config: withStepUp }, async (request, reply) => {
    const { session, address } = signedIn(request)
    await removeTotp(deps, address, session.member)
    return reply.code(204).send()
  })

  app.post(
    '/account/recovery-codes',
    { config: withStepUp, schema: { response: { 200: RecoveryCodesAnswer } } },
    async (request) => {
      const { session, address } = signedIn(request)
      return { data: { codes: await renewRecoveryCodes(deps, address, session.member) } }
    },
  )

  app.post('/account/passkeys/options', { config: withStepUp }, async (request) => ({
    data: await passkeyOptions(deps, signedIn(request).session.member),
  }))

  app.post(
    '/account/passkeys',
    { config: withStepUp, schema: { body: NewPasskey, response: { 201: CreatedAnswer } } },
    async (request, reply) => {
      const { session, address } = signedIn(request)
      const { name, passkey: response } = request.body
      const id = await addPasskey(deps, address, session, { name, response })
      return reply.code(201).send({ data: { id } })
    },
  )

  app.delete<{ Params: { passkey: string } }>(
    '/account/passkeys/:passkey',
    { config: withStepUp },
    async (request, reply) => {
      const { session, address } = signedIn(request)
      await removePasskey(deps, address, session.member, request.params.passkey)
      return reply.code(204).send()
    },
  )
}
