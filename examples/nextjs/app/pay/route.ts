import { manilla, price, shop } from '../../shop'

export async function POST() {
  const reference = `ORD-${crypto.randomUUID()}` // of an order in your database
  const checkout = await manilla.checkouts.create(
    {
      ...{ reference, ...price, country: 'NG', user: { email: 'ada@example.com' } },
      redirectURL: `${shop}/thanks`,
      webhook: `${shop}/webhooks`,
    },
    { idempotencyKey: reference },
  )
  return Response.redirect(checkout.url, 303)
}
