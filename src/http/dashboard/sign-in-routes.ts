import type { FastifyReply } from 'fastify'
import { MODES } from '../../kernel/mode.ts'
import {
  acceptInvitation,
  createAccount,
  newAccountPasskeyOptions,
  readLink,
  resetPassword,
} from '../../members/accept-link.ts'
import type { MemberDeps } from '../../members/deps.ts'
import { parseEmail, type Session, secondFactorsOf } from '../../members/member.ts'
import { requestReset } from '../../members/one-time-links.ts'
import { permissionsOf } from '../../members/permissions.ts'
import { deviceCookieOf } from '../../members/prove-identity.ts'
import { deleteSession } from '../../members/session-store.ts'
import {
  giveSecondFactor,
  passkeyProofOptions,
  passkeySignInOptions,
  type StartedSession,
  signInWithPasskey,
  signInWithPassword,
  signOut,
  stepUp,
} from '../../members/sign-in.ts'
import type { App } from '../server/framework.ts'
import {
  ForgotPassword,
  LinkAnswer,
  LinkToken,
  NewAccount,
  PasskeySignIn,
  PasswordSignIn,
  Proof,
  ResetPassword,
  SessionAnswer,
  SignInAnswer,
} from './contract.ts'
import type { CookieJar } from './cookies.ts'
import { signedIn } from './guard.ts'

interface Deps extends MemberDeps {
  cookies: CookieJar
}

/** One-time links, sign-in, step-up and sign-out. */
export function signInRoutes(app: App, deps: Deps): void {
  const { database, secrets, cookies } = deps
  const isPublic = { access: 'public' as const }
  const isHalfSignedIn = { access: 'half-signed-in' as const }
  const isSignedIn = { access: 'signed-in' as const }

  /** Every sign-in starts a session with a token of its own, and ends the one that the browser had (fixation). */
  async function signInAnswer(reply: FastifyReply, started: StartedSession) {
    const { session } = reply.request
    if (session) await deleteSession(database, session.member.id, session.id)
    cookies.writeSession(reply, started.token)
    const { email, factors } = started.member
    if (started.complete) cookies.writeDevice(reply, deviceCookieOf(secrets, email))
    const state = started.complete ? ('signed-in' as const) : ('second-factor' as const)
    return { data: { state, methods: secondFactorsOf(factors) } }
  }

  app.post(
    '/welcome/read',
    { config: isPublic, schema: { body: LinkToken, response: { 200: LinkAnswer } } },
    async ({ body }) => {
      const link = await readLink(deps, body.token)
      const { kind, email, expiresAt } = link
      const merchant = link.kind === 'reset' ? { merchantName: null, role: null } : link
      const { merchantName, role } = merchant
      return { data: { kind, email, merchantName, role, expiresAt: expiresAt.toISOString() } }
    },
  )

  app.post('/welcome/passkey-options', { config: isPublic, schema: { body: NewAccount } }, async ({ body }) => ({
    data: await newAccountPasskeyOptions(deps, body.token, body),
  }))

  app.post(
    '/welcome',
    { config: isPublic, schema: { body: NewAccount, response: { 200: SignInAnswer } } },
    async ({ visit, body }, reply) => signInAnswer(reply, await createAccount(deps, visit, body.token, body)),
  )

  app.post(
    '/welcome/password',
    { config: isPublic, schema: { body: ResetPassword, response: { 200: SignInAnswer } } },
    async ({ visit, body }, reply) => signInAnswer(reply, await resetPassword(deps, visit, body.token, body.password)),
  )

  app.post('/welcome/join', { config: isSignedIn, schema: { body: LinkToken } }, async (request, reply) => {
    const { session, address } = signedIn(request)
    await acceptInvitation(deps, address, session.member, request.body.token)
    return reply.code(204).send()
  })

  app.post('/sign-in/passkey-options', { config: isPublic }, async () => ({ data: await passkeySignInOptions(deps) }))

  app.post(
    '/sign-in/passkey',
    { config: isPublic, schema: { body: PasskeySignIn, response: { 200: SignInAnswer } } },
    async ({ visit, body }, reply) => signInAnswer(reply, await signInWithPasskey(deps, visit, body.passkey)),
  )

  app.post(
    '/sign-in/password',
    { config: isPublic, schema: { body: PasswordSignIn, response: { 200: SignInAnswer } } },
    async ({ visit, body }, reply) => signInAnswer(reply, await signInWithPassword(deps, visit, body)),
  )

  app.post(
    '/sign-in/forgot',
    { config: isPublic, schema: { body: ForgotPassword } },
    async ({ visit, body }, reply) => {
      const email = parseEmail(body.email)
      if (email) requestReset(deps, email, visit.address)
      return reply.code(202).send({ data: {} })
    },
  )

  app.post('/sign-in/second-factor/passkey-options', { config: isHalfSignedIn }, async (request) => ({
    data: await passkeyProofOptions(deps, signedIn(request).session, 'second-factor'),
  }))

  app.post(
    '/sign-in/second-factor',
    { config: isHalfSignedIn, schema: { body: Proof, response: { 200: SignInAnswer } } },
    async (request, reply) => {
      const { session } = signedIn(request)
      return signInAnswer(reply, await giveSecondFactor(deps, request.visit, session, request.body))
    },
  )

  app.post('/sign-out', { config: isHalfSignedIn }, async (request, reply) => {
    const { session, address } = signedIn(request)
    await signOut(database, session, address)
    cookies.clearSession(reply)
    return reply.code(204).send()
  })

  app.get('/session', { config: isHalfSignedIn, schema: { response: { 200: SessionAnswer } } }, async (request) =>
    sessionAnswer(signedIn(request).session),
  )

  app.post('/step-up/passkey-options', { config: isSignedIn }, async (request) => ({
    data: await passkeyProofOptions(deps, signedIn(request).session, 'step-up'),
  }))

  app.post('/step-up', { config: isSignedIn, schema: { body: Proof } }, async (request, reply) => {
    cookies.writeSession(reply, await stepUp(deps, request.visit, signedIn(request).session, request.body))
    return reply.code(204).send()
  })
}

function sessionAnswer({ complete, confirmed, member, memberships }: Session): SessionAnswer {
  const methods = secondFactorsOf(member.factors)
  if (!complete) return { data: { state: 'second-factor', methods, confirmed: false, member: null, merchants: [] } }
  const { id, name, email, operator, factors } = member
  return {
    data: {
      state: 'signed-in',
      methods,
      confirmed,
      member: { id, name, email, operator, hasPassword: factors.password },
      merchants: memberships.map(({ merchantId, merchantName, role, ...membership }) => ({
        id: merchantId,
        name: merchantName,
        suspended: membership.suspended,
        country: membership.country,
        timeZone: membership.timeZone,
        role,
        permissions: permissionsOf(role),
        requireSecondFactor: membership.requireSecondFactor,
        modes: [...MODES],
      })),
    },
  }
}
