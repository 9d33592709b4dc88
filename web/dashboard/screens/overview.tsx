import { useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Charts, FirstSteps, Overview } from '../answers.ts'
import { query } from '../api.ts'
import { useData, usePage } from '../components/data.ts'
import { Field, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { PaymentStatusMark } from '../components/payment-status.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { Money, Time, useZone, ZoneName } from '../components/values.tsx'
import type { Page, PaymentRow } from '../payment-answers.ts'
import { type CurrentMerchant, useMerchant } from '../session.ts'
import { Attention } from './overview/attention.tsx'
import { ChartsSection } from './overview/charts-section.tsx'
import { Checklist, isReady } from './overview/checklist.tsx'
import { MoneyOfRange } from './overview/money.tsx'
import { RANGES, type RangeName, useRange } from './overview/range.ts'

const SHOWN_PAYMENTS = 8
/** The charts are read again this often while the page is visible. */
const CHARTS_EVERY_MS = 10_000

export default function OverviewScreen() {
  const merchant = useMerchant()
  const steps = useData<FirstSteps>(merchant.api('/first-steps'), isReady)
  const wasOpen = useRef(false)
  if (steps.data && !isReady(steps.data)) wasOpen.current = true
  if (!steps.data)
    return (
      <Screen title="Overview">
        {steps.error ? <ProblemPanel error={steps.error} retry={steps.refetch} /> : <p class="late">Loading …</p>}
      </Screen>
    )
  // A member who saw the open checklist also sees its last step ticked off. Others do not see it.
  const checklist = wasOpen.current && <Checklist steps={steps.data} merchant={merchant} />
  return steps.data.madePayment ? (
    <WithPayments merchant={merchant} checklist={checklist} />
  ) : (
    <Screen title="Overview">{checklist}</Screen>
  )
}

function WithPayments({ merchant, checklist }: { merchant: CurrentMerchant; checklist: preact.ComponentChildren }) {
  const zone = useZone()
  const { name, days, currency, set } = useRange(zone)
  const overview = useData<Overview>(merchant.api('/overview'))
  const charts = useData<Charts>(
    merchant.api('/charts') + query({ ...days, zone, currency }),
    () => true,
    CHARTS_EVERY_MS,
  )
  const last = usePage<Page<PaymentRow>>(merchant.api('/payments') + query({ limit: SHOWN_PAYMENTS }))
  const currencies = charts.data?.currencies ?? []
  return (
    <Screen title="Overview">
      {checklist}
      {overview.data ? (
        <Attention overview={overview.data} merchant={merchant} />
      ) : (
        overview.error && <ProblemPanel error={overview.error} retry={overview.refetch} />
      )}
      <Section
        title="Payments"
        about={
          <>
            Times in <ZoneName />
          </>
        }
      >
        <search class="filters">
          <SelectField<RangeName> label="Range" value={name} options={RANGES} onChange={(range) => set({ range })} />
          {name === 'custom' && (
            <>
              <DayField label="From" value={days.from} onChange={(from) => set({ range: name, from })} />
              <DayField label="To" value={days.to} onChange={(to) => set({ range: name, to })} />
            </>
          )}
          {currencies.length > 1 && (
            <SelectField
              label="Currency"
              value={charts.data?.currency ?? ''}
              options={currencies.map((each) => [each, each] as const)}
              onChange={(chosen) => set({ currency: chosen })}
            />
          )}
        </search>
        {charts.data ? (
          <ChartsSection
            charts={charts.data}
            zone={zone}
            money={<MoneyOfRange days={days} zone={zone} currency={charts.data.currency} />}
          />
        ) : charts.error ? (
          <ProblemPanel error={charts.error} retry={charts.refetch} />
        ) : (
          <div class="charts-loading late">Loading …</div>
        )}
      </Section>
      <Section
        title="Last payments"
        actions={
          <Link class="button" href={merchant.path('/payments')}>
            All payments
          </Link>
        }
      >
        <List
          label="Last payments"
          query={{ ...last, rows: last.data?.data }}
          keyOf={({ id }) => id}
          hasTimes
          columns={[
            { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
            { name: 'Status', show: (row) => <PaymentStatusMark {...row} /> },
            {
              name: 'Payment',
              show: ({ id, reference }) => (
                <Link class="cell-main" href={merchant.path(`/payments/${id}`)}>
                  {reference}
                </Link>
              ),
            },
            { name: 'Customer', show: ({ email }) => email },
            { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
          empty={{ title: 'No payments', text: 'Payments appear here the moment they are made.' }}
        />
      </Section>
    </Screen>
  )
}

function DayField({ label, value, onChange }: { label: string; value: string; onChange: (day: string) => void }) {
  return (
    <Field
      label={label}
      type="date"
      required
      value={value}
      onChange={(event) => event.currentTarget.value && onChange(event.currentTarget.value)}
    />
  )
}
