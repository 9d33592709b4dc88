import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brandMerchant, createCredential } from '../../../src/merchants/manage-merchants.ts'
import { fillCard, providerFrame, reaches, VISA } from '../../support/customer.ts'
import { eventually } from '../../support/paying.ts'
import { closeButton, isOpen, openWidgetVisits, pressEscape, start } from '../../support/widget-visit.ts'

const { service, merchant, pay, shop, stock, TAG, BODY, visit } = await openWidgetVisits()

test('forged messages are ignored: of the shop, of other windows of ours, of other origins, of another kind', async () => {
  const there = await visit()
  const { page } = there
  await page.evaluate(start('ORD-1'))
  await there.hears('load')
  const forged = `{ pay: 1, type: 'status', status: 'successful' }`
  await page.evaluate(`postMessage(${forged}, '*')`) // the shop's own window
  await page.evaluate(
    `dispatchEvent(new MessageEvent('message', { data: ${forged}, origin: '${pay}', source: window }))`,
  )
  await page.evaluate(`dispatchEvent(new MessageEvent('message', { data: ${forged}, origin: '${pay}' }))`)
  await page.evaluate(`{
    const other = document.createElement('iframe')
    other.name = 'other'
    other.src = '${pay}/pay/emb_other?origin=${shop}'
    document.body.append(other)
  }`)
  const other = await eventually(
    async () => page.frame({ name: 'other' }),
    (frame) => frame?.url().includes('emb_other') === true,
  )
  await other?.waitForFunction('window.say')
  await other?.evaluate(`say('status', { status: 'successful' })`) // of our origin, from another window
  await other?.evaluate(`say('close')`)
  // From the right window, when something else is in it.
  await page.evaluate(`
    const [frame] = document.querySelectorAll('dialog iframe')
    dispatchEvent(new MessageEvent('message', { data: ${forged}, origin: '${shop}', source: frame.contentWindow }))
    for (const data of [null, 'pay', 1, {}, { pay: 2, type: 'close' }, { type: 'close' }, { pay: 1 }, { pay: 1, type: 'toString' }, [1]])
      dispatchEvent(new MessageEvent('message', { data, origin: '${pay}', source: frame.contentWindow }))`)
  await there.say('status', { status: 'expired' }) // the real one, after all of them
  await there.hears('load', 'status expired')
  assert.equal(await isOpen(there), true)
})

test('an unknown reference and a site that is not the merchant’s are errors, with a way to the full page', async () => {
  const there = await visit()
  const { page } = there
  await page.evaluate(start('ORD-NOWHERE'))
  await there.hears('error not_found')
  await page.getByText('This payment can’t be shown here.').waitFor()
  await page.getByRole('link', { name: 'Open the payment page' }).waitFor()
  await closeButton(there).click()
  await there.hears('error not_found', 'close pending', 'result pending')

  const live = await createCredential(service.parts, 'test', merchant.merchantId, 'live')
  await page.evaluate('told = []')
  await page.evaluate(start('ORD-1', { clientId: live.clientId }))
  await there.hears('error origin_not_allowed')
  await page.evaluate(`document.querySelector('#link').dataset.payReference = 'ORD-NOWHERE'`)
  await page.keyboard.press('Escape')
  await page.evaluate('told = []')
  await page.click('#link')
  await there.hears('pay:error not_found')
})

test('without a reference or a client-id nothing opens, and a link still leads to the page', async () => {
  const nameless = stock('/nameless', `<title>Shop</title><body>${BODY}${TAG.replace(/data-client-id="[^"]*"/, '')}`)
  const { page } = await visit(nameless)
  const tries = await page.evaluate(`[{}, { reference: '' }, { reference: 'ORD-1' }].map((options) => {
    try { Pay.open(options) } catch (error) { return error.name + ': ' + error.message }
  })`)
  assert.deepEqual(tries, Array(3).fill('TypeError: Pay.open needs a reference and a client-id'))
  await page.click('#link')
  await page.waitForURL(`${pay}/pay/chk_long_link`)
})

