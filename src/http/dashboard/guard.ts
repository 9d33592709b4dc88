import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Database } from '../../database/database.ts'
import { recordAct } from '../../events/audit-log-store.ts'
import { parseId } from '../../kernel/ids.ts'
import { MODES, type Mode } from '../../kernel/mode.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import {
  hasSecondFactor,
  type Membership,
  mayIn,
  memberActor,
  type Session,
  secondFactorsOf,
  type Visit,
} from '../../members/member.ts'
import { PERMISSIONS, type Permission } from '../../members/permissions.ts'
import { findSession } from '../../members/session-store.ts'
import { digestOf } from '../../merchants/credential.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { RateLimiter } from '../server/rate-limit.ts'
import type { CookieJar } from './cookies.ts'

/**
 * Who may call an endpoint. `public`: everyone. `half-signed-in`: also a session that lacks its second factor.
 * `signed-in`: a member, for the own account. A permission: a member of the merchant in the path, with that permission.
 */
export type Access = 'public' | 'half-signed-in' | 'signed-in' | 'operator' | Permission

/**
 * A proof of identity in the last 10 minutes. `identity`: also by the password, for a member without a second factor.
 * `second-factor`: by a second factor.
 */
export type StepUp = 'identity' | 'second-factor' | 'second-factor in live mode'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    stepUp?: StepUp
  }
  interface FastifyRequest {
    /** Set by the guard on every endpoint of the dashboard. */
    visit: Visit
    session: Session | undefined
    membership: Membership | undefined
  }
}

/** Refusals by role that are written to the audit log, per member. A script must not fill it. */
const WRITTEN_REFUSALS = { perSecond: 0.1, burst: 20 }

interface Deps {
  database: Database
  limits: Limits
  cookies: CookieJar
  baseUrl: () => string
  later: (work: () => Promise<void>) => void
}

/** Adds the only access control of the dashboard. An endpoint without a declared access fails at start. */
export function guardRoutes(app: App, deps: Deps): void {
  app.decorateRequest('visit')
  app.decorateRequest('session')
  app.decorateRequest('membership')
  app.addHook('onRoute', (route) => {
    const access = route.config?.access
    if (!access) throw new Error(`${route.method} ${route.url}: config.access is not declared`)
    if (access in PERMISSIONS && !route.url.includes('/merchants/:merchant'))
      throw new Error(`${route.url}: the permission ${access} needs /merchants/:merchant in the path`)
    route.schema = { ...route.schema, hide: true } // not part of the merchants' API
  })
  app.addHook('onRequest', (request, reply) => guard(deps, request, reply))
  // Again after the body has arrived: it may take 30 s, and session, role or step-up may be gone meanwhile.
  app.addHook('preValidation', async (request) => {
    if (request.session && request.method !== 'GET' && request.method !== 'HEAD') await admit(deps, request)
  })

  const written = new RateLimiter(WRITTEN_REFUSALS)
  app.addHook('onError', async (request, _reply, error) => {
    const { session, params, routeOptions, method } = request
    if (!session || (error as Partial<Problem>).code !== 'forbidden' || !written.take(session.member.id).allowed) return
    const merchantId = parseId('merchant', (params as { merchant?: string }).merchant ?? '') ?? null
    const entry = { actor: signedIn(request).actor, act: 'request.refused', subject: `${method} ${routeOptions.url}` }
    deps.later(() => deps.database.transaction((tx) => recordAct(tx, { ...entry, merchantId })))
  })
}

async function guard(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.headers({ 'cache-control': 'no-store', 'cross-origin-resource-policy': 'same-origin' })
  refuseCrossSite(request, new URL(deps.baseUrl()).origin)
  const userAgent = request.headers['user-agent'] ?? ''
  request.visit = { address: request.ip, userAgent, device: deps.cookies.read(request, 'device') }
  await admit(deps, request)
}

