import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import {
  type MailDeps,
  RECEIPTS_AN_HOUR,
  RECEIPTS_OF_ADDRESS_A_DAY,
  sendDueReceipts,
} from '../../src/mails/send-receipts.ts'
import { smtpMail } from '../../src/members/mail.ts'
import { brandMerchant } from '../../src/merchants/manage-merchants.ts'
import type { ReceiptSends } from '../../src/merchants/receipt-sends.ts'
import { saveReceiptSends } from '../../src/payments/store/customer-receipts.ts'
import { eraseCustomer } from '../../src/payments/upkeep/erase-customer.ts'
import { addMember, signedInBrowser } from '../support/dashboard.ts'
import { type ReceivedMail, startMailServer } from '../support/mail-server.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { refund } from '../support/returns.ts'
import { AMOUNT, becomes, charge, isPaid, paid, payByCard, start } from '../support/sandbox-payments.ts'
import { startOn } from '../support/service.ts'
import { newVisitor } from '../support/visitor.ts'

const service = await startPaying()
const { database, parts, baseUrl } = service
const server = await startMailServer()
const deps = { ...parts, sendMail: smtpMail(server.url, 'Manilla <no-reply@pay.test>') }

async function openShop(sends: ReceiptSends, name?: string): Promise<Shop> {
  const shop = await service.addShop(name)
  await database.transaction((tx) => saveReceiptSends(tx, { merchantId: shop.merchantId, mode: 'sandbox' }, sends))
  return shop
}

/** Sends all that is due, and returns the mails that came since the last call. */
async function arrived(sender: MailDeps = deps) {
  while (await sendDueReceipts(sender));
  return server.mails.splice(0)
}

const subjects = (mails: ReceivedMail[]) => mails.map(({ mail }) => mail.subject)

interface Row {
  kind: string
  state: string
  note: string | null
  tries: number
  code: string
  due_at: Date
}

const rowsOf = (id: string) =>
  database.rows<Row>(sql`
    select kind, state, note, tries, code, due_at from customer_receipts where payment_id = ${uuidOf(id as PaymentId)} order by created_at, kind`)

const makeDue = () =>
  database.rows(sql`update customer_receipts set due_at = now() - interval '1 second' where state = 'waiting'`)

