import { useState } from 'preact/hooks'
import { newIdempotencyKey, send } from '../api.ts'
import type { Dispute } from '../money-answers.ts'
import type { Payment, Refund } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction } from './data.ts'
import { Dialog } from './dialog.tsx'
import { Field, Form, fieldErrors } from './form.tsx'
import { List } from './list.tsx'
import { amountMistake } from './money-fields.tsx'
import { RefundStatusMark, withoutCode } from './payment-status.tsx'
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
                {refund.needsReview && <div class="cell-more">{withoutCode(refund.needsReview)}</div>}
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

/** In refunds that the provider has not finished. Surplus never counted towards the payment. */
export function pendingAmount({ refunds }: Payment): number {
  return refunds
    .filter(({ kind, status }) => status === 'pending' && kind !== 'surplus')
    .reduce((sum, { amount }) => sum + amount, 0)
}

export function leftToRefund(payment: Payment): number {
  return payment.amountPaid - payment.amountRefunded - pendingAmount(payment)
}

interface DialogParts {
  payment: Payment
  disputes: Dispute[]
  path: string
  onClose: () => void
}

export function RefundDialog({ payment, disputes, path, onClose }: DialogParts) {
  const merchant = useMerchant()
  const { currency } = payment
  const left = leftToRefund(payment)
  const onItsWay = pendingAmount(payment)
  const named = (some: number) => formatMoney(some, currency)
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
  const tooMuch = wanted !== undefined && wanted > left ? `Only ${named(left)} can still be refunded` : undefined
  const disputed = disputes.filter(({ status }) => status === 'open').reduce((sum, each) => sum + each.amount, 0)
  return (
    <Dialog title="Refund" onClose={onClose}>
      {disputed > 0 && (
        <p class="warning">
          The customer’s bank disputes {named(disputed)} of this payment. What you refund now can be taken a second
          time, if the dispute is lost. Ask the provider first.
        </p>
      )}
      <Form
        submit={wanted === undefined && amount !== '' ? 'Refund' : `Refund ${named(wanted ?? left)}`}
        isDangerous
        action={action}
        onCancel={onClose}
      >
        <Field
          label={`Amount in ${currency}`}
          hint={`Leave it empty to refund all that is left: ${named(left)}.${onItsWay > 0 ? ` ${named(onItsWay)} is in refunds that are not finished.` : ''}`}
          inputMode="decimal"
          value={amount}
          error={amountMistake(amount, wanted) ?? tooMuch ?? errors.amount}
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
