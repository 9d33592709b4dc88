import { Secret, TOTP } from 'otpauth'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import type { App } from '../../src/http/server/framework.ts'
import { type MemberId, type MerchantId, newId, uuidOf } from '../../src/kernel/ids.ts'
import { insertMember, insertMembership } from '../../src/members/member-store.ts'
import type { Role } from '../../src/members/permissions.ts'
import { insertSession } from '../../src/members/session-store.ts'
import { newToken } from '../../src/members/token.ts'
import { digestOf } from '../../src/merchants/credential.ts'
import { type Answer, BASE_URL, call } from './service.ts'

export const PASSWORD = 'correct horse battery staple'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A browser on the dashboard: sends its cookies and the headers of a request of our own page. */
export interface DashboardBrowser {
  cookies: Map<string, string>
  call(method: Method, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export function newBrowser(app: App, { origin = BASE_URL } = {}): DashboardBrowser {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async call(method, path, body, headers = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const own: Record<string, string> = method === 'GET' ? {} : { origin, 'content-type': 'application/json' }
      const answer = await call(app, method, `/dashboard/api${path}`, {
        headers: { 'sec-fetch-site': 'same-origin', ...own, ...(cookie && { cookie }), ...headers },
        body,
      })
      for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(line)) ?? []
        if (/Max-Age=0/.test(String(line))) cookies.delete(name)
        else cookies.set(name, value)
      }
      return answer
    },
  }
}

let members = 0

/** An account without password hashing, which takes most of the time of a real one. */
export async function addMember(
  database: Database,
  { role, merchantId, totp = true, email }: { role?: Role; merchantId?: MerchantId; totp?: boolean; email?: string },
): Promise<{ id: MemberId; email: string }> {
  const id = newId('member', new Date())
  const account = { id, email: email ?? `member${++members}@example.com`, name: `Member ${members}` }
  await database.transaction(async (tx) => {
    await insertMember(tx, { ...account, operator: false, passwordHash: null, emailVerified: false })
    if (role && merchantId) await insertMembership(tx, id, merchantId, role)
    // Never read here: it only makes the account one with a second factor.
    if (totp) await tx.rows(sql`update members set totp_secret = 'x' where id = ${uuidOf(id)}`)
  })
  return account
}

/** A signed-in browser, as after a sign-in with a second factor. */
export async function signedInBrowser(
  app: App,
  database: Database,
  memberId: MemberId,
  options: { origin?: string } = {},
): Promise<DashboardBrowser> {
  const browser = newBrowser(app, options)
  const token = newToken()
  const session = { id: newId('session', new Date()), memberId, digest: digestOf(token), complete: true }
  await insertSession(database, session, { address: '127.0.0.1', userAgent: 'test' })
  browser.cookies.set('manilla_session', token)
  return browser
}

/** A browser of a new member of this merchant, who has the role. */
export async function browserAs(
  { app, database, baseUrl }: { app: App; database: Database; baseUrl: string },
  role: Role,
  merchantId: MerchantId,
): Promise<DashboardBrowser> {
  const { id } = await addMember(database, { role, merchantId })
  return signedInBrowser(app, database, id, { origin: baseUrl })
}

/** The code of an authenticator app at a time. */
export function totpCode(secret: string, at: Date): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at.getTime() })
}

export function tokenOf(url: string): string {
  return new URL(url).hash.slice(1)
}
