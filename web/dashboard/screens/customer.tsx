import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { Cancelled, query, send } from '../api.ts'
import { useAction, useData, usePage } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Field, Form } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { PaymentStatusMark, providerName } from '../components/payment-status.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { Money, Time } from '../components/values.tsx'
import type { Card, Customer, Erasure } from '../money-answers.ts'
import type { Page, PaymentRow } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

const NEWEST = 20

interface Parts {
  email: string
  onErased: () => void
}

/** The payments, totals and saved cards of one e-mail address. */
export function CustomerScreen({ email, onErased }: Parts) {
  const merchant = useMerchant()
  const path = merchant.api(`/customers/${encodeURIComponent(email)}`)
  const { data: customer, error, refetch } = useData<Customer>(path)
  const [isErasing, setErasing] = useState(false)
  if (!customer)
    return (
      <Screen title="Customer" about={<Link href={merchant.path('/customers')}>All customers</Link>}>
        {error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>}
      </Screen>
    )
  const facts: [string, preact.ComponentChildren][] = [
    ['Name', customer.name],
    ['Phone', customer.phoneNumber],
    ['Your id', customer.userIds.join(', ')],
    ['First payment', <Time key="first" at={customer.firstAt} />],
    ['Last payment', <Time key="last" at={customer.lastAt} />],
  ]
  return (
    <Screen
      title={email}
      about={<Link href={merchant.path('/customers')}>All customers</Link>}
      actions={
        merchant.may('settings') && (
          <button type="button" class="danger" onClick={() => setErasing(true)}>
            Erase
          </button>
        )
      }
    >
      <div class="payment">
        <div class="facts-column">
          <Section title="Details">
            <dl class="details">
              {facts
                .filter(([, value]) => value)
                .map(([name, value]) => (
                  <>
                    <dt key={name}>{name}</dt>
                    <dd>{value}</dd>
                  </>
                ))}
            </dl>
          </Section>
        </div>
        <div>
          <Section title="Totals" about={customer.isPartial ? 'Of the newest 2 000 payments.' : undefined}>
            <Totals totals={customer.totals} />
          </Section>
          <Section title="Payments">
            <PaymentsOf email={email} />
          </Section>
          <Section title="Saved cards">
            <Cards cards={customer.cards} path={path} />
          </Section>
        </div>
      </div>
      {isErasing && <EraseDialog email={email} path={path} onClose={() => setErasing(false)} onErased={onErased} />}
    </Screen>
  )
}

const ALWAYS = { error: null, isFetching: false, dataUpdatedAt: 0, refetch: () => {} }

function Totals({ totals }: { totals: Customer['totals'] }) {
  return (
    <List
      label="Totals"
      query={{ ...ALWAYS, rows: totals }}
      keyOf={({ currency }) => currency}
      columns={[
        { name: 'Currency', show: ({ currency }) => currency },
        { name: 'Payments', kind: 'money', show: ({ payments }) => payments },
        { name: 'Paid payments', kind: 'money', show: ({ successful }) => successful },
        { name: 'Paid', kind: 'money', show: (row) => <Money amount={row.amountPaid} currency={row.currency} /> },
        {
          name: 'Refunded',
          kind: 'money',
          show: (row) => <Money amount={row.amountRefunded} currency={row.currency} />,
        },
      ]}
      empty={{ title: 'No payments', text: '' }}
    />
  )
}

function PaymentsOf({ email }: { email: string }) {
  const merchant = useMerchant()
  const page = usePage<Page<PaymentRow>>(merchant.api('/payments') + query({ q: email, limit: NEWEST }))
  return (
    <>
      <List
        label="Payments"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Amount', kind: 'money', show: (row) => <Money amount={row.amount} currency={row.currency} /> },
          { name: 'Status', show: (row) => <PaymentStatusMark {...row} /> },
          {
            name: 'Reference',
            show: ({ id, reference }) => (
              <Link class="cell-main" href={merchant.path(`/payments/${id}`)}>
                {reference}
              </Link>
            ),
          },
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={{ title: 'No payments', text: '' }}
      />
      {page.data?.nextCursor && <Link href={merchant.path(`/payments${query({ q: email })}`)}>All payments</Link>}
    </>
  )
}

