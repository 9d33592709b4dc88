import { Link } from 'wouter-preact'
import type { Review } from '../money-answers.ts'
import { useMerchant } from '../session.ts'
import type { Column } from './list.tsx'
import { providerName } from './payment-status.tsx'
import { Status, type Tone } from './status.tsx'
import { Money, Time } from './values.tsx'

export const MONEY_KINDS: Record<Review['kind'], string> = {
  unmatched: 'Unmatched',
  underpaid: 'Paid too little',
  overpaid: 'Paid too much',
  surplus: 'Paid twice',
  late: 'Paid late',
  payment: 'Review',
}

/** What was done with it, and how far that is. */
function resultOf({ act, refundStatus }: Review): [Tone, string] {
  if (act === 'returned' && refundStatus === 'failed') return ['bad', 'Return failed']
  if (act === 'returned' && refundStatus === 'pending') return ['waiting', 'Being returned']
  const words = {
    matched: 'Matched',
    returned: 'Returned',
    returned_by_hand: 'Returned by hand',
    noted: 'Noted',
    reviewed: 'Reviewed',
  }
  return [act === 'noted' ? 'neutral' : 'good', words[act]]
}

/** The columns of what people did, for the list of all and for one payment. */
export function reviewColumns(showsPayment: boolean): Column<Review>[] {
  const payment: Column<Review> = { name: 'Payment', show: (review) => <PaymentOfReview {...review} /> }
  return [
    { name: 'Amount', kind: 'money', show: ({ amount, currency }) => <Money amount={amount} currency={currency} /> },
    {
      name: 'What was done',
      show: (review) => {
        const [tone, word] = resultOf(review)
        return (
          <div>
            <Status tone={tone}>{word}</Status>
            {review.kind !== 'payment' && <div class="cell-more">{MONEY_KINDS[review.kind]}</div>}
            {review.refundFailure && <div class="cell-more">{review.refundFailure}</div>}
          </div>
        )
      },
    },
    ...(showsPayment ? [payment] : []),
    { name: 'Note', show: ({ note }) => note ?? <span class="soft">None</span> },
    {
      name: 'Who and when',
      show: ({ by, at }) => (
        <div>
          {by ?? <span class="soft">A former member</span>}
          <div class="cell-more">
            <Time at={at} />
          </div>
        </div>
      ),
    },
  ]
}

function PaymentOfReview({ payment, paymentReference, provider, transactionId }: Review) {
  const merchant = useMerchant()
  return (
    <div>
      {payment ? (
        <Link class="cell-main" href={merchant.path(`/payments/${payment}`)}>
          {paymentReference}
        </Link>
      ) : (
        <span class="soft">None</span>
      )}
      {transactionId && (
        <div class="cell-more">
          <code>{transactionId}</code>
          {provider && ` at ${providerName(provider)}`}
        </div>
      )}
    </div>
  )
}
