import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { query, send } from '../api.ts'
import { useAction, usePage } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Export } from '../components/export.tsx'
import { useFilters } from '../components/filters.ts'
import { Field, Form, fieldErrors, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { providerName } from '../components/payment-status.tsx'
import { BankAccountFields, useAccountFields } from '../components/refund-account.tsx'
import { MONEY_KINDS, reviewColumns } from '../components/reviews.tsx'
import { Screen } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { announce } from '../components/toasts.tsx'
import { formatMoney, Money, Time } from '../components/values.tsx'
import type { Review, Transfer, TransferResult } from '../money-answers.ts'
import type { Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

const VIEWS: readonly (readonly [string, string])[] = [
  ['', 'To do'],
  ['handled', 'Done'],
]

export default function Transfers() {
  const { values, cursor, set } = useFilters('view')
  const next = (to: string | null | undefined) => ({
    first: cursor ? () => set(values) : undefined,
    next: to ? () => set({ ...values, cursor: to }) : undefined,
  })
  return (
    <Screen
      title="Transfers"
      about="Money that does not add up. Each line stays until you match it with a payment, return it, or write a note."
      actions={<Export list="transfers" filters={{}} />}
    >
      <search class="filters">
        <SelectField label="Show" value={values.view} options={VIEWS} onChange={(view) => set({ view })} />
      </search>
      {values.view === 'handled' ? <Done cursor={cursor} next={next} /> : <ToDo cursor={cursor} next={next} />}
    </Screen>
  )
}

interface ListParts {
  cursor: string | undefined
  next: (to: string | null | undefined) => { first: (() => void) | undefined; next: (() => void) | undefined }
}

type Act = 'match' | 'return' | 'note'

function ToDo({ cursor, next }: ListParts) {
  const merchant = useMerchant()
  const page = usePage<Page<Transfer>>(merchant.api('/transfers') + query({ cursor }))
  const [opened, setOpened] = useState<{ transfer: Transfer; act: Act }>()
  const close = () => setOpened(undefined)
  const button = (transfer: Transfer, act: Act, text: string) => (
    <button type="button" aria-label={`${text}: ${nameOf(transfer)}`} onClick={() => setOpened({ transfer, act })}>
      {text}
    </button>
  )
  return (
    <>
      <List
        label="Money to deal with"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id, kind }) => `${kind} ${id}`}
        hasTimes
        columns={[
          { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
          { name: 'What happened', show: (row) => <Reason transfer={row} /> },
          {
            name: 'Payment',
            show: (row) =>
              row.payment ? (
                <div>
                  <Link class="cell-main" href={merchant.path(`/payments/${row.payment}`)}>
                    {row.paymentReference}
                  </Link>
                  <div class="cell-more">{row.email}</div>
                </div>
              ) : (
                <div>
                  <span class="soft">Unknown</span>
                  <div class="cell-more">
                    <code>{row.transactionId}</code>
                  </div>
                </div>
              ),
          },
          {
            name: 'Since',
            show: ({ at, provider }) => (
              <div>
                <Time at={at} />
                <div class="cell-more">{providerName(provider)}</div>
              </div>
            ),
          },
          {
            name: 'Actions',
            kind: 'actions',
            show: (row) =>
              merchant.may('refunds') && (
                <>
                  {row.kind === 'unmatched' && button(row, 'match', 'Match')}
                  {button(row, 'return', 'Return')}
                  {button(row, 'note', 'Note')}
                </>
              ),
          },
        ]}
        pages={next(page.data?.nextCursor)}
        empty={{
          title: 'All money adds up',
          text: 'Money without a payment, and payments that got too little, too much, twice or late appear here.',
        }}
      />
      {opened?.act === 'match' && <MatchDialog transfer={opened.transfer} onClose={close} />}
      {opened?.act === 'return' && <ReturnDialog transfer={opened.transfer} onClose={close} />}
      {opened?.act === 'note' && <NoteDialog transfer={opened.transfer} onClose={close} />}
    </>
  )
}

function Done({ cursor, next }: ListParts) {
  const merchant = useMerchant()
  const page = usePage<Page<Review>>(merchant.api('/transfers/handled') + query({ cursor }))
  return (
    <List
      label="Money that was dealt with"
      query={{ ...page, rows: page.data?.data }}
      keyOf={({ id }) => id}
      hasTimes
      columns={reviewColumns(true)}
      pages={next(page.data?.nextCursor)}
      empty={{ title: 'Nothing yet', text: 'What you match, return or note appears here, with who did it and when.' }}
    />
  )
}

function nameOf({ amount, currency, kind, paymentReference, transactionId }: Transfer): string {
  return `${formatMoney(amount, currency)}, ${MONEY_KINDS[kind].toLowerCase()}, ${paymentReference ?? transactionId}`
}

function Reason({ transfer }: { transfer: Transfer }) {
  const { kind, failure } = transfer
  return (
    <div>
      <Status tone={kind === 'underpaid' && transfer.paymentStatus === 'pending' ? 'waiting' : 'attention'}>
        {MONEY_KINDS[kind]}
      </Status>
      <div class="cell-more">{explain(transfer)}</div>
      {failure && <div class="cell-more">The last return failed: {failure}</div>}
    </div>
  )
}

