import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../test/support/database.ts'
import { addMerchant } from '../../test/support/service.ts'
import type { Database } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { newId } from '../kernel/ids.ts'
import { brandingCache } from './branding-cache.ts'
import { findBranding } from './branding-store.ts'
import type { Logo } from './logo.ts'
import { brandMerchant, setMerchantStatus } from './manage-merchants.ts'

const { database } = await createDatabase()
const parts = { database }
const logo: Logo = { version: '0123456789abcdef', type: 'image/webp', bytes: Buffer.from('RIFF') }

/** The real database, counting what it is asked. */
function counting(): { database: Database; asked: () => number } {
  let asked = 0
  const row: Database['row'] = (statement) => {
    asked++
    return database.row(statement)
  }
  return { database: { ...database, row }, asked: () => asked }
}

test('a merchant without settings has the default brand and returns after five seconds', async () => {
  const { place, merchantId } = await addMerchant(database, { mode: 'live' })
  const branding = await findBranding(database, merchantId, 'live')
  assert.deepEqual(branding, {
    place,
    merchantId,
    mode: 'live',
    name: 'Adaeze Kitchen',
    suspended: false,
    brand: { colour: null, corners: 'rounded', language: null, logo: null, returnAfterSeconds: 5 },
    origins: [],
    widget: 'open',
  })
  const other = await findBranding(database, merchantId, 'sandbox')
  assert.deepEqual(other, { ...branding, mode: 'sandbox' })
  assert.equal(await findBranding(database, newId('merchant', new Date()), 'live'), undefined)
})

test('only the given settings change, and the audit log names them', async () => {
  const { merchantId } = await addMerchant(database)
  const brand = (changes: Parameters<typeof brandMerchant>[3]) => brandMerchant(parts, 'test', merchantId, changes)
  await brand({ colour: '#0b6e4f', logo, origins: ['https://shop.example'] })
  await brand({ name: 'Ada', corners: 'pill', language: 'ar', returnAfterSeconds: null, widget: 'strict' })
  assert.deepEqual(await brand({ colour: '#0b6e4f', logo }), {
    name: 'Ada',
    colour: '#0b6e4f',
    corners: 'pill',
    language: 'ar',
    logo: { version: logo.version },
    returnAfterSeconds: null,
    origins: ['https://shop.example'],
    widget: 'strict',
  })
  await brand({ logo: null, colour: null, origins: [] })
  const { brand: now, origins, widget } = (await findBranding(database, merchantId, 'sandbox')) ?? assert.fail()
  assert.deepEqual([now.colour, now.logo, origins, now.corners, widget], [null, null, [], 'pill', 'strict'])
  assert.equal((await findBranding(database, merchantId, 'live'))?.widget, 'strict', 'in both modes')
  const acts = await database.rows<{ subject: string }>(
    sql`select subject from audit_log where act = 'merchant.branded' order by id`,
  )
  assert.deepEqual(
    acts.map(({ subject }) => subject.split(' ').sort()),
    [
      ['colour', 'logo', 'origins'],
      ['corners', 'language', 'name', 'returnAfterSeconds', 'widget'],
      ['colour', 'logo', 'origins'],
    ],
  )
})

test('a change that the schema refuses leaves everything as it was', async () => {
  const { merchantId } = await addMerchant(database)
  for (const changes of [
    { colour: 'red' },
    { origins: ["https://shop.example;script-src 'unsafe-inline'"] },
    { origins: ['https://shop.example https://b.example'] },
    { origins: Array.from({ length: 21 }, (_, index) => `https://${index}.example`) },
    { returnAfterSeconds: 61 },
    { widget: 'closed' as 'strict' },
    { logo: { ...logo, bytes: Buffer.alloc(10_241) } },
    { logo: { ...logo, type: 'image/svg+xml' as Logo['type'] } },
  ])
    await assert.rejects(brandMerchant(parts, 'test', merchantId, { name: 'Changed', ...changes }), /violates check/)
  assert.equal((await findBranding(database, merchantId, 'sandbox'))?.name, 'Adaeze Kitchen')
})

test('concurrent reads of the branding are one query, repeated after two seconds', async () => {
  const { merchantId } = await addMerchant(database)
  const owner = { merchantId, mode: 'sandbox' as const }
  const counted = counting()
  let nowMs = 0
  const read = brandingCache(counted.database, () => nowMs)
  const all = await Promise.all(Array.from({ length: 50 }, () => read(owner)))
  assert.equal(new Set(all).size, 1)
  assert.equal(counted.asked(), 1)
  assert.equal((await read({ merchantId, mode: 'live' }))?.mode, 'live', 'the other mode is another branding')
  assert.equal(counted.asked(), 2)

  await brandMerchant(parts, 'test', merchantId, { colour: '#123456' })
  await setMerchantStatus(parts, 'test', merchantId, 'suspended')
  nowMs = 999
  assert.equal((await read(owner))?.brand.colour, null)
  assert.equal(counted.asked(), 2, 'fresh enough')
  nowMs = 2_000
  const changed = await read(owner)
  assert.deepEqual([changed?.brand.colour, changed?.suspended], ['#123456', true])
})

test('from one second on the branding is refreshed in the background', async () => {
  const { merchantId } = await addMerchant(database)
  const owner = { merchantId, mode: 'sandbox' as const }
  const counted = counting()
  let nowMs = 0
  const read = brandingCache(counted.database, () => nowMs)
  const first = await read(owner)
  nowMs = 1_500
  assert.equal(await read(owner), first)
  assert.equal(counted.asked(), 2)
})

test('a failed read is repeated by the next call', async () => {
  const { merchantId } = await addMerchant(database)
  let isAway = true
  const row: Database['row'] = (statement) => (isAway ? Promise.reject(new Error('away')) : database.row(statement))
  const read = brandingCache({ ...database, row })
  await assert.rejects(async () => read({ merchantId, mode: 'live' }), /away/)
  isAway = false
  assert.equal((await read({ merchantId, mode: 'live' }))?.name, 'Adaeze Kitchen')
})
