import { useState } from 'preact/hooks'
import { newIdempotencyKey, send } from '../api.ts'
import type { Payment, Refund } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction } from './data.ts'
import { Dialog } from './dialog.tsx'
import { Field, Form, fieldErrors } from './form.tsx'
import { List } from './list.tsx'
import { amountMistake } from './money-fields.tsx'
import { RefundStatusMark } from './payment-status.tsx'
import { BankAccountFields, needsAccount, RetryRefundDialog, useAccountFields } from './refund-account.tsx'
import { formatMoney, Money, parseMoney, Time } from './values.tsx'

export function RefundsOfPayment({ refunds, path }: { refunds: Refund[]; path: string }) {
  const merchant = useMerchant()
  const [retried, setRetried] = useState<Refund>()
  const giveAccount = (refund: Refund) =>
    merchant.may('refunds') &&
    needsAccount(refund) && (
      <button type="button" onClick={() => setRetried(refund)}>
        Give a bank account
      </button>
    )
  return (
    <>
      {retried && <RetryRefundDialog refund={retried} path={path} onClose={() => setRetried(undefined)} />}
      <List
        label="Refunds"
        query={{ rows: refunds, error: null, isFetching: false, dataUpdatedAt: 0, refetch: () => {} }}
        keyOf={({ id }) => id}
        columns={[
          {
            name: 'Amount',
            kind: 'money',
            show: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
          },
          {
            name: 'Status',
            show: (refund) => (
              <div>
                <RefundStatusMark {...refund} />
                {refund.needsReview && <div class="cell-more">{refund.needsReview}</div>}
                {giveAccount(refund)}
              </div>
            ),
          },
          { name: 'Reason', show: ({ reason, failure }) => failure ?? reason ?? <span class="soft">None</span> },
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={{ title: 'No refunds', text: '' }}
      />
    </>
  )
}

interface DialogParts {
  payment: Payment
  path: string
  onClose: () => void
}

export function RefundDialog({ payment, path, onClose }: DialogParts) {
  const merchant = useMerchant()
  const { currency } = payment
  const left = payment.amountPaid - payment.amountRefunded
  const [amount, setAmount] = useState('')
  const [reason, setReason] = useState('')
  const fields = useAccountFields()
  // A repeat of the same refund, after an answer that was lost, must not refund twice.
  const [key, setKey] = useState(newIdempotencyKey)
  const wanted = amount === '' ? undefined : parseMoney(amount, currency)
  const action = useAction({
    run: () =>
      // A text that is no amount is sent as it is, and refused: without an amount, everything would be refunded.
      send(
        'POST',
        `${path}/refunds`,
        {
          ...(amount !== '' && { amount: wanted ?? amount }),
          ...(reason && { reason }),
          ...(fields.account.destinationAccountNumber && fields.account),
        },
        key,
      ),
    refresh: [path, `${path}/timeline`, `${path}/deliveries`, merchant.api('/payments'), merchant.api('/refunds')],
    done: 'Refund sent to the provider',
    onDone: onClose,
  })
  const errors = fieldErrors(action.error)
  return (
    <Dialog title="Refund" onClose={onClose}>
      <Form
        submit={wanted === undefined && amount !== '' ? 'Refund' : `Refund ${formatMoney(wanted ?? left, currency)}`}
        isDangerous
        action={action}
        onCancel={onClose}
      >
        <Field
          label={`Amount in ${currency}`}
          hint={`Leave it empty to refund everything: ${formatMoney(left, currency)}.`}
          inputMode="decimal"
          value={amount}
          error={amountMistake(amount, wanted) ?? errors.amount}
          onText={(text) => {
            setAmount(text)
            setKey(newIdempotencyKey())
          }}
        />
        <Field
          label="Reason"
          hint="For your records."
          maxLength={200}
          value={reason}
          error={errors.reason}
          onText={(text) => {
            setReason(text)
            setKey(newIdempotencyKey())
          }}
        />
        <BankAccountFields
          path={path}
          {...fields}
          error={action.error}
          ifNeeded
          onChange={() => setKey(newIdempotencyKey())}
        />
      </Form>
    </Dialog>
  )
}
