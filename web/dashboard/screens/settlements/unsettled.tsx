import { Link } from 'wouter-preact'
import { query } from '../../api.ts'
import { useData, usePage } from '../../components/data.ts'
import { useFilters } from '../../components/filters.ts'
import { SelectField } from '../../components/form.tsx'
import { List } from '../../components/list.tsx'
import { providerName } from '../../components/payment-status.tsx'
import { ProblemPanel } from '../../components/problem.tsx'
import { Screen } from '../../components/screen.tsx'
import { counted, Day, SettlementTabs } from '../../components/settlement-parts.tsx'
import { Status } from '../../components/status.tsx'
import { formatMoney, Money, Time } from '../../components/values.tsx'
import type { Page } from '../../payment-answers.ts'
import { useMerchant } from '../../session.ts'
import type { Unsettled, UnsettledSum } from '../../settlement-answers.ts'

/** Money that customers paid and that no settlement has. Late money comes first: it is all that is shown at first. */
export default function UnsettledScreen() {
  const merchant = useMerchant()
  const path = merchant.api('/settlements/unsettled')
  const sums = useData<UnsettledSum[]>(`${path}/sums`)
  return (
    <Screen
      title="Not settled yet"
      about="Paid by customers, and in no settlement: of providers that list what they pay out."
    >
      <SettlementTabs current="Not settled yet" />
      {sums.data ? (
        <Waiting path={path} sums={sums.data} />
      ) : sums.error ? (
        <ProblemPanel error={sums.error} retry={sums.refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
    </Screen>
  )
}

function Waiting({ path, sums }: { path: string; sums: UnsettledSum[] }) {
  const merchant = useMerchant()
  const { values, cursor, set } = useFilters('show', 'provider')
  const late = sums.reduce((count, sum) => count + sum.late, 0)
  const all = sums.reduce((count, sum) => count + sum.payments, 0)
  const show = values.show || (late > 0 ? 'late' : 'all')
  const filters = { late: show === 'late' ? 'true' : undefined, provider: values.provider }
  const page = usePage<Page<Unsettled>>(path + query({ ...filters, limit: 50, cursor }))
  const next = page.data?.nextCursor
  const names = [...new Set(sums.map(({ provider }) => provider))]
  return (
    <>
      <dl class="tiles">
        {sums.map((sum) => (
          <Tile key={sum.provider + sum.currency} sum={sum} />
        ))}
      </dl>
      {all > 0 && (
        <search class="filters">
          <SelectField
            label="Show"
            value={show}
            options={[
              ['late', `Late (${late})`],
              ['all', `All, oldest first (${all})`],
            ]}
            onChange={(chosen) => set({ ...values, show: chosen })}
          />
          {names.length > 1 && (
            <SelectField
              label="Provider"
              value={values.provider}
              options={[['', 'All'], ...names.map((name) => [name, providerName(name)] as const)]}
              onChange={(provider) => set({ ...values, provider })}
            />
          )}
        </search>
      )}
      <List
        label="Payments that are not settled"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ provider, transactionId }) => `${provider} ${transactionId}`}
        hasTimes
        clearFilters={values.provider ? () => set({ provider: '' }) : undefined}
        columns={[
          { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
          {
            name: 'Expected',
            show: ({ late: isLate, expectedOn }) => (
              <Status tone={isLate ? 'attention' : 'waiting'}>
                <span>
                  {isLate && 'Late: '}
                  <Day day={expectedOn} />
                </span>
              </Status>
            ),
          },
          {
            name: 'Payment',
            show: ({ payment, paymentId }) =>
              payment ? (
                <Link class="cell-main" href={merchant.path(`/payments/${encodeURIComponent(paymentId ?? payment)}`)}>
                  {payment}
                </Link>
              ) : (
                <Link class="cell-main" href={merchant.path('/transfers')}>
                  Of no payment
                </Link>
              ),
          },
          {
            name: 'Provider',
            show: ({ provider, transactionId }) => (
              <div>
                {providerName(provider)}
                <div class="cell-more">
                  <code>{transactionId}</code>
                </div>
              </div>
            ),
          },
          { name: 'Paid', show: ({ takenAt }) => <Time at={takenAt} /> },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={
          show === 'late' && all > 0
            ? { title: 'Nothing is late', text: 'What is not settled yet still has time.' }
            : {
                title: sums.length > 0 ? 'Everything is settled' : 'Nothing to settle',
                text: 'Payments wait here until their provider has paid them out.',
              }
        }
      />
    </>
  )
}

function Tile({ sum }: { sum: UnsettledSum }) {
  const { provider, currency, usualDays, payments, amount, late, lateAmount, refunds, refundAmount } = sum
  return (
    <div>
      <dt>{providerName(provider)}</dt>
      <dd>
        <strong>{formatMoney(amount, currency)}</strong>
        <span class="soft">
          {counted(payments, 'payment')}, usually settled after {counted(usualDays, 'working day')}
        </span>
        {late > 0 && (
          <div>
            <Status tone="attention">
              {late} late: {formatMoney(lateAmount, currency)}
            </Status>
          </div>
        )}
        {refunds > 0 && (
          <div class="soft">
            {counted(refunds, 'refund')} not deducted yet: {formatMoney(refundAmount, currency)}
          </div>
        )}
      </dd>
    </div>
  )
}
