import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Failure, Options, Signed } from './protocol.ts'
import type { Customer, World } from './world.ts'

interface Scenario {
  name: string
  run(world: World): Promise<void>
}

const vectors = <Vector>(name: string): Vector[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'vectors', `${name}.json`), 'utf8'))

const ORDER = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }
const PROBLEM = (code: string) => JSON.stringify({ code, detail: 'No.', requestId: 'r1' })
const CHECKOUT = '{"data":{"id":"chk_1"}}'
const NOT_YET: Options = { maxRetries: 0 }

/** What each client must do. All languages run all of them. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'each signature of vectors/signatures.json is accepted or refused, with its reason',
    async run({ send }) {
      type Vector = Signed & { name: string; event?: object; reason?: string; error?: string }
      for (const { name, event, reason, error, ...signed } of vectors<Vector>('signatures')) {
        const reply = await send({ do: 'verify', ...signed })
        const { kind, reason: given, dump = '' } = reply.error ?? ({} as Partial<Failure>)
        if (event) assert.deepEqual(reply.answer, event, `${name}: ${reply.error?.message}`)
        else if (reason) assert.deepEqual([kind, given], ['webhook', reason], `${name}: ${reply.error?.message}`)
        else assert.equal(kind, error, `${name}: ${reply.error?.message}`)
        for (const secret of [signed.secret ?? []].flat())
          assert.ok(secret.length < 8 || !dump.includes(secret.slice(6)), `${name}: a secret is shown`)
      }
    },
  },
  {
    name: 'each answer of vectors/errors.json is an error with its fields',
    async run(world) {
      const listener = await world.listen()
      await world.openAt(listener.origin)
      type Vector = { name: string; status: number; headers?: Record<string, string>; body: string; error: object }
      for (const { name, status, headers, body, error } of vectors<Vector>('errors')) {
        listener.answer = (_, response) => response.writeHead(status, headers).end(body)
        const failure = await world.refused('payments.retrieve', ['x'], NOT_YET)
        assert.equal(failure.kind, 'api', `${name}: ${failure.message}`)
        for (const [field, wanted] of Object.entries(error)) assert.deepEqual(failure[field], wanted, name)
      }
    },
  },
  {
    name: 'a payment from the first call to the refund',
    async run(world) {
      const shop = await world.openShop()
      const name = 'Ọlá Àdéṣínà 😀'
      const metadata = { note: 'a/b "c" \\ é', empty: '' }
      const order = { ...ORDER, amount: 4_500_000_000, user: { email: 'ada@example.com', name }, metadata }
      const checkout = await world.call('checkouts.create', [{ ...order, reference: "ORD/1'(é)".replace('é', 'e') }])
      assert.equal(checkout.amount, 4_500_000_000)
      const made = await world.call('payments.retrieve', [checkout.reference])
      assert.deepEqual([made.user.name, made.metadata, made.amount], [name, metadata, 4_500_000_000])
      assert.equal((await world.call('payments.cancel', [checkout.reference])).status, 'cancelled')
      const card = await world.call('payments.initialize', [{ ...ORDER, provider: 'gateway', reference: 'ORD-2' }])
      await shop.pay(card.data.reference)
      await shop.isPaid('ORD-2')
      assert.equal((await world.call('payments.timeline', ['ORD-2']))[0].what, 'payment created')
      const refund = await world.call('payments.refund', ['ORD-2', { amount: 50_000 }])
      const twice = await world.refused('payments.refund', ['ORD-2', { amount: 50_000 }])
      assert.deepEqual([twice.code, (twice.existing as { id: string }).id], ['duplicate_refund', refund.id])
      const keyed = { idempotencyKey: 'refund-2' }
      const meant = await world.call('payments.refund', ['ORD-2', { amount: 50_000 }], keyed)
      assert.equal((await world.call('payments.refund', ['ORD-2', { amount: 50_000 }], keyed)).id, meant.id)
      await world.call('payments.refund', ['ORD-2', { amount: 50_000, allowDuplicate: true }])
      assert.equal((await world.call('payments.refunds', ['ORD-2'])).length, 3)
      assert.equal((await world.call('refunds.retrieve', [refund.id])).amount, 50_000)
      const csv = await world.csv('exports.payments', [{ columns: 'reference,amount' }])
      assert.match(csv, /^reference,amount\r\n/)
      const events = await world.page('events.list', [{ payment: 'ORD-2', type: 'payment.successful' }])
      assert.deepEqual(await world.call('events.redeliver', [events.data[0].id]), { deliveries: 0 })
    },
  },
  {
    name: 'the other resources answer',
    async run(world) {
      await world.openShop()
      assert.deepEqual((await world.page('disputes.list', [{}])).data, [])
      assert.deepEqual((await world.page('cases.list', [{}])).data, [])
      assert.deepEqual(await world.call('cards.list', [{ email: 'ada@example.com' }]), [])
      const [quote] = await world.call('fees.quote', [{ amount: 1_000_000, country: 'NG' }])
      assert.equal(quote.provider, 'gateway')
      assert.ok((await world.call('channels.list', [{ country: 'NG' }])).length > 0)
      assert.equal((await world.call('integrations.list', [{ currency: 'NGN' }]))[0].provider, 'gateway')
      const { data, warning } = await world.call('integrations.set', ['gateway', { priority: 5 }])
      assert.deepEqual([data.priority, warning], [5, null])
      assert.equal((await world.call('integrations.retrieve', ['gateway'])).priority, 5)
      assert.equal((await world.call('integrations.check', ['gateway'])).keys, 'good')
      const link = await world.call('links.create', [{ title: 'Class', country: 'NG', amount: 100 }])
      assert.equal((await world.call('links.update', [link.id, { active: false }])).status, 'inactive')
      assert.equal((await world.call('links.retrieve', [link.id])).status, 'inactive')
      assert.equal((await world.page('links.list', [{}])).data.length, 1)
      const endpoint = await world.call('webhookEndpoints.create', [{ url: 'http://127.0.0.1:9/hook' }])
      assert.match(endpoint.secret, /^whsec_/)
      assert.equal((await world.call('webhookEndpoints.update', [endpoint.id, { enabled: false }])).enabled, false)
      assert.match((await world.call('webhookEndpoints.rotateSecret', [endpoint.id])).secret, /^whsec_/)
      assert.match((await world.call('webhookEndpoints.rotateDefaultSecret', [])).secret, /^whsec_/)
      assert.equal((await world.call('webhookEndpoints.list', [])).length, 1)
      const { reference } = await world.call('checkouts.create', [{ ...ORDER, metadata: {} }])
      assert.match((await world.call('payments.createWidgetToken', [reference])).token, /^wgt_/)
      const unpaid = await world.refused('payments.refundAccount', [reference, {}])
      assert.equal(unpaid.code, 'payment_not_completed')
    },
  },
  {
    name: 'after killed connections the call is repeated with the same key, and there is one payment',
    async run(world) {
      const shop = await world.openShop()
      const relay = await world.relay({ loses: 2 })
      await world.openAt(relay.origin, shop)
      const { id } = await world.call('checkouts.create', [ORDER])
      assert.equal(relay.heard.length, 3)
      assert.equal(new Set(relay.heard.map(({ headers }) => headers['idempotency-key'])).size, 1)
      assert.equal(new Set(relay.heard.map(({ body }) => body)).size, 1)
      const payments = await world.page('payments.list', [{}])
      assert.deepEqual(
        payments.data.map((each: { id: string }) => each.id),
        [id],
      )
      await world.call('checkouts.create', [ORDER])
      const keys = new Set(relay.heard.map(({ headers }) => headers['idempotency-key']).filter(Boolean))
      assert.equal(keys.size, 2, 'another call has another key')
    },
  },
  {
    name: 'cancelling and deleting succeed when only the answer was lost',
    async run(world) {
      const shop = await world.openShop()
      const { reference } = await world.call('checkouts.create', [ORDER])
      const { id } = await world.call('webhookEndpoints.create', [{ url: 'http://127.0.0.1:9/hook' }])
      await world.openAt((await world.relay({ loses: 1 })).origin, shop)
      assert.equal((await world.call('payments.cancel', [reference])).status, 'cancelled')
      assert.equal((await world.refused('payments.cancel', [reference])).code, 'payment_cancelled')
      await world.openAt((await world.relay({ loses: 1 })).origin, shop)
      await world.call('webhookEndpoints.delete', [id])
      assert.deepEqual(await world.call('webhookEndpoints.list', []), [])
      assert.equal((await world.refused('webhookEndpoints.delete', [id])).code, 'not_found')
    },
  },
  {
    name: 'a call that must not be carried out twice is not repeated after a lost answer',
    async run(world) {
      const shop = await world.openShop()
      const relay = await world.relay({ loses: 1 })
      await world.openAt(relay.origin, shop)
      const failure = await world.refused('webhookEndpoints.rotateDefaultSecret', [])
      assert.deepEqual([failure.kind, failure.timedOut, failure.retries], ['connection', false, 0])
      assert.equal(relay.heard.length, 1)
    },
  },
  {
    name: 'a mistake of the caller is refused at once and nothing is sent',
    async run(world) {
      const listener = await world.listen()
      await world.openAt(listener.origin)
      const mistakes: [string, unknown[], Options?][] = [
        ['payments.refund', ['ORD-1', { amount: '$NaN' }]],
        ['checkouts.create', [ORDER], { idempotencyKey: 'заказ-1' }],
        ['checkouts.create', [ORDER], { idempotencyKey: '' }],
        ['checkouts.create', [ORDER], { idempotencyKey: 'a\nb' }],
        ['payments.retrieve', ['']],
        ...['', '.', '..'].map((id): [string, unknown[]] => ['events.redeliver', [id]]),
      ]
      for (const [call, args, options] of mistakes) {
        const failure = await world.refused(call, args, options)
        assert.equal(failure.kind, 'client', `${call}(${JSON.stringify(args)}): ${failure.message}`)
      }
      for (const baseUrl of ['', 'pay.example.com', 'ftp://pay.test', 'http://a:b@pay.test', 'https://pay.test/?a=b']) {
        const reply = await world.send({ do: 'open', options: { baseUrl, clientId: 'cid_x', clientSecret: 'sec_x' } })
        assert.equal(reply.error?.kind, 'client', baseUrl)
      }
      assert.equal(listener.heard.length, 0)
    },
  },
  {
    name: 'the path of the base URL is kept, and references are escaped',
    async run(world) {
      const listener = await world.listen((_, response) => response.end('{"data":{}}'))
      for (const [path, wanted] of [
        ['', ''],
        ['/', ''],
        ['/manilla//', '/manilla'],
      ]) {
        await world.openAt(listener.origin + path)
        await world.call('payments.retrieve', ['a/../b ?#%é'])
        assert.equal(listener.heard.at(-1)?.url, `${wanted}/payments/v1/payments/a%2F..%2Fb%20%3F%23%25%C3%A9`)
      }
      listener.answer = (_, response) => response.end('{"data":[],"nextCursor":null}')
      await world.page('payments.list', [{ q: 'a b&c', limit: 7, status: null }])
      const query = new URL(listener.heard.at(-1)?.url ?? '', 'http://x').searchParams
      assert.deepEqual([...query].sort(), [
        ['limit', '7'],
        ['q', 'a b&c'],
      ])
    },
  },
  {
    name: 'a call whose key is still in use is waited for, however many retries are allowed',
    async run(world) {
      const listener = await world.listen((_, response) => {
        const isDone = listener.heard.length === 3
        response.writeHead(isDone ? 200 : 409).end(isDone ? CHECKOUT : PROBLEM('idempotency_in_progress'))
      })
      await world.openAt(listener.origin)
      assert.equal((await world.call('checkouts.create', [ORDER], { maxRetries: 1 })).id, 'chk_1')
      assert.equal(new Set(listener.heard.map(({ headers }) => headers['idempotency-key'])).size, 1)
      listener.answer = (_, response) =>
        response.writeHead(409, { 'retry-after': '3600' }).end(PROBLEM('idempotency_in_progress'))
      assert.equal((await world.refused('checkouts.create', [ORDER])).code, 'idempotency_in_progress')
    },
  },
  {
    name: '429 is repeated after Retry-After, not before, also for a call that must not be carried out twice',
    async run(world) {
      const listener = await world.listen((_, response) => {
        if (listener.heard.length === 1) response.writeHead(429, { 'retry-after': '1' }).end(PROBLEM('rate_limited'))
        else response.end('{"data":{"secret":"whsec_"}}')
      })
      await world.openAt(listener.origin)
      await world.call('webhookEndpoints.rotateDefaultSecret', [])
      const [first, second] = listener.heard.map(({ at }) => at) as [number, number]
      assert.ok(second - first >= 990, `after ${second - first} ms`)
    },
  },
  {
    name: '502, 503 and 504 are repeated a limited number of times',
    async run(world) {
      const listener = await world.listen((_, response) => {
        const status = [502, 503][listener.heard.length - 1] ?? 200
        response.writeHead(status).end(status === 200 ? CHECKOUT : '<html>')
      })
      await world.openAt(listener.origin)
      assert.equal((await world.call('checkouts.create', [ORDER])).id, 'chk_1')
      assert.equal(listener.heard.length, 3)
      listener.answer = (_, response) => response.writeHead(504).end()
      const failure = await world.refused('payments.retrieve', ['x'], { maxRetries: 1 })
      assert.deepEqual([failure.code, failure.status, failure.retries], ['http_error', 504, 1])
    },
  },
  {
    name: 'it is not repeated: a wait beyond the deadline, a provider that did not answer, a mistake',
    async run(world) {
      const listener = await world.listen((_, response) =>
        response.writeHead(503, { 'retry-after': '99999999999' }).end(PROBLEM('unavailable')),
      )
      await world.openAt(listener.origin)
      assert.equal((await world.refused('payments.retrieve', ['x'])).retryAfterSeconds, 99_999_999_999)
      for (const [status, code] of [
        [504, 'provider_timeout'],
        [502, 'provider_error'],
        [400, 'invalid_request'],
        [500, 'internal_error'],
      ] as const) {
        listener.answer = (_, response) => response.writeHead(status).end(PROBLEM(code))
        const failure = await world.refused('payments.initialize', [{ ...ORDER, provider: 'gateway' }])
        assert.deepEqual([failure.code, failure.retries], [code, 0])
      }
      assert.equal(listener.heard.length, 5)
    },
  },
  {
    name: 'a call ends at its timeout, at its deadline, and when nothing listens',
    async run(world) {
      const listener = await world.listen(() => {})
      await world.openAt(listener.origin)
      const slow = await world.refused('checkouts.create', [ORDER], { timeoutMs: 50, maxRetries: 1 })
      assert.deepEqual([slow.kind, slow.timedOut, slow.retries], ['connection', true, 1])
      assert.match(String(slow.idempotencyKey), /^[\x20-\x7e]{16,}$/)
      const late = await world.refused('checkouts.create', [ORDER], { deadlineMs: 50 })
      assert.deepEqual([late.timedOut, late.retries], [true, 0])
      listener.answer = (_, response) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write(' '), 10)
        response.once('close', () => clearInterval(timer))
      }
      const drips = await world.refused('payments.retrieve', ['x'], { timeoutMs: 100, maxRetries: 0 })
      assert.deepEqual([drips.kind, drips.timedOut], ['connection', true], 'the body counts')
      listener.close()
      const closed = await world.refused('payments.retrieve', ['x'], { maxRetries: 0 })
      assert.deepEqual([closed.kind, closed.timedOut], ['connection', false])
    },
  },
  {
    name: 'a cancelled call ends at once: while it waits for an answer, and while it waits for a retry',
    async run(world) {
      const listener = await world.listen(() => {})
      await world.openAt(listener.origin)
      const began = performance.now()
      assert.equal((await world.refused('payments.retrieve', ['x'], { cancelAfterMs: 100 })).kind, 'cancelled')
      listener.answer = (_, response) => response.writeHead(503, { 'retry-after': '30' }).end()
      assert.equal((await world.refused('payments.retrieve', ['x'], { cancelAfterMs: 100 })).kind, 'cancelled')
      assert.ok(performance.now() - began < 5_000)
      assert.ok(listener.heard.length <= 2, 'a cancelled call is not repeated')
    },
  },
  {
    name: 'a redirect is not followed: it would carry the secret to another host',
    async run(world) {
      const other = await world.listen()
      const listener = await world.listen((_, response) => response.writeHead(302, { location: other.origin }).end())
      await world.openAt(listener.origin)
      assert.equal((await world.refused('payments.retrieve', ['x'])).status, 302)
      assert.equal(other.heard.length, 0)
    },
  },
  {
    name: 'a list of 1 000 payments is read page after page, each payment once and newest first',
    async run(world) {
      const shop = await world.openShop()
      await shop.addPayments(1_000)
      const all: Customer[] = await world.all('payments.list', [{ status: 'pending' }])
      const references = all.map(({ reference }) => reference)
      assert.equal(new Set(references).size, 1_000)
      const first = await world.page('payments.list', [{ limit: 7 }])
      const second = await world.page('payments.list', [{ limit: 7, cursor: first.nextCursor }])
      const pages: Customer[] = [...first.data, ...second.data]
      assert.deepEqual(
        pages.map(({ reference }) => reference),
        references.slice(0, 14),
      )
    },
  },
  {
    name: 'a list whose cursors come again ends with an error, and one without cursors ends',
    async run(world) {
      const listener = await world.listen((_, response) => {
        const nextCursor = 'abc'[listener.heard.length % 3]
        if (listener.heard.length > 10)
          response.writeHead(400).end() // else a list without an end hangs
        else response.end(JSON.stringify({ data: [], nextCursor }))
      })
      await world.openAt(listener.origin)
      const reply = await world.send({ do: 'all', call: 'payments.list', args: [{}] })
      assert.match(reply.error?.message ?? '', /does not end/)
      assert.equal(listener.heard.length, 4)
      listener.answer = (_, response) => response.end('\ufeff{"data":[{"reference":"only"}]}')
      assert.deepEqual(await world.all('payments.list', [{}]), [{ reference: 'only' }])
    },
  },
  {
    name: 'a secret is in no text of the client or of an error',
    async run(world) {
      const shop = await world.openShop()
      const listener = await world.listen((heard, response) =>
        response.writeHead(400).end(JSON.stringify({ code: 'x', detail: JSON.stringify(heard.headers) })),
      )
      const failures: Failure[] = []
      for (const answer of [listener.answer, () => {}, undefined]) {
        await world.openAt(listener.origin, shop)
        if (answer) listener.answer = answer
        else listener.close()
        failures.push(await world.refused('payments.retrieve', ['x'], { timeoutMs: 100, maxRetries: 0 }))
      }
      const { clientId, clientSecret } = shop
      for (const wrong of [
        { baseUrl: listener.origin, clientId, clientSecret: `${clientSecret}\n` },
        { baseUrl: `http://x:${clientSecret}@pay.test`, clientId, clientSecret },
      ]) {
        const { error } = await world.send({ do: 'open', options: wrong })
        failures.push(error ?? assert.fail('it was opened'))
      }
      for (const { message, dump, kind, ...fields } of failures) {
        const text = [message, dump, JSON.stringify(fields)].join('\n')
        assert.ok(!text.includes(clientSecret), `${kind}: ${text}`)
      }
    },
  },
]
