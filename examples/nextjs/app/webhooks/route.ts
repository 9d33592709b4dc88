import { nextWebhook } from '@manilla/client/webhooks'
import { price } from '../../shop'

const handled = new Set<string>() // in your database: a table with a unique id

export const POST = nextWebhook(process.env.WEBHOOK_SECRET ?? '', (event) => {
  if (handled.has(event.id)) return // sent again
  handled.add(event.id)
  if (event.type !== 'payment.successful') return
  const { reference, amount, currency } = event.data.payment
  if (amount !== price.amount || currency !== price.currency) return // compare with the order in your database
  console.log(`${reference} is paid: deliver it`)
})
