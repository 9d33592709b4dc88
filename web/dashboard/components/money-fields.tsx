import { Field } from './form.tsx'

interface Parts {
  currency: string
  country: string
  errors: Record<string, string>
  onCurrency: (currency: string) => void
  onCountry: (country: string) => void
}

/** What a new payment link is paid in, and where. */
export function CurrencyAndCountry({ currency, country, errors, onCurrency, onCountry }: Parts) {
  return (
    <div class="pair">
      <Field
        label="Currency"
        required
        maxLength={3}
        value={currency}
        error={errors.currency}
        onText={(text) => onCurrency(text.toUpperCase())}
      />
      <Field label="Country" required maxLength={60} value={country} error={errors.country} onText={onCountry} />
    </div>
  )
}

/** The mistake in a typed amount. Empty is none. */
export const amountMistake = (text: string, amount: number | undefined) =>
  text.trim() !== '' && amount === undefined ? 'Enter an amount, like 1500.00' : undefined
