import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { query } from '../api.ts'
import { CopyButton } from '../components/copy.tsx'
import { usePage } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { useFilters } from '../components/filters.ts'
import { SelectField } from '../components/form.tsx'
import { LinkForm } from '../components/link-form.tsx'
import { LinkStatusMark, linkAmount, timesPaid } from '../components/link-status.tsx'
import { List } from '../components/list.tsx'
import { NewPayment } from '../components/new-payment.tsx'
import { Screen } from '../components/screen.tsx'
import { Time } from '../components/values.tsx'
import type { Page, PaymentLink } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

export default function Links() {
  const merchant = useMerchant()
  const { cursor, set } = useFilters()
  const [isCreating, setCreating] = useState(false)
  const page = usePage<Page<PaymentLink>>(merchant.api('/links') + query({ cursor }))
  const next = page.data?.nextCursor
  const newLink = merchant.may('payments') && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      New link
    </button>
  )
  return (
    <Screen
      title="Links"
      about="A reusable link takes payments of many customers. One-off links are in Payments."
      actions={newLink}
    >
      <List
        label="Links"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        columns={[
          {
            name: 'Title',
            show: ({ id, title }) => (
              <Link class="cell-main" href={merchant.path(`/links/${id}`)}>
                {title}
              </Link>
            ),
          },
          { name: 'Amount', show: linkAmount },
          { name: 'Status', show: (link) => <LinkStatusMark {...link} /> },
          { name: 'Paid', show: (link) => <span class="money">{timesPaid(link)}</span> },
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: ({ url, title }) => <CopyButton label={`link ${title}`} text={url} name="Copy link" />,
          },
        ]}
        pages={{
          first: cursor ? () => set({}) : undefined,
          next: next ? () => set({ cursor: next }) : undefined,
        }}
        empty={{
          title: 'No reusable links yet',
          text: 'Make one for a product, a class or a donation, and share it or print its QR code.',
          action: newLink,
        }}
      />
      {isCreating && <NewLink onClose={() => setCreating(false)} />}
    </Screen>
  )
}

const KINDS = [
  ['reusable', 'Many customers'],
  ['one-off', 'One customer, once'],
] as const

function NewLink({ onClose }: { onClose: () => void }) {
  const merchant = useMerchant()
  const [, navigate] = useLocation()
  const [kind, setKind] = useState<(typeof KINDS)[number][0]>('reusable')
  return (
    <Dialog title="New link" onClose={onClose}>
      <SelectField label="Who pays it" value={kind} options={KINDS} onChange={setKind} />
      {kind === 'reusable' ? (
        <LinkForm onClose={onClose} onDone={({ id }) => navigate(merchant.path(`/links/${id}`))} />
      ) : (
        <NewPayment onClose={onClose} />
      )}
    </Dialog>
  )
}
