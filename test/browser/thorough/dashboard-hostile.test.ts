import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { recordAct } from '../../../src/events/audit-log-store.ts'
import { idOf, type MemberId, newId, newShortCode, uuidOf } from '../../../src/kernel/ids.ts'
import { insertMember, insertMembership } from '../../../src/members/member-store.ts'
import { insertSession } from '../../../src/members/session-store.ts'
import { newToken } from '../../../src/members/token.ts'
import { digestOf } from '../../../src/merchants/credential.ts'
import { charge, VISA } from '../../support/customer.ts'
import { MARKUP } from '../../support/hostile.ts'
import { startListener } from '../../support/listener.ts'
import { eventually } from '../../support/paying.ts'
import { joinWithPasskey, newStaff, openDashboard } from '../../support/staff.ts'

const dashboard = await openDashboard()
const { service, shop, browser } = dashboard
const { database, baseUrl } = service
const { merchantId, place } = shop
const merchant = uuidOf(merchantId)

// PostgreSQL takes no NUL, so there can be none in a row.
const TEXTS = MARKUP.filter((text) => !text.includes('\0'))
const SHORT = TEXTS.filter((text) => text.length <= 100)
const FEW = SHORT.filter((_, number) => number % 4 === 0)

/** Elements and addresses that none of our screens has. */
const STRANGE = `[
  ...document.querySelectorAll('iframe, object, embed, base, marquee, video, audio, plaintext, xmp, frameset, isindex, form[action]'),
  ...[...document.querySelectorAll('script')].filter(({ src }) => !src.startsWith(location.origin + '/dashboard/assets/')),
  ...[...document.querySelectorAll('*')].filter((each) => [...each.attributes].some(({ name, value }) =>
    /^on/i.test(name) || (/^(href|src|action|formaction|xlink:href)$/i.test(name) && !/^[/#]|^data:image\\/(svg|png)/.test(value)))),
].map((each) => each.outerHTML.slice(0, 200))`

/** Every text in everything that a customer, a provider, a merchant's server or a member can write. */
async function plant(memberId: MemberId, answering: string): Promise<string[]> {
  const now = new Date()
  const rows = TEXTS.map((text) => ({ text, id: newId('payment', now, place), code: newShortCode(now, place) }))
  for (const { text, id, code } of rows)
    await database.rows(sql`
      insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge,
                            user_email, user_name, user_phone_number, redirect_url, webhook_url, metadata, expires_at)
      values (${place}, ${uuidOf(id)}, ${merchant}, 'sandbox', ${text}, ${code}, 5000, 'NGN', 'NG', false, ${text}, ${text}, ${text},
              ${text}, ${text}, ${JSON.stringify({ [text]: text })}::jsonb, now() + interval '1 day')`)
  await database.transaction(async (tx) => {
    for (const [number, text] of SHORT.entries()) {
      const id = newId('member', now)
      const account = {
        id,
        email: `${number}@example.com`,
        name: text,
        operator: false,
        passwordHash: null,
        emailVerified: false,
      }
      await insertMember(tx, account)
      await insertMembership(tx, id, merchantId, 'viewer')
      await recordAct(tx, {
        actor: `member:${id} from ${text.replaceAll(/\s/g, '')}`,
        act: text,
        merchantId,
        subject: text,
      })
    }
    for (const text of FEW) {
      const session = { id: newId('session', now), memberId, digest: digestOf(newToken()), complete: true }
      await insertSession(tx, session, { address: text, userAgent: text })
      await tx.rows(sql`
        insert into passkeys (id, member_id, credential_id, public_key, counter, transports, name)
        values (${uuidOf(newId('passkey', now))}, ${uuidOf(memberId)}, ${text}, '', 0, '{}', ${text})`)
      await tx.rows(sql`
        insert into webhook_endpoints (id, merchant_id, mode, url, events, enabled, disabled_reason, sealed_secret)
        values (${uuidOf(newId('endpoint', now))}, ${merchant}, 'sandbox', ${text}, ${[text]}, false, ${text}, '')`)
      await tx.rows(sql`
        insert into one_time_links (id, kind, digest, merchant_id, role, email, created_by, expires_at)
        values (${uuidOf(newId('oneTimeLink', now))}, 'invitation', ${digestOf(newToken())}, ${merchant}, 'viewer', ${text}, ${text},
                now() + interval '1 hour')`)
    }
  })
  // One payment with everything: attempt, refund, deliveries and their answers.
  const { reference } = (await shop.initialize({ reference: 'PAID', webhook: answering })).body.data
  await charge(shop, reference, VISA)
  const paid = await shop.payment(reference)
  const all = TEXTS.join('\n')
  await eventually(
    () => database.rows(sql`select from delivery_tries`),
    ({ length }) => length > 0,
  )
  await shop.call('POST', `/payments/v1/payments/${paid.id}/refunds`, { amount: 100, reason: 'x' })
  await database.rows(sql`update refunds set reason = ${all}, failure = ${all}, account_needed = ${all}`)
  await database.rows(sql`update delivery_tries set answer = ${all}, error = ${all}`)
  await database.rows(sql`update deliveries set url = ${all}`)
  await database.rows(sql`update merchants set name = ${'"><img src onerror=pwned()>'} where id = ${merchant}`)
  return [paid.id, ...rows.slice(0, 5).map(({ id }) => id)]
}

test('XSS: texts of others are text on every screen, and nothing runs, loads or leads elsewhere', async () => {
  const harm: string[] = []
  const { page, complaints } = await newStaff(browser)
  const context = page.context()
  await context.exposeBinding('pwned', ({ frame }) => void harm.push(`a script ran on ${frame.url()}`))
  await context.route(
    ({ host, protocol }) => protocol.startsWith('http') && host !== new URL(baseUrl).host,
    (route) => {
      harm.push(`asked ${route.request().url()}`)
      return route.abort()
    },
  )
  page.on('dialog', (dialog) => {
    harm.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await joinWithPasskey(page, await dashboard.welcomeLink(), 'Ada Obi', 'ada@example.com')
  const ada = await database.row<{ id: string }>(sql`select id from members`)
  const listener = await startListener()
  const payments = await plant(idOf('member', ada?.id ?? ''), listener.url)

  const base = `/${merchantId}/sandbox`
  const screens = [
    ...['', '/payments', '/payments?limit=100', `/payments?q=${encodeURIComponent(TEXTS[0] ?? '')}`],
    ...payments.map((id) => `/payments/${id}`),
    ...['/refunds', '/webhooks', '/api-keys', '/providers', '/members', '/settings', '/audit-log'],
  ]
  for (const screen of [...screens.map((path) => base + path), '/account']) {
    await page.goto(`${baseUrl}/dashboard${screen}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('[aria-busy=true], .skeleton, .late').first().waitFor({ state: 'detached' })
    const closed = page.locator('details:not([open]) > summary')
    while ((await closed.count()) > 0) await closed.first().click()
    assert.deepEqual(await page.evaluate<string[]>(STRANGE), [], screen)
  }
  for (const address of [
    '/sign-in?next=//evil.example',
    '/sign-in?next=/%5C/evil.example',
    '/sign-in?next=javascript:pwned()',
  ]) {
    await page.goto(`${baseUrl}/dashboard${address}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(new URL(page.url()).host, new URL(baseUrl).host, address)
  }
  assert.deepEqual([harm, complaints], [[], []])
})
