import { Link } from 'wouter-preact'
import { query, send } from '../api.ts'
import { useAction, usePage } from '../components/data.ts'
import { Export } from '../components/export.tsx'
import { useFilters } from '../components/filters.ts'
import { Field, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { PROVIDER_OPTIONS, providerName } from '../components/payment-status.tsx'
import { ProblemText } from '../components/problem.tsx'
import { Screen } from '../components/screen.tsx'
import { Day, DayOf, Known, SettlementMark, SettlementTabs } from '../components/settlement-parts.tsx'
import { announce } from '../components/toasts.tsx'
import { useZone } from '../components/values.tsx'
import type { Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import type { Settlement } from '../settlement-answers.ts'
import { startOfDay } from '../zone.ts'

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'All'],
  ['paid', 'Paid out'],
  ['pending', 'Not paid out yet'],
  ['failed', 'Failed'],
]
const ALL_PROVIDERS = [['', 'All'], ...PROVIDER_OPTIONS] as [string, string][]

export default function Settlements() {
  const merchant = useMerchant()
  const zone = useZone()
  const { values, cursor, isFiltered, set, clear } = useFilters('provider', 'status', 'from', 'to')
  const filters = {
    ...{ provider: values.provider, status: values.status },
    from: startOfDay(values.from, zone)?.toISOString(),
    to: startOfDay(values.to, zone, 1)?.toISOString(),
  }
  const path = merchant.api('/settlements')
  const page = usePage<Page<Settlement>>(path + query({ ...filters, cursor }))
  const next = page.data?.nextCursor
  const refresh = useAction({
    run: () => send<{ due: number }>('POST', `${path}/refresh`),
    onDone: ({ due }) =>
      announce(due > 0 ? 'The providers are being asked' : 'The providers were asked in the last minute'),
  })
  return (
    <Screen
      title="Settlements"
      about="What your providers paid out to your bank account, and for which payments."
      actions={
        <>
          {merchant.may('payments') && (
            <button type="button" aria-busy={refresh.isPending} onClick={() => refresh.mutate()}>
              Check now
            </button>
          )}
          <Export list="settlement-lines" name="Export lines" filters={filters} />
          <Export list="settlements" filters={filters} />
        </>
      }
    >
      <SettlementTabs current="Settlements" />
      <ProblemText error={refresh.error} />
      <search class="filters narrow-fields">
        <SelectField
          label="Provider"
          value={values.provider}
          options={ALL_PROVIDERS}
          onChange={(provider) => set({ ...values, provider })}
        />
        <SelectField
          label="Status"
          value={values.status}
          options={STATUSES}
          onChange={(status) => set({ ...values, status })}
        />
        <DayField label="From" value={values.from} onDay={(from) => set({ ...values, from })} />
        <DayField label="To" value={values.to} onDay={(to) => set({ ...values, to })} />
      </search>
      <List
        label="Settlements"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        clearFilters={isFiltered ? clear : undefined}
        columns={[
          {
            name: 'Day',
            show: (row) => (
              <div>
                <Link class="cell-main" href={merchant.path(`/settlements/${row.id}`)}>
                  <DayOf {...row} />
                </Link>
                <div class="cell-more">{providerName(row.provider)}</div>
              </div>
            ),
          },
          {
            name: 'Status',
            show: (row) => (
              <div>
                <SettlementMark {...row} />
                <OnStatement row={row} />
              </div>
            ),
          },
          { name: 'Gross', kind: 'money', show: (row) => <Known amount={row.gross} currency={row.currency} /> },
          { name: 'Fees', kind: 'money', show: (row) => <Known amount={row.fees} currency={row.currency} /> },
          {
            name: 'Deductions',
            kind: 'money',
            show: (row) => <Known amount={row.deductions} currency={row.currency} />,
          },
          {
            name: 'Net',
            kind: 'money',
            show: ({ net, currency }) => (
              <strong>
                <Known amount={net} currency={currency} />
              </strong>
            ),
          },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={{
          title: 'No settlements yet',
          text: 'Providers pay out what your customers paid, usually after one or two working days. Each payout appears here with its payments.',
        }}
      />
    </Screen>
  )
}

function OnStatement({ row: { status, bankCredit } }: { row: Settlement }) {
  if (status !== 'paid') return null
  if (!bankCredit) return <div class="cell-more">Not on a bank statement</div>
  return (
    <div class="cell-more">
      At your bank <Day day={bankCredit.day} />
    </div>
  )
}

function DayField({ label, value, onDay }: { label: string; value: string; onDay: (day: string) => void }) {
  return <Field label={label} type="date" value={value} onChange={(event) => onDay(event.currentTarget.value)} />
}
