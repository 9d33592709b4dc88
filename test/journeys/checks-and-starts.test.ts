import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { CallLimits } from '../../src/outbound/call-limits.ts'
import { checkDueAttempts, startDueChecks } from '../../src/payments/settle/check-attempts.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import {
  askForPerson,
  claimDueChecks,
  endResync,
  makeChecksDue,
  openChecks,
  postponeChecks,
} from '../../src/payments/store/attempts.ts'
import { findStateByAttempt } from '../../src/payments/store/payment-states.ts'
import { type Asked, startUpstream } from '../fakes/upstream.ts'
import { acmeAt, KEYS } from '../support/acme.ts'
import { startBetween } from '../support/between.ts'
import { runCommand } from '../support/command.ts'
import { charge, VISA } from '../support/customer.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'
import { letPass, recordsOf } from '../support/payment-records.ts'
import { startOn } from '../support/service.ts'

const ACME = '/payments/v1/integrations/acme'
const TOO_MANY = { status: 429, text: '{}' }
const PAID = { status: 200, text: JSON.stringify({ amount: 1_250_000, currency: 'NGN' }) }

/** A provider that can refuse one kind of call. */
let refuses: (asked: Asked) => boolean = () => false
const calls: Asked[] = []
const upstream = await startUpstream({ after }, (asked) => {
  calls.push(asked)
  return refuses(asked) ? TOO_MANY : PAID
})
const service = await startPaying({ providers: [acmeAt(upstream.url)] })
const { database, parts } = service

async function openShop(): Promise<Shop> {
  const shop = await service.addShop('Adaeze Kitchen', { bare: true })
  const put = await shop.call('PUT', ACME, { settings: KEYS.sandbox, channels: ['card'] })
  assert.equal(put.status, 200, JSON.stringify(put.body))
  return shop
}

const isStart = ({ method, path }: Asked) => method === 'POST' && path.startsWith('/orders/')
const isCheck = ({ method, path }: Asked) => method === 'GET' && path.startsWith('/orders/')
const start = (shop: Shop, reference: string) => shop.initialize({ provider: 'acme', reference })

test('many 429s on checks do not refuse new payments', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'checked')).status, 200)
  const { id } = await shop.payment('checked')
  refuses = isCheck
  const before = calls.filter(isCheck).length
  for (let times = 0; times < 12; times++) {
    await makeChecksDue(database, id)
    await checkDueAttempts(parts, 10)
  }
  assert.equal(calls.filter(isCheck).length - before, 8, 'the circuit breaker of checks has opened')
  const { status, body } = await start(shop, 'new')
  assert.equal(status, 200, JSON.stringify(body))
})

test('a check that is asked for while the worker postpones it is made', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'asked-for')).status, 200)
  const { id } = await shop.payment('asked-for')
  const nextCheck = async () => {
    const row = await database.row<{ isDue: boolean }>(
      sql`select next_check_at <= now() as "isDue" from attempts where place = ${shop.place} and payment_id = ${uuidOf(id)}`,
    )
    return row?.isDue
  }
  const claim = async () => {
    await makeChecksDue(database, id)
    const [attempt] = (await claimDueChecks(database, 100)).filter(({ paymentId }) => paymentId === id)
    assert.ok(attempt)
    return [{ item: attempt, waitMs: 60_000 }]
  }
  await postponeChecks(database, await claim(), new Date())
  assert.equal(await nextCheck(), false)
  const late = await claim()
  await makeChecksDue(database, id)
  await postponeChecks(database, late, new Date())
  assert.equal(await nextCheck(), true)
})

