import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { sql } from '../../src/database/sql.ts'
import { ALERT_KINDS, type AlertKind } from '../../src/events/alert-kind.ts'
import { alertRaised } from '../../src/events/alert-store.ts'
import { newWebhookSecret } from '../../src/events/webhook-secret.ts'
import { idOf, type MemberId, uuidOf } from '../../src/kernel/ids.ts'
import type { Mode } from '../../src/kernel/mode.ts'
import type { Scope } from '../../src/kernel/scope.ts'
import { addressAlerts, findAlerts } from '../../src/mails/address-alerts.ts'
import { type AlertChoice, saveChoice } from '../../src/mails/alert-queue-store.ts'
import { ALERTS } from '../../src/mails/alert-texts.ts'
import { type AlertDeps, sendDueAlerts } from '../../src/mails/send-alerts.ts'
import { smtpMail } from '../../src/members/mail.ts'
import { removeMember } from '../../src/members/manage-members.ts'
import { ROLES, type Role } from '../../src/members/permissions.ts'
import { createCredential, revokeCredential } from '../../src/merchants/manage-merchants.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import { openAccountCase } from '../../src/payments/store/other-cases.ts'
import { addMember, browserAs, signedInBrowser } from '../support/dashboard.ts'
import { startMailServer } from '../support/mail-server.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'
import { atProvider, lastRefundFails, refund } from '../support/returns.ts'
import { paid } from '../support/sandbox-payments.ts'
import { addMerchant, startOn } from '../support/service.ts'
import { read } from '../support/snippets.ts'

const HOUR_MS = 3_600_000
const service = await startPaying()
const { database, parts } = service
const server = await startMailServer()
const http = webhookHttp()
after(() => http.close())
let nowMs = Date.now()
const deps: AlertDeps = {
  ...{ ...parts, http, sendMail: smtpMail(server.url, 'no-reply@pay.test') },
  clock: { now: () => new Date(nowMs) },
}

const EVERYTHING: AlertChoice = { kinds: [...ALERT_KINDS], daily: false }

/** A shop with an owner who wants alerts of the sandbox. */
async function openShop(choice: AlertChoice = EVERYTHING): Promise<Shop & { scope: Scope; owner: Person }> {
  const shop = await service.addShop()
  const scope = { merchantId: shop.merchantId, place: shop.place, mode: 'sandbox' as const }
  return { ...shop, scope, owner: await addPerson(scope, 'owner', choice) }
}

interface Person {
  id: MemberId
  email: string
}

async function addPerson(scope: Scope, role: Role, choice?: AlertChoice): Promise<Person> {
  const person = await addMember(database, { role, merchantId: scope.merchantId })
  if (choice) await database.transaction((tx) => saveChoice(tx, person.id, scope, choice))
  return person
}

/** Opens a case, about an account. */
async function openCase(scope: Scope, provider = 'gateway'): Promise<void> {
  const wanted = { provider, reason: 'unanswered' as const, summary: 'unanswered: call me at https://evil.example' }
  await database.transaction((tx) => openAccountCase(tx, scope, wanted, new Date(nowMs)))
}

const closeCases = ({ merchantId }: Scope) =>
  database.rows(sql`update cases set closed_at = now(), closed_by = 'books' where merchant_id = ${uuidOf(merchantId)}`)

/** The mails that are sent now, as recipient and subject. */
async function told(sender: AlertDeps = deps): Promise<string[]> {
  while (await addressAlerts(sender, sender.operator !== undefined));
  await Promise.all([sendDueAlerts(sender), sendDueAlerts(sender)])
  return server.mails.splice(0).map(({ recipients, mail }) => `${recipients.join()} ${mail.subject}`)
}

const waiting = async ({ merchantId }: Scope) =>
  (await database.rows(sql`select from alert_copies where merchant_id = ${uuidOf(merchantId)}`)).length

test('K5: a case is one mail; more cases wait for an hour, and are one mail again, also with several senders', async () => {
  const { scope, owner } = await openShop()
  await openCase(scope, 'gateway')
  while (await addressAlerts(deps, false));
  await Promise.all([sendDueAlerts(deps), sendDueAlerts(deps), sendDueAlerts(deps)])
  const [{ mail } = assert.fail(), ...more] = server.mails.splice(0)
  assert.equal(more.length, 0)
  assert.equal(mail.subject, '[Test] Adaeze Kitchen: A case needs a person')
  assert.match(mail.text ?? '', /- Unanswered\n/)
  assert.match(mail.text ?? '', new RegExp(`/dashboard/${scope.merchantId}/sandbox/attention`))
  assert.doesNotMatch(mail.text ?? '', /evil\.example/, 'no text of others')
  await openCase(scope, 'paystack')
  await openCase(scope, 'monnify')
  nowMs += HOUR_MS - 1_000
  assert.deepEqual(await told(), [])
  nowMs += 1_000
  assert.deepEqual(await told(), [`${owner.email} [Test] Adaeze Kitchen: 2 cases need a person`])
  nowMs += HOUR_MS
  assert.deepEqual(await told(), [])
})

