import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { send } from '../api.ts'
import type { Checkout } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction } from './data.ts'
import { Field, Form, fieldErrors, SelectField } from './form.tsx'
import { parseMoney } from './values.tsx'

const DEFAULT_CURRENCY = 'NGN'
const EXPIRIES = [
  ['3600', 'In an hour'],
  ['86400', 'In a day'],
  ['604800', 'In a week'],
  ['2592000', 'In 30 days'],
] as const

/** The form of a one-off payment link, which one customer pays once. */
export function NewPayment({ onClose }: { onClose: () => void }) {
  const merchant = useMerchant()
  const [, navigate] = useLocation()
  const [amount, setAmount] = useState('')
  const [currency, setCurrency] = useState(DEFAULT_CURRENCY)
  const [country, setCountry] = useState(merchant.country)
  const [email, setEmail] = useState('')
  const [reference, setReference] = useState('')
  const [expiresIn, setExpiresIn] = useState<string>('86400')
  const isCurrency = /^[A-Z]{3}$/.test(currency)
  const lowest = isCurrency ? parseMoney(amount, currency) : undefined
  const action = useAction({
    run: () =>
      send<Checkout>('POST', merchant.api('/checkouts'), {
        ...{ amount: lowest, currency, country, user: { email }, expiresIn: Number(expiresIn) },
        ...(reference && { reference }),
      }),
    refresh: [merchant.api('/payments')],
    done: 'Payment link made',
    onDone: ({ id }) => navigate(merchant.path(`/payments/${id}`)),
  })
  const errors = fieldErrors(action.error)
  return (
    <Form submit="Make the link" action={action} onCancel={onClose}>
      <Field
        label="Amount"
        inputMode="decimal"
        required
        value={amount}
        error={errors.amount ?? (amount !== '' && lowest === undefined ? 'Enter an amount, like 1500.00' : undefined)}
        onInput={(event) => setAmount(event.currentTarget.value)}
      />
      <div class="filters">
        <Field
          label="Currency"
          required
          maxLength={3}
          value={currency}
          error={errors.currency}
          onInput={(event) => setCurrency(event.currentTarget.value.toUpperCase())}
        />
        <Field
          label="Country"
          required
          maxLength={60}
          value={country}
          error={errors.country}
          onInput={(event) => setCountry(event.currentTarget.value)}
        />
      </div>
      <Field
        label="Customer's e-mail address"
        type="email"
        required
        value={email}
        error={errors['user/email']}
        onInput={(event) => setEmail(event.currentTarget.value)}
      />
      <Field
        label="Reference"
        hint="Your own name for this payment. Leave it empty to get one."
        value={reference}
        maxLength={100}
        error={errors.reference}
        onInput={(event) => setReference(event.currentTarget.value)}
      />
      <SelectField
        label="The link ends"
        value={expiresIn}
        options={EXPIRIES as readonly (readonly [string, string])[]}
        onChange={setExpiresIn}
      />
    </Form>
  )
}