test('a declined attempt is checked in time while its link is open: the customer may try another card there', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'declined')).status, 200)
  const { id } = await shop.payment('declined')
  const urgencyWith = async (status: string, linkEnds: string) => {
    await database.rows(sql`
      update attempts set status = ${status}, instructions_expire_at = now() + ${linkEnds}::interval
       where place = ${shop.place} and payment_id = ${uuidOf(id)}`)
    await makeChecksDue(database, id)
    const entered: string[] = []
    const enter: CallLimits['enter'] = (account) => {
      if (account.startsWith(shop.merchantId)) entered.push(account.split(' ').at(-1) as string)
      return { waitMs: 1_000 }
    }
    await startDueChecks(parts, 100, { enter, longestWaitMs: () => 0 })
    return entered
  }
  assert.deepEqual(await urgencyWith('failed', '1 hour'), ['open'])
  assert.deepEqual(await urgencyWith('failed', '-1 hour'), ['ended'])
  assert.deepEqual(await urgencyWith('successful', '1 hour'), ['ended'])
  assert.deepEqual(await urgencyWith('processing', '1 hour'), ['unknown'])
})

test('payment resync tells that its check was postponed', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'resynced')).status, 200)
  const { id } = await shop.payment('resynced')
  const env = {
    DATABASE_URL: service.databaseUrl ?? '',
    DATA_DIR: tmpdir(),
    SECRET_KEY: randomBytes(32).toString('base64'),
  }
  // Its own check is due after ten seconds, which the command may take to start.
  await database.rows(sql`
    update attempts set next_check_at = now() + interval '1 day' where payment_id = ${uuidOf(id as PaymentId)}`)
  const running = runCommand(['payment', 'resync', 'resynced', '--merchant', shop.merchantId], env)
  // This test is the worker, and its limit is reached.
  const claim = async () => (await claimDueChecks(database, 100)).filter(({ paymentId }) => paymentId === id)
  const claimed = await eventually(claim, ({ length }) => length > 0)
  await postponeChecks(
    database,
    claimed.map((item) => ({ item, waitMs: 3_600_000 })),
    new Date(),
  )
  const { code, output } = await running
  assert.match(output, /status +pending/)
  assert.match(output, /Checks were postponed.*: resynced-\S+ to 20\d\d-/)
  assert.equal(code, 1)
})

test('what a person asks for while it is being asked is asked again', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'asked-twice')).status, 200)
  const { id } = await shop.payment('asked-twice')
  await askForPerson(database, id)
  const [claimed] = (await claimDueChecks(database, 100)).filter(({ paymentId }) => paymentId === id)
  assert.ok(claimed?.resyncAt)
  await askForPerson(database, id)
  await endResync(database, claimed, claimed.resyncAt)
  assert.deepEqual(await openChecks(database, id), { isDue: true, isAsked: true })
  await checkDueAttempts(parts, 10)
  assert.deepEqual(await openChecks(database, id), { isDue: false, isAsked: false })
})

test('payment resync does not take a circuit breaker that is open for an answer', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'refused')).status, 200)
  const { id } = await shop.payment('refused')
  refuses = isCheck
  for (let checks = 0; checks < 10; checks++) {
    await makeChecksDue(database, id)
    await checkDueAttempts(parts, 10)
  }
  await database.rows(sql`
    update attempts set next_check_at = now() + interval '1 day' where payment_id = ${uuidOf(id as PaymentId)}`)
  const env = {
    DATABASE_URL: service.databaseUrl ?? '',
    DATA_DIR: tmpdir(),
    SECRET_KEY: randomBytes(32).toString('base64'),
  }
  let isDone = false
  const running = runCommand(['payment', 'resync', 'refused', '--merchant', shop.merchantId], env)
  void running.finally(() => {
    isDone = true
  })
  await eventually(
    () => checkDueAttempts(parts, 10),
    () => isDone,
  )
  const { code, output } = await running
  assert.match(output, /The provider gave no answer.*: check of refused-\S+: .*429/)
  assert.equal(code, 1)
  refuses = () => false
})

