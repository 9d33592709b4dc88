import { useEffect, useState } from 'preact/hooks'
import { query } from '../api.ts'
import { usePage } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Export } from '../components/export.tsx'
import { useFilters } from '../components/filters.ts'
import { Field, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { NewPayment } from '../components/new-payment.tsx'
import { CHANNEL_OPTIONS, PROVIDER_OPTIONS } from '../components/payment-status.tsx'
import { Screen } from '../components/screen.tsx'
import { parseMoney, useZone } from '../components/values.tsx'
import type { Page, PaymentRow } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { startOfDay } from '../zone.ts'
import { ColumnsButton, useColumns } from './payments/columns.tsx'
import { Views } from './payments/views.tsx'

const FILTERS = [
  'q',
  'status',
  'provider',
  'channel',
  'currency',
  'amountFrom',
  'amountTo',
  'from',
  'to',
  'late',
  'needsReview',
] as const
const DEFAULT_CURRENCY = 'NGN'

export default function Payments() {
  const merchant = useMerchant()
  const { values, cursor, isFiltered, set, clear } = useFilters(...FILTERS)
  const [isCreating, setCreating] = useState(false)
  const columns = useColumns(merchant)
  const filters = requestOf(values, useZone())
  const page = usePage<Page<PaymentRow>>(merchant.api('/payments') + query({ ...filters, cursor }))
  const next = page.data?.nextCursor
  const rows = page.data?.data
  const newPayment = merchant.may('payments') && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      New payment link
    </button>
  )
  return (
    <Screen
      title="Payments"
      actions={
        <>
          <Export list="payments" filters={filters} shownColumns={columns.exported} />
          {newPayment}
        </>
      }
    >
      <Filters values={values} set={set} />
      <div class="list-tools">
        <Views filters={withoutSearch(values)} apply={(view) => set({ ...NO_FILTERS, ...view, q: values.q })} />
        <ColumnsButton {...columns} />
      </div>
      {rows?.length === 0 && next ? (
        <div class="panel">
          <h2>Nothing yet among these payments</h2>
          <p>A rare match is looked for in steps.</p>
          <button type="button" onClick={() => set({ ...values, cursor: next })}>
            Search older payments
          </button>
        </div>
      ) : (
        <List
          label="Payments"
          query={{ ...page, rows }}
          keyOf={({ id }) => id}
          hasTimes
          clearFilters={isFiltered ? clear : undefined}
          columns={columns.shown}
          pages={{
            first: cursor ? () => set(values) : undefined,
            next: next ? () => set({ ...values, cursor: next }) : undefined,
          }}
          empty={{
            title: 'No payments yet',
            text: 'Make a payment link and send it to a customer, or create payments from your backend.',
            action: newPayment,
          }}
        />
      )}
      {isCreating && (
        <Dialog title="New payment link" onClose={() => setCreating(false)}>
          <NewPayment onClose={() => setCreating(false)} />
        </Dialog>
      )}
    </Screen>
  )
}

type Values = Record<(typeof FILTERS)[number], string>
const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, ''])) as Values
const withoutSearch = ({ q: _, ...filters }: Values) => filters
type SetFilters = (changes: Partial<Values> & { cursor?: string }) => void

/** The address has amounts as people type them, and days of the shown zone. */
function requestOf({ amountFrom, amountTo, from, to, ...others }: Values, zone: string) {
  const currency = others.currency || DEFAULT_CURRENCY
  return {
    ...others,
    amountFrom: parseMoney(amountFrom, currency),
    amountTo: parseMoney(amountTo, currency),
    from: startOfDay(from, zone)?.toISOString(),
    to: startOfDay(to, zone, 1)?.toISOString(),
  }
}

