// A shop rendered on the server. `npm start` beside a running Manilla, then open http://localhost:8080.
import { randomUUID } from 'node:crypto'
import { serve } from '@hono/node-server'
import { Manilla } from '@manilla/client'
import { honoWebhook } from '@manilla/client/webhooks'
import { Hono } from 'hono'
import { html } from 'hono/html'

const { CLIENT_ID = '', CLIENT_SECRET = '', WEBHOOK_SECRET = '' } = process.env
const { MANILLA = 'http://localhost:3000', PORT = '8080' } = process.env
const shop = `http://localhost:${PORT}`
const manilla = new Manilla({ baseUrl: MANILLA, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET })
const price = { amount: 1_250_000, currency: 'NGN' } // in kobo: ₦12,500.00
const orders = new Map<string, { paid: boolean }>() // in your database
const handled = new Set<string>() // in your database: a table with a unique id

const app = new Hono()

app.get('/', (context) =>
  context.html(html`<h1>Adire scarf</h1><form method="post" action="/pay"><button>Pay ₦12,500.00</button></form>`),
)

app.post('/pay', async (context) => {
  const reference = `ORD-${randomUUID()}`
  orders.set(reference, { paid: false })
  const checkout = await manilla.checkouts.create(
    {
      ...{ reference, ...price, country: 'NG', user: { email: 'ada@example.com' } },
      redirectURL: `${shop}/thanks`,
      webhook: `${shop}/webhooks`,
    },
    { idempotencyKey: reference },
  )
  return context.redirect(checkout.url, 303)
})

// The address proves nothing, so the page asks for the payment.
app.get('/thanks', async (context) => {
  const { status } = await manilla.payments.retrieve(context.req.query('reference') ?? '')
  return context.html(html`<p>${status === 'successful' ? 'Thank you!' : `Your payment is ${status}.`}</p>`)
})

app.post(
  '/webhooks',
  honoWebhook(WEBHOOK_SECRET, (event) => {
    if (handled.has(event.id)) return // sent again
    handled.add(event.id)
    if (event.type !== 'payment.successful') return
    const { reference, amount, currency } = event.data.payment
    const order = orders.get(reference)
    if (!order || amount !== price.amount || currency !== price.currency) return
    order.paid = true
    console.log(`${reference} is paid: deliver it`)
  }),
)

serve({ fetch: app.fetch, port: Number(PORT) }, () => console.log(`The shop is open: ${shop}`))
