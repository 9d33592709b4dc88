import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { query, send } from '../../api.ts'
import { useAction, useData, usePage } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { useFilters } from '../../components/filters.ts'
import { Form, SelectField } from '../../components/form.tsx'
import { List } from '../../components/list.tsx'
import { providerName } from '../../components/payment-status.tsx'
import { ProblemPanel, ProblemText } from '../../components/problem.tsx'
import { Screen, Section } from '../../components/screen.tsx'
import { counted, Day, DayOf, Known, SettlementTabs } from '../../components/settlement-parts.tsx'
import { Status } from '../../components/status.tsx'
import { formatMoney, Money, useZone } from '../../components/values.tsx'
import type { Page } from '../../payment-answers.ts'
import { useMerchant } from '../../session.ts'
import type { BankColumns, BankCredit, Settlement, UploadedStatement } from '../../settlement-answers.ts'
import { formatIn } from '../../zone.ts'
import { UploadDialog } from './upload-statement.tsx'

const SHOWN: readonly (readonly [string, string])[] = [
  ['', 'Of no settlement'],
  ['all', 'All credits'],
]
const MOST_TO_CHOOSE = 100

/** Credits of the bank beside the payouts of the providers, and what is left on both sides. */
export default function BankStatement() {
  const merchant = useMerchant()
  const [isUploading, setUploading] = useState(false)
  const [result, setResult] = useState<UploadedStatement>()
  const any = useData<BankCredit[]>(`${merchant.api('/bank-credits')}?limit=1`)
  const left = useData<Settlement[]>(merchant.api('/settlements') + query({ withoutBankCredit: 'true', limit: 1 }))
  const columns = useData<BankColumns | null>(merchant.api('/bank-statements/columns'))
  const upload = merchant.may('payments') && (
    <button type="button" class="primary" onClick={() => setUploading(true)}>
      Upload a statement
    </button>
  )
  return (
    <Screen
      title="Bank statement"
      about="Upload the CSV file of your bank: each payout finds its credit by amount and day."
      actions={upload}
    >
      <SettlementTabs current="Bank" />
      {result && <Uploaded result={result} />}
      {any.data === undefined ? (
        any.error && <ProblemPanel error={any.error} retry={any.refetch} />
      ) : any.data.length === 0 ? (
        <div class="panel">
          <h2>No bank statement yet</h2>
          <p>Download one from your bank as a CSV file. Only the day and the amount of each credit are kept.</p>
        </div>
      ) : (
        <>
          <Credits />
          <Payouts />
        </>
      )}
      {isUploading && columns.data !== undefined && (
        <UploadDialog
          last={columns.data}
          currency={left.data?.[0]?.currency ?? any.data?.[0]?.currency ?? 'NGN'}
          onClose={() => setUploading(false)}
          onUploaded={(done) => {
            setResult(done)
            setUploading(false)
          }}
        />
      )}
    </Screen>
  )
}

function Uploaded({ result: { credits, added, matched, skipped } }: { result: UploadedStatement }) {
  return (
    <p role="status">
      <Status tone="good">{counted(matched, 'settlement')} found</Status>{' '}
      <span class="soft">
        {counted(credits, 'credit')}, {added} of them new. {counted(skipped, 'other line')} left out.
      </span>
    </p>
  )
}

