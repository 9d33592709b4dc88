import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import type { PaymentLink } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction } from './data.ts'
import { Field, Form, fieldErrors, SelectField } from './form.tsx'
import { amountMistake, CurrencyAndCountry } from './money-fields.tsx'
import { formatPlain, parseMoney } from './values.tsx'

type Options = readonly (readonly [string, string])[]

const AMOUNTS: Options = [
  ['fixed', 'Everybody pays the same'],
  ['chosen', 'The customer chooses'],
]
const ENDS: Options = [
  ['', 'Never'],
  ['86400', 'In a day'],
  ['604800', 'In a week'],
  ['2592000', 'In 30 days'],
  ['31536000', 'In a year'],
]
const KEEP = 'keep'

interface Parts {
  /** Absent: a new link. */
  link?: PaymentLink
  onClose: () => void
  onDone: (link: PaymentLink) => void
}

/** The form of a reusable link, new or changed. */
export function LinkForm({ link, onClose, onDone }: Parts) {
  const merchant = useMerchant()
  const path = merchant.api('/links')
  const [currency, setCurrency] = useState(link?.currency ?? 'NGN')
  const [country, setCountry] = useState(link?.country ?? merchant.country)
  const shown = (amount: number | null | undefined) => (link && amount ? formatPlain(amount, link.currency) : '')
  const [title, setTitle] = useState(link?.title ?? '')
  const [description, setDescription] = useState(link?.description ?? '')
  const [kind, setKind] = useState(link && link.amount === null ? 'chosen' : 'fixed')
  const [amount, setAmount] = useState(shown(link?.amount))
  const [lowest, setLowest] = useState(shown(link?.minAmount))
  const [highest, setHighest] = useState(shown(link?.maxAmount))
  const [collectName, setCollectName] = useState(link?.collectName ?? false)
  const [collectPhoneNumber, setCollectPhoneNumber] = useState(link?.collectPhoneNumber ?? false)
  const [customField, setCustomField] = useState(link?.customField ?? '')
  const [most, setMost] = useState(link?.maxPayments ? String(link.maxPayments) : '')
  const [ends, setEnds] = useState(link?.expiresAt ? KEEP : '')
  const [redirectURL, setRedirectURL] = useState(link?.redirectURL ?? '')
  const [customerBearsCharge, setBearsCharge] = useState(link?.customerBearsCharge ?? false)

  const isCurrency = /^[A-Z]{3}$/.test(currency)
  const parse = (text: string) => (isCurrency && text.trim() !== '' ? (parseMoney(text, currency) ?? text) : null)
  const isFixed = kind === 'fixed'
  const body = {
    ...{ title, description: description || null, customField: customField.trim() || null },
    ...{ amount: isFixed ? (parse(amount) ?? amount) : null },
    ...{ minAmount: isFixed ? null : parse(lowest), maxAmount: isFixed ? null : parse(highest) },
    ...{ collectName, collectPhoneNumber, customerBearsCharge },
    ...{ maxPayments: most.trim() === '' ? null : Number(most), redirectURL: redirectURL.trim() || null },
    ...(ends !== KEEP && { expiresIn: ends === '' ? null : Number(ends) }),
  }
  const action = useAction({
    run: () =>
      link
        ? send<PaymentLink>('PATCH', `${path}/${link.id}`, body)
        : send<PaymentLink>('POST', path, { ...body, currency, country }),
    refresh: link ? [path, `${path}/${link.id}`] : [path, merchant.api('/first-steps')],
    done: link ? 'Link changed' : 'Link made',
    onDone,
  })
  const errors = fieldErrors(action.error)
  const wrong = (text: string, error: string | undefined) =>
    error ?? (isCurrency ? amountMistake(text, parseMoney(text, currency)) : undefined)
  return (
    <Form submit={link ? 'Save' : 'Make the link'} action={action} onCancel={onClose}>
      <Field
        label="Title"
        hint="What the customer pays for."
        required
        maxLength={100}
        value={title}
        error={errors.title}
        onText={setTitle}
      />
      <Field
        label="Description (optional)"
        maxLength={500}
        value={description}
        error={errors.description}
        onText={setDescription}
      />
      <SelectField label="Amount" value={kind} options={AMOUNTS} onChange={setKind} />
      {isFixed ? (
        <Field
          label="Price"
          inputMode="decimal"
          required
          value={amount}
          error={wrong(amount, errors.amount)}
          onText={setAmount}
        />
      ) : (
        <div class="pair">
          <Field
            label="At least (optional)"
            inputMode="decimal"
            value={lowest}
            error={wrong(lowest, errors.minAmount)}
            onText={setLowest}
          />
          <Field
            label="At most (optional)"
            inputMode="decimal"
            value={highest}
            error={wrong(highest, errors.maxAmount)}
            onText={setHighest}
          />
        </div>
      )}
      {!link && (
        <CurrencyAndCountry {...{ currency, country, errors }} onCurrency={setCurrency} onCountry={setCountry} />
      )}
      <fieldset class="choices">
        <legend>Ask the customer for</legend>
        <Check label="E-mail address" isOn isFixed />
        <Check label="Name" isOn={collectName} onChange={setCollectName} />
        <Check label="Phone number" isOn={collectPhoneNumber} onChange={setCollectPhoneNumber} />
      </fieldset>
      <Field
        label="One more question (optional)"
        hint="For example “Table” or “Delivery address”. The answer is in the metadata of the payment."
        maxLength={40}
        value={customField}
        error={errors.customField}
        onText={setCustomField}
      />
      <div class="pair">
        <Field
          label="Can be paid (times)"
          hint="Leave it empty for any number."
          type="number"
          min={1}
          max={1_000}
          value={most}
          error={errors.maxPayments}
          onText={setMost}
        />
        <SelectField
          label="The link ends"
          value={ends}
          options={link?.expiresAt ? [[KEEP, 'As it is now'], ...ENDS] : ENDS}
          onChange={setEnds}
        />
      </div>
      <Field
        label="After the payment, go to (optional)"
        type="url"
        placeholder="https://shop.example/thanks"
        value={redirectURL}
        error={errors.redirectURL}
        onText={setRedirectURL}
      />
      <fieldset class="choices">
        <legend>Fees</legend>
        <Check label="The customer pays the provider's fee" isOn={customerBearsCharge} onChange={setBearsCharge} />
      </fieldset>
    </Form>
  )
}

interface CheckParts {
  label: string
  isOn: boolean
  /** It cannot be switched. */
  isFixed?: boolean
  onChange?: (isOn: boolean) => void
}

function Check({ label, isOn, isFixed, onChange }: CheckParts) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        disabled={isFixed}
        onChange={(event) => onChange?.(event.currentTarget.checked)}
      />
      {label}
    </label>
  )
}
