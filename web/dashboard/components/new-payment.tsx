import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { send } from '../api.ts'
import type { Checkout } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction } from './data.ts'
import { Field, Form, fieldErrors, SelectField } from './form.tsx'
import { amountMistake, CurrencyAndCountry } from './money-fields.tsx'
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
        error={amountMistake(amount, lowest) ?? errors.amount}
        onText={setAmount}
      />
      <CurrencyAndCountry {...{ currency, country, errors }} onCurrency={setCurrency} onCountry={setCountry} />
      <Field
        label="Customer's e-mail address"
        type="email"
        required
        value={email}
        error={errors['user/email']}
        onText={setEmail}
      />
      <Field
        label="Reference"
        hint="Your own name for this payment. Leave it empty to get one."
        value={reference}
        maxLength={100}
        error={errors.reference}
        onText={setReference}
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
