import { Link } from 'wouter-preact'
import { query } from '../api.ts'
import { usePage } from '../components/data.ts'
import { useFilters } from '../components/filters.ts'
import { SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { inWords } from '../components/payment-status.tsx'
import { Screen } from '../components/screen.tsx'
import { Status, type Tone } from '../components/status.tsx'
import { Money, Time } from '../components/values.tsx'
import type { Dispute } from '../money-answers.ts'
import type { Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'All'],
  ['open', 'Open'],
  ['won', 'Won'],
  ['lost', 'Lost'],
]

const MARKS: Record<Dispute['status'], [Tone, string]> = {
  open: ['attention', 'Open'],
  won: ['good', 'Won'],
  lost: ['bad', 'Lost'],
}

export default function Disputes() {
  const merchant = useMerchant()
  const { values, cursor, isFiltered, set, clear } = useFilters('status')
  const page = usePage<Page<Dispute>>(merchant.api('/disputes') + query({ ...values, cursor }))
  const next = page.data?.nextCursor
  return (
    <Screen
      title="Disputes"
      about="Customers who contest a charge at their bank. Answer them in the provider's dashboard, in time."
    >
      <search class="filters">
        <SelectField label="Status" value={values.status} options={STATUSES} onChange={(status) => set({ status })} />
      </search>
      <List
        label="Disputes"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        clearFilters={isFiltered ? clear : undefined}
        columns={[
          { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
          { name: 'Status', show: (row) => <DisputeStatus dispute={row} /> },
          {
            name: 'Payment',
            show: ({ payment }) => (
              <Link class="cell-main" href={merchant.path(`/payments/${encodeURIComponent(payment)}`)}>
                {payment}
              </Link>
            ),
          },
          { name: 'Reason', show: ({ reason }) => (reason ? inWords(reason) : <span class="soft">None given</span>) },
          {
            name: 'Answer by',
            show: ({ status, respondBy }) => <Time at={status === 'open' ? respondBy : null} none="–" />,
          },
          { name: 'Opened', show: ({ openedAt }) => <Time at={openedAt} /> },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={{
          title: 'No disputes',
          text: 'When a customer contests a charge at their bank, it appears here with the day by which you must answer.',
        }}
      />
    </Screen>
  )
}

function DisputeStatus({ dispute }: { dispute: Dispute }) {
  const [tone, word] = MARKS[dispute.status]
  return (
    <div>
      <Status tone={tone}>{word}</Status>
      {dispute.resolvedAt && (
        <div class="cell-more">
          on <Time at={dispute.resolvedAt} />
        </div>
      )}
    </div>
  )
}