test('with the real page in it: asked before it closes while money may be on its way, and cancelled when the customer says so', async () => {
  const { baseUrl } = service
  const tag = TAG.replace(pay, baseUrl)
  const policy = `default-src 'none'; script-src ${baseUrl}; frame-src ${baseUrl}; style-src 'none'`
  const real = stock('/real', `<!doctype html><html lang="en"><title>Shop</title><body>${BODY}${tag}`, {
    'content-security-policy': policy,
  })
  const there = await visit(real)
  const { page } = there
  const framed = page.frameLocator('dialog iframe')
  await page.evaluate(start('ORD-1'))
  await there.hears('load')
  await framed.getByRole('button', { name: 'Close' }).first().click()
  await there.hears('load', 'close pending', 'result pending')
  const refused = there.complaints.filter((complaint) => /Content.Security.Policy/i.test(complaint))
  assert.deepEqual(refused, [])

  // Only a token lets the customer cancel in the widget.
  const { token } = (await merchant.call('POST', '/payments/v1/payments/ORD-1/widget-token')).body.data
  await page.evaluate(`told = [], ${start('ORD-1', { token })}`)
  await framed.getByText('Bank transfer').click()
  await framed.locator('#method-transfer button.main').click()
  await framed.getByRole('button', { name: 'I’ve sent the money' }).click()
  await framed.getByRole('heading', { name: 'Checking for your transfer' }).waitFor()
  await pressEscape(there)
  await framed.getByText('Payment may still go through').waitFor()
  await framed.getByRole('button', { name: 'Stay here' }).click()
  assert.equal(await isOpen(there), true)
  await there.hears('load')

  await framed.getByText('Cancel payment').click()
  await framed.getByRole('button', { name: 'Stop', exact: true }).click()
  await there.hears('load', 'status cancelled', 'cancel cancelled', 'close cancelled', 'result cancelled')
  assert.equal((await merchant.payment('ORD-1')).status, 'cancelled')
})

test('in strict mode nothing opens without a token; with one it opens in every way there is, and the customer pays', async () => {
  const strict = await service.addShop()
  await brandMerchant(service.parts, 'test', strict.merchantId, { widget: 'strict' })
  const order = { reference: 'ORD-1', amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }
  await strict.call('POST', '/payments/v1/checkouts', order)
  const { token } = (await strict.call('POST', '/payments/v1/payments/ORD-1/widget-token')).body.data
  const id = strict.headers['client-id']
  const script = `<script src="${service.baseUrl}/widget/v1.js" data-client-id="${id}"></script>`
  const button = `<button data-pay-reference="ORD-1" data-pay-token="${token}">Pay</button>`
  // The page in the frame is the real one here, so the shop is without the policy that is made for the stand-in.
  const strictShop = stock('/strict', `<!doctype html><html lang="en"><title>Shop</title>${button}${script}`, {})

  const without = await visit(strictShop)
  await without.page.evaluate(start('ORD-1'))
  await without.hears('error not_found')

  const byElement = await visit(strictShop)
  await byElement.page.click('button')
  await byElement.page.frameLocator('dialog iframe').getByText('Reference ORD-1').waitFor()

  const byModule = await visit(strictShop)
  const options = JSON.stringify({ clientId: id, reference: 'ORD-1', token })
  await byModule.page.evaluate(`import('${service.baseUrl}/widget/v1.mjs').then(({ open }) => void open(${options}))`)
  await byModule.page.frameLocator('dialog iframe').getByText('Reference ORD-1').waitFor()

  const withoutDialogs = await visit(strictShop)
  await withoutDialogs.page.evaluate('delete HTMLDialogElement.prototype.showModal')
  await withoutDialogs.page.evaluate(start('ORD-1', { token }))
  await withoutDialogs.page.waitForURL(/\/pay\/emt_/)
  await withoutDialogs.page.getByText('Reference ORD-1').waitFor()

  const byCall = await visit(strictShop)
  await byCall.page.evaluate(start('ORD-1', { token }))
  const framed = byCall.page.frameLocator('dialog iframe')
  await framed.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  await fillCard(providerFrame(framed), VISA)
  await reaches(framed, 'succeeded')
  assert.equal((await strict.payment('ORD-1')).status, 'successful')
})
