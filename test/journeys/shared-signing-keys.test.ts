import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { matchTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import { uuidOf as depositIdOf } from '../../src/providers/pawapay/mapping.ts'
import { startFakePawapay } from '../fakes/pawapay/fake.ts'
import { eventually, request } from '../support/paying.ts'
import { noticeUrl, startProviderWorld } from '../support/provider-world.ts'

// A provider that signs the notices of all its merchants with the same keys. Each of them can name our address.

const world = await startProviderWorld()
const place = await world.addProvider(startFakePawapay)
const { shop, fake } = place
const MTN = { phoneNumber: '+250783456700', network: 'mtn' }
const ORDER = { provider: 'pawapay-mobile-money', amount: 12_500, currency: 'RWF', country: 'RW', ...MTN }

const notices = () =>
  world.database.rows<{ says: string; state: string }>(sql`select says, state from notices order by id`)
const receipts = () =>
  world.database.rows<{ id: number; attempt_id: string | null }>(sql`select id, attempt_id from receipts order by id`)
const cases = () => world.database.rows(sql`select id from cases`)

/** Signed by the provider, for our address, in the name of another of its merchants. */
async function tellOf(changes: object): Promise<void> {
  const url = noticeUrl(world, shop, 'pawapay')
  const said = {
    ...{ depositId: randomUUID(), status: 'COMPLETED', amount: '5000000', currency: 'RWF', country: 'RWA' },
    created: new Date().toISOString(),
    payer: { type: 'MMO', accountDetails: { phoneNumber: '250783456789', provider: 'MTN_MOMO_RWA' } },
    ...changes,
  }
  const body = Buffer.from(JSON.stringify(said))
  assert.equal((await request(url, 'POST', fake.headersFor(body, { url }), body.toString())).status, 200)
}

test("money of another merchant's account is not recorded, whatever its notice says", async () => {
  await tellOf({})
  await tellOf({ clientReferenceId: 'INV-1' })
  assert.deepEqual(await notices(), [], 'a hint, of which nothing is stored')
  // Made to look like an order of ours.
  for (const status of ['COMPLETED', 'FAILED', 'IN_RECONCILIATION']) {
    const clientReferenceId = randomBytes(16).toString('hex')
    await tellOf({ depositId: depositIdOf(clientReferenceId), clientReferenceId, status })
  }
  await tellOf({ depositId: undefined, refundId: randomUUID(), metadata: { orderReference: 'b'.repeat(32) } })
  await tellOf({ depositId: undefined, refundId: randomUUID() })
  const ended = await eventually(notices, (all) => all.every(({ state }) => state !== 'waiting'))
  assert.deepEqual(
    ended.map(({ says, state }) => `${says} ${state}`),
    ['paid ignored', 'failed ignored', 'pending ignored', 'refund ignored', 'other ignored'],
  )
  assert.deepEqual([await receipts(), await cases()], [[], []])
})

test('it is not recorded either while a token of this account that was replaced is refused', async () => {
  const settings = { apiToken: 'eyJraWQiOiIxIn0.anEarlierTokenOfThisAccount01' }
  const set = (wish: object) => shop.call('PUT', '/payments/v1/integrations/pawapay', wish)
  await set({ settings })
  await set({ settings: fake.settings })
  const clientReferenceId = randomBytes(16).toString('hex')
  await tellOf({ depositId: depositIdOf(clientReferenceId), clientReferenceId })
  const ended = await eventually(notices, (all) => all.every(({ state }) => state !== 'waiting'))
  assert.equal(ended.at(-1)?.state, 'ignored')
  assert.deepEqual(await receipts(), [])
})

test('money of this account whose payment is lost is recorded, and a person matches it', async () => {
  const { body } = await place.initialize(ORDER)
  const order = await place.orderOf(body.data.reference)
  // As after a restore to a point in time before it.
  await world.database.rows(sql`
    update attempts set provider_reference = 'gone', order_reference = 'gone' where order_reference = ${order}`)
  await fake.customer.approve?.(order)
  await place.pump()
  const [money] = await eventually(receipts, ({ length }) => length === 1)
  assert.equal(money?.attempt_id, null)
  const { body: next } = await place.initialize({ ...ORDER, phoneNumber: '+250783456701' })
  const { id } = await place.payment(next.data.reference)
  const scope = { merchantId: shop.merchantId, mode: 'sandbox' as const, place: shop.place }
  await matchTransfer(
    world.parts,
    { scope, actor: 'test', note: null },
    { kind: 'receipt', id: money?.id ?? 0 },
    id,
    12_500,
  )
  assert.equal((await place.payment(next.data.reference)).status, 'successful')
})
