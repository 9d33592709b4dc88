import { useState } from 'preact/hooks'
import { Link, useParams } from 'wouter-preact'
import { query, send } from '../api.ts'
import { Copyable } from '../components/copy.tsx'
import { useAction, useData } from '../components/data.ts'
import { Deliveries } from '../components/deliveries.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Form } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { PaidOut } from '../components/paid-out.tsx'
import { AttentionList, attentionOf } from '../components/payment-attention.tsx'
import { openReviews, ReviewDialog, ReviewsOfPayment } from '../components/payment-review.tsx'
import {
  AttemptStatusMark,
  channelName,
  PaymentStatusMark,
  paidFromText,
  providerName,
  withoutCode,
} from '../components/payment-status.tsx'
import { ProblemPanel, ProblemText } from '../components/problem.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { leftToRefund, pendingAmount, RefundDialog, RefundsOfPayment } from '../components/refunds-of-payment.tsx'
import { Facts, Screen, Section } from '../components/screen.tsx'
import { Timeline } from '../components/timeline.tsx'
import { formatMoney, Money, Time } from '../components/values.tsx'
import type { Dispute } from '../money-answers.ts'
import type { Attempt, Payment } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

export default function PaymentScreen() {
  const merchant = useMerchant()
  const { payment: name = '' } = useParams<{ payment: string }>()
  const path = merchant.api(`/payments/${encodeURIComponent(name)}`)
  const { data: payment, error, refetch } = useData<Payment>(path)
  if (!payment)
    return (
      <Screen title="Payment">
        {error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>}
      </Screen>
    )
  return <Loaded key={payment.id} payment={payment} path={path} />
}

function Loaded({ payment, path }: { payment: Payment; path: string }) {
  const merchant = useMerchant()
  const { currency, user, metadata } = payment
  const ofPayment = useData<Dispute[]>(merchant.api('/disputes') + query({ payment: payment.id }))
  const disputes = ofPayment.data ?? []
  const attention = attentionOf(payment, disputes)
  return (
    <Screen
      title={formatMoney(payment.amount, currency)}
      about={
        <span class="facts">
          {/* A disputed payment must not say "Paid" until its disputes are read. */}
          {ofPayment.data && (
            <PaymentStatusMark
              {...payment}
              lastStatus={payment.attempts.at(-1)?.status ?? null}
              needsReview={false}
              above={attention[0]?.state}
            />
          )}
          <code>{payment.reference}</code>
        </span>
      }
      actions={<Actions payment={payment} path={path} disputes={disputes} />}
    >
      {!ofPayment.data && <ProblemText error={ofPayment.error} />}
      <AttentionList all={attention} />
      <div class="payment">
        <div class="facts-column">
          <Section title="Money">
            <MoneySummary payment={payment} />
          </Section>
          {payment.amountPaid > 0 && <PaidOut path={path} />}
          <Section title="Customer">
            <Facts
              facts={[
                [
                  'E-mail',
                  <Link key="email" href={merchant.path(`/customers${query({ email: user.email })}`)}>
                    {user.email}
                  </Link>,
                ],
                ['Name', user.name],
                ['Phone', user.phoneNumber],
                ['Your id', user.id],
              ]}
            />
          </Section>
          <Section title="Details">
            <Facts
              facts={[
                ['Id', <code key="id">{payment.id}</code>],
                ['Created', <Time key="created" at={payment.createdAt} />],
                [payment.status === 'expired' ? 'Expired' : 'Expires', <Time key="expires" at={payment.expiresAt} />],
                ['Ended', payment.completedAt && <Time key="ended" at={payment.completedAt} />],
                ['Country', payment.country],
                ['Made with', payment.link && <MadeWith key="link" link={payment.link} />],
                ['Returns to', payment.redirectURL],
                ['Webhook', payment.webhook],
              ]}
            />
          </Section>
          {Object.keys(metadata).length > 0 && (
            <Section title="Metadata">
              <Facts facts={Object.entries(metadata)} />
            </Section>
          )}
        </div>
        <div>
          {payment.status === 'pending' && (
            <Section title="Payment link" about="Send it to the customer. It can be paid once.">
              <Copyable label="payment link" text={payment.shortURL} />
              <QrCode text={payment.shortURL} label="QR code of the payment link" />
            </Section>
          )}
          <Section title="Attempts">
            <Attempts attempts={payment.attempts} currency={currency} />
          </Section>
          {payment.refunds.length > 0 && (
            <Section title="Refunds">
              <RefundsOfPayment refunds={payment.refunds} path={path} />
            </Section>
          )}
          <ReviewsOfPayment path={path} />
          <Section title="Webhook deliveries">
            <Deliveries path={`${path}/deliveries`} />
          </Section>
          <Section title="Timeline">
            <Timeline path={`${path}/timeline`} currency={currency} />
          </Section>
        </div>
      </div>
      <details class="raw">
        <summary>Raw JSON</summary>
        {/* A scrolled region must be reachable by keyboard. */}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
        <pre tabIndex={0}>{JSON.stringify(payment, null, 2)}</pre>
      </details>
    </Screen>
  )
}

/** The reusable link that the customer came from. */
function MadeWith({ link }: { link: string }) {
  return <Link href={useMerchant().path(`/links/${link}`)}>a reusable link</Link>
}

