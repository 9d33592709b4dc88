import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { createLog } from '../../../src/log.ts'
import { makeChecksDue } from '../../../src/payments/store/attempts.ts'
import type { ClientOptions, Provider, ProviderClient } from '../../../src/providers/provider.ts'
import { PROVIDERS } from '../../../src/providers/registry.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { FAKES_WITH_CARDS } from '../../fakes/index.ts'
import type { Said } from '../../fakes/upstream.ts'
import { defaultSecretOf } from '../../support/delivering.ts'
import { findLeaks, listenIn, type Planted, type Trace, tracesInDatabase } from '../../support/leaks.ts'
import { eventually, request } from '../../support/paying.ts'
import { type At, newEmail, newUser, noticeUrl, startProviderWorld } from '../../support/provider-world.ts'
import { savedToken } from '../../support/saved-cards.ts'
import { newVisitor } from '../../support/visitor.ts'

// A whole run over every provider, with all that goes wrong on the way, everything that is said and written kept, and
// then searched for what must not be in it.

/** Adapters that fail with all that they know in their last words, while this is so. */
let adaptersThrow = false

const throwing = (provider: Provider): Provider => ({
  ...provider,
  connect: (account) => boobyTrapped(provider.connect(account), account),
})

function boobyTrapped(connection: ProviderClient, { settings }: ClientOptions): ProviderClient {
  return new Proxy(connection, {
    get(target, name: keyof ProviderClient) {
      const member = target[name]
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        if (adaptersThrow) throw new TypeError(`${name} of ${JSON.stringify({ settings, args })} is not a function`)
        return (member as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}

const lines: string[] = []
const log = createLog('trace', { write: (line) => void lines.push(line) })
const world = await startProviderWorld({ log, providers: PROVIDERS.map(throwing) })
const { database, baseUrl } = world
const overheard = listenIn(baseUrl)
const printed: Trace[] = []

const CARD_NUMBER = '4084081234567891'
const ACCOUNT_NUMBER = '0690000031'
const CUSTOMER = { name: 'Adaeze Nwanyibuife', phoneNumber: '+2348031234567' }

/** What providers tell of customers, whole where they usually hide a part. */
function told(text: string): string {
  const whole = text
    .replaceAll(/"(\*{6}4015|X{6}4321)"/g, `"${ACCOUNT_NUMBER}"`)
    .replaceAll('411111******1111', CARD_NUMBER)
  return whole.startsWith('{')
    ? `{"pan":"${CARD_NUMBER}","payer":{"account":"${ACCOUNT_NUMBER}"},${whole.slice(1)}`
    : whole
}

const places = await Promise.all(FAKES_WITH_CARDS.map(({ start }) => world.addProvider(start)))

/** Their refusals and mistakes, which quote what we sent: the key in the header, the card's token in the body. */
function echoes({ provider, secrets, savedCards }: FakeProvider): Said[] {
  const words = `Not good: Authorization: Bearer ${secrets.join(', ')}; token ${Object.values(savedCards).join(' ')}`
  const envelope: Record<string, object> = {
    paystack: { status: false, message: words, code: 'invalid', type: 'validation_error' },
    flutterwave: { status: 'error', message: words, data: null },
    monnify: { requestSuccessful: false, responseMessage: words, responseCode: '99' },
    stripe: { error: { type: 'card_error', code: 'card_declined', decline_code: 'do_not_honor', message: words } },
  }
  const text = JSON.stringify(envelope[provider.capabilities.name] ?? assert.fail())
  // The last words come first when a sentence is cut.
  const turned = text.replace('Not good: Authorization: Bearer', Object.values(savedCards).join(' '))
  return [
    ...[400, 402, 404].map((status) => ({ status, text })),
    { status: 401, text: turned },
    { status: 400, text: turned },
    { status: 500, text },
    { status: 200, text: `{"status":true,"data":{"message":"${words}"` },
  ]
}

/** The notices that wait, with more in them than there should be, well signed. */
async function pumpTold({ fake, shop, name }: At): Promise<void> {
  for (const { body } of fake.takeNotices()) {
    const { headers, body: sent } = fake.notices.sign(Buffer.from(told(body.toString())), new Date())
    await request(noticeUrl(world, shop, name), 'POST', headers as Record<string, string>, sent.toString())
  }
}

const becomes = (place: At, reference: string, status: string) =>
  eventually(
    () => place.payment(reference),
    (payment) => payment.status === status,
  )

/** Paid by card, which is kept; then with that; by transfer; and given back. */
async function goesWell(place: At, email: string): Promise<string[]> {
  const { fake, shop } = place
  fake.upstream.garble = (said) => ({ ...said, text: told(said.text) })
  const user = { email, id: email, ...CUSTOMER }
  const { reference, url } = await place.checkout({ user })
  const customer = newVisitor()
  await customer.go(url)
  await customer.send({ action: 'pay', method: 'card' }, { save: '1' })
  await fake.customer.payByCard(await place.orderOf(reference), { save: true })
  await pumpTold(place)
  await becomes(place, reference, 'successful')
  const [card] = await place.cards(user)
  const again = (await place.initialize({ user })).body.data
  await customer.go(again.data.link)
  await customer.send({ action: 'pay', card: card.id })
  await becomes(place, again.reference, 'successful')
  const references = [reference, again.reference]
  if (fake.customer.transfer) {
    const account = await place.initialize({ provider: `${place.name}-virtual-bank-account`, user })
    const order = await place.orderOf(account.body.data.reference)
    await fake.customer.transfer(order, place.amount)
    await pumpTold(place)
    await becomes(place, account.body.data.reference, 'successful')
    references.push(account.body.data.reference)
  }
  if (fake.savedCards.askingForAStep) {
    const someone = newUser()
    await place.plantCard(someone, fake.savedCards.askingForAStep)
    const step = await place.checkout({ user: someone })
    await customer.go(step.url)
    await customer.send({ action: 'pay', card: (await place.cards(someone))[0].id })
    await customer.goOn()
    await customer.press('pay')
    references.push(step.reference)
  }
  await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { reason: 'Returned' })
  await pumpTold(place)
  fake.upstream.garble = undefined
  return references
}

/** Everything that we ask of them, while nothing is as it should be. */
async function askAll(place: At, email: string, paid: string): Promise<string[]> {
  const { shop, fake } = place
  const begun = await place.initialize({ user: { email: newEmail() } })
  const references = [begun.body.data?.reference ?? begun.body.attempt]
  const account = await place.initialize({ provider: `${place.name}-virtual-bank-account` })
  if (account.body.attempt) references.push(account.body.attempt)
  const user = { email, id: email }
  const [card] = await place.cards(user)
  const { reference, url } = await place.checkout({ user })
  const customer = newVisitor()
  await customer.go(url)
  await customer.send({ action: 'pay', method: 'card' }, card ? { card: card.id } : {})
  references.push(reference)
  const payment = await place.payment(references[0])
  await customer.go(`${baseUrl}/return/${payment.attempts[0].id}?trxref=${fake.savedCards.paying}`)
  await makeChecksDue(database, payment.id)
  await shop.call('POST', `/payments/v1/payments/${paid}/refunds`, { amount: 10_000 })
  await shop.call('POST', `/payments/v1/integrations/${place.name}/check`)
  return references
}

async function goesWrong(place: At, email: string, paid: string): Promise<string[]> {
  const { fake, shop, name } = place
  const references: string[] = []
  for (const said of echoes(fake)) {
    const someone = newUser()
    await place.plantCard(someone, fake.savedCards.paying)
    fake.upstream.garble = () => said
    references.push(...(await askAll(place, someone.email, paid)))
    fake.upstream.garble = undefined
  }
  // Each is set up anew, so that no breaker hides it.
  await world.setUp(shop, fake, 50)
  adaptersThrow = true
  references.push(...(await askAll(place, email, paid)))
  const secrets = Object.values(fake.settings).join(' ')
  const odd = Buffer.from(JSON.stringify({ event: 'charge.success', data: { secrets, pan: CARD_NUMBER } }))
  for (const throws of [true, false]) {
    adaptersThrow = throws
    for (const body of [odd, Buffer.from(`${secrets} ${CARD_NUMBER}${throws}`)]) {
      for (const notice of [fake.notices.sign(body, new Date()), fake.notices.signAsAnother(body, new Date())]) {
        await request(noticeUrl(world, shop, name), 'POST', notice.headers as Record<string, string>, body.toString())
      }
    }
  }
  return references
}

/** What merchants and operators can read of it. */
async function readAll(place: At, references: string[], email: string): Promise<void> {
  const { shop, name } = place
  const get = (path: string) => shop.call('GET', `/payments/v1/${path}`)
  for (const reference of references) {
    await get(`payments/${reference}/timeline`)
    await newVisitor().go((await place.payment(reference)).url)
  }
  for (const reference of references.slice(0, 5)) {
    const events = await get(`events?payment=${reference}`)
    for (const { id } of events.body.data ?? []) await get(`events/${id}`)
  }
  await get('events?limit=100')
  await get(`cards?userId=${email}`)
  await get('integrations')
  await get(`integrations/${name}`)
  await get('payments?limit=100')
}

const printAll = async (...commands: string[][]) => {
  const said = await Promise.all(commands.map((args) => world.manilla(...args)))
  for (const [index, { output }] of said.entries()) {
    printed.push({ where: `manilla ${commands[index]?.slice(0, 2).join(' ')}`, text: output })
  }
}

const MISTAKEN_KEY = 'sk_live_5up3rS3cr3tOfAnotherMode00'

const planted: Planted[] = []
for (const { fake, name } of places) {
  const secret = fake.provider.settings.filter((setting) => setting.secret)
  for (const setting of secret) {
    planted.push({ what: `${name} ${setting.name}`, value: fake.settings[setting.name] ?? assert.fail() })
  }
  for (const [index, value] of fake.secrets.entries()) planted.push({ what: `${name} secret ${index}`, value })
  // What we keep of a card is not the token but, sealed, the token.
  for (const [does, value] of Object.entries(fake.savedCards)) {
    for (const part of value.split(':'))
      if (part !== 'cus_ada') planted.push({ what: `${name} ${does} token`, value: part })
  }
}
planted.push(
  { what: 'card number', value: CARD_NUMBER },
  { what: 'account number of a customer', value: ACCOUNT_NUMBER },
  { what: 'a key of the other mode', value: MISTAKEN_KEY },
  { what: 'the master key', value: world.masterKey.toString('base64') },
  { what: 'a secret of an intent', value: '_secret_x' },
)

test('nothing that is secret is in anything that we say or write', async () => {
  const wrongAt = new Map<At, string[]>()
  for (const [index, place] of places.entries()) {
    const email = `whole.run.${index}@example.com`
    const paid = await goesWell(place, email)
    const wrong = await goesWrong(place, email, paid[1] ?? '')
    const { shop, name } = place
    const wish = {
      settings: { secretKey: MISTAKEN_KEY, contractCode: MISTAKEN_KEY },
      baseURL: `http://x/?${MISTAKEN_KEY}`,
    }
    assert.equal((await shop.call('PUT', `/payments/v1/integrations/${name}`, wish)).status, 400)
    const broken = { ...shop.headers, 'client-secret': MISTAKEN_KEY }
    await request(`${baseUrl}/payments/v1/payments?key=${MISTAKEN_KEY}`, 'GET', broken)
    await readAll(place, [...paid, ...wrong], email)
    planted.push({ what: `${name} client secret`, value: shop.headers['client-secret'] })
    planted.push({ what: `${name} webhook secret`, value: await defaultSecretOf(world, shop) })
    const owner = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
    const of = { provider: name, keysVersion: 1, customer: { id: email, email } }
    const token = await savedToken(database, world.parts.secrets, owner, of)
    planted.push({ what: `${name} token of a card that was kept`, value: token?.split(':').at(-1) ?? '' })
    wrongAt.set(place, wrong)
  }
  const [place] = places
  assert.ok(place && planted.every(({ value }) => value.length >= 8))
  const { shop, name } = place
  const owner = ['--merchant', shop.merchantId]
  await printAll(
    ['integration', 'list', ...owner],
    ['integration', 'set', name, ...owner, '--setting', `secretKey=${MISTAKEN_KEY} `],
    ['payment', 'timeline', wrongAt.get(place)?.[1] ?? ''],
    ['unmatched', 'list'],
    ['audit'],
  )
  await request(`${baseUrl}/metrics`, 'GET')

  const customers = [CUSTOMER.phoneNumber, CUSTOMER.name, 'whole.run', 'ada@'].map((value) => ({
    what: `${value}`,
    value,
  }))
  const logged = lines.map((text) => ({ where: 'the log', text }))
  const heard = world.listener.heard.map(({ body, headers }) => ({
    where: 'a webhook',
    text: JSON.stringify(headers) + body,
  }))
  const traces = [...logged, ...overheard.traces, ...printed, ...heard, ...(await tracesInDatabase(database))]
  assert.ok(lines.length > 300 && heard.length > 20 && overheard.traces.length > 300 && printed.length === 5)
  assert.deepEqual(findLeaks(traces, planted), [])
  assert.deepEqual(findLeaks(logged, customers), [], 'who the customers are is not for the log')
  assert.ok(lines.some((line) => /"paymentId":"chk_\w{8}…"/.test(line)))
  const opening = /chk_\w{9,}|(emb|emt|wgt)_\w|\/s\/\w{5,}/
  assert.deepEqual(
    lines.filter((line) => opening.test(line)),
    [],
    'no line of the log opens a payment page',
  )

  const [kept] = await database.rows<{ cards: number; sealed: number }>(sql`
    select (select count(*) from saved_cards)::integer as cards,
           (select count(*) from provider_accounts where sealed_settings is not null)::integer as sealed`)
  assert.ok(kept && kept.cards > 0 && kept.sealed === places.length, 'what must be kept is there, and sealed')
})

test('the search finds what does leak: in the log, in a table, in bytes, in an answer, in base64', async () => {
  const [key] = planted
  assert.ok(key)
  const found = async () => {
    const traces = [...lines.map((text) => ({ where: 'the log', text })), ...overheard.traces]
    return findLeaks([...traces, ...(await tracesInDatabase(database))], [key])
  }
  assert.deepEqual(await found(), [])
  log.warn({ err: new Error(`no such key: ${key.value}`) }, 'a mistake')
  assert.deepEqual(await found(), [`${key.what} in the log`])
  lines.splice(0, lines.length, ...lines.filter((line) => !line.includes(key.value)))

  await database.rows(sql`create table careless (id integer, note text, body bytea)`)
  await database.rows(sql`insert into careless (id, note) values (1, ${`Bearer ${key.value}`})`)
  assert.deepEqual(await found(), [`${key.what} in table public.careless`])
  await database.rows(sql`update careless set note = null, body = ${Buffer.from(`{"k":"${key.value}"}`)}`)
  assert.deepEqual(await found(), [`${key.what} in table public.careless`])
  await database.rows(sql`update careless set body = null, note = ${btoa(`user:${key.value}!`)}`)
  assert.deepEqual(await found(), [`${key.what} in table public.careless`])
  await database.rows(sql`drop table careless`)

  await newVisitor().go(`${baseUrl}/nowhere/${key.value}`)
  assert.deepEqual(
    (await found()).map((leak) => leak.replace(/answer to .*/, 'an answer')),
    [`${key.what} in an answer`],
    'a path that is not there is told again in the problem, as it came',
  )
  overheard.stop()
})
