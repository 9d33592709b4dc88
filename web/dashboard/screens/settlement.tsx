import { Link, useParams } from 'wouter-preact'
import { query } from '../api.ts'
import { useData, usePage } from '../components/data.ts'
import { Export } from '../components/export.tsx'
import { useFilters } from '../components/filters.ts'
import { SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { providerName } from '../components/payment-status.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Facts, Screen, Section } from '../components/screen.tsx'
import { counted, Day, DayOf, Known, LINE_KINDS, SettlementMark } from '../components/settlement-parts.tsx'
import { Status } from '../components/status.tsx'
import { formatMoney, Money, Time } from '../components/values.tsx'
import type { Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import type { OddLine, SettlementLine, SettlementWithSums } from '../settlement-answers.ts'

export default function SettlementScreen() {
  const merchant = useMerchant()
  const { settlement: id = '' } = useParams<{ settlement: string }>()
  const path = merchant.api(`/settlements/${encodeURIComponent(id)}`)
  const { data, error, refetch } = useData<SettlementWithSums>(path)
  if (!data)
    return (
      <Screen title="Settlement">
        {error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>}
      </Screen>
    )
  return <Loaded key={data.id} settlement={data} path={path} />
}

function Loaded({ settlement, path }: { settlement: SettlementWithSums; path: string }) {
  const { id, status, provider, providerId, currency, net, difference, because, sums, lines, bankCredit } = settlement
  return (
    <Screen
      title={net === null ? 'Settlement' : formatMoney(net, currency)}
      about={
        <span class="facts">
          <SettlementMark {...settlement} />
          <span>
            {providerName(provider)}, <DayOf {...settlement} />
          </span>
          <code>{providerId}</code>
        </span>
      }
      actions={lines && <Export list="settlement-lines" filters={{ settlement: id }} />}
    >
      {difference && <Difference text={difference} path={path} currency={currency} />}
      {!difference && status !== 'paid' && because && <p class="warning">{because}</p>}
      <div class="payment">
        <div class="facts-column">
          <Section title="Money">
            <MoneySummary settlement={settlement} />
          </Section>
          <Section title="Bank account">
            <Facts
              facts={[
                ['Reference', settlement.bankReference && <code key="reference">{settlement.bankReference}</code>],
                ['Paid out', settlement.paidAt && <Time key="paid" at={settlement.paidAt} />],
                [
                  'Expected',
                  settlement.paidAt
                    ? null
                    : settlement.expectedOn && <Day key="expected" day={settlement.expectedOn} />,
                ],
                [
                  'Credit',
                  bankCredit ? (
                    <Status key="credit" tone="good">
                      <span>
                        On the statement of <Day day={bankCredit.day} />
                      </span>
                    </Status>
                  ) : status === 'paid' ? (
                    <Unmatched key="credit" />
                  ) : null,
                ],
              ]}
            />
          </Section>
        </div>
        <div>
          {sums.length > 1 && (
            <Section title="What it is made of">
              <List
                label="Sums by kind"
                query={whole(sums)}
                keyOf={({ kind }) => kind}
                columns={[
                  { name: 'Lines', show: ({ kind, count }) => counted(count, KINDS[kind][0], KINDS[kind][1]) },
                  { name: 'Gross', kind: 'money', show: (row) => <Money amount={row.gross} currency={currency} /> },
                  { name: 'Fees', kind: 'money', show: (row) => <Money amount={row.fees} currency={currency} /> },
                  { name: 'Net', kind: 'money', show: (row) => <Money amount={row.net} currency={currency} /> },
                ]}
                empty={{ title: '', text: '' }}
              />
            </Section>
          )}
          <Lines settlement={settlement} path={path} />
        </div>
      </div>
    </Screen>
  )
}

const KINDS = {
  payment: ['payment', 'payments'],
  refund: ['refund', 'refunds'],
  dispute: ['dispute', 'disputes'],
  fee: ['fee', 'fees'],
  adjustment: ['adjustment', 'adjustments'],
} as const

const whole = <Row,>(rows: Row[]) => ({
  ...{ rows, error: null, isFetching: false, dataUpdatedAt: 0 },
  refetch: () => {},
})

function Unmatched() {
  return (
    <span>
      Not matched with your <Link href={useMerchant().path('/settlements/bank')}>bank statement</Link>
    </span>
  )
}

/** What does not add up, and the lines that it is about. */
function Difference({ text, path, currency }: { text: string; path: string; currency: string }) {
  const merchant = useMerchant()
  const odd = useData<OddLine[]>(`${path}/odd-lines`)
  return (
    <div class="differs" id="differs">
      <ul class="attention-list" aria-label="Needs attention">
        <li>
          <Status tone="attention">Differs</Status>
          <p>
            {text} <Link href={merchant.path('/attention?reason=settlement_difference')}>Open the cases</Link>
          </p>
        </li>
      </ul>
      {odd.data && odd.data.length > 0 && (
        <List
          label="Lines that differ"
          query={whole(odd.data)}
          keyOf={({ key }) => key}
          columns={[
            {
              name: 'Line that differs',
              show: ({ key, kind, payment }) => (
                <div>
                  {payment ? <PaymentLink payment={payment} /> : LINE_KINDS[kind]}
                  <div class="cell-more">
                    {LINE_KINDS[kind]}, line <code>{key}</code>
                  </div>
                </div>
              ),
            },
            { name: 'Why', show: (line) => whyOdd(line) },
            { name: 'Gross', kind: 'money', show: (row) => <Money amount={row.gross} currency={currency} /> },
            { name: 'Fee', kind: 'money', show: (row) => <Known amount={row.fee} currency={currency} /> },
            { name: 'On record', kind: 'money', show: (row) => <Known amount={onRecord(row)} currency={currency} /> },
          ]}
          empty={{ title: '', text: '' }}
        />
      )}
    </div>
  )
}

const contradictsItself = ({ gross, fee, net }: OddLine) => fee !== null && net !== null && gross - fee !== net

function whyOdd(line: OddLine): string {
  if (contradictsItself(line)) return 'Gross less fee is not its net'
  if (line.isInAnother) return 'The same money is in another settlement, too'
  return line.received !== null && line.received !== line.gross
    ? 'Another amount is on record'
    : 'Another fee is on record'
}

const onRecord = (line: OddLine) =>
  contradictsItself(line) ? null : line.received !== line.gross ? line.received : line.feeCharged

function MoneySummary({ settlement }: { settlement: SettlementWithSums }) {
  const { gross, fees, deductions, net, currency } = settlement
  const lines = [
    ['Gross', gross],
    ['Fees', fees && -fees],
    ['Deductions', deductions && -deductions],
    ['Net', net],
  ] as const
  return (
    <dl class="details sums">
      {lines.map(([name, amount]) => (
        <>
          <dt key={name}>{name}</dt>
          <dd class={name === 'Net' ? 'total' : undefined}>
            <Known amount={amount} currency={currency} />
          </dd>
        </>
      ))}
    </dl>
  )
}

function PaymentLink({ payment, id = payment }: { payment: string; id?: string }) {
  return (
    <Link class="cell-main" href={useMerchant().path(`/payments/${encodeURIComponent(id)}`)}>
      {payment}
    </Link>
  )
}

const SHOWN: readonly (readonly [string, string])[] = [
  ['', 'All lines'],
  ['true', 'Those that are no payment of yours'],
]

function Lines({ settlement, path }: { settlement: SettlementWithSums; path: string }) {
  const { currency, lines } = settlement
  const { values, cursor, set } = useFilters('foreign')
  const page = usePage<Page<SettlementLine>>(`${path}/lines${query({ ...values, cursor, limit: 50 })}`)
  const next = page.data?.nextCursor
  const foreign = lines?.foreign ?? 0
  return (
    <Section
      title="Lines"
      about={
        lines
          ? foreign > 0 &&
            `${counted(foreign, 'line')} of ${lines.count} ${foreign === 1 ? 'is' : 'are'} no payment of yours here: another shop may use the same account.`
          : settlement.status === 'paid' &&
            'The provider does not say which payments it is for, or they are not read yet.'
      }
    >
      {foreign > 0 && (
        <search class="filters">
          <SelectField label="Show" value={values.foreign} options={SHOWN} onChange={(all) => set({ foreign: all })} />
        </search>
      )}
      <List
        label="Lines"
        query={{ ...page, rows: page.data?.data.map((line, index) => ({ ...line, key: `${cursor} ${index}` })) }}
        keyOf={({ key }) => key}
        clearFilters={values.foreign ? () => set({ foreign: '' }) : undefined}
        columns={[
          { name: 'About', show: (line) => <About line={line} /> },
          { name: 'Gross', kind: 'money', show: (line) => <Money amount={line.gross} currency={currency} /> },
          { name: 'Fee', kind: 'money', show: (line) => <Known amount={line.fee} currency={currency} /> },
          { name: 'Net', kind: 'money', show: (line) => <Known amount={line.net} currency={currency} /> },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={{ title: 'No lines', text: 'Lines appear here when the provider has paid out and named them.' }}
      />
    </Section>
  )
}

/** The payment of a line. A line of a payment, refund or dispute that names none of ours is marked. */
function About({ line: { kind, payment, paymentId, transactionId, orderReference } }: { line: SettlementLine }) {
  const reference = transactionId ?? orderReference
  const isForeign = !payment && (kind === 'payment' || kind === 'refund' || kind === 'dispute')
  return (
    <div>
      {payment ? (
        <PaymentLink payment={payment} {...(paymentId && { id: paymentId })} />
      ) : isForeign ? (
        <Status tone="neutral">No payment of yours</Status>
      ) : (
        LINE_KINDS[kind]
      )}
      <div class="cell-more">
        {payment || isForeign ? LINE_KINDS[kind] : ''} {reference && <code>{reference}</code>}
      </div>
    </div>
  )
}