test('K1: a paid payment, a partial refund and the last refund are one mail each, also with several senders', async () => {
  const shop = await openShop('always')
  const { reference, id } = await paid(shop, { user: { email: 'Ada@example.com', name: 'Ada Obi' } })
  await Promise.all([1, 2, 3].map(() => sendDueReceipts(deps)))
  const [receipt, ...more] = await arrived()
  assert.equal(more.length, 0)
  assert.ok(receipt)
  assert.deepEqual(receipt.recipients, ['Ada@example.com'])
  assert.equal(receipt.mail.subject, '[Test] Receipt from Adaeze Kitchen')
  assert.equal(receipt.mail.from?.address, 'no-reply@pay.test')
  assert.equal(receipt.mail.headers.find(({ key }) => key === 'auto-submitted')?.value, 'auto-generated')
  assert.match(receipt.mail.messageId ?? '', new RegExp(`^<success\\.${id}@pay\\.test>$`))
  const text = receipt.mail.text ?? ''
  assert.match(text, /^Test mode/)
  for (const part of ['Hello Ada Obi,', 'You paid ₦12,500.00 to Adaeze Kitchen.', `Reference: ${reference}`])
    assert.ok(text.includes(part), `${part} in ${text}`)
  assert.ok(receipt.mail.html?.includes('₦12,500.00'))
  assert.doesNotMatch(receipt.mail.html ?? '', /<img|url\(|@import|<link|<script/, 'it loads nothing')

  await refund(shop, reference, { amount: 250_000 })
  await refund(shop, reference, { amount: 1 })
  const [partial, ...others] = await arrived()
  assert.equal(others.length, 0, 'two partial refunds are one mail')
  assert.match(partial?.mail.subject ?? '', /Refund from Adaeze Kitchen/)
  assert.match(partial?.mail.text ?? '', /has sent ₦2,500.01 of ₦12,500.00 back to you/)
  await refund(shop, reference)
  const [last] = await arrived()
  assert.match(last?.mail.text ?? '', /Adaeze Kitchen has sent ₦12,500.00 back to you/)
  assert.deepEqual(subjects(await arrived()), [])
  assert.deepEqual((await rowsOf(id)).map(({ kind, state }) => `${kind} ${state}`).sort(), [
    'partial_refund sent',
    'refund sent',
    'success sent',
  ])
})

test('K1: no mail is sent while receipts are off, before the money, or after they were turned off', async () => {
  const shop = await service.addShop()
  const { id } = await paid(shop)
  assert.deepEqual(await rowsOf(id), [])
  const eager = await openShop('always')
  const { payment } = await start(eager)
  assert.deepEqual(await rowsOf(payment.id), [])
  const late = await paid(eager)
  await database.transaction((tx) => saveReceiptSends(tx, { merchantId: eager.merchantId, mode: 'sandbox' }, 'never'))
  assert.deepEqual(subjects(await arrived()), [])
  assert.equal((await rowsOf(late.id))[0]?.state, 'dropped')
})

test('K1: a mail server that is away, full or silent does nothing to the payment, and the mail comes later', async () => {
  const shop = await openShop('always')
  const { id, reference } = await paid(shop)
  const away = { ...deps, sendMail: smtpMail('smtp://127.0.0.1:1', 'no-reply@pay.test') }
  const none = { ...deps, sendMail: undefined }
  assert.deepEqual(subjects(await arrived(away)), [])
  const [first] = await rowsOf(id)
  assert.deepEqual([first?.state, first?.tries], ['waiting', 1])
  const wait = (first?.due_at.getTime() ?? 0) - Date.now()
  assert.ok(wait > 30_000 && wait <= 60_000, `${wait} ms`)
  server.answers = 'later'
  for (const sender of [deps, none]) {
    await makeDue()
    assert.deepEqual(subjects(await arrived(sender)), [])
  }
  server.answers = 'take'
  assert.equal((await shop.payment(reference)).status, 'successful')
  await makeDue()
  assert.equal((await arrived()).length, 1)
  assert.deepEqual(
    (await rowsOf(id)).map(({ state, tries }) => [state, tries]),
    [['sent', 4]],
  )
})

test('it is tried for two days and a half, and then given up', async () => {
  const shop = await openShop('always')
  const { id } = await paid(shop)
  const away = { ...deps, sendMail: () => Promise.reject(new Error('away')) }
  let minutes = 0
  for (let tries = 1; tries <= 12; tries++) {
    await arrived(away)
    const [row] = await rowsOf(id)
    if (row?.state === 'waiting') minutes += Math.round((row.due_at.getTime() - Date.now()) / 60_000)
    await makeDue()
  }
  assert.equal((await rowsOf(id))[0]?.state, 'dropped')
  assert.ok(minutes > 48 * 60 && minutes < 72 * 60, `${minutes} minutes`)
})

test('an address that the mail server does not know gets no second try, and no mail about refunds', async () => {
  const shop = await openShop('always')
  const { id, reference } = await paid(shop)
  server.answers = 'refuse'
  await arrived()
  server.answers = 'take'
  const [row] = await rowsOf(id)
  assert.deepEqual([row?.state, row?.note], ['refused', 'sending mail by SMTP_URL failed: 550'])
  await refund(shop, reference)
  assert.deepEqual(subjects(await arrived()), [])
})

test('a process that dies before it has recorded the mail leaves it due, under the same Message-ID', async () => {
  const shop = await openShop('always')
  const { id } = await paid(shop)
  const dying = {
    ...deps,
    sendMail: async (mail: Parameters<typeof deps.sendMail>[0]) => {
      await deps.sendMail(mail)
      return new Promise<never>(() => {})
    },
  }
  void sendDueReceipts(dying)
  while (server.mails.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await arrived()).length, 1, 'the lease keeps others away')
  await makeDue()
  const [again] = await arrived()
  assert.match(again?.mail.messageId ?? '', new RegExp(id))
  assert.equal((await rowsOf(id))[0]?.state, 'sent')
})

