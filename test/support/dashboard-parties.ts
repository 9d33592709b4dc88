import assert from 'node:assert/strict'
import Fastify, { type RouteOptions } from 'fastify'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import type { Access, StepUp } from '../../src/http/dashboard/guard.ts'
import { dashboardRoutes } from '../../src/http/dashboard/routes.ts'
import type { App } from '../../src/http/server/framework.ts'
import { Limits } from '../../src/http/server/limits.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type MemberId, type MerchantId, newId, newShortCode, uuidOf } from '../../src/kernel/ids.ts'
import type { Mode } from '../../src/kernel/mode.ts'
import type { Scope } from '../../src/kernel/scope.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { saveView } from '../../src/members/manage-views.ts'
import { createInvitation } from '../../src/members/one-time-links.ts'
import { ROLES, type Role } from '../../src/members/permissions.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { createEndpoint } from '../../src/webhooks/manage-endpoints.ts'
import { addMember } from './dashboard.ts'
import { addMerchant, BASE_URL } from './service.ts'

const secrets = secretBox(Buffer.alloc(32))
const partsOn = (database: Database) => ({ database, clock: systemClock, baseUrl: () => BASE_URL })

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  access: Access
  stepUp: StepUp | undefined
  hasBody: boolean
}

/** Every endpoint of the dashboard, as registered: an endpoint that is added later is tested, too. */
export async function registeredRoutes(database: Database): Promise<Route[]> {
  const parts = partsOn(database)
  const registered: RouteOptions[] = []
  const empty = Fastify() as unknown as App
  empty.addHook('onRoute', (route) => void (route.method !== 'HEAD' && registered.push(route)))
  // No endpoint is called, so what they call is not needed.
  const unused = { ...parts, limits: new Limits(false) } as Parameters<typeof dashboardRoutes>[1]
  await empty.register(async (dashboard: App) => dashboardRoutes(dashboard, unused))
  return registered.map(({ method, url, config, schema }) => {
    const { access, stepUp } = config as { access: Access; stepUp?: StepUp }
    return { method: method as Route['method'], url, access, stepUp, hasBody: schema?.body !== undefined }
  })
}

export interface Party {
  merchantId: MerchantId
  members: Record<Role, MemberId>
  /** An object of this merchant for each parameter of a path, by the segment before it where `:id` needs one. */
  objects: Record<string, string>
  /** The same, where they differ by mode. */
  byMode: Record<Mode, Record<string, string>>
}

export async function addParty(database: Database): Promise<Party> {
  const parts = partsOn(database)
  const { merchantId, clientId, place } = await addMerchant(database)
  const entries: [Role, MemberId][] = []
  for (const role of ROLES) entries.push([role, (await addMember(database, { role, merchantId })).id])
  const members = Object.fromEntries(entries) as Record<Role, MemberId>
  const { clientId: live } = await createCredential(parts, 'test', merchantId, 'live')
  const email = `guest-${merchantId.slice(-6)}@example.com`
  const invitation = await createInvitation(parts, 'test', { merchantId, email, role: 'viewer' })
  const byMode = {
    sandbox: { clientId, ...(await addObjects(database, { place, merchantId, mode: 'sandbox' })) },
    live: { clientId: live, ...(await addObjects(database, { place, merchantId, mode: 'live' })) },
  }
  const view = await saveView(
    partsOn(database),
    { memberId: members.owner, merchantId, actor: 'test' },
    { name: 'Kept', filters: {} },
  )
  const objects = { view: view.id, member: members.viewer, invitation: invitation.id, provider: 'gateway' }
  return { merchantId, members, objects, byMode }
}

