import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import type { Review } from '../money-answers.ts'
import type { Payment } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction, useData } from './data.ts'
import { Dialog } from './dialog.tsx'
import { Field, Form, fieldErrors } from './form.tsx'
import { List } from './list.tsx'
import { reviewColumns } from './reviews.tsx'
import { Section } from './screen.tsx'

interface Parts {
  payment: Payment
  path: string
  onClose: () => void
}

/** Why a person must look at the payment. */
export function openReviews({ attempts }: Payment): string[] {
  return attempts.flatMap(({ needsReview }) => needsReview ?? [])
}

export function ReviewDialog({ payment, path, onClose }: Parts) {
  const merchant = useMerchant()
  const [note, setNote] = useState('')
  const action = useAction({
    run: () => send('POST', `${path}/review`, { note: note.trim() }),
    refresh: [path, `${path}/reviews`, `${path}/timeline`, merchant.api('/payments')],
    done: 'Marked as reviewed',
    onDone: onClose,
  })
  return (
    <Dialog title="Mark as reviewed" onClose={onClose}>
      <Form submit="Mark as reviewed" action={action} onCancel={onClose}>
        <ul>
          {openReviews(payment).map((why) => (
            <li key={why}>{why}</li>
          ))}
        </ul>
        <Field
          label="Note"
          hint="What you found and did. Your colleagues see it."
          required
          maxLength={500}
          value={note}
          error={fieldErrors(action.error).note}
          onText={setNote}
        />
      </Form>
    </Dialog>
  )
}

/** What people did with the payment and its money. Nothing is shown when there is nothing. */
export function ReviewsOfPayment({ path }: { path: string }) {
  const { data, ...query } = useData<Review[]>(`${path}/reviews`)
  if (!data || data.length === 0) return null
  return (
    <Section title="Reviews">
      <List
        label="Reviews"
        query={{ ...query, rows: data }}
        keyOf={({ id }) => id}
        columns={reviewColumns(false)}
        empty={{ title: 'No reviews', text: '' }}
      />
    </Section>
  )
}
