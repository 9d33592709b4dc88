import { Link } from 'wouter-preact'
import { query } from '../api.ts'
import { usePage } from '../components/data.ts'
import { Export } from '../components/export.tsx'
import { useFilters } from '../components/filters.ts'
import { SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { providerName, RefundStatusMark } from '../components/payment-status.tsx'
import { Screen } from '../components/screen.tsx'
import { Money, Time } from '../components/values.tsx'
import type { Page, RefundRow } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'All'],
  ['pending', 'Pending'],
  ['successful', 'Refunded'],
  ['failed', 'Failed'],
]

const KINDS: Record<string, string> = {
  merchant: 'By you',
  surplus: 'Paid twice',
  provider: 'At the provider',
  chargeback: 'Lost dispute',
}

export default function Refunds() {
  const merchant = useMerchant()
  const { values, cursor, isFiltered, set, clear } = useFilters('status')
  const page = usePage<Page<RefundRow>>(merchant.api('/refunds') + query({ ...values, cursor }))
  const next = page.data?.nextCursor
  return (
    <Screen
      title="Refunds"
      about="Money that goes back to customers. Refund a payment on its own screen."
      actions={<Export list="refunds" filters={values} />}
    >
      <search class="filters">
        <SelectField label="Status" value={values.status} options={STATUSES} onChange={(status) => set({ status })} />
      </search>
      <List
        label="Refunds"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        clearFilters={isFiltered ? clear : undefined}
        columns={[
          { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
          {
            name: 'Status',
            show: (row) => (
              <div>
                <RefundStatusMark {...row} />
                {(row.failure ?? row.needsReview) && <div class="cell-more">{row.failure ?? row.needsReview}</div>}
              </div>
            ),
          },
          {
            name: 'Payment',
            show: ({ payment, paymentReference }) => (
              <Link class="cell-main" href={merchant.path(`/payments/${payment}`)}>
                {paymentReference}
              </Link>
            ),
          },
          { name: 'Customer', show: ({ email }) => email },
          {
            name: 'Kind',
            show: ({ kind, reason, provider }) => (
              <div>
                {KINDS[kind] ?? kind}, {providerName(provider)}
                {reason && <div class="cell-more">{reason}</div>}
              </div>
            ),
          },
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={{ title: 'No refunds', text: 'Refunds appear here with their state and, when one fails, the reason.' }}
      />
    </Screen>
  )
}
