import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { Dialog } from '../../components/dialog.tsx'
import type { Column } from '../../components/list.tsx'
import { channelName, inWords, PaymentStatusMark, providerName } from '../../components/payment-status.tsx'
import { Money, Time } from '../../components/values.tsx'
import type { PaymentRow } from '../../payment-answers.ts'
import { type CurrentMerchant, useSession } from '../../session.ts'

interface PaymentColumn extends Column<PaymentRow> {
  key: string
  /** The columns of an exported file that have the same. */
  exported: string[]
}

const NONE = <span class="soft">None</span>
const money = (amount: number, { currency }: PaymentRow) =>
  amount === 0 ? <span class="soft">None</span> : <Money amount={amount} currency={currency} />

/** All columns that the list can show. */
function allColumns(merchant: CurrentMerchant): PaymentColumn[] {
  return [
    {
      ...{ key: 'amount', name: 'Amount', kind: 'money', exported: ['amount', 'currency'] },
      show: (row) => <Money amount={row.amount} currency={row.currency} />,
    },
    {
      ...{ key: 'status', name: 'Status', exported: ['status', 'late', 'needsReview'] },
      show: (row) => <State row={row} />,
    },
    {
      ...{ key: 'reference', name: 'Reference', exported: ['id', 'reference'] },
      show: ({ id, reference }) => (
        <Link class="cell-main" href={merchant.path(`/payments/${id}`)}>
          {reference}
        </Link>
      ),
    },
    { key: 'customer', name: 'Customer', exported: ['email'], show: ({ email }) => email },
    { key: 'name', name: 'Name', exported: ['name'], show: ({ name }) => name ?? NONE },
    {
      ...{ key: 'method', name: 'Method', exported: ['lastProvider', 'lastChannel'] },
      show: ({ lastProvider, lastChannel }) =>
        lastProvider && lastChannel ? (
          `${channelName(lastChannel)}, ${providerName(lastProvider)}`
        ) : (
          <span class="soft">None yet</span>
        ),
    },
    { key: 'attempts', name: 'Attempts', kind: 'money', exported: ['attempts'], show: ({ attempts }) => attempts },
    {
      ...{ key: 'failure', name: 'Last failure', exported: ['lastFailure'] },
      show: ({ lastFailure }) => (lastFailure ? inWords(lastFailure) : NONE),
    },
    {
      ...{ key: 'paid', name: 'Paid', kind: 'money', exported: ['amountPaid', 'currency'] },
      show: (row) => money(row.amountPaid, row),
    },
    {
      ...{ key: 'refunded', name: 'Refunded', kind: 'money', exported: ['amountRefunded', 'currency'] },
      show: (row) => money(row.amountRefunded, row),
    },
    { key: 'created', name: 'Created', exported: ['createdAt'], show: ({ createdAt }) => <Time at={createdAt} /> },
    {
      ...{ key: 'completed', name: 'Paid on', exported: ['completedAt'] },
      show: ({ completedAt }): ComponentChildren => (completedAt ? <Time at={completedAt} /> : NONE),
    },
  ]
}

function State({ row }: { row: PaymentRow }) {
  return (
    <div>
      <PaymentStatusMark {...row} />
      {row.status === 'pending' && row.lastFailure && <div class="cell-more">{inWords(row.lastFailure)}</div>}
    </div>
  )
}

const AT_FIRST = ['amount', 'status', 'reference', 'customer', 'method', 'created']
/** The link to the payment is always there. */
const ALWAYS = 'reference'

/** The columns that the member has chosen, kept in this browser. */
export function useColumns(merchant: CurrentMerchant) {
  const place = `manilla.columns.${useSession().data?.member?.id}`
  const [keys, setKeys] = useState(() => localStorage.getItem(place)?.split(',') ?? AT_FIRST)
  const all = allColumns(merchant)
  const shown = all.filter(({ key }) => key === ALWAYS || keys.includes(key))
  const choose = (next: string[]) => {
    setKeys(next)
    localStorage.setItem(place, next.join(','))
  }
  return { all, shown, exported: [...new Set(shown.flatMap(({ exported }) => exported))], choose }
}

export function ColumnsButton({ all, shown, choose }: ReturnType<typeof useColumns>) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  const keys = shown.map(({ key }) => key)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Columns
      </button>
      {isOpen && (
        <Dialog title="Columns" onClose={close}>
          <div class="column-choice">
            {all.map(({ key, name }) => (
              <label key={key} class="check">
                <input
                  type="checkbox"
                  checked={keys.includes(key)}
                  disabled={key === ALWAYS}
                  onChange={(event) =>
                    choose(event.currentTarget.checked ? [...keys, key] : keys.filter((each) => each !== key))
                  }
                />
                {name}
              </label>
            ))}
          </div>
          <p class="hint">Kept in this browser.</p>
          <div class="form-actions">
            <button type="button" onClick={() => choose(AT_FIRST)}>
              Reset
            </button>
            <button type="button" class="primary" onClick={close}>
              Done
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
