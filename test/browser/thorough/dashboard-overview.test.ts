import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { writeDemoPayments } from '../../../src/demo-data/payments.ts'
import { uuidOf } from '../../../src/kernel/ids.ts'
import { foldRollups } from '../../../src/payments/upkeep/fold-rollups.ts'
import { findings, loadAxe } from '../../support/axe.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startPaying } from '../../support/paying.ts'
import { charge } from '../../support/sandbox-payments.ts'
import { LOOKS } from '../../support/screens.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url })
const { app, baseUrl, parts } = service
const shop = await service.addShop()
const { merchantId } = shop
const scope = { place: shop.place, merchantId, mode: 'sandbox' as const }
await writeDemoPayments(parts, scope, { payments: 150, days: 40, seed: 1, now: new Date() })
while (await foldRollups(parts)) {}
const { id } = await addMember(database, { role: 'viewer', merchantId })
const { cookies } = await signedInBrowser(app, database, id, { origin: baseUrl })
const browser = await openBrowser()

async function open(query = '', timezoneId = 'Africa/Lagos') {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    timezoneId,
    reducedMotion: 'reduce',
  })
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: baseUrl })))
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  await page.goto(`${baseUrl}/dashboard/${merchantId}/sandbox${query}`)
  await page.locator('.uplot').nth(3).waitFor()
  return { page, complaints }
}

test('the overview is accessible in light and dark, on a phone and wide, with charts and with tables', async () => {
  const { page, complaints } = await open()
  const found: string[] = []
  await loadAxe(page)
  for (const view of ['charts', 'tables']) {
    for (const { colorScheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 900 })
      const wide = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (wide > 0) found.push(`${width} px: ${wide} px too wide`)
      found.push(...(await findings(page)).map((each) => `${view}, ${colorScheme}, ${width} px: ${each}`))
    }
    for (const button of await page.getByRole('button', { name: /^Show as table/ }).all()) await button.click()
  }
  assert.deepEqual(found, [])
  assert.deepEqual(complaints, [])
})

test('each chart has its numbers in a table, and they are those of the payments', async () => {
  const { page } = await open('?range=custom&from=2020-01-01&currency=NGN')
  const [paid] = await database.rows<{ count: number; volume: number }>(sql`
    select count(*) as count, sum(amount)::bigint as volume from payments
     where merchant_id = ${uuidOf(merchantId)} and status = 'successful' and currency = 'NGN'`)
  await page.getByRole('button', { name: 'Show as table: Payments' }).click()
  const table = page.getByRole('region', { name: 'Payments as a table' })
  const cells = await table
    .getByRole('row')
    .evaluateAll((rows) => rows.slice(1).map((row) => Number(row.lastElementChild?.textContent)))
  assert.equal(
    cells.reduce((sum, cell) => sum + cell, 0),
    paid?.count,
  )
  assert.equal(cells.length, 366)
  const volume = await page.locator('.tiles:not(.money-tiles) dd').first().innerText()
  assert.equal(Number(volume.split('\n')[0]?.replaceAll(/\D/g, '')), Math.floor(Number(paid?.volume) / 100))
})

test('the range is in the address, and days are those of the zone, which is named', async () => {
  const { page } = await open()
  await page.getByText('Times in Africa/Lagos').first().waitFor()
  const asked = page.waitForRequest(/\/charts\?.*zone=Africa%2FLagos/)
  await page.getByLabel('Range').selectOption('Last 7 days')
  const query = new URL((await asked).url()).searchParams
  assert.equal((Date.parse(query.get('to') ?? '') - Date.parse(query.get('from') ?? '')) / 86_400_000, 6)
  assert.match(page.url(), /range=7/)
  await page.reload()
  assert.equal(await page.getByLabel('Range').inputValue(), '7')
  await page.getByLabel('Range').selectOption('Custom')
  await page.getByLabel('From').fill('2026-01-01')
  await page.waitForURL(/from=2026-01-01/)
  await page.getByLabel('Range').selectOption('Today')
  await page
    .getByText(/^(Volume|No payments in this range)$/)
    .first()
    .waitFor()
})

test('what needs attention is counted, and a new payment appears by itself', async () => {
  const { page } = await open()
  await page.getByText('transfers do not add up').waitFor()
  await page.getByText('Sandbox gateway answers').waitFor()
  const { body } = await shop.initialize({ reference: 'FRESH-1', amount: 4_200 })
  await charge(shop, body.data.data.reference)
  await page.getByRole('link', { name: 'FRESH-1' }).waitFor()
})
