import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { sql } from '../../src/database/sql.ts'
import type { IntegrationChanges } from '../../src/integrations/integration-changes.ts'
import { setIntegration } from '../../src/integrations/manage-integrations.ts'
import { findCurrentKeysVersion } from '../../src/integrations/provider-keys-store.ts'
import { type AttemptId, newId, uuidOf } from '../../src/kernel/ids.ts'
import { upsertCard } from '../../src/payments/store/saved-cards.ts'
import type { FakeProvider, StartFake } from '../fakes/fake-provider.ts'
import { runCommand } from './command.ts'
import { createDatabase } from './database.ts'
import { defaultSecretOf } from './delivering.ts'
import { type Listener, startListener } from './listener.ts'
import { eventually, type PayingService, request, type Shop, startPaying } from './paying.ts'
import type { Answer } from './service.ts'
import { SHOP } from './visitor.ts'

/** The whole service, a merchant's webhook server, and fakes of providers that are set up by the command line. */
export interface ProviderWorld extends PayingService {
  listener: Listener
  /** `manilla …` on the database of this service. */
  manilla(...args: string[]): Promise<{ code: number | null; output: string }>
  /** A new shop with this provider only, set up as an operator does. */
  addProvider<Fake extends FakeProvider>(start: (t: Parameters<StartFake>[0]) => Promise<Fake>): Promise<At<Fake>>
  /** The same without the command line. `changes`: mistakes of an operator. */
  setUp(shop: Shop, fake: FakeProvider, priority: number, changes?: IntegrationChanges): Promise<void>
}

/** A shop and its provider, and what passes between them. */
export interface At<Fake extends FakeProvider = FakeProvider> {
  shop: Shop
  fake: Fake
  name: string
  amount: number
  currency: string
  checkout(changes?: Record<string, unknown>): Promise<{ id: string; url: string; shortURL: string; reference: string }>
  initialize(changes?: Record<string, unknown>): Promise<Answer>
  /** Delivers the provider's notices. Returns how many. */
  pump(times?: number): Promise<number>
  /** Every webhook about a payment so far, in the order of arrival; with valid signatures. */
  heard(reference: string): Promise<Told[]>
  /** Resolves when exactly these events of a payment were delivered, in this order and with a rising sequence. */
  hears(reference: string, types: string[]): Promise<Told[]>
  payment(reference: string): Promise<Answer['body']>
  /** Our reference of the last attempt at the provider. */
  orderOf(reference: string): Promise<string>
  /**
   * A return asks the provider at most once in 3 seconds per payment. Customers need longer than that; with this, a
   * test does not wait.
   */
  forgetLastQuestion(reference: string): Promise<void>
  /** Of the user id, or of the e-mail address when there is none. */
  cards(user: TestUser): Promise<Answer['body'][]>
  /** A saved card of this customer, whose token makes the fake behave in this way. */
  plantCard(user: TestUser, token: string): Promise<void>
}

export interface TestUser {
  email: string
  id?: string
}

export interface Told {
  id: string
  type: string
  sequence: number
  data: Answer['body']
}

export async function startProviderWorld(
  changes: Omit<NonNullable<Parameters<typeof startPaying>[0]>, 'database' | 'databaseUrl'> = {},
): Promise<ProviderWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-providers-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const { url, database } = await createDatabase()
  const service = await startPaying({ database, databaseUrl: url, deliver: true, worker: true, ...changes })
  const listener = await startListener()
  const SECRET_KEY = service.masterKey.toString('base64')
  const world: ProviderWorld = {
    ...service,
    listener,
    manilla: (...args) =>
      runCommand(args, {
        DATABASE_URL: url,
        SECRET_KEY,
        DATA_DIR: folder,
        PUBLIC_URL: service.baseUrl,
        WEBHOOK_ALLOW_PRIVATE: 'sandbox',
      }),
    async addProvider(start) {
      const fake = await start({ after })
      const shop = await service.addShop('Adaeze Kitchen', { bare: true })
      const { provider, settings, upstream } = fake
      const given = Object.entries(settings).flatMap(([name, value]) => ['--setting', `${name}=${value}`])
      const { code, output } = await world.manilla(
        ...['integration', 'set', provider.capabilities.name, '--merchant', shop.merchantId],
        ...['--base-url', upstream.url, ...given],
      )
      assert.equal(code, 0, output)
      return at(world, shop, fake)
    },
    async setUp({ merchantId }, { provider, settings, upstream }, priority, changes = {}) {
      const parts = { database, secrets: service.parts.secrets, allowPrivate: () => true }
      const wish = { settings, baseURL: upstream.url, priority, ...changes }
      await setIntegration(parts, {
        ...{ actor: 'test', owner: { merchantId, mode: 'sandbox' }, provider, changes: wish },
      })
    },
  }
  return world
}