function Cards({ cards, path }: { cards: Card[]; path: string }) {
  const merchant = useMerchant()
  const [removing, setRemoving] = useState<Card>()
  return (
    <>
      <List
        label="Saved cards"
        query={{ ...ALWAYS, rows: cards }}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Card', show: (card) => <span class="cell-main">{nameOf(card)}</span> },
          {
            name: 'Expires',
            show: ({ expiryMonth, expiryYear }) => `${String(expiryMonth).padStart(2, '0')}/${expiryYear}`,
          },
          { name: 'Provider', show: ({ provider }) => providerName(provider) },
          { name: 'Saved', show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (card) =>
              merchant.may('payments') && (
                <button type="button" aria-label={`Remove ${nameOf(card)}`} onClick={() => setRemoving(card)}>
                  Remove
                </button>
              ),
          },
        ]}
        empty={{ title: 'No saved cards', text: 'A card is saved when the customer agrees to it while paying.' }}
      />
      {removing && <RemoveDialog card={removing} path={path} onClose={() => setRemoving(undefined)} />}
    </>
  )
}

function nameOf({ brand, last4 }: Card): string {
  return `${brand.charAt(0).toUpperCase()}${brand.slice(1)} ending in ${last4}`
}

function RemoveDialog({ card, path, onClose }: { card: Card; path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const action = useAction({
    run: () => send('DELETE', merchant.api(`/cards/${card.id}`)),
    refresh: [path],
    done: 'Card removed',
    onDone: onClose,
  })
  return (
    <Dialog title="Remove this card?" onClose={onClose}>
      <Form submit="Remove card" isDangerous action={action} onCancel={onClose}>
        <p class="first" tabIndex={-1}>
          {nameOf(card)} can no longer be charged. The customer can save it again with a later payment.
        </p>
      </Form>
    </Dialog>
  )
}

interface EraseParts {
  email: string
  path: string
  onClose: () => void
  onErased: () => void
}

const MAX_CALLS = 100

function EraseDialog({ email, path, onClose, onErased }: EraseParts) {
  const merchant = useMerchant()
  const [typed, setTyped] = useState('')
  const [isWrong, setWrong] = useState(false)
  const isSame = typed.trim().toLowerCase() === email.toLowerCase()
  const action = useAction({
    run: async () => {
      setWrong(!isSame)
      if (!isSame) throw new Cancelled()
      // A customer with very many payments is erased in several calls, each of a thousand.
      for (let calls = 0; calls < MAX_CALLS; calls++)
        if ((await send<Erasure>('POST', `${path}/erase`, {})).isComplete) return
      throw new Error('This customer has more payments than are erased at once. Erase again to continue.')
    },
    refresh: [merchant.api('/customers'), merchant.api('/payments'), merchant.api('/refunds')],
    done: 'Customer erased',
    onDone: onErased,
  })
  return (
    <Dialog title="Erase this customer?" onClose={onClose}>
      <Form submit="Erase for ever" isDangerous action={action} onCancel={onClose}>
        <p>
          Name, e-mail address, phone number and your id of the customer are replaced everywhere they are stored in{' '}
          {merchant.mode} mode, and saved cards are deleted. Amounts and references stay. This cannot be undone. Your
          providers keep records of their own.
        </p>
        <Field
          label="E-mail address"
          hint={`Type ${email} to confirm.`}
          required
          autoComplete="off"
          value={typed}
          error={isWrong && !isSame ? 'This is another address.' : undefined}
          onText={setTyped}
        />
      </Form>
    </Dialog>
  )
}