/** The bank's side. */
function Credits() {
  const merchant = useMerchant()
  const { values, cursor, set } = useFilters('show')
  const [matching, setMatching] = useState<BankCredit>()
  const path = merchant.api('/bank-credits')
  const unmatched = values.show === '' ? 'true' : undefined
  const page = usePage<Page<BankCredit>>(path + query({ unmatched, limit: 50, cursor }))
  const next = page.data?.nextCursor
  const release = useAction({
    run: ({ id }: BankCredit) => send('PUT', `${path}/${id}`, { settlement: null }),
    refresh: [path, merchant.api('/settlements')],
    done: 'The credit is of no settlement now',
  })
  const named = (text: string, { amount, currency, day }: BankCredit) =>
    `${text}: ${formatMoney(amount, currency)} of ${day}`
  return (
    <Section title="Credits at your bank">
      <ProblemText error={release.error} />
      <search class="filters">
        <SelectField label="Show" value={values.show} options={SHOWN} onChange={(show) => set({ show })} />
      </search>
      <List
        label="Credits at your bank"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Day', show: ({ day }) => <Day day={day} /> },
          { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
          {
            name: 'Settlement',
            show: ({ settlement }) =>
              settlement ? (
                <Status tone="good">
                  <Link href={merchant.path(`/settlements/${settlement}`)}>Matched</Link>
                </Status>
              ) : (
                <Status tone="neutral">None fits, or several do</Status>
              ),
          },
          { name: 'In the file', show: ({ line }) => <span class="soft">line {line}</span> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (row) =>
              merchant.may('payments') &&
              (row.settlement ? (
                <button type="button" aria-label={named('Undo', row)} onClick={() => release.mutate(row)}>
                  Undo
                </button>
              ) : (
                <button type="button" aria-label={named('Match', row)} onClick={() => setMatching(row)}>
                  Match
                </button>
              )),
          },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={{ title: 'Nothing is left', text: 'Each credit of your statements is a settlement.' }}
      />
      {matching && <MatchDialog credit={matching} onClose={() => setMatching(undefined)} />}
    </Section>
  )
}

/** The providers' side. */
function Payouts() {
  const merchant = useMerchant()
  const filter = query({ withoutBankCredit: 'true', limit: 50 })
  const page = usePage<Page<Settlement>>(merchant.api('/settlements') + filter)
  return (
    <Section title="Payouts that no statement shows" about="Paid out by your providers. The newest 50 of them.">
      <List
        label="Payouts that no statement shows"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        columns={[
          {
            name: 'Day',
            show: (row) => (
              <Link class="cell-main" href={merchant.path(`/settlements/${row.id}`)}>
                <DayOf {...row} />
              </Link>
            ),
          },
          { name: 'Net', kind: 'money', show: (row) => <Known amount={row.net} currency={row.currency} /> },
          { name: 'Provider', show: ({ provider }) => providerName(provider) },
          { name: 'Bank reference', show: ({ bankReference }) => bankReference && <code>{bankReference}</code> },
        ]}
        empty={{ title: 'Nothing is left', text: 'Your statements show every payout.' }}
      />
    </Section>
  )
}

/** The payouts of other amounts come last: a bank may have taken a charge. */
function MatchDialog({ credit, onClose }: { credit: BankCredit; onClose: () => void }) {
  const merchant = useMerchant()
  const zone = useZone()
  const [settlement, setSettlement] = useState('')
  const left = useData<Settlement[]>(
    merchant.api('/settlements') +
      query({ withoutBankCredit: 'true', currency: credit.currency, limit: MOST_TO_CHOOSE }),
  )
  const distance = ({ net }: Settlement) => Math.abs((net ?? 0) - credit.amount)
  const options = [...(left.data ?? [])]
    .sort((a, b) => distance(a) - distance(b))
    .map(({ id, net, currency, paidAt, provider }) => {
      const day = paidAt ? formatIn(zone, 'day').format(new Date(paidAt)) : ''
      return [id, `${formatMoney(net ?? 0, currency)}, ${day}, ${providerName(provider)}`] as const
    })
  const action = useAction({
    run: () => send('PUT', merchant.api(`/bank-credits/${credit.id}`), { settlement }),
    refresh: [merchant.api('/bank-credits'), merchant.api('/settlements')],
    done: 'Matched',
    onDone: onClose,
  })
  return (
    <Dialog title={`Match ${formatMoney(credit.amount, credit.currency)}`} onClose={onClose}>
      <Form submit="Match" action={action} onCancel={onClose}>
        <p class="soft">
          The credit of <Day day={credit.day} />. No money moves by this.
        </p>
        <ProblemText error={left.error} />
        <SelectField
          label="Payout"
          required
          value={settlement}
          options={[['', options.length > 0 ? 'Choose' : 'No payout is left'], ...options]}
          onChange={setSettlement}
        />
      </Form>
    </Dialog>
  )
}
