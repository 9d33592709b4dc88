import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { carefulHandler } from '../../test/support/careful-handler.ts'
import { type Manner, startListener } from '../../test/support/listener.ts'
import { eventually, startPaying } from '../../test/support/paying.ts'
import { ANNOUNCED } from '../events/event.ts'
import { webhookHttp } from '../outbound/webhook-http.ts'
import { gradeHandler } from './grade-handler.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const TO_BE_ACCEPTED = ['a good event', 'the same again', 'old news', 'late money', 'a new type', 'a test event']
const TO_BE_REFUSED = ['a stale one', 'a forged one', 'an altered one', 'an unsigned one']

const http = webhookHttp()
const impatient = webhookHttp({ deadlineMs: 200 })
after(() => {
  http.close()
  impatient.close()
})

/** What it failed at; each with a word on how to mend it. */
async function failuresOf(url: string, { post } = http): Promise<string[]> {
  const grades = await gradeHandler(post, { url, secret: SECRET, reference: undefined })
  assert.deepEqual(
    grades.map(({ what }) => what),
    [...TO_BE_ACCEPTED, ...TO_BE_REFUSED],
  )
  for (const { ok, mend } of grades) assert.equal(ok, mend === null)
  return grades.filter(({ ok }) => !ok).map(({ what }) => what)
}

test('a handler that verifies signatures and accepts valid events passes', async () => {
  const shop = await startListener()
  shop.answer = carefulHandler(SECRET)
  assert.deepEqual(await failuresOf(shop.url), [])
  const [good, again, old, late, unknown, tested] = shop.heard.map(({ body }) => JSON.parse(body))
  assert.equal(again.id, good.id)
  assert.equal(shop.heard[1]?.body, shop.heard[0]?.body)
  assert.equal(old.data.payment.id, good.data.payment.id)
  assert.ok(old.sequence < good.sequence)
  assert.deepEqual([old.data.payment.status, old.data.payment.attempts.length], ['pending', 1], 'as it was then')
  assert.equal(late.data.payment.id, good.data.payment.id)
  assert.ok(late.sequence < good.sequence)
  assert.ok(!ANNOUNCED.includes(unknown.type))
  assert.deepEqual([tested.type, tested.data], ['endpoint.test', {}])
})

test('a handler that accepts everything fails the checks that require a refusal', async () => {
  assert.deepEqual(await failuresOf((await startListener()).url), TO_BE_REFUSED)
})

test('one that refuses everything, or checks with another secret, fails wherever it should have accepted', async () => {
  const shop = await startListener()
  shop.answer = (_, response) => response.writeHead(401).end()
  assert.deepEqual(await failuresOf(shop.url), TO_BE_ACCEPTED)
  shop.answer = carefulHandler('whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD')
  assert.deepEqual(await failuresOf(shop.url), TO_BE_ACCEPTED)
})

/** A shop whose handler keeps the ids of what it acted on; `drops` says which events it returns from early. */
function shopThat(drops: (event: { type: string; sequence: number }, newest: number) => boolean) {
  const careful = carefulHandler(SECRET)
  const acted = new Set<string>()
  let newest = 0
  const answer: Manner = (heard, response) => {
    careful(heard, response)
    if (response.statusCode !== 204) return
    const event = JSON.parse(heard.body)
    if (drops(event, newest)) return
    newest = Math.max(newest, event.sequence)
    setTimeout(() => acted.add(event.id), 20) // after its answer
  }
  return { answer, readActed: async () => [...acted].join('\n') }
}

test('a handler that drops late money by its sequence is caught by what the shop acted on, and one that does not passes', async () => {
  const grade = async ({ answer, readActed }: ReturnType<typeof shopThat>, withList = true) => {
    const shop = await startListener(answer)
    const list = withList ? { readActed, actsWithinMs: 500 } : {}
    return gradeHandler(http.post, { url: shop.url, secret: SECRET, reference: undefined, ...list })
  }
  const dropsByOrder = ({ sequence }: { sequence: number }, newest: number) => sequence < newest
  const dropping = (await grade(shopThat(dropsByOrder))).filter(({ ok }) => !ok)
  assert.deepEqual(
    dropping.map(({ what, status, acted }) => [what, status, acted]),
    [['late money', 204, false]],
  )
  assert.match(dropping[0]?.mend ?? '', /with any sequence/)
  const right = await grade(shopThat((event, newest) => event.type === 'attempt.failed' && dropsByOrder(event, newest)))
  assert.deepEqual(
    right.filter(({ ok }) => !ok),
    [],
  )
  const unseen = await grade(shopThat(dropsByOrder), false)
  assert.deepEqual(
    unseen.map(({ acted, ok }) => [acted, ok]),
    unseen.map(() => [null, true]),
    'without a list it cannot be seen',
  )
  const wrongList = await grade({ ...shopThat(() => false), readActed: async () => 'something else' })
  assert.deepEqual(
    wrongList.filter(({ ok }) => !ok).map(({ what }) => what),
    ['a good event', 'late money'],
  )
})

test('a handler that fails on unknown types fails only that check', async () => {
  const shop = await startListener()
  const careful = carefulHandler(SECRET)
  shop.answer = (heard, response) =>
    heard.body.includes('not_invented_yet') ? response.writeHead(500).end() : careful(heard, response)
  assert.deepEqual(await failuresOf(shop.url), ['a new type'])
})

test('status 500 for a forged event is not a refusal', async () => {
  const shop = await startListener()
  const careful = carefulHandler(SECRET)
  shop.answer = (heard, response) =>
    heard.headers['webhook-signature'] === undefined ? response.writeHead(500).end() : careful(heard, response)
  assert.deepEqual(await failuresOf(shop.url), ['an unsigned one'])
})

test('a handler that is too slow or not reachable fails every check', async () => {
  const slow = await startListener()
  slow.answer = () => {}
  assert.equal((await failuresOf(slow.url, impatient)).length, 10)
  assert.equal((await failuresOf('http://127.0.0.1:1/')).length, 10)
})

test('the events have the shape of real ones', async () => {
  const { addShop } = await startPaying({ deliver: true })
  const [shop, real, graded] = await Promise.all([addShop(), startListener(), startListener()])
  const { body } = await shop.initialize({ webhook: real.url })
  await shop.call('POST', `/sandbox/gateway/charges/${body.data.data.reference}`, { card: '4084 0840 8408 4081' })
  await eventually(
    async () => real.heard.length,
    (count) => count > 0,
  )
  await gradeHandler(http.post, { url: graded.url, secret: SECRET, reference: undefined })

  const shapeOf = (text = '{}') => {
    const { data, ...event } = JSON.parse(text)
    const { payment, attempt, ...more } = data
    return [event, payment, payment.user, payment.attempts.at(-1), attempt, more].map((each) => Object.keys(each))
  }
  assert.deepEqual(shapeOf(graded.heard[0]?.body), shapeOf(real.heard[0]?.body))
})
