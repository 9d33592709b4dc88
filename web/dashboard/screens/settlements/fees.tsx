import { query } from '../../api.ts'
import { useData } from '../../components/data.ts'
import { List } from '../../components/list.tsx'
import { providerName } from '../../components/payment-status.tsx'
import { Screen } from '../../components/screen.tsx'
import { SettlementTabs } from '../../components/settlement-parts.tsx'
import { Status } from '../../components/status.tsx'
import { formatMoney, Money } from '../../components/values.tsx'
import { useMerchant } from '../../session.ts'
import type { ChargedFees } from '../../settlement-answers.ts'

const COUNT = new Intl.NumberFormat('en')
const SHARE = new Intl.NumberFormat('en', { style: 'percent', minimumFractionDigits: 2 })
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const MONTHS = 12

/** What the payments of the last months really cost. */
export default function Fees() {
  const merchant = useMerchant()
  const fees = useData<ChargedFees[]>(merchant.api('/settlements/fees') + query(lastMonths(new Date())))
  return (
    <Screen title="Fees" about="What your providers really charged, beside what was calculated when the customer paid.">
      <SettlementTabs current="Fees" />
      {fees.data?.some(isWorthALook) && (
        <p class="warning">
          A difference that stays says that the fee schedule is outdated, or that your contract is another one.
        </p>
      )}
      <List
        label="Fees by month and provider"
        query={{ ...fees, rows: fees.data && [...fees.data].reverse() }}
        keyOf={({ month, provider, currency }) => `${month} ${provider} ${currency}`}
        columns={[
          {
            name: 'Month',
            show: ({ month, provider }) => (
              <div>
                <span class="cell-main">{MONTH.format(new Date(`${month}-01T00:00:00Z`))}</span>
                <div class="cell-more">{providerName(provider)}</div>
              </div>
            ),
          },
          { name: 'Payments', kind: 'money', show: ({ payments }) => COUNT.format(payments) },
          { name: 'Gross', kind: 'money', show: (row) => <Money amount={row.gross} currency={row.currency} /> },
          { name: 'Calculated', kind: 'money', show: (row) => <Money amount={row.fees} currency={row.currency} /> },
          {
            name: 'Charged',
            kind: 'money',
            show: ({ feesCharged, gross, currency }) => (
              <div>
                <Money amount={feesCharged} currency={currency} />
                {gross > 0 && <div class="cell-more">{SHARE.format(feesCharged / gross)} of gross</div>}
              </div>
            ),
          },
          { name: 'Difference', show: (row) => <Difference row={row} /> },
        ]}
        empty={{
          title: 'No charged fees yet',
          text: 'A provider names its real fee with a payment, or in a settlement. Then both fees are compared here.',
        }}
      />
    </Screen>
  )
}

/** Providers round each fee, which makes some kobo a month. */
const ROUNDING = 0.001

const isWorthALook = ({ fees, feesCharged }: Pick<ChargedFees, 'fees' | 'feesCharged'>) =>
  Math.abs(feesCharged - fees) > fees * ROUNDING

function Difference({ row: { fees, feesCharged, currency } }: { row: ChargedFees }) {
  const difference = feesCharged - fees
  if (difference === 0) return <Status tone="good">None</Status>
  return (
    <Status tone={isWorthALook({ fees, feesCharged }) ? 'attention' : 'neutral'}>
      {formatMoney(Math.abs(difference), currency)} {difference > 0 ? 'more' : 'less'}
    </Status>
  )
}

/** This month and those before it, as days of UTC. */
function lastMonths(now: Date): { from: string; to: string } {
  const day = (months: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1)).toISOString().slice(0, 10)
  return { from: day(1 - MONTHS), to: day(1) }
}
