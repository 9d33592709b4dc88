import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { Manilla, type Payment, verifyWebhook } from '../../../clients/typescript/src/index.ts'
import { apiOf } from '../../../src/cli/api.ts'
import { gradeShop } from '../../../src/cli/grade-shop.ts'
import { newWebhookSecret } from '../../../src/events/webhook-secret.ts'
import { webhookHttp } from '../../../src/outbound/webhook-http.ts'
import { muteWebhook } from '../../../src/payments/store/payments.ts'
import { createDatabase } from '../../support/database.ts'
import { startPaying } from '../../support/paying.ts'

const { url: databaseUrl, database } = await createDatabase()
const { baseUrl, addShop } = await startPaying({ database, databaseUrl, worker: true })
const http = webhookHttp()
after(() => http.close())

/** What a shop does wrong, and the stories in which that shows. */
const MISTAKES = {
  'acts on the return': ['not paid, a forged return', 'declined, return'],
  'trusts the amount of the query': ['a checkout whose address names another amount'],
  'is not idempotent': ['paid, webhook, return', 'paid, return, the webhook twice, return again'],
  'drops late money': ['cancelled, paid late'],
  'answers 500 to unknown events': ['events that you do not know, and a test event'],
  'does not verify': ['not paid, a forged webhook', 'a webhook of ten minutes ago'],
  'verifies without the time': ['a webhook of ten minutes ago'],
  'does not compare the amount': ['another amount was paid under the reference'],
  'has no webhook': [
    'paid, the browser is lost',
    'not paid, a forged webhook',
    'a webhook of ten minutes ago',
    'cancelled, paid late',
    'paid, then the webhook of the decline before it',
  ],
  'does not ask on the return': ['paid, return, no webhook'],
  'delivers for each event': [
    'not paid, a forged return',
    'declined, return',
    'half of it was transferred',
    'events that you do not know, and a test event',
  ],
  'takes back what is paid': ['paid, then the webhook of the decline before it'],
} as const
type Mistake = keyof typeof MISTAKES

test('shop verify passes a careful shop', async () => {
  assert.deepEqual(await failuresOf(undefined), [])
})

test('shop verify finds each planted mistake', { concurrency: 4 }, async (t) => {
  const found = Object.entries(MISTAKES).map(([mistake, stories]) =>
    t.test(mistake, async () => assert.deepEqual(await failuresOf(mistake as Mistake), stories)),
  )
  await Promise.all(found)
})

async function failuresOf(mistake: Mistake | undefined): Promise<string[]> {
  const { headers } = await addShop()
  const credentials = { clientId: headers['client-id'], clientSecret: headers['client-secret'] }
  const secret = newWebhookSecret()
  const at = await openShop(new Manilla({ baseUrl, ...credentials }), secret, mistake)
  const grades = await gradeShop({
    ...{
      checkout: `${at}/buy`,
      delivered: `${at}/delivered`,
      webhook: undefined,
      secret,
      provider: 'gateway',
      form: [],
    },
    ...{ api: apiOf(baseUrl, credentials), post: http.post, mute: (id) => muteWebhook(database, id) },
    actsWithinMs: 1_000,
  })
  return grades.filter(({ mend }) => mend !== null).map(({ what }) => what)
}

/** A shop with one product, and perhaps with a mistake. Returns its address. */
async function openShop(manilla: Manilla, secret: string, mistake: Mistake | undefined): Promise<string> {
  const orders = new Map<string, { amount: number; status: 'open' | 'paid' | 'cancelled' }>()
  let delivered: string[] = []

  function book(payment: Payment): void {
    const { reference, amount, status } = payment
    const order = orders.get(reference)
    if (!order || (order.amount !== amount && mistake !== 'does not compare the amount')) return
    if (status !== 'successful' && mistake !== 'delivers for each event') return
    if (order.status === 'cancelled' && mistake === 'drops late money') return
    if (order.status === 'paid' && mistake !== 'is not idempotent') return
    order.status = 'paid'
    delivered.push(reference)
  }

  async function receive(body: string, request: IncomingMessage): Promise<number> {
    if (mistake === 'has no webhook') return 204
    const isVerified = mistake !== 'does not verify'
    const toleranceSeconds = mistake === 'verifies without the time' ? 1e9 : 300
    if (isVerified) await verifyWebhook(body, request.headers, secret, { toleranceSeconds })
    const { type, data } = JSON.parse(body)
    const order = orders.get(data.payment?.reference)
    if (type === 'payment.successful') book(data.payment)
    else if (mistake === 'delivers for each event' && data.payment) book(data.payment)
    else if (mistake === 'answers 500 to unknown events' && /invented|test/.test(type)) return 500
    if (type === 'payment.cancelled' && order && order.status === 'open') order.status = 'cancelled'
    if (type === 'payment.cancelled' && mistake === 'takes back what is paid')
      delivered = delivered.filter((each) => each !== data.payment.reference)
    return 204
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { pathname, searchParams } = new URL(request.url ?? '', at)
    if (pathname === '/buy') {
      const reference = `ORD-${randomUUID()}`
      const trusted = mistake === 'trusts the amount of the query' ? searchParams.get('amount') : null
      const amount = Number(trusted ?? 1_250_000)
      orders.set(reference, { amount, status: 'open' })
      const { url } = await manilla.checkouts.create({
        ...{ reference, amount, country: 'NG', user: { email: 'ada@example.com' } },
        ...{ redirectURL: `${at}/thanks`, webhook: `${at}/webhooks` },
      })
      response.writeHead(303, { location: url }).end()
    } else if (pathname === '/thanks') {
      const reference = searchParams.get('reference') ?? ''
      if (mistake === 'acts on the return') {
        const order = orders.get(reference)
        if (order?.status === 'open') {
          order.status = 'paid'
          delivered.push(reference)
        }
      } else if (mistake !== 'does not ask on the return') book(await manilla.payments.retrieve(reference))
      response.end('Thank you!')
    } else if (pathname === '/webhooks') {
      response.writeHead(await receive(body, request).catch(() => 401)).end()
    } else response.end(delivered.join('\n'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const at = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return at
}
