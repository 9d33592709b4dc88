import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { useAction } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Form, fieldErrors, SelectField } from '../../components/form.tsx'
import { useMerchant } from '../../session.ts'
import type { BankColumns, UploadedStatement } from '../../settlement-answers.ts'
import { choose, columnsOf, textOf } from './bank-columns.ts'

const ORDERS = [
  ['day-month', 'Day first: 31/05/2026'],
  ['month-day', 'Month first: 05/31/2026'],
] as const

interface Parts {
  currency: string
  last: BankColumns | null
  onUploaded: (result: UploadedStatement) => void
  onClose: () => void
}

/** A CSV file of the bank, and which of its columns have day and amount: those of the last file at first. */
export function UploadDialog({ currency: usual, last, onUploaded, onClose }: Parts) {
  const merchant = useMerchant()
  const [csv, setCsv] = useState('')
  const [names, setNames] = useState<string[]>([])
  const [date, setDate] = useState('')
  const [amount, setAmount] = useState('')
  const [dateOrder, setDateOrder] = useState<BankColumns['dateOrder']>(last?.dateOrder ?? 'day-month')
  const [currency, setCurrency] = useState(usual)
  const action = useAction({
    run: () =>
      send<UploadedStatement>('POST', merchant.api('/bank-statements'), {
        ...{ csv, currency, columns: { date, amount, dateOrder } },
      }),
    refresh: [merchant.api('/bank-credits'), merchant.api('/bank-statements/columns'), merchant.api('/settlements')],
    onDone: onUploaded,
  })
  const read = async (file: File | undefined) => {
    const text = file ? await textOf(file) : ''
    const found = [...new Set(columnsOf(text))]
    setCsv(text)
    setNames(found)
    setDate(choose(found, last?.date, /date|day/i))
    setAmount(choose(found, last?.amount, /credit|deposit|lodg|paid in|money in/i, /amount/i))
    action.reset()
  }
  const errors = fieldErrors(action.error)
  const columns = [['', 'Choose'], ...names.map((name) => [name, name] as const)] as const
  return (
    <Dialog title="Upload a bank statement" onClose={onClose}>
      <Form submit="Upload" action={action} onCancel={onClose}>
        <Field
          label="CSV file of your bank"
          hint="Only the day and the amount of each credit are kept. A file can be uploaded again."
          type="file"
          accept=".csv,.txt,.tsv,text/csv"
          required
          error={errors.csv}
          onChange={(event) => void read(event.currentTarget.files?.[0])}
        />
        {names.length > 0 && (
          <>
            <div class="pair">
              <SelectField label="Column with the day" required value={date} options={columns} onChange={setDate} />
              <SelectField
                label="Column with the credit"
                required
                value={amount}
                options={columns}
                onChange={setAmount}
              />
            </div>
            <div class="pair">
              <SelectField label="Days are written" value={dateOrder} options={ORDERS} onChange={setDateOrder} />
              <Field
                label="Currency"
                required
                maxLength={3}
                value={currency}
                error={errors.currency}
                onText={(text) => setCurrency(text.toUpperCase())}
              />
            </div>
          </>
        )}
      </Form>
    </Dialog>
  )
}
