import { manilla } from '../../shop'

// The address proves nothing, so the page asks for the payment.
export default async function Thanks({ searchParams }: { searchParams: Promise<{ reference?: string }> }) {
  const { reference = '' } = await searchParams
  const { status } = await manilla.payments.retrieve(reference)
  return <p>{status === 'successful' ? 'Thank you!' : `Your payment is ${status}.`}</p>
}