const STATUSES = [
  ['', 'All'],
  ['pending', 'Open'],
  ['successful', 'Paid'],
  ['cancelled', 'Cancelled'],
  ['expired', 'Expired'],
] as const
const ALL_CHANNELS: [string, string][] = [['', 'All'], ...CHANNEL_OPTIONS]
const ALL_PROVIDERS = [['', 'All'], ...PROVIDER_OPTIONS] as [string, string][]

function Filters({ values, set }: { values: Values; set: SetFilters }) {
  const isMore = FILTERS.slice(2).some((name) => values[name] !== '')
  return (
    <>
      <search class="filters">
        <SearchField value={values.q} onSearch={(q) => set({ q })} />
        <SelectField
          label="Status"
          value={values.status}
          options={STATUSES as readonly (readonly [string, string])[]}
          onChange={(status) => set({ status })}
        />
      </search>
      <details class="more-filters" open={isMore}>
        <summary>More filters</summary>
        <div class="filters">
          <SelectField
            label="Provider"
            value={values.provider}
            options={ALL_PROVIDERS}
            onChange={(provider) => set({ provider })}
          />
          <SelectField
            label="Method"
            value={values.channel}
            options={ALL_CHANNELS}
            onChange={(channel) => set({ channel })}
          />
          <TextFilter label="Currency" name="currency" values={values} set={set} placeholder={DEFAULT_CURRENCY} />
          <TextFilter label="Amount from" name="amountFrom" values={values} set={set} inputMode="decimal" />
          <TextFilter label="Amount to" name="amountTo" values={values} set={set} inputMode="decimal" />
          <TextFilter label="From" name="from" values={values} set={set} type="date" />
          <TextFilter label="To" name="to" values={values} set={set} type="date" />
          <CheckFilter label="Paid late" isOn={values.late !== ''} onChange={(late) => set({ late })} />
          <CheckFilter
            label="Needs review"
            isOn={values.needsReview !== ''}
            onChange={(needsReview) => set({ needsReview })}
          />
        </div>
      </details>
    </>
  )
}

const SEARCH_AFTER_MS = 350

/** Searches when the member stops typing, and at once with Enter. "/" focuses it. */
function SearchField({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => onSearch(text.trim()), SEARCH_AFTER_MS)
    return () => clearTimeout(timer)
  }, [text])
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const { target } = event
      if (event.key !== '/' || (target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)))
        return
      event.preventDefault()
      document.querySelector<HTMLInputElement>('.search input')?.focus()
    }
    document.addEventListener('keydown', focus)
    return () => document.removeEventListener('keydown', focus)
  }, [])
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(text.trim())
      }}
    >
      <Field
        label="Search"
        type="search"
        value={text}
        maxLength={254}
        placeholder="Reference, e-mail, account number, last four digits, decline code …"
        onText={setText}
      />
    </form>
  )
}

interface TextFilterParts {
  label: string
  name: 'currency' | 'amountFrom' | 'amountTo' | 'from' | 'to'
  values: Values
  set: SetFilters
  type?: string
  inputMode?: 'decimal'
  placeholder?: string
}

function TextFilter({ label, name, values, set, ...input }: TextFilterParts) {
  const [text, setText] = useState(values[name])
  useEffect(() => setText(values[name]), [values[name]])
  const change = (text: string) => set({ [name]: name === 'currency' ? text.trim().toUpperCase() : text.trim() })
  const isWrong =
    (name === 'currency' && values.currency !== '' && !/^[A-Z]{3}$/.test(values.currency)) ||
    (name.startsWith('amount') && values[name] !== '' && parseMoney(values[name], DEFAULT_CURRENCY) === undefined)
  return (
    <Field
      label={label}
      value={text}
      onText={setText}
      error={isWrong ? 'This is not valid.' : undefined}
      onChange={(event) => change(event.currentTarget.value)}
      {...input}
    />
  )
}

function CheckFilter({ label, isOn, onChange }: { label: string; isOn: boolean; onChange: (value: string) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked ? 'true' : '')} />
      {label}
    </label>
  )
}