/** Reads the session and checks it against the declared access of the endpoint. */
async function admit({ database, limits, cookies }: Deps, request: FastifyRequest): Promise<void> {
  const { access = 'operator', stepUp } = request.routeOptions.config
  const token = cookies.read(request, 'session')
  request.session = token === undefined ? undefined : await findSession(database, digestOf(token))
  const { session } = request
  if (session) limits.session(session.id)
  else limits.signIn(request)
  if (access === 'public') return
  if (!session) throw new Problem('not_signed_in', 'Sign in first.')
  if (access === 'half-signed-in') return
  if (!session.complete) throw new Problem('not_signed_in', 'Give the second factor first.')
  if (access === 'operator' && !session.member.operator) throw new Problem('forbidden', 'This is for operators only.')
  if (access in PERMISSIONS) enterMerchant(request, session, access as Permission)
  checkStepUp(request, session, stepUp)
}

/**
 * CSRF: a request that changes something comes from our own pages and is JSON, which no form can send. `Origin` is
 * always sent with such a request; `Sec-Fetch-Site` by every current browser on https and localhost.
 */
function refuseCrossSite({ method, headers }: FastifyRequest, origin: string): void {
  const site = headers['sec-fetch-site']
  if (method === 'GET' || method === 'HEAD') {
    if (site === undefined || site === 'same-origin' || site === 'none') return
    throw new Problem('forbidden', 'This request comes from another site.')
  }
  if (headers.origin !== origin || (site !== undefined && site !== 'same-origin'))
    throw new Problem('forbidden', `This request does not come from ${origin}, the address of the dashboard.`)
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    throw new Problem('unsupported_media_type', 'Send the header "Content-Type: application/json".')
}

/** Another merchant gets the same answer as one that does not exist. */
function enterMerchant(request: FastifyRequest, { member, memberships }: Session, permission: Permission): void {
  const { merchant, mode } = request.params as { merchant: string; mode?: string }
  const membership = memberships.find(({ merchantId }) => merchantId === parseId('merchant', merchant))
  if (!membership || (mode !== undefined && !MODES.includes(mode as Mode)))
    throw new Problem('not_found', 'You have no such merchant.')
  if (membership.requireSecondFactor && !hasSecondFactor(member.factors))
    throw new Problem(
      'second_factor_required',
      'This merchant requires a passkey or an authenticator app. Add one first.',
    )
  if (!mayIn(membership, permission))
    throw new Problem('forbidden', `Your role, ${membership.role}, does not allow this.`)
  if (membership.suspended && request.method !== 'GET' && request.method !== 'HEAD')
    throw new Problem('merchant_suspended', 'This merchant is suspended. Ask the operator of this service to lift it.')
  request.membership = membership
}

/** Throws when the session lacks the proof of identity that the step-up asks for. */
export function checkStepUp(request: FastifyRequest, { member, confirmed }: Session, stepUp: StepUp | undefined): void {
  if (!stepUp) return
  const isSandbox = (request.params as { mode?: string }).mode === 'sandbox'
  if (stepUp === 'second-factor in live mode' && isSandbox) return
  if (stepUp !== 'identity' && !hasSecondFactor(member.factors))
    throw new Problem(
      'second_factor_required',
      'This needs a passkey or an authenticator app. Add one to your account.',
    )
  if (confirmed) return
  const methods = hasSecondFactor(member.factors) ? secondFactorsOf(member.factors) : ['password']
  throw new Problem('step_up_required', 'Prove your identity again: it was more than 10 minutes ago.', {
    extra: { methods },
  })
}

export interface SignedIn {
  session: Session
  address: string
  /** For the audit log. */
  actor: string
}

/** The member of a request behind the guard. */
export function signedIn({ session, visit }: FastifyRequest): SignedIn {
  if (!session) throw new Error('the endpoint is not declared as signed-in')
  return { session, address: visit.address, actor: memberActor(session.member.id, visit.address) }
}

export interface InMerchant extends SignedIn {
  membership: Membership
}

/** The same, of an endpoint with a permission. */
export function inMerchant(request: FastifyRequest): InMerchant {
  if (!request.membership) throw new Error('the endpoint has no permission declared')
  return { ...signedIn(request), membership: request.membership }
}

/** Merchant, place and mode of an endpoint under `/merchants/:merchant/:mode`. */
export function scopeOf(request: FastifyRequest): Scope {
  const { mode } = request.params as { mode: Mode }
  const { place, merchantId } = inMerchant(request).membership
  return { place, merchantId, mode }
}