test('failing starts do not stop checks', async () => {
  refuses = () => false
  const shop = await openShop()
  assert.equal((await start(shop, 'waiting')).status, 200)
  refuses = isStart
  for (let times = 0; times < 12; times++) await start(shop, `refused-${times}`)
  const { id } = await shop.payment('waiting')
  await makeChecksDue(database, id)
  await checkDueAttempts(parts, 10)
  assert.equal((await shop.payment('waiting')).status, 'successful')
})

test('a return of the customer asks the provider at most once in 3 seconds per payment, in all processes together', async (t) => {
  const gateway = await startPaying()
  const between = await startBetween(t, gateway)
  const { shop, asked } = between
  const other = await startOn(gateway.database, { providers: between.parts.providers, secrets: gateway.parts.secrets })
  assert.equal((await shop.initialize({ reference: 'back' })).status, 200)
  const payment = await shop.payment('back')
  const [attempt] = payment.attempts
  const questions = () => asked.filter(({ method }) => method === 'GET').length
  const comeBack = async () => {
    const here = Array.from({ length: 3 }, () => request(`${between.baseUrl}/return/${attempt.id}`, 'GET'))
    const there = Array.from({ length: 3 }, () => other.inject({ method: 'GET', url: `/return/${attempt.id}` }))
    for (const { status } of await Promise.all(here)) assert.equal(status, 302)
    for (const { statusCode } of await Promise.all(there)) assert.equal(statusCode, 302)
  }
  /** One question, and another for each 3 seconds that a slow machine takes. */
  const comeBackAsking = async () => {
    const [before, start] = [questions(), performance.now()]
    await comeBack()
    const most = 1 + Math.floor((performance.now() - start) / 3_000)
    const count = questions() - before
    assert.ok(count >= 1 && count <= most, `${count} questions, at most ${most}`)
  }
  await comeBackAsking()
  await gateway.database.rows(sql`
    update payments set provider_asked_at = now() + interval '1 minute' where id = ${uuidOf(payment.id)}`)
  await gateway.database.rows(sql`
    update attempts set next_check_at = now() + interval '1 hour' where payment_id = ${uuidOf(payment.id)}`)
  const before = questions()
  await comeBack()
  assert.equal(questions(), before, 'the page shows what the database has')
  await letPass(gateway.database, payment, 63.1)
  await checkDueAttempts(between.parts, 10)
  assert.equal(questions(), before + 1, 'a check was due when the 3 seconds were over')
  await comeBackAsking()
})

test('a customer who returns while a notice is checked: both ask, and the success is on record once', async (t) => {
  const gateway = await startPaying()
  const between = await startBetween(t, gateway)
  const { shop, asked } = between
  assert.equal((await shop.initialize({ reference: 'both' })).status, 200)
  await charge(shop, 'both', VISA)
  const id = (await shop.payment('both')).attempts[0].id
  const { attempt } = (await findStateByAttempt(gateway.database, id)) ?? assert.fail()
  const answer = Promise.withResolvers<undefined>()
  const isAsked = Promise.withResolvers<void>()
  between.meanwhile = async () => {
    between.meanwhile = undefined
    isAsked.resolve()
    return answer.promise
  }
  const notice = checkAttempt(between.parts, attempt, { source: 'notice', noticeSays: 'paid' })
  await isAsked.promise
  assert.equal((await request(`${between.baseUrl}/return/${id}`, 'GET')).status, 302)
  assert.equal((await shop.payment('both')).status, 'successful')
  answer.resolve(undefined)
  assert.equal((await notice).payment.status, 'successful')
  const { eventTypes, receipts } = await recordsOf(gateway.database, await shop.payment('both'))
  assert.deepEqual(
    [eventTypes.filter((type) => type === 'payment.successful').length, receipts.length],
    [1, 1],
    'the later answer changed nothing',
  )
  const before = asked.length
  assert.equal((await request(`${between.baseUrl}/return/${id}`, 'GET')).status, 302)
  assert.equal(asked.length, before, 'the provider is not asked about a successful payment')
})
