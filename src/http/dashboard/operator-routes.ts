import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readDatabaseStatus } from '../../database/database-status.ts'
import { readMigrations } from '../../database/migrate.ts'
import { createMerchant } from '../../integrations/create-merchant.ts'
import { parseCountry } from '../../kernel/country.ts'
import { type MerchantId, parseId } from '../../kernel/ids.ts'
import { type Mistake, Problem, refuse } from '../../kernel/problem.ts'
import type { MemberDeps } from '../../members/deps.ts'
import { hasSecondFactor, parseEmail } from '../../members/member.ts'
import { listOperators } from '../../members/member-store.ts'
import { listMerchantsWithOwners } from '../../members/merchant-list-store.ts'
import { createInvitation } from '../../members/one-time-links.ts'
import { RULES } from '../../merchants/branding.ts'
import { setMerchantStatus } from '../../merchants/manage-merchants.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import { type Queue, readPaymentQueues } from '../../payments/store/queues.ts'
import { readDeliveryQueue } from '../../webhooks/queue-store.ts'
import type { App } from '../server/framework.ts'
import { OneTimeLinkAnswer } from './contract.ts'
import { signedIn } from './guard.ts'
import {
  MerchantStatus,
  MerchantsAnswer,
  MerchantsQuery,
  NewMerchant,
  NewMerchantAnswer,
  OwnerInvitation,
  SystemAnswer,
} from './operator-contract.ts'

const MERCHANTS = '/operator/merchants'
const DEFAULT_PAGE_SIZE = 50
/** A longer queue is not counted to its end. */
const MAX_COUNTED = 1_000
const PACKAGE = join(import.meta.dirname, '../../../package.json')

/** All merchants and the state of the installation, for members with the operator flag. */
export function operatorRoutes(app: App, deps: MemberDeps): void {
  const { database } = deps
  const config = { access: 'operator' } as const
  const withStepUp = { ...config, stepUp: 'second-factor' } as const

  app.get(
    MERCHANTS,
    { config, schema: { querystring: MerchantsQuery, response: { 200: MerchantsAnswer } } },
    async (request) => {
      const { q, limit, cursor } = request.query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const before = cursor === undefined ? undefined : merchantIdOf(cursor)
      const text = q?.trim() || undefined
      const found = await listMerchantsWithOwners(database, { text, before, limit: pageSize + 1 })
      const page = found.slice(0, pageSize)
      return {
        data: page.map(({ createdAt, ...merchant }) => ({ ...merchant, createdAt: createdAt.toISOString() })),
        nextCursor: found.length > pageSize ? (page.at(-1)?.id ?? null) : null,
      }
    },
  )

  app.post(
    MERCHANTS,
    { config: withStepUp, schema: { body: NewMerchant, response: { 201: NewMerchantAnswer } } },
    async (request, reply) => {
      const wanted = newMerchantIn(request.body)
      const { id, name } = await createMerchant(deps, signedIn(request).actor, wanted)
      return reply.code(201).send({ data: { id, name } })
    },
  )

  app.put<{ Params: { merchant: string }; Body: { status: 'active' | 'suspended' } }>(
    `${MERCHANTS}/:merchant/status`,
    { config: withStepUp, schema: { body: MerchantStatus } },
    async (request, reply) => {
      const id = merchantIdOf(request.params.merchant)
      await setMerchantStatus(deps, signedIn(request).actor, id, request.body.status)
      return reply.code(204).send()
    },
  )

  app.post<{ Params: { merchant: string }; Body: { email: string } }>(
    `${MERCHANTS}/:merchant/owner-invitation`,
    { config: withStepUp, schema: { body: OwnerInvitation, response: { 201: OneTimeLinkAnswer } } },
    async (request, reply) => {
      const merchantId = merchantIdOf(request.params.merchant)
      const email = parseEmail(request.body.email)
      if (!email) throw new Problem('invalid_request', 'email must be an e-mail address, like ada@example.com.')
      const { actor } = signedIn(request)
      const { expiresAt, ...link } = await createInvitation(deps, actor, { merchantId, email, role: 'owner' })
      return reply.code(201).send({ data: { ...link, expiresAt: expiresAt.toISOString() } })
    },
  )

  app.get('/operator/system', { config, schema: { response: { 200: SystemAnswer } } }, async () => {
    const [payments, deliveries, status, operators, known, version] = await Promise.all([
      readPaymentQueues(database, MAX_COUNTED),
      readDeliveryQueue(database, MAX_COUNTED),
      readDatabaseStatus(database),
      listOperators(database),
      readMigrations(),
      readFile(PACKAGE, 'utf8').then((text) => (JSON.parse(text) as { version: string }).version),
    ])
    return {
      data: {
        version,
        queues: {
          deliveries: shownQueue({ due: deliveries.waiting, oldestAt: deliveries.oldestDueAt }),
          checks: shownQueue(payments.checks),
          notices: shownQueue(payments.notices),
          refunds: shownQueue(payments.refunds),
          expiries: shownQueue(payments.expiries),
        },
        workers: deliveries.workers,
        database: {
          ...status,
          knownMigrations: known.length,
          migrations: status.migrations.map((each) => ({ ...each, appliedAt: each.appliedAt.toISOString() })),
        },
        operators: operators.map(({ id, name, email, factors, lastSeenAt }) => ({
          ...{ id, name, email, secondFactor: hasSecondFactor(factors) },
          lastSeenAt: lastSeenAt?.toISOString() ?? null,
        })),
      },
    }
  })
}

function shownQueue({ due, oldestAt }: Queue) {
  return { due, oldestAt: oldestAt?.toISOString() ?? null }
}

function merchantIdOf(text: string): MerchantId {
  const id = parseId('merchant', text)
  if (!id) throw new Problem('not_found', 'There is no such merchant.')
  return id
}

function newMerchantIn(body: { name: string; country: string }) {
  const name = parseMerchantName(body.name)
  const country = parseCountry(body.country)
  if (name && country) return { name, country }
  const mistakes: Mistake[] = []
  const add = (field: string, rule: string) =>
    mistakes.push({ pointer: `/${field}`, code: 'invalid_value', message: `${field} ${rule}.` })
  if (!name) add('name', RULES.name)
  if (!country) add('country', 'must be a country of ISO 3166-1, like NG')
  return refuse(mistakes)
}