function MoneySummary({ payment }: { payment: Payment }) {
  const { currency, amount, fee, feeCharged, amountCharged, amountPaid, amountRefunded, attempts } = payment
  const onItsWay = pendingAmount(payment)
  const surplus = attempts
    .filter(({ status }) => status === 'surplus')
    .reduce((sum, { amountReceived }) => sum + amountReceived, 0)
  const lines: [string, number | null][] = [
    ['Amount', amount],
    ['Charged', amountCharged],
    [feeCharged === null ? 'Fee of the provider' : 'Fee, as calculated', fee],
    ['Fee, as charged', feeCharged],
    ['Paid', amountPaid],
    ['Refunded', amountRefunded],
    ['Refunds not finished', onItsWay === 0 ? null : onItsWay],
    ['Surplus, refunded', surplus === 0 ? null : surplus],
  ]
  return (
    <dl class="details sums">
      {lines
        .filter((line): line is [string, number] => line[1] !== null)
        .map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd>
              <Money amount={value} currency={currency} />
            </dd>
          </>
        ))}
    </dl>
  )
}

function Attempts({ attempts, currency }: { attempts: Attempt[]; currency: string }) {
  return (
    <List
      label="Attempts"
      query={{ rows: attempts, error: null, isFetching: false, dataUpdatedAt: 0, refetch: () => {} }}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'Status',
          show: ({ status, failure, needsReview }) => (
            <div>
              <AttemptStatusMark status={status} />
              {failure && (
                <div class="cell-more">
                  {failure.message} <code>{failure.code}</code>
                  {failure.providerCode && failure.providerCode !== failure.code && (
                    <>
                      {' '}
                      <code>{failure.providerCode}</code>
                    </>
                  )}
                </div>
              )}
              {needsReview && <div class="cell-more">Needs review: {withoutCode(needsReview)}</div>}
            </div>
          ),
        },
        {
          name: 'Method',
          show: ({ provider, channel, reference, providerReference, paidFrom }) => (
            <div>
              {channelName(channel)}, {providerName(provider)}
              {paidFrom && <div class="cell-more">{paidFromText(paidFrom)}</div>}
              <div class="cell-more">
                <code>{reference}</code>
              </div>
              {providerReference !== reference && (
                <div class="cell-more">
                  <code>{providerReference}</code> at the provider
                </div>
              )}
            </div>
          ),
        },
        { name: 'Charged', kind: 'money', show: (each) => <Money amount={each.amountCharged} currency={currency} /> },
        { name: 'Started', show: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
      empty={{ title: 'No attempts yet', text: 'The customer has not started to pay.' }}
    />
  )
}

function Actions({ payment, path, disputes }: { payment: Payment; path: string; disputes: Dispute[] }) {
  const merchant = useMerchant()
  const [open, setOpen] = useState<'refund' | 'cancel' | 'review'>()
  const close = () => setOpen(undefined)
  const resync = useAction({
    run: () => send<{ checks: number }>('POST', `${path}/resync`),
    refresh: [path, `${path}/timeline`],
    done: 'The provider is being asked. The result appears here.',
  })
  const isRefundable = payment.status !== 'pending' && payment.attempts.some(({ amountReceived }) => amountReceived > 0)
  return (
    <>
      <ProblemText error={resync.error} />
      {merchant.may('refunds') && openReviews(payment).length > 0 && (
        <button type="button" class="primary" onClick={() => setOpen('review')}>
          Mark as reviewed
        </button>
      )}
      {merchant.may('refunds') && isRefundable && leftToRefund(payment) > 0 && (
        <button type="button" onClick={() => setOpen('refund')}>
          Refund
        </button>
      )}
      {merchant.may('payments') && payment.attempts.length > 0 && (
        <button type="button" aria-busy={resync.isPending} onClick={() => resync.mutate()}>
          Check with the provider
        </button>
      )}
      {merchant.may('payments') && payment.status === 'pending' && (
        <button type="button" class="danger" onClick={() => setOpen('cancel')}>
          Cancel payment
        </button>
      )}
      {open === 'refund' && <RefundDialog payment={payment} disputes={disputes} path={path} onClose={close} />}
      {open === 'review' && <ReviewDialog payment={payment} path={path} onClose={close} />}
      {open === 'cancel' && <CancelDialog payment={payment} path={path} onClose={close} />}
    </>
  )
}

interface DialogParts {
  payment: Payment
  path: string
  onClose: () => void
}

function CancelDialog({ payment, path, onClose }: DialogParts) {
  const merchant = useMerchant()
  const action = useAction({
    run: () => send('POST', `${path}/cancel`),
    refresh: [path, `${path}/timeline`, `${path}/deliveries`, merchant.api('/payments')],
    done: 'Payment cancelled',
    onDone: onClose,
  })
  return (
    <Dialog title="Cancel this payment?" onClose={onClose}>
      <Form submit="Cancel payment" isDangerous action={action}>
        <p>
          The link of <code>{payment.reference}</code> can no longer be paid. This cannot be undone.{' '}
          <Link href={merchant.path('/payments')}>Back to the list</Link>
        </p>
      </Form>
    </Dialog>
  )
}