function explain({ kind, due, received, currency, paymentStatus }: Transfer): string {
  const amount = (value: number | null) => formatMoney(value ?? 0, currency)
  switch (kind) {
    case 'unmatched':
      return 'The provider took it for no payment that we know.'
    case 'underpaid':
      return `${amount(received)} of ${amount(due)} arrived. ${
        paymentStatus === 'pending' ? 'The customer can still pay the rest.' : `The payment is ${paymentStatus}.`
      }`
    case 'overpaid':
      return `${amount(received)} arrived in place of ${amount(due)}.`
    case 'surplus':
      return 'The payment was paid already, and the refund did not work.'
    case 'late':
      return 'It was paid after the payment had ended. Note that you accept it, or return it.'
  }
}

interface DialogParts {
  transfer: Transfer
  onClose: () => void
}

function useTransferAction(
  { transfer, onClose }: DialogParts,
  act: Act,
  body: () => object,
  told: (result: TransferResult) => string,
) {
  const merchant = useMerchant()
  const list = merchant.api('/transfers')
  return useAction({
    run: () => send<TransferResult>('POST', `${list}/${transfer.id}/${act}`, { amount: transfer.amount, ...body() }),
    refresh: [list, `${list}/handled`, merchant.api('/payments'), merchant.api('/refunds')],
    onDone: (result) => {
      announce(told(result))
      onClose()
    },
  })
}

function MatchDialog(parts: DialogParts) {
  const { transfer, onClose } = parts
  const [payment, setPayment] = useState('')
  const [note, setNote] = useState('')
  const action = useTransferAction(
    parts,
    'match',
    () => ({ payment: payment.trim(), ...(note.trim() && { note: note.trim() }) }),
    ({ paymentStatus }) => (paymentStatus === 'successful' ? 'Matched: the payment is paid' : 'Matched'),
  )
  const errors = fieldErrors(action.error)
  return (
    <Dialog title="Match with a payment" onClose={onClose}>
      <Form submit={`Match ${formatMoney(transfer.amount, transfer.currency)}`} action={action} onCancel={onClose}>
        <Field
          label="Payment"
          hint="Its reference or id. The money then counts towards it, as if the customer had paid it there."
          required
          maxLength={120}
          value={payment}
          error={errors.payment}
          onText={setPayment}
        />
        <NoteField isOptional value={note} error={errors.note} onText={setNote} />
      </Form>
    </Dialog>
  )
}

const WAYS: readonly (readonly [string, string])[] = [
  ['provider', 'Through the provider'],
  ['hand', 'I have returned it myself'],
]

function ReturnDialog(parts: DialogParts) {
  const { transfer, onClose } = parts
  const { amount, currency, kind, failure, payment, paymentStatus } = transfer
  const merchant = useMerchant()
  const isByHandOnly = kind === 'unmatched'
  const [way, setWay] = useState(isByHandOnly || failure ? 'hand' : 'provider')
  const [note, setNote] = useState('')
  const isByHand = way === 'hand'
  const fields = useAccountFields()
  const action = useTransferAction(
    parts,
    'return',
    () => ({
      byHand: isByHand,
      note: note.trim(),
      ...(!isByHand && fields.account.destinationAccountNumber && fields.account),
    }),
    ({ state, failure: why }) =>
      state === 'failed'
        ? `The provider refused: ${why}`
        : state === 'returning'
          ? 'The provider returns it'
          : 'Returned',
  )
  const errors = fieldErrors(action.error)
  return (
    <Dialog title="Return the money" onClose={onClose}>
      <Form
        submit={isByHand ? 'Record as returned' : `Return ${formatMoney(amount, currency)}`}
        isDangerous={!isByHand}
        action={action}
        onCancel={onClose}
      >
        {isByHandOnly ? (
          <p>
            The provider can return only money of a known payment. Return {formatMoney(amount, currency)} yourself, in
            the provider's dashboard or by bank, and record it here. Or match it with a payment first.
          </p>
        ) : (
          <SelectField
            label="How"
            value={way}
            options={WAYS}
            hint={
              isByHand
                ? 'It is recorded only. It cannot be refunded through the provider as well.'
                : paymentStatus === 'pending'
                  ? 'Cancel the payment first: the customer can still pay the rest.'
                  : 'It goes back the way it came.'
            }
            onChange={setWay}
          />
        )}
        {!isByHand && payment && (
          <BankAccountFields
            path={merchant.api(`/payments/${payment}`)}
            attempt={kind === 'late' ? undefined : transfer.id} // the line of a late payment has the payment's id
            {...fields}
            error={action.error}
            ifNeeded
          />
        )}
        <NoteField value={note} error={errors.note} onText={setNote} />
      </Form>
    </Dialog>
  )
}

function NoteDialog(parts: DialogParts) {
  const { transfer, onClose } = parts
  const [note, setNote] = useState('')
  const action = useTransferAction(
    parts,
    'note',
    () => ({ note: note.trim() }),
    () => 'Noted',
  )
  return (
    <Dialog title="Write a note" onClose={onClose}>
      <Form submit="Save the note" action={action} onCancel={onClose}>
        <p>
          {formatMoney(transfer.amount, transfer.currency)} stays as it is, and the line moves to “Done”. It comes back
          when more money arrives.
        </p>
        <NoteField value={note} error={fieldErrors(action.error).note} onText={setNote} />
      </Form>
    </Dialog>
  )
}

interface NoteParts {
  value: string
  error: string | undefined
  isOptional?: boolean
  onText: (text: string) => void
}

function NoteField({ isOptional, ...field }: NoteParts) {
  return (
    <Field
      label={isOptional ? 'Note (optional)' : 'Note'}
      hint="Your colleagues see it."
      required={!isOptional}
      maxLength={500}
      {...field}
    />
  )
}
