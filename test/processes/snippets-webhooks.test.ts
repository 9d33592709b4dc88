import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradeHandler } from '../../src/cli/grade-handler.ts'
import { ANNOUNCED } from '../../src/events/event.ts'
import { ensureDefaultSecret, findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import { startListener } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge } from '../support/sandbox-payments.ts'
import { blocksOf, hasPython, read, run, startHandler } from '../support/snippets.ts'

test('each webhook handler in the docs accepts a real event once and rejects forged, stale and altered ones', async () => {
  const { addShop, database, parts } = await startPaying({ deliver: true })
  const programs = ['js', ...(hasPython ? ['python'] : [])].flatMap((language) =>
    blocksOf('docs/webhooks.md', language).map((program) => ({ language, program })),
  )
  assert.equal(programs.length, hasPython ? 3 : 2)
  for (const { language, program } of programs) {
    const shop = await addShop()
    const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
    await ensureDefaultSecret(database, parts.secrets, owner)
    const secret = (await findDefaultSecret(database, parts.secrets, owner)) as string
    const handler = await startHandler({ language, program }, { WEBHOOK_SECRET: secret })
    const { body } = await shop.initialize({ reference: 'ORD-20932', webhook: handler.url })
    await charge(shop, body.data.data.reference)
    const [event] = (
      await eventually(
        () => shop.call('GET', '/payments/v1/events'),
        (answer) => answer.body.data.length > 0,
      )
    ).body.data
    const deliveries = async () =>
      (await shop.call('GET', `/payments/v1/events/${event.id}`)).body.data.deliveries[0].tries
    const [tried] = await eventually(deliveries, ({ length }) => length > 0)
    assert.equal(tried.status, 204, handler.output())
    await eventually(
      async () => handler.output(),
      (output) => output.includes('ORD-20932 is successful'),
    )

    const http = webhookHttp()
    const keepsIds = program.includes('handled')
    const readActed = async () => (await fetch(handler.url)).text()
    const grades = await gradeHandler(http.post, {
      ...{ url: handler.url, secret, reference: 'ORD-20933' },
      ...(keepsIds && { readActed }),
    })
    http.close()
    assert.deepEqual(
      grades.filter(({ ok }) => !ok),
      [],
      handler.output(),
    )
    if (keepsIds) {
      assert.match(handler.output(), /ORD-20933: payment\.overpaid/, 'late money is acted on')
      assert.equal(handler.output().match(/ORD-20933: payment\.successful/g)?.length, 1, 'once')
      const told = handler.output().match(/ORD-20933 is successful/g)
      assert.equal(told?.length, 2, 'the good event and the one of a new type; not the doubled one')
      assert.doesNotMatch(handler.output(), /ORD-20933 is pending/, 'nor old news')
    }
  }
})

test('webhooks verify detects a handler that drops events with a lower sequence', async () => {
  const [program = ''] = blocksOf('docs/webhooks.md', 'js')
  const lines = program.split('\n')
  const [acts, drops] = ['if (MONEY.test(type))', 'if (sequence <'].map((text) =>
    lines.findIndex((line) => line.includes(text)),
  ) as [number, number]
  assert.equal(drops, acts + 1)
  const wrong = lines
    .with(acts, lines[drops] as string)
    .with(drops, lines[acts] as string)
    .join('\n')
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const { url } = await startHandler({ language: 'js', program: wrong }, { WEBHOOK_SECRET: secret })
  const http = webhookHttp()
  const readActed = async () => (await fetch(url)).text()
  const handler = { url, secret, reference: undefined, readActed, actsWithinMs: 500 } as const
  const grades = await gradeHandler(http.post, handler)
  http.close()
  assert.deepEqual(
    grades.filter(({ ok }) => !ok).map(({ what }) => what),
    ['late money'],
  )
})

test('each curl of docs/webhooks.md works as described', async () => {
  const { baseUrl, addShop } = await startPaying({ deliver: true })
  const shop = await addShop()
  const listener = await startListener()
  const { body } = await shop.initialize({ webhook: listener.url })
  await charge(shop, body.data.data.reference)
  await listener.hears(1)
  const env = {
    CLIENT_ID: shop.headers['client-id'],
    CLIENT_SECRET: shop.headers['client-secret'],
    EVENT_ID: listener.heard[0]?.headers['webhook-id'] as string,
  }
  const script = blocksOf('docs/webhooks.md', 'sh').join('\n').replaceAll('http://localhost:3000', baseUrl)
  const lines = (await run(script.replaceAll(/\ncurl/g, '\necho\ncurl'), env)).split('\n').filter(Boolean)
  const [listed, one, again, since, endpoint, ...others] = lines.map((line) => JSON.parse(line))
  assert.equal(others.length, 0)
  assert.equal(listed.data[0].id, env.EVENT_ID)
  assert.equal(one.data.deliveries[0].url, listener.url)
  assert.equal(again.data.deliveries, 1)
  await listener.hears(2)
  assert.equal(listener.heard[1]?.body, listener.heard[0]?.body)
  assert.equal(since.data.deliveries, 0)
  assert.match(endpoint.data.secret, /^whsec_/)
})

test('docs/webhooks.md shows a body of the real shape and lists each event', async () => {
  const { addShop } = await startPaying({ deliver: true })
  const shop = await addShop()
  const listener = await startListener()
  const { body } = await shop.initialize({ webhook: listener.url })
  await charge(shop, body.data.data.reference)
  const [heard] = await listener.hears(1)
  const page = read('docs/webhooks.md')
  const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '')
  const shapeOf = ({ data, ...event }: typeof shown) =>
    [event, data, data.payment, data.payment.user, data.attempt, data.attempt.instructions].map((each) =>
      Object.keys(each),
    )
  assert.deepEqual(shapeOf(shown), shapeOf(JSON.parse(heard?.body ?? '')))
  for (const type of ANNOUNCED) assert.ok(page.includes(`\`${type}\``), type)
})