test('K2: hostile names and references are text, and add neither header, recipient, link nor markup', async () => {
  const shop = await openShop('always', 'Win at evil.example <a href=//evil.example>')
  const name = '"><script>alert(1)</script> call +234 801 234 5678 https://evil.example'
  const { id } = await paid(shop, { reference: 'go.to.evil.example', user: { email: 'ada@example.com', name } })
  await brandMerchant({ database }, 'test', shop.merchantId, { name: 'A\u2028Bcc: x@evil.example' })
  const [{ mail, recipients, raw } = assert.fail()] = await arrived()
  assert.deepEqual([recipients, mail.to?.length, mail.bcc ?? [], mail.cc ?? []], [['ada@example.com'], 1, [], []])
  assert.doesNotMatch(raw.split('\r\n\r\n')[0] ?? '', /^bcc/im)
  const links = (text = '') => new Set(text.match(/\w+:\/\/[^\s"<]+|\b[\w-]+\.(?:example|test)\b/g))
  const [{ code } = assert.fail()] = await rowsOf(id)
  assert.deepEqual(links(mail.text), new Set([`${baseUrl}/r/${code}`]))
  assert.deepEqual(links(mail.html), new Set([`${baseUrl}/r/${code}`]))
  assert.doesNotMatch(mail.html ?? '', /<script|evil\.example/)
  assert.doesNotMatch(mail.text ?? '', /801/)
})

test('K2: an address that could be several gets no mail', async () => {
  const shop = await openShop('on_request')
  const addresses = ['a,b@example.com', '<x@example.com>', '"a"@example.com', 'a;b@example.com', 'a@example.com,b']
  for (const [index, address] of addresses.entries()) {
    const { id } = await paid(shop, { reference: `typed-${index}` })
    const visitor = newVisitor()
    await visitor.go(`${baseUrl}/pay/${id}`)
    await visitor.send({ action: 'receipt' }, { address })
    assert.deepEqual(subjects(await arrived()), [])
    assert.equal((await rowsOf(id))[0]?.state, 'refused')
  }
})

test('the page offers a receipt after the success: once, to a typed address or to that of the payment', async () => {
  const shop = await openShop('on_request')
  const { id, reference } = await paid(shop)
  assert.deepEqual(subjects(await arrived()), [], 'the customer has not asked yet')
  const visitor = newVisitor()
  await visitor.go(`${baseUrl}/pay/${id}?lang=fr`)
  assert.doesNotMatch(visitor.text, /ada@example/, 'the page shows no address')
  await visitor.send({ action: 'receipt' }, { address: 'nobody' })
  assert.equal(visitor.status, 422)
  assert.match(visitor.text, /value="nobody"/)
  await visitor.send({ action: 'receipt' }, { address: 'grace@example.com' })
  await visitor.go(`${baseUrl}/pay/${id}?lang=fr`)
  assert.doesNotMatch(visitor.text, /name="address"/)
  const [mail, ...more] = await arrived()
  assert.equal(more.length, 0)
  assert.deepEqual(mail?.recipients, ['grace@example.com'])
  assert.match(mail?.mail.subject ?? '', /Reçu de Adaeze Kitchen/)
  await refund(shop, reference)
  assert.deepEqual(
    (await arrived()).map(({ recipients }) => recipients),
    [['grace@example.com']],
  )

  const other = await paid(shop)
  await visitor.go(`${baseUrl}/pay/${other.id}`)
  await visitor.send({ action: 'receipt' }, { address: '' })
  assert.deepEqual(
    (await arrived()).map(({ recipients }) => recipients),
    [['ada@example.com']],
  )
})

test('a customer gets the receipt in the language of the page that was paid on', async () => {
  const shop = await openShop('always')
  const { body } = await shop.call('POST', '/payments/v1/checkouts', {
    amount: AMOUNT,
    country: 'NG',
    user: { email: 'ada@example.com' },
  })
  const visitor = newVisitor()
  await visitor.go(`${body.data.url}?lang=sw`)
  await visitor.send({ action: 'pay', method: 'card' })
  const { attempts } = await shop.payment(body.data.reference)
  await charge(shop, attempts[0].providerReference)
  await becomes(shop, { id: body.data.reference }, isPaid)
  const mails = await arrived()
  assert.deepEqual(
    mails.map(({ mail }) => mail.subject),
    ['[Test] Risiti kutoka Adaeze Kitchen'],
  )
})

test('K3: the receipt page opens by its code alone, is kept by no other, and shows nothing of the customer', async () => {
  const shop = await openShop('always')
  const { id, reference } = await paid(shop, { user: { email: 'ada@example.com', name: 'Ada Obi' } })
  await refund(shop, reference, { amount: 250_000 })
  const [{ code } = assert.fail()] = await rowsOf(id)
  const page = await fetch(`${baseUrl}/r/${code}`)
  assert.equal(page.status, 200)
  const text = await page.text()
  assert.ok(text.includes('₦12,500.00') && text.includes('−₦2,500.00') && text.includes(reference))
  assert.doesNotMatch(text, /ada@example|Ada Obi/)
  const { headers } = page
  assert.deepEqual(
    ['cache-control', 'referrer-policy', 'x-robots-tag', 'x-frame-options'].map((name) => headers.get(name)),
    ['no-store', 'no-referrer', 'noindex', 'DENY'],
  )
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'none'/)
  assert.match(await (await fetch(`${baseUrl}/r/${code}?lang=ar`)).text(), /dir="rtl"/)
  const wrong = code.slice(0, -1) + (code.endsWith('1') ? '2' : '1')
  await arrived()
  for (const other of [wrong, 'x', '%00', id, 'a'.repeat(30)])
    assert.equal((await fetch(`${baseUrl}/r/${other}`)).status, 404)
})

test('K3: erasing the customer removes the receipt page, the mail that waits and the typed address', async () => {
  const shop = await openShop('on_request')
  const scope = { merchantId: shop.merchantId, mode: 'sandbox' as const, place: shop.place }
  const erased = await paid(shop, { user: { email: 'gone@example.com' } })
  const typed = await paid(shop, { user: { email: 'shop@example.com' } })
  const visitor = newVisitor()
  for (const [id, address] of [
    [erased.id, 'ada@work.example'],
    [typed.id, 'GONE@example.com'],
  ] as const) {
    await visitor.go(`${baseUrl}/pay/${id}`)
    await visitor.send({ action: 'receipt' }, { address })
  }
  const [{ code } = assert.fail()] = await rowsOf(erased.id)
  await eraseCustomer({ database }, 'test', scope, 'gone@example.com')
  assert.equal((await fetch(`${baseUrl}/r/${code}`)).status, 404)
  assert.deepEqual([await rowsOf(erased.id), await rowsOf(typed.id)], [[], []])
  await refund(shop, erased.reference)
  assert.deepEqual(subjects(await arrived()), [])

  const later = await paid(shop, { user: { email: 'shop@example.com' } })
  await visitor.go(`${baseUrl}/pay/${later.id}`)
  await visitor.send({ action: 'receipt' }, { address: 'only-typed@example.com' })
  await eraseCustomer({ database }, 'test', scope, 'only-typed@example.com')
  assert.deepEqual(await rowsOf(later.id), [])
})

test('K2: a merchant cannot flood an address, or send more in an hour than the limit: those wait', async () => {
  const shop = await openShop('always')
  const count = (key: 'address' | 'merchant') =>
    key === 'address' ? RECEIPTS_OF_ADDRESS_A_DAY : RECEIPTS_AN_HOUR.sandbox
  const { id } = await paid(shop, { user: { email: 'first@example.com' } })
  await arrived()
  await database.rows(sql`update mail_counts set sent = ${count('address')} where place = ${shop.place} and sent = 1`)
  const again = await paid(shop, { user: { email: 'FIRST@example.com' } })
  assert.deepEqual(subjects(await arrived()), [])
  assert.deepEqual(
    (await rowsOf(again.id)).map(({ state }) => state),
    ['dropped'],
  )
  await database.rows(sql`update mail_counts set sent = ${count('merchant')} where place = ${shop.place}`)
  const waiting = await paid(shop, { user: { email: 'second@example.com' } })
  assert.deepEqual(subjects(await arrived()), [])
  const [row] = await rowsOf(waiting.id)
  assert.deepEqual([row?.state, row?.tries], ['waiting', 0])
  assert.ok((row?.due_at.getTime() ?? 0) - Date.now() <= 3_600_000)
  assert.ok(id)
})

test('a payment that is only partly there gets no receipt', async () => {
  const shop = await openShop('always')
  const { payment } = await payByCard(shop, {}, '4000000000000002', 'failed')
  assert.deepEqual(await rowsOf(payment.id), [])
})

test('owner and admin turn receipts on, if the operator has a mail server', async () => {
  const { merchantId } = await service.addShop()
  const { id } = await addMember(database, { role: 'admin', merchantId })
  const withMail = await startOn(database, { sendMail: deps.sendMail })
  const path = `/merchants/${merchantId}/live/receipts`
  const browser = await signedInBrowser(withMail, database, id)
  assert.deepEqual((await browser.call('GET', path)).body.data, { sends: 'never', hasMail: true })
  assert.deepEqual((await browser.call('PUT', path, { sends: 'always' })).body.data, { sends: 'always', hasMail: true })
  assert.equal((await browser.call('GET', path.replace('live', 'sandbox'))).body.data.sends, 'never')
  const without = await signedInBrowser(await startOn(database), database, id)
  assert.deepEqual((await without.call('PUT', path, { sends: 'on_request' })).body.code, 'conflict')
  assert.deepEqual((await without.call('PUT', path, { sends: 'never' })).body.data, { sends: 'never', hasMail: false })
  const acts = await database.rows<{ subject: string }>(
    sql`select subject from audit_log where merchant_id = ${uuidOf(merchantId)} and act = 'merchant.receipts_changed' order by id`,
  )
  assert.deepEqual(
    acts.map(({ subject }) => subject),
    ['live always', 'live never'],
  )
})