test('K5: a flood of cases is one mail, with the number and twenty lines', async () => {
  const { scope } = await openShop()
  const { place, merchantId, mode } = scope
  await database.rows(sql`
    insert into cases (place, id, merchant_id, mode, provider, reason, subject_kind, subject, summary, opened_at)
    select ${place}::smallint, gen_random_uuid(), ${uuidOf(merchantId)}::uuid, ${mode}, 'gateway', 'unmatched_money', 'receipt', 'receipt-' || n, 'x', now()
      from generate_series(1, 1200) n`)
  const cases = await database.rows<{ id: string }>(
    sql`select id from cases where place = ${place} and merchant_id = ${uuidOf(merchantId)}`,
  )
  await database.rows(sql`
    insert into alerts (place, merchant_id, mode, kind, subject, created_at)
    select ${place}::smallint, ${uuidOf(merchantId)}::uuid, ${mode}, 'case_opened', subject, now()
      from unnest(${cases.map(({ id }) => idOf('case', id, place))}::text[]) subject`)
  while (await addressAlerts(deps, false));
  await sendDueAlerts(deps)
  const [{ mail } = assert.fail(), ...more] = server.mails.splice(0)
  assert.equal(more.length, 0)
  assert.equal(mail.subject, '[Test] Adaeze Kitchen: 1200 cases need a person')
  assert.equal(mail.text?.match(/^- /gm)?.length, 20)
  assert.match(mail.text ?? '', /and 1180 more/)
  assert.equal(await waiting(scope), 0)
})

test('what has gone by itself before the mail is not told', async () => {
  const { scope } = await openShop()
  await openCase(scope)
  await closeCases(scope)
  assert.deepEqual(await told(), [])
  assert.equal(await waiting(scope), 0)
})

test('a digest comes once a day, with all kinds, after eight o’clock of the merchant', async () => {
  const { scope, owner, ...shop } = await openShop({ kinds: [...ALERT_KINDS], daily: true })
  await database.rows(sql`update merchants set time_zone = 'Africa/Lagos' where id = ${uuidOf(scope.merchantId)}`)
  nowMs = Date.parse('2027-01-04T06:30:00Z') // half past seven in Lagos
  await openCase(scope, 'gateway')
  assert.deepEqual(await told(), [`${owner.email} [Test] Adaeze Kitchen: A case needs a person`])
  await openCase(scope, 'paystack')
  await atProvider(shop, '/disputes', { reference: (await paid(shop)).order })
  await eventually(
    () => database.rows(sql`select from disputes where merchant_id = ${uuidOf(scope.merchantId)}`),
    ({ length }) => length === 1,
  )
  nowMs = Date.parse('2027-01-04T07:01:00Z')
  assert.deepEqual(await told(), [`${owner.email} [Test] Adaeze Kitchen: 2 kinds of alerts`])
  await openCase(scope, 'monnify')
  nowMs = Date.parse('2027-01-05T06:59:00Z')
  assert.deepEqual(await told(), [])
  nowMs = Date.parse('2027-01-05T07:00:00Z')
  assert.deepEqual((await told()).length, 1)
})

test('K5: a mail server that is away for a day loses no alert, and then gets one mail', async () => {
  const { scope, owner } = await openShop()
  const away = { ...deps, sendMail: () => Promise.reject(new Error('away')) }
  await openCase(scope, 'gateway')
  for (let hours = 0; hours < 24; hours++) {
    if (hours === 5) await openCase(scope, 'paystack')
    assert.deepEqual(await told(away), [])
    nowMs += HOUR_MS
  }
  nowMs += 12 * HOUR_MS
  assert.deepEqual(await told(), [`${owner.email} [Test] Adaeze Kitchen: 2 cases need a person`])
  await openCase(scope, 'monnify')
  nowMs += HOUR_MS
  for (let tries = 0; tries < 12; tries++) {
    await told(away)
    nowMs += 13 * HOUR_MS
  }
  assert.equal(await waiting(scope), 0, 'given up')
})

