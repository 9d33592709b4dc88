import { createHash } from 'node:crypto'
import type { User } from '../state/payment.ts'
import type { PaymentLink } from '../state/payment-link.ts'
import { type CreateDeps, createPayment, type PaymentTicket } from './create-payment.ts'

/** What a customer entered on the page of a link, checked. */
export interface LinkForm {
  amount: number
  user: Pick<User, 'email' | 'name' | 'phoneNumber'>
  /** The answer to the custom field. */
  answer: string | null
  /** Made with the page: the same form, sent twice, makes one payment. */
  key: string
}

const PAYMENT_SECONDS = 86_400
const SHORTEST_PAYMENT_SECONDS = 900

/** Makes an ordinary payment. It ends with the link, but the customer has at least 15 minutes. */
export async function payLink(deps: CreateDeps, link: PaymentLink, form: LinkForm): Promise<PaymentTicket> {
  const { place, merchantId, mode, currency, country, customerBearsCharge, redirectURL, customField } = link
  const { amount, user, answer } = form
  const digest = createHash('sha256')
    .update(JSON.stringify([amount, user, answer]))
    .digest()
  const metadata = { ...link.metadata, ...(customField !== null && answer !== null && { [customField]: answer }) }
  const { ticket } = await createPayment(deps, {
    caller: { place, merchantId, mode },
    request: {
      ...{ amount, currency, country, customerBearsCharge, redirectURL, metadata, webhook: null },
      user: { ...user, id: null },
    },
    link: link.id,
    reference: undefined,
    expiresInSeconds: Math.max(
      SHORTEST_PAYMENT_SECONDS,
      Math.min(PAYMENT_SECONDS, link.secondsLeft ?? PAYMENT_SECONDS),
    ),
    // The digest is part of the key: a form that was changed and sent again is another payment.
    idempotency: { key: `link:${link.id}:${form.key}:${digest.toString('base64url')}`, digest },
  })
  return ticket
}