/** A paid payment of this merchant and mode, with one of everything that can belong to it. */
async function addObjects(database: Database, scope: Scope): Promise<Record<string, string>> {
  const { place, merchantId, mode } = scope
  const [merchant, now, email] = [
    uuidOf(merchantId),
    new Date(),
    `${mode}-${merchantId.slice(-6).toLowerCase()}@example.com`,
  ]
  const payment = newId('payment', now, place)
  const attempt = newId('attempt', now, place)
  const refund = newId('refund', now, place)
  const dispute = newId('dispute', now, place)
  const event = newId('event', now, place)
  const found = newId('case', now, place)
  const card = newId('card', now, place)
  const code = newShortCode(now, place)
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, status, amount, amount_paid, currency, country,
                          customer_bears_charge, user_email, metadata, expires_at, completed_at)
    values (${place}, ${uuidOf(payment)}, ${merchant}, ${mode}, ${code}, ${code}, 'successful', 5000, 5000, 'NGN', 'NG', false, ${email}, '{}',
            now(), now())`)
  await database.rows(sql`
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee,
                          amount_received, order_reference, provider_reference)
    values (${place}, ${uuidOf(attempt)}, ${uuidOf(payment)}, ${merchant}, ${mode}, 1, ${attempt}, 'gateway', 'card', 'successful', 'NGN', 5000, 0,
            5000, ${attempt}, ${attempt})`)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted)
    values (${place}, ${uuidOf(refund)}, ${uuidOf(payment)}, ${uuidOf(attempt)}, ${merchant}, ${mode}, 1, 'NGN', 'provider', 'successful', true)`)
  await database.rows(sql`
    insert into disputes (place, id, payment_id, attempt_id, merchant_id, mode, provider_dispute_id, amount, currency, status, opened_at)
    values (${place}, ${uuidOf(dispute)}, ${uuidOf(payment)}, ${uuidOf(attempt)}, ${merchant}, ${mode}, 'dp_1', 1, 'NGN', 'open', now())`)
  await database.rows(sql`
    insert into cases (place, id, merchant_id, mode, payment_id, reason, subject_kind, subject, summary, opened_at)
    values (${place}, ${uuidOf(found)}, ${merchant}, ${mode}, ${uuidOf(payment)}, 'review', 'attempt', ${uuidOf(attempt)}, 'Look.', now())`)
  await database.rows(sql`
    insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, body)
    values (${place}, ${uuidOf(event)}, ${merchant}, ${mode}, ${uuidOf(payment)}, 'payment.successful', 1, '{}', '{}')`)
  await database.rows(sql`
    insert into saved_cards (place, id, merchant_id, mode, provider, email, brand, last4, expiry_month, expiry_year, sealed_token)
    values (${place}, ${uuidOf(card)}, ${merchant}, ${mode}, 'gateway', ${email}, 'visa', '4081', 12, 2099, '')`)
  const [receipt] = await database.rows<{ id: number }>(sql`
    insert into receipts (place, merchant_id, mode, provider, transaction_id, amount, currency, counted, taken_at)
    values (${place}, ${merchant}, ${mode}, 'gateway', ${attempt}, 700, 'NGN', false, now()) returning id`)
  const wanted = { url: 'https://shop.example/hook', events: [], enabled: true }
  const link = newId('link', now, place)
  await database.rows(sql`
    insert into links (place, id, merchant_id, mode, code, title, currency, country, customer_bears_charge, collect_name,
                       collect_phone_number, active, metadata)
    values (${place}, ${uuidOf(link)}, ${merchant}, ${mode}, ${code}, 'Class', 'NGN', 'NG', false, false, false, true, '{}')`)
  const settlement = newId('settlement', now, place)
  await database.rows(sql`
    insert into settlements (place, id, merchant_id, mode, provider, account, provider_id, currency, status, made_at, has_lines, recorded_at)
    values (${place}, ${uuidOf(settlement)}, ${merchant}, ${mode}, 'gateway', 0, ${settlement}, 'NGN', 'paid', now(), false, now())`)
  const [credit] = await database.rows<{ id: number }>(sql`
    insert into bank_credits (place, merchant_id, mode, currency, day, amount, number, line, recorded_at)
    values (${place}, ${merchant}, ${mode}, 'NGN', now(), 700, 1, 2, now()) returning id`)
  const { endpoint } = await createEndpoint({ ...partsOn(database), secrets }, 'test', scope, wanted)
  return {
    reference: payment,
    email,
    'refunds/id': refund,
    'disputes/id': dispute,
    'cases/id': found,
    'settlements/id': settlement,
    'bank-credits/id': `bank-${credit?.id}`,
    'events/id': event,
    'cards/id': card,
    'transfers/transfer': `receipt-${receipt?.id}`,
    'links/id': link,
    'webhook-endpoints/id': endpoint.id,
  }
}