/** What passes between a shop and one of its providers. */
export function at<Fake extends FakeProvider>(world: ProviderWorld, shop: Shop, fake: Fake): At<Fake> {
  const { name } = fake.provider.capabilities
  const { amount, currency, country } = fake.price
  const order = { amount, currency, country, redirectURL: `${SHOP}/thanks?order=7`, webhook: world.listener.url }
  const user = { email: 'ada@example.com' }

  async function heard(reference: string): Promise<Told[]> {
    const its = world.listener.heard
      .map((each) => ({ ...each, told: JSON.parse(each.body) }))
      .filter(({ told }) => told.data.payment.reference === reference)
    if (its.length === 0) return []
    const judge = new Webhook(await defaultSecretOf(world, shop))
    return its.map(({ body, headers, told }) => {
      judge.verify(body, headers as Record<string, string>)
      assert.equal(headers['webhook-id'], told.id)
      return told
    })
  }

  return {
    shop,
    fake,
    name,
    amount,
    currency,
    async checkout(changes = {}) {
      const { status, body } = await shop.call('POST', '/payments/v1/checkouts', { ...order, user, ...changes })
      assert.equal(status, 201, JSON.stringify(body))
      return body.data
    },
    initialize: (changes = {}) => shop.initialize({ provider: name, ...order, user, ...changes }),
    async pump(times = 1) {
      const notices = fake.takeNotices()
      for (const { headers, body, headersTo, url = noticeUrl(world, shop, name) } of notices) {
        for (let time = 0; time < times; time++) {
          const { status } = await request(url, 'POST', headersTo?.(url) ?? headers, body.toString())
          assert.equal(status, 200)
        }
      }
      return notices.length
    },
    heard,
    async forgetLastQuestion(reference) {
      await world.database.rows(sql`update payments set provider_asked_at = null where reference = ${reference}`)
    },
    async hears(reference, types) {
      const arrived = await eventually(
        // Cases have tests of their own.
        async () => (await heard(reference)).filter(({ type }) => !type.startsWith('case.')),
        ({ length }) => length >= types.length,
      )
      // Events of one change are sent at the same time, and may arrive in any order.
      const told = arrived.toSorted((a, b) => a.sequence - b.sequence)
      assert.deepEqual(
        told.map(({ type }) => type),
        types,
      )
      const sequences = told.map(({ sequence }) => sequence)
      assert.ok(
        sequences.every((sequence, index) => index === 0 || sequence > Number(sequences[index - 1])),
        'a rising sequence',
      )
      return told
    },
    payment: shop.payment,
    async orderOf(reference) {
      const { attempts } = await shop.payment(reference)
      return uuidOf(attempts.at(-1).id as AttemptId).replaceAll('-', '')
    },
    async cards({ email, id: userId }) {
      const query = new URLSearchParams(userId === undefined ? { email } : { userId })
      return (await shop.call('GET', `/payments/v1/cards?${query}`)).body.data
    },
    async plantCard({ email, id: userId }, token) {
      const customer = { email, id: userId ?? null }
      const owner = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
      const card = { token, brand: 'Visa', last4: '4081', expiryMonth: 12, expiryYear: new Date().getFullYear() + 3 }
      const id = newId('card', new Date(), shop.place)
      await world.database.transaction(async (tx) => {
        const keysVersion = await findCurrentKeysVersion(tx, owner, name)
        await upsertCard(tx, world.parts.secrets, { id, scope: owner, provider: name, keysVersion, customer, card })
      })
    },
  }
}

export const noticeUrl = ({ baseUrl }: PayingService, { merchantId }: Shop, provider: string) =>
  `${baseUrl}/notices/${provider}/sandbox/${merchantId}`

/** A customer who is signed in with the shop. */
export const newUser = () => {
  const email = newEmail()
  return { email, id: email }
}

export const newEmail = () => `ada.${randomBytes(5).toString('hex')}@example.com`
