import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { startPaying } from '../support/paying.ts'

test('a step shows one language, and the choice holds on the next page', async () => {
  const { baseUrl } = await startPaying()
  const browser = await openBrowser()
  const context = await browser.newContext()
  const page = await context.newPage()
  const shown = () =>
    page
      .locator('.languages figure:visible figcaption')
      .allTextContents()
      .then((labels) => [...new Set(labels)].sort())
  await page.goto(`${baseUrl}/guides/quickstart`)
  assert.deepEqual(await shown(), ['TypeScript', 'curl'], 'the first language of each step')
  await page.locator('.languages').nth(2).getByRole('button', { name: 'PHP' }).click()
  assert.deepEqual(await shown(), ['PHP'])
  assert.match((await page.locator('.languages figure:visible').first().textContent()) ?? '', /new Manilla/)
  await page.goto(`${baseUrl}/guides/shops`)
  assert.deepEqual(await shown(), ['PHP'])
  await page.goto(`${baseUrl}/guides/quickstart`)
  assert.equal(await page.locator('.languages').first().getByRole('button', { pressed: true }).textContent(), 'PHP')
  await page.locator('.languages').first().getByRole('button', { name: 'Python' }).click()
  assert.deepEqual(await shown(), ['Python'])

  const withoutScript = await (await browser.newContext({ javaScriptEnabled: false })).newPage()
  await withoutScript.goto(`${baseUrl}/guides/shops`)
  assert.equal(await withoutScript.locator('.languages figure:visible').count(), 8, 'all of them, without the script')
})
