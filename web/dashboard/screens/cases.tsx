import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { query, send } from '../api.ts'
import { useAction, usePage } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { useFilters } from '../components/filters.ts'
import { Field, Form, fieldErrors, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { inWords, providerName } from '../components/payment-status.tsx'
import { Screen } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { Money, Time } from '../components/values.tsx'
import type { Case } from '../money-answers.ts'
import type { Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

const VIEWS: readonly (readonly [string, string])[] = [
  ['', 'To do'],
  ['closed', 'Done'],
]

/** The reasons in the words of the list. */
const REASONS: Record<Case['reason'], string> = {
  unmatched_money: 'Money of no payment',
  contradiction: 'Answers differ',
  missing_at_provider: 'Missing at the provider',
  unanswered: 'No clear answer',
  refund_mismatch: 'Refund differs',
  refund_failed: 'Refund failed',
  surplus: 'Paid more than once',
  underpaid: 'Paid in part',
  settlement_difference: 'Settlement differs',
  review: 'Needs a review',
}

const OF_REASON: readonly (readonly [string, string])[] = [['', 'All'], ...Object.entries(REASONS)]

/** What the software must not decide alone. A line leaves the list when the books agree, or with a note. */
export default function Cases() {
  const merchant = useMerchant()
  const { values, cursor, isFiltered, set, clear } = useFilters('view', 'reason')
  const isDone = values.view === 'closed'
  const status = isDone ? 'closed' : 'open'
  const page = usePage<Page<Case>>(merchant.api('/cases') + query({ status, reason: values.reason, cursor }))
  const [closing, setClosing] = useState<Case>()
  const [ending, setEnding] = useState<Case>()
  const next = page.data?.nextCursor
  return (
    <Screen
      title="Needs attention"
      about="What Manilla must not decide alone. Each line stays until the books agree, or you close it with a note."
    >
      <search class="filters">
        <SelectField label="Show" value={values.view} options={VIEWS} onChange={(view) => set({ view })} />
        <SelectField label="Reason" value={values.reason} options={OF_REASON} onChange={(reason) => set({ reason })} />
      </search>
      <List
        label={isDone ? 'What was decided' : 'What to decide'}
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        clearFilters={isFiltered ? clear : undefined}
        columns={[
          {
            name: 'Amount',
            kind: 'money',
            show: ({ amount, currency }) =>
              amount === null || currency === null ? (
                <span class="soft">–</span>
              ) : (
                <Money amount={amount} currency={currency} />
              ),
          },
          { name: 'What happened', show: (row) => <What row={row} /> },
          { name: 'About', show: (row) => <About row={row} /> },
          { name: isDone ? 'Closed' : 'Since', show: (row) => <When row={row} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (row) => <Actions row={row} onClose={() => setClosing(row)} onEnd={() => setEnding(row)} />,
          },
        ]}
        pages={{
          first: cursor ? () => set(values) : undefined,
          next: next ? () => set({ ...values, cursor: next }) : undefined,
        }}
        empty={
          isDone
            ? { title: 'Nothing yet', text: 'What you close, and what the books settle, appears here.' }
            : { title: 'Nothing needs you', text: 'All money is accounted for, and every answer is clear.' }
        }
      />
      {closing && <NoteDialog row={closing} {...CLOSE} onClose={() => setClosing(undefined)} />}
      {ending && <NoteDialog row={ending} {...END_REFUND} onClose={() => setEnding(undefined)} />}
    </Screen>
  )
}

function What({ row: { reason, summary, status, note } }: { row: Case }) {
  return (
    <div>
      <Status tone={status === 'open' ? 'attention' : 'neutral'}>{REASONS[reason]}</Status>
      <div class="cell-more">{summary}</div>
      {note && <div class="cell-more">Note: {note}</div>}
    </div>
  )
}

function About({ row }: { row: Case }) {
  const { payment, subject, provider } = row
  const merchant = useMerchant()
  const settlements = pathOfSettlement(row)
  return (
    <div>
      {payment ? (
        <Link class="cell-main" href={merchant.path(`/payments/${encodeURIComponent(payment)}`)}>
          {payment}
        </Link>
      ) : settlements ? (
        <Link class="cell-main" href={merchant.path(settlements)}>
          {subject.reference ?? 'Payments that are not settled'}
        </Link>
      ) : (
        <code>{subject.reference ?? subject.id}</code>
      )}
      <div class="cell-more">
        {inWords(subject.kind)}
        {provider && `, ${providerName(provider)}`}
      </div>
    </div>
  )
}

/** A settlement shows the lines that differ. Of an account, it is late money. */
function pathOfSettlement({ reason, subject }: Case): string | undefined {
  if (subject.kind === 'settlement') return `/settlements/${subject.id}`
  const isLate = reason === 'settlement_difference' && subject.kind === 'account'
  return isLate ? `/settlements/unsettled${query({ provider: subject.id })}` : undefined
}

function When({ row: { openedAt, closedAt, closedBy } }: { row: Case }) {
  return (
    <div>
      <Time at={closedAt ?? openedAt} />
      {closedBy && (
        <div class="cell-more">{closedBy === 'books' ? 'The books agree' : closedBy.replace(/^[a-z]+:/, '')}</div>
      )}
    </div>
  )
}

const REFUNDS: ReadonlySet<string> = new Set(['refund', 'retry_refund'])

/** The ways off the list. Money is matched and refunded where it is shown with its payment. */
function Actions({ row, onClose, onEnd }: { row: Case; onClose: () => void; onEnd: () => void }) {
  const merchant = useMerchant()
  const { payment, reason, suggestions, subject } = row
  const ofPayment = payment && merchant.path(`/payments/${encodeURIComponent(payment)}`)
  const canMove = merchant.may('refunds')
  const isHeld = reason === 'unmatched_money' || reason === 'surplus' || reason === 'underpaid'
  const isTransfer = isHeld || suggestions.includes('return')
  const name = (text: string) => `${text}: ${payment ?? subject.reference ?? subject.id}`
  return (
    <>
      {canMove && isTransfer && (
        <Link class="button" aria-label={name('Match or return')} href={merchant.path('/transfers')}>
          {reason === 'unmatched_money' ? 'Match' : 'Return'}
        </Link>
      )}
      {canMove && suggestions.includes('end_refund') && (
        <button type="button" aria-label={name('It was not made')} onClick={onEnd}>
          It was not made
        </button>
      )}
      {canMove && !isTransfer && ofPayment && suggestions.some((each) => REFUNDS.has(each)) && (
        <Link class="button" aria-label={name('Refund')} href={ofPayment}>
          Refund
        </Link>
      )}
      {payment && suggestions.includes('ask_again') && merchant.may('payments') && <AskAgain payment={payment} />}
      {canMove && suggestions.includes('close') && (
        <button type="button" aria-label={name('Close with a note')} onClick={onClose}>
          Close
        </button>
      )}
    </>
  )
}

function AskAgain({ payment }: { payment: string }) {
  const merchant = useMerchant()
  const path = merchant.api(`/payments/${encodeURIComponent(payment)}`)
  const action = useAction({
    run: () => send('POST', `${path}/resync`),
    refresh: [merchant.api('/cases'), path],
    done: 'The provider is asked again',
  })
  return (
    <button
      type="button"
      aria-label={`Ask again: ${payment}`}
      disabled={action.isPending}
      onClick={() => action.mutate()}
    >
      Ask again
    </button>
  )
}

const CLOSE = {
  title: 'Close with a note',
  submit: 'Close the case',
  about: 'No money moves by this.',
  done: 'Closed',
  path: ({ id }: Case) => `/cases/${id}/close`,
}

const END_REFUND = {
  title: 'The refund was not made',
  submit: 'It was not made',
  about: 'The provider’s dashboard must show no such refund. It fails here, and the money can be refunded again.',
  done: 'The refund has failed',
  path: ({ subject }: Case) => `/refunds/${subject.id}/end`,
}

function NoteDialog({ row, onClose, ...texts }: { row: Case; onClose: () => void } & typeof CLOSE) {
  const merchant = useMerchant()
  const [note, setNote] = useState('')
  const action = useAction({
    run: () => send('POST', merchant.api(texts.path(row)), { note: note.trim() }),
    refresh: [merchant.api('/cases'), merchant.api('/overview'), merchant.api('/payments'), merchant.api('/refunds')],
    done: texts.done,
    onDone: onClose,
  })
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <Form submit={texts.submit} action={action} onCancel={onClose}>
        <p>{row.summary}</p>
        <p class="soft">{texts.about}</p>
        <Field
          label="Note"
          hint="What you found and did. Your colleagues see it. No personal data of customers."
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