test('a clock that jumps ahead and back delays no alert', async () => {
  const { scope } = await openShop()
  await openCase(scope, 'gateway')
  nowMs += 3_650 * 24 * HOUR_MS
  assert.equal((await told()).length, 1)
  nowMs -= 3_650 * 24 * HOUR_MS
  await openCase(scope, 'paystack')
  assert.equal((await told()).length, 1)
})

test('K4: a member is told of what the role may see, of the own merchants only, and no more after the removal', async () => {
  const { scope, owner } = await openShop()
  const people: Record<string, Person> = { owner }
  for (const role of ROLES.filter((each) => each !== 'owner')) people[role] = await addPerson(scope, role, EVERYTHING)
  const silent = await addPerson(scope, 'admin') // nobody is told of the sandbox without a choice
  await openShop()
  const raise = (kind: AlertKind, subject: string) =>
    database.rows(alertRaised(scope, { kind, subject }, new Date(nowMs)))
  await openCase(scope)
  const kinds = (mails: string[]) => mails.map((mail) => mail.split(' ')[0]).sort()
  const withPermission = (kind: AlertKind) =>
    kinds(Object.entries(people).flatMap(([role, { email }]) => (mayBeTold(role as Role, kind) ? [email] : [])))
  assert.deepEqual(kinds(await told()), withPermission('case_opened'))

  const { clientId } = await createCredential({ database }, 'test', scope.merchantId, 'live')
  assert.deepEqual(kinds(await told()), [people.admin?.email, owner.email, silent.email].sort(), 'the default')
  await createCredential({ database }, 'test', scope.merchantId, 'live')
  await revokeCredential({ database }, 'test', clientId)
  nowMs += HOUR_MS
  await told()

  await raise('webhooks_failing', `${crypto.randomUUID()} x`)
  assert.deepEqual(await told(), [], 'an endpoint that is gone')
  await database.rows(sql`
    update integrations set account = 3 where merchant_id = ${uuidOf(scope.merchantId)} and mode = 'sandbox' and provider = 'gateway'`)
  await raise('provider_failing', 'gateway 3 2027-01-01')
  assert.deepEqual(kinds(await told()), withPermission('provider_failing'))
  assert.ok(withPermission('provider_failing').length === 2)

  await openCase(scope, 'paystack')
  await raise('provider_failing', 'gateway 3 2027-01-02')
  while (await addressAlerts(deps, false));
  await removeMember({ database }, 'test', { merchantId: scope.merchantId, memberId: people.viewer?.id as MemberId })
  await database.rows(
    sql`update memberships set role = 'viewer' where member_id = ${uuidOf(people.admin?.id as MemberId)}`,
  )
  nowMs += HOUR_MS
  const last = await told()
  assert.ok(!last.some((mail) => mail.startsWith(`${people.viewer?.email} `)))
  assert.deepEqual(kinds(last.filter((mail) => /provider/.test(mail))), [owner.email])
})

function mayBeTold(role: Role, kind: AlertKind): boolean {
  const { permission } = ALERTS[kind]
  return (
    permission === 'read' || role === 'owner' || role === 'admin' || (permission === 'keys' && role === 'developer')
  )
}

test('disputes, their deadline, failed refunds and failing endpoints and lists are told', async () => {
  const { scope, owner, ...shop } = await openShop()
  nowMs = Date.now()
  const subjects = async () => {
    nowMs += HOUR_MS
    return (await told()).map((mail) => mail.replace(`${owner.email} [Test] Adaeze Kitchen: `, '')).sort()
  }
  const payment = await paid(shop)
  await atProvider(shop, '/disputes', { reference: payment.order })
  await eventually(
    () => database.rows(sql`select from disputes where merchant_id = ${uuidOf(scope.merchantId)}`),
    ({ length }) => length === 1,
  )
  assert.deepEqual(await subjects(), ['A dispute was opened'])
  await findAlerts(deps)
  assert.deepEqual(await subjects(), [], 'its day is far')
  await database.rows(sql`
    update disputes set respond_by = ${new Date(nowMs + 71 * HOUR_MS)} where merchant_id = ${uuidOf(scope.merchantId)}`)
  for (let time = 0; time < 2; time++) await findAlerts(deps)
  assert.deepEqual(await subjects(), ['A dispute must be answered within 3 days'])
  await findAlerts(deps)
  assert.deepEqual(await subjects(), [])

  const other = await paid(shop)
  await refund(shop, other.reference)
  await lastRefundFails(parts, other)
  assert.deepEqual(await subjects(), ['A refund failed'])

  const { body } = await shop.call('POST', '/payments/v1/webhook-endpoints', { url: 'https://shop.example/hook' })
  assert.ok(body.data.id, JSON.stringify(body))
  const since = (hours: number) =>
    database.rows(sql`
      update webhook_endpoints set failing_since = ${new Date(nowMs - hours * HOUR_MS)} where merchant_id = ${uuidOf(scope.merchantId)}`)
  await since(0.9)
  await findAlerts(deps)
  assert.deepEqual(await subjects(), [])
  await since(1.1)
  for (let time = 0; time < 2; time++) await findAlerts(deps)
  assert.deepEqual(await subjects(), ['A webhook endpoint has failed for an hour'])

  await database.rows(sql`
    insert into reconciliation_runs (merchant_id, mode, provider, kind, time_window, due_at, failure, failed_since)
    values (${uuidOf(scope.merchantId)}, 'sandbox', 'gateway', 'transactions', '8 days', now(), 'it refused the keys', ${new Date(nowMs - 2 * HOUR_MS)})
    on conflict (merchant_id, mode, provider, kind, time_window) do update set failure = excluded.failure, failed_since = excluded.failed_since`)
  for (let time = 0; time < 2; time++) await findAlerts(deps)
  assert.deepEqual(await subjects(), ['A provider fails, or refuses the keys'])
})

