import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { createMerchant, SANDBOX_MERCHANT_ID } from '../../../src/integrations/create-merchant.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { Country } from '../../../src/kernel/country.ts'
import { type MemberId, newId, uuidOf } from '../../../src/kernel/ids.ts'
import { insertMember, insertMembership } from '../../../src/members/member-store.ts'
import { ROLES } from '../../../src/members/permissions.ts'
import { insertSession } from '../../../src/members/session-store.ts'
import { newToken } from '../../../src/members/token.ts'
import { digestOf } from '../../../src/merchants/credential.ts'
import { createCredential } from '../../../src/merchants/manage-merchants.ts'
import type { ServiceProcess } from '../../support/process.ts'
import type { KnownObjects } from './parameter-cases.ts'

/** Someone who sends requests. `headers` is called for each route: a route may end the session. */
export interface Role {
  name: string
  headers(): Promise<Record<string, string>>
}

type Keys = Record<'clientId' | 'clientSecret', string>

/** Nobody, keys of the API, and members of every role, an operator among them. */
export async function makeRoles(database: Database, service: ServiceProcess): Promise<Role[]> {
  const parts = { database, clock: systemClock }
  const other = await createMerchant({ ...parts, sandboxIntegrations: [] }, 'fuzz', {
    name: 'Another',
    country: 'NG' as Country,
  })
  const keyOf = (name: string, { clientId, clientSecret }: Keys): Role => ({
    name,
    headers: async () => ({ 'client-id': clientId, 'client-secret': clientSecret }),
  })
  const own = { clientId: service.headers['client-id'], clientSecret: service.headers['client-secret'] }
  const limits = { scopes: ['payments:read'] }
  const members: Role[] = []
  for (const role of [...ROLES, 'operator'] as const) {
    const id = await addMember(database, role)
    members.push({ name: role, headers: () => signedIn(database, service, id) })
  }
  return [
    { name: 'anonymous', headers: async () => ({}) },
    keyOf('key', own),
    keyOf('key of another merchant', await createCredential(parts, 'fuzz', other.id, 'sandbox')),
    keyOf('restricted key', await createCredential(parts, 'fuzz', SANDBOX_MERCHANT_ID, 'sandbox', limits)),
    ...members,
  ]
}

async function addMember(database: Database, role: (typeof ROLES)[number] | 'operator'): Promise<MemberId> {
  const id = newId('member', new Date())
  const account = { id, email: `${role}@example.com`, name: role, operator: role === 'operator' }
  await database.transaction(async (tx) => {
    await insertMember(tx, { ...account, passwordHash: null, emailVerified: true })
    if (role !== 'operator') await insertMembership(tx, id, SANDBOX_MERCHANT_ID, role)
    // Never read here: it only makes the account one with a second factor.
    await tx.rows(sql`update members set totp_secret = 'x' where id = ${uuidOf(id)}`)
  })
  return id
}

async function signedIn(database: Database, { baseUrl }: ServiceProcess, memberId: MemberId) {
  const token = newToken()
  const session = { id: newId('session', new Date()), memberId, digest: digestOf(token), complete: true }
  await insertSession(database, session, { address: '127.0.0.1', userAgent: 'fuzz' })
  return { cookie: `manilla_session=${token}`, origin: new URL(baseUrl).origin, 'sec-fetch-site': 'same-origin' }
}

/** An object for each parameter of a path: only reads name them, so that nothing is deleted. */
export async function makeObjects({ baseUrl, headers }: ServiceProcess): Promise<KnownObjects> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${baseUrl}/payments/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return ((await response.json()) as { data: Record<string, string> }).data
  }
  const user = { email: 'ada@example.com' }
  const checkout = await post('/checkouts', { amount: 1_000, country: 'NG', user })
  const link = await post('/links', { title: 'Class', amount: 1_000, country: 'NG' })
  const endpoint = await post('/webhook-endpoints', { url: 'https://shop.example/hook' })
  const { id = '', shortURL = '', reference = '' } = checkout
  return {
    ...{
      merchant: SANDBOX_MERCHANT_ID,
      mode: 'sandbox',
      provider: 'gateway',
      email: user.email,
      transfer: 'receipt-1',
    },
    ...{ reference, 'pay/id': id, code: shortURL.split('/').at(-1) ?? '' },
    ...{ 'links/id': link.id ?? '', 'webhook-endpoints/id': endpoint.id ?? '' },
  }
}
