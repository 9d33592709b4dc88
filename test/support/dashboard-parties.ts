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
  const { endpoint } = await createEndpoint({ ...partsOn(database), secrets }, 'test', scope, wanted)
  return {
    reference: payment,
    email,
    'refunds/id': refund,
    'disputes/id': dispute,
    'events/id': event,
    'cards/id': card,
    'transfers/transfer': `receipt-${receipt?.id}`,
    'links/id': link,
    'webhook-endpoints/id': endpoint.id,
  }
}