test('the operator gets each alert of live mode as one signed POST, again when it is not taken', async () => {
  const received: { headers: Record<string, string>; body: string }[] = []
  let status = 500
  const hook = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ headers: request.headers as Record<string, string>, body })
    response.writeHead(status).end()
  })
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
  after(() => hook.close())
  const secret = newWebhookSecret()
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/alerts`
  const operated = { ...deps, operator: { url, secret } }
  const { merchantId, place } = await service.addShop()
  const scope = { merchantId, place, mode: 'live' as Mode }
  nowMs = Date.now()
  await openCase(scope)
  await openCase({ ...scope, mode: 'sandbox' })
  await told(operated)
  assert.equal(received.length, 1)
  status = 204
  await told(operated)
  assert.equal(received.length, 1, 'it waits for a minute')
  nowMs += 61_000
  await told(operated)
  nowMs += HOUR_MS
  await told(operated)
  assert.equal(received.length, 2)
  const [, { headers, body } = assert.fail()] = received
  new Webhook(secret).verify(body, headers)
  const { id, timestamp, ...rest } = JSON.parse(body)
  const [, example = ''] = /```json\n([^`]*)```/.exec(read('docs/alerts.md')) ?? []
  const shapeOf = ({ data, ...outer }: { data: object }) => [Object.keys(outer), Object.keys(data)]
  assert.deepEqual(shapeOf(JSON.parse(example)), shapeOf(JSON.parse(body)))
  assert.equal(id, headers['webhook-id'])
  assert.ok(Date.parse(timestamp))
  const [{ subject }] = rest.data.alerts
  assert.match(subject, /^cas_/)
  assert.deepEqual(rest, {
    type: 'alert',
    mode: 'live',
    data: {
      merchant: { id: merchantId, name: 'Adaeze Kitchen' },
      ...{ kind: 'case_opened', title: 'A case needs a person', count: 1 },
      alerts: [{ subject, line: 'Unanswered' }],
      url: `${service.baseUrl}/dashboard/${merchantId}/live/attention`,
    },
  })
})

test('a member chooses in the dashboard; others and other modes are not changed', async () => {
  const { merchantId } = await addMerchant(database)
  const app = await startOn(database, { sendMail: deps.sendMail })
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const owner = await signedInBrowser(app, database, id)
  const path = (mode: string) => `/merchants/${merchantId}/${mode}/alerts`
  const { kinds, available, daily } = (await owner.call('GET', path('live'))).body.data
  assert.deepEqual([kinds.length, available.length, daily], [ALERT_KINDS.length, ALERT_KINDS.length, false])
  assert.deepEqual((await owner.call('GET', path('sandbox'))).body.data.kinds, [])
  const wanted = { kinds: ['dispute_due'], daily: true }
  const { kinds: chosen, daily: isDaily } = (await owner.call('PUT', path('sandbox'), wanted)).body.data
  assert.deepEqual({ kinds: chosen, daily: isDaily }, wanted)
  assert.equal((await owner.call('GET', path('live'))).body.data.kinds.length, ALERT_KINDS.length)
  const viewer = await browserAs({ app, database, baseUrl: 'http://pay.test' }, 'viewer', merchantId)
  const seen = (await viewer.call('PUT', path('live'), { kinds: ['live_key', 'case_opened'], daily: false })).body.data
  assert.deepEqual(seen.kinds, ['case_opened'], 'a role without API keys is not told of them')
  assert.equal((await owner.call('PUT', path('live'), { kinds: ['x'], daily: false })).status, 400)
})