/** The path with a merchant, a mode, and objects of a party. */
export function pathOf({ url }: Route, merchantId: MerchantId, mode: string, party: Party, objectsOf = mode): string {
  const objects: Record<string, string> = { ...party.objects, ...party.byMode[objectsOf as Mode] }
  return url
    .replaceAll(/([\w-]+)\/:(\w+)/g, (_, segment: string, name: string) => {
      if (name === 'merchant') return `${segment}/${merchantId}`
      const object = objects[`${segment}/${name}`] ?? objects[name]
      assert.ok(object, `an object for ${segment}/:${name} of ${url}: add one to addObjects()`)
      return `${segment}/${object}`
    })
    .replace(':mode', mode)
}

/** A body that the endpoint accepts, so that only permissions and ownership of objects can refuse it. */
export const bodiesFor = (other: Party): Record<string, unknown> => ({
  'POST /merchants/:merchant/:mode/api-keys': {},
  'POST /merchants/:merchant/invitations': { email: 'guest@example.com', role: 'viewer' },
  'PATCH /merchants/:merchant/members/:member': { role: 'developer' },
  'POST /merchants/:merchant/members/:member/reset': { secondFactors: true },
  'PUT /merchants/:merchant/owner': { member: other.members.viewer },
  'PUT /merchants/:merchant/security': { requireSecondFactor: false },
  'PUT /merchants/:merchant/refund-limit': { refundLimit: 100_000 },
  'POST /merchants/:merchant/:mode/checkouts': { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' } },
  'POST /merchants/:merchant/:mode/links': { title: 'Class', amount: 5_000, country: 'NG' },
  'PATCH /merchants/:merchant/:mode/links/:id': { active: false },
  'POST /merchants/:merchant/:mode/payments/:reference/refunds': { amount: 100 },
  'POST /merchants/:merchant/:mode/refunds/:id/retry': {
    destinationAccountNumber: '0690000031',
    destinationAccountBankCode: '058',
  },
  'POST /merchants/:merchant/:mode/refunds/:id/end': { note: 'Not made.' },
  'POST /merchants/:merchant/:mode/cases/:id/close': { note: 'Looked at.' },
  'POST /merchants/:merchant/:mode/payments/:reference/review': { note: 'Looked at.' },
  'POST /merchants/:merchant/:mode/transfers/:transfer/match': { payment: 'unknown', amount: 700 },
  'POST /merchants/:merchant/:mode/transfers/:transfer/return': { amount: 700, byHand: true, note: 'By bank.' },
  'POST /merchants/:merchant/:mode/transfers/:transfer/note': { amount: 700, note: 'Known.' },
  'POST /merchants/:merchant/:mode/bank-statements': {
    csv: 'Day,Credit\n2026-05-04,5.00',
    columns: { date: 'Day', amount: 'Credit' },
  },
  'PUT /merchants/:merchant/:mode/bank-credits/:id': { settlement: null },
  'POST /merchants/:merchant/:mode/events/redeliver': { from: '2026-01-01' },
  'POST /merchants/:merchant/:mode/webhook-endpoints': { url: 'https://shop.example/hook' },
  'PATCH /merchants/:merchant/:mode/webhook-endpoints/:id': { enabled: false },
  'PUT /merchants/:merchant/:mode/integrations/:provider': { priority: 10 },
  'PUT /merchants/:merchant/:mode/provider-order': { providers: ['gateway'] },
  'PATCH /merchants/:merchant/branding': { colour: '#0b6e4f' },
  'POST /merchants/:merchant/views': { name: 'Late', filters: { late: 'true' } },
  'PATCH /merchants/:merchant/views/:view': { name: 'Paid late' },
  'PUT /merchants/:merchant/:mode/alerts': { kinds: ['case_opened'], daily: true },
  'PUT /merchants/:merchant/:mode/receipts': { sends: 'always' },
  'PATCH /merchants/:merchant/settings': { timeZone: 'Africa/Lagos' },
})
